/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever goes off inside: the supervisor stays small and in command, and nothing is left behind.
 * That no process stays is looked for by the frame after every test. The fork bomb is among the
 * tests of processes, the memory bomb among those of memory.
 */
#include <string.h>

#include "limit.h"

#define MEMORY "--memory", "64M"

/* 10 GB, and less where that would take minutes. */
static void output_flood(void)
{
    double bytes = 1e10 / (limit_slow() * limit_slow() * limit_slow());
    struct limit_run run = limit_run_quietly(LIST(MEMORY, "--cpu-time", "unlimited"),
                                             BOMB("output", box_text("%.0f", bytes)));

    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(bytes, limit_usage(&run, "stdout_bytes"), 0);
    limit_check_clean(&run);
}

/* All processors, by more threads than there are. */
static void spin_everywhere(void)
{
    double ms = 700 * limit_slow();
    struct limit_run run = limit_run_beside(LIST("--timeout", box_text("%.0fms", ms)),
                                            BOMB("spin", "20000", "32"));

    CHECK_END(&run, "timeout", 124);
    limit_check_clean(&run);
    CHECK_MOST(2 * ms, run.ms);
}

static void descriptor_flood(void)
{
    struct limit_run run = limit_run(LIST(MEMORY, "--open-files", "unlimited"),
                                     BOMB("descriptors", "1M"));

    CHECK_END(&run, "exited", 1);
    CHECK_TEXT("EMFILE", limit_said_error(&run, "descriptors"));
    limit_check_clean(&run);
}

/* A file that says it has 1 TiB has next to nothing, on the host and in memory. */
static void sparse_files(void)
{
    struct limit_run run = limit_run(
        LIST(MEMORY, "--disk", "16M", "--file-size", "unlimited"),
        BOMB("sparse", "./x", "1T", ",", "sparse", "/tmp/x", "1T", ",", "remove", "./x"));

    CHECK_END(&run, "exited", 0);
    CHECK_MOST(MIB, limit_usage(&run, "disk_bytes"));
    limit_check_clean(&run);
}

static void fill_everything(void)
{
    struct limit_run run = limit_run(
        LIST(MEMORY, "--disk", "16M"),
        LIST(
            "sh", "-c",
            "for i in 1 2 3 4; do ./payload fill /tmp/$i 1G & ./payload fill /dev/shm/$i 1G & done;"
            "wait; exit 1"));

    CHECK_END(&run, "disk", 1);
    limit_check_clean(&run);
}

static void orphans(void)
{
    double count = 10000 / (limit_slow() * limit_slow());
    double ms = box_now_ms();
    struct limit_run run = limit_run(LIST(MEMORY, "--processes", "64"),
                                     BOMB("orphans", box_text("%.0f", count)));

    CHECK_END(&run, "exited", 0);
    CHECK_INT((long long)count, (long long)limit_said(&run, "orphans"));
    limit_check_clean(&run);
    limit_note("%.0f orphans in %.0f ms", count, box_now_ms() - ms);
}

/* Many processes that each take memory, and make more of themselves. */
static void memory_in_a_storm(void)
{
    struct limit_run run = limit_run_beside(
        LIST(MEMORY, "--processes", "64", "--timeout", "20s"),
        LIST("sh", "-c", "bomb() { ./payload memory 8M , sleep 3K & bomb; }; bomb"));

    CHECK(run.status == 137 || run.status == 2);
    /* Without a group it may run into the limit on processes before anybody looks at its memory. */
    if (strcmp(limit_enforced(&run, "memory"), "cgroup") == 0)
        CHECK_TEXT("memory", limit_reason(&run));
    limit_check_clean(&run);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"bomb of output", output_flood},
        {"bomb of threads that spin", spin_everywhere},
        {"bomb of descriptors", descriptor_flood},
        {"bomb of sparse files", sparse_files},
        {"bomb that fills every place", fill_everything},
        {"bomb of orphans", orphans},
        {"bomb of processes that take memory", memory_in_a_storm},
        {0},
    };

    return box_main(tests);
}
