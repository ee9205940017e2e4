/* SPDX-License-Identifier: Apache-2.0 */
/* What is written: to the sandbox's own tmpfs, and to the workspace on the host. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limit.h"

#define LIMIT "--disk", "16M"

static const char *hold(void)
{
    return box_text("%.0f", 150 * limit_slow());
}

static void tmpfs_under(void)
{
    const char *bomb = box_text("%s/payload", box.work);
    struct limit_run run = limit_run(
        LIST(LIMIT, "-w", "tmpfs"),
        LIST(bomb, "fill", "/tmp/x", "4M", ",", "fill", "y", "4M", ",", "sleep", hold()));

    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(8 * MIB, limit_usage(&run, "disk_bytes"), 64 * KIB);
    CHECK_TEXT("tmpfs", limit_enforced(&run, "disk"));
    CHECK_INT(0, limit_events(&run, "limit.warning", NULL));
}

static void tmpfs_warned(void)
{
    const char *bomb = box_text("%s/payload", box.work);
    struct limit_run run = limit_run(LIST(LIMIT, "-w", "tmpfs"),
                                     LIST(bomb, "fill", "/tmp/x", "14M", ",", "sleep", hold()));

    CHECK_END(&run, "exited", 0);
    CHECK_INT(1, limit_events(&run, "limit.warning", "disk"));
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

/* One size for all places in memory together. */
static void tmpfs_over(void)
{
    static const char *const places[][2] = {
        {"/tmp/x", "/tmp/y"}, {"/tmp/x", "/dev/shm/y"}, {"./x", "/tmp/y"}};
    const char *bomb = box_text("%s/payload", box.work);

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct limit_run run = limit_run(
            LIST(LIMIT, "-w", "tmpfs"),
            LIST(bomb, "fill", places[i][0], "10M", ",", "fill", places[i][1], "10M"));
        CHECK_END(&run, "disk", 1);
        CHECK_HAS(run.out, "fill 10485760 ok");
        CHECK_HAS(run.out, "ENOSPC");
        CHECK_NEAR(16 * MIB, limit_usage(&run, "disk_bytes"), 0);
        limit_check_clean(&run);
    }
}

static void tmpfs_over_beside(void)
{
    struct limit_run run = limit_run_beside(LIST(LIMIT), BOMB("fill", "/tmp/x", "64M"));

    CHECK_END(&run, "disk", 1);
    CHECK_NEAR(16 * MIB, limit_said(&run, "fill"), 0);
    CHECK_TEXT("ENOSPC", limit_said_error(&run, "fill"));
}

static void tmpfs_over_and_well(void)
{
    struct limit_run run = limit_run(
        LIST(LIMIT), BOMB("fill", "/tmp/x", "64M", ",", "remove", "/tmp/x", ",", "exit", "0"));

    CHECK_END(&run, "exited", 0);
    CHECK_TEXT("ENOSPC", limit_said_error(&run, "fill"));
}

static void fails_for_another_reason(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("fill", "/tmp/x", "4M", ",", "exit", "3"));

    CHECK_END(&run, "exited", 3);
}

/*
 * Write 10 MiB to the workspace, and be told so. Below the limit that is what the file system has more
 * than before; where others write to it, too, not every attempt can tell.
 */
static struct limit_run add_to_host(const char *hold_ms)
{
    struct limit_run run;
    double told = 0;

    for (int i = 0; i < 4 && (told < 9 * MIB || told > 11 * MIB); i++) {
        run = limit_run(LIST(LIMIT), BOMB("fill", "./big", "10M", ",", "sleep", hold_ms));
        told = limit_usage(&run, "disk_bytes");
        REQUIRE(unlink("big") == 0);
    }
    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(10 * MIB, told, 0);
    return run;
}

static void host_under(void)
{
    struct limit_run run = add_to_host(hold());

    CHECK_TEXT("sampled", limit_enforced(&run, "disk"));
    /* A warning there may be: it goes by the file system, and others write to it. */
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

/* Gone before anybody had a look. */
static void host_quickly(void)
{
    add_to_host("0");
}

static void host_warned(void)
{
    struct limit_run run = limit_run(LIST(LIMIT),
                                     BOMB("fill", "./big", "14M", ",", "sleep", hold()));

    box_expect("work/big");
    CHECK_END(&run, "exited", 0);
    CHECK_INT(1, limit_events(&run, "limit.warning", "disk"));
}

/* About 160 MiB a second: what is there at the end says how long it took to see the limit. */
static void host_over(void)
{
    struct stat st;
    struct limit_run run = limit_run_beside(LIST(LIMIT), BOMB("fill", "./big", "192M", "6"));

    box_expect("work/big");
    CHECK_END(&run, "disk", 137);
    limit_check_exceeded(&run, "disk");
    limit_check_clean(&run);
    REQUIRE(stat("big", &st) == 0);
    limit_note("%.1f MiB were written", (double)st.st_size / MIB);
    CHECK_LEAST(16 * MIB, (double)st.st_size);
    CHECK_MOST(48 * MIB, (double)st.st_size);
    CHECK_NEAR((double)st.st_size, limit_usage(&run, "disk_bytes"), 2 * MIB);
}

/* Growth is what counts: what was there before does not, nor what was removed. */
static void host_has_much(void)
{
    REQUIRE(drive_shell("./payload fill old 24M >/dev/null") == 0);
    box_expect("work/old");
    struct limit_run run = limit_run(
        LIST(LIMIT), BOMB("fill", "./a", "8M", ",", "remove", "./a", ",", "fill", "./b", "8M", ",",
                          "remove", "./b", ",", "fill", "./c", "8M", ",", "remove", "./c"));
    CHECK_END(&run, "exited", 0);
}

/* What another writes to the same file system meanwhile is none of it. */
static void host_has_neighbours(void)
{
    struct limit_run run = limit_start(LIST(LIMIT), BOMB("fill", "./own", "4M", "50"));

    box_expect("work/own");
    CHECK_INT(0, drive_shell("./payload fill ../out/other 40M >/dev/null"));
    box_expect("out/other");
    limit_finish(&run);
    CHECK_END(&run, "exited", 0);
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

static void says_why(void)
{
    struct drive_end end = drive_cli(
        LIST("run", LIMIT, "--", "./payload", "fill", "./big", "192M", "6"));

    box_expect("work/big");
    CHECK_INT(137, end.status);
    CHECK_HAS(end.err, "disk");
    CHECK(strchr(end.err, '\n') == end.err + end.err_len - 1);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"disk in memory below the limit is measured", tmpfs_under},
        {"disk in memory has a warning at 80 %", tmpfs_warned},
        {"disk in memory has one size", tmpfs_over},
        {"disk in memory is each sandbox's own", tmpfs_over_beside},
        {"disk refused to one who copes", tmpfs_over_and_well},
        {"disk is no reason without a refusal", fails_for_another_reason},
        {"disk of the host below the limit is measured", host_under},
        {"disk of the host is measured after a quick run", host_quickly},
        {"disk of the host has a warning at 80 %", host_warned},
        {"disk of the host above the limit ends the run", host_over},
        {"disk of the host is what was added", host_has_much},
        {"disk of the host is not what others add", host_has_neighbours},
        {"disk limit says why", says_why},
        {0},
    };

    return box_main(tests);
}
