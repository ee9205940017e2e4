/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked for, what a host can give, and what a supervisor that was killed leaves. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "limit.h"

#define GROUPS_MAX 8

static void bad_values(void)
{
    static const char *const flags[] = {"--timeout",    "--cpu-time",  "--cpus",
                                        "--memory",     "--disk",      "--processes",
                                        "--open-files", "--file-size", "--output"};
    static const char *const values[] = {"0", "-1", "", "much", "1.5G", "99999999999999999999999"};

    size_t count = sizeof values / sizeof *values;

    if (limit_slow() > 1) /* no kernel has a say in this */
        count = 1;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        for (size_t j = 0; j < count; j++) {
            const char *message = limit_refused(LIST(flags[i], values[j]));
            CHECK_HAS(message, flags[i]);
            CHECK_HAS(message, values[j]);
        }
}

static void unlimited(void)
{
    static const char *const limits[][2] = {{"--cpu-time", "cpu_time"},
                                            {"--cpus", "cpus"},
                                            {"--memory", "memory"},
                                            {"--disk", "disk"},
                                            {"--processes", "processes"}};

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct limit_run run = limit_run(LIST(limits[i][0], "unlimited"), BOMB("exit", "0"));
        CHECK_END(&run, "exited", 0);
        CHECK_TEXT("false", limit_enforced(&run, limits[i][1]));
    }
}

/* More than the host has is no error, and is said. */
static void absurd(void)
{
    static const char *const limits[][3] = {{"--memory", "1000T", "memory is 1000T"},
                                            {"--cpus", "4000", "cpus is 4000"},
                                            {"--disk", "1000000T", "disk is 1000000T"},
                                            {"--processes", "9999999", "processes is 9999999"},
                                            {"--open-files", "9999999", "open_files is 9999999"}};

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const char *flag = limits[i][0];
        const char *name = box_text("%.*s", (int)strcspn(limits[i][2], " "), limits[i][2]);
        struct rlimit files;
        if (strcmp(name, "open_files") == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0 &&
            files.rlim_max >= 9999999)
            continue; /* it could be given as many */

        struct limit_run run = limit_run(LIST(flag, limits[i][1]), BOMB("exit", "0"));
        CHECK_END(&run, "exited", 0);
        box_check(limit_events(&run, "limit.warning", name) > 0, __FILE__, __LINE__,
                  "no event about %s", flag);

        /* Without events it is on standard error, also when the result is JSON. */
        const char *line = box_text("warning: the limit on %s, this host has ", limits[i][2]);
        run = limit_run_quietly(LIST(flag, limits[i][1]), BOMB("exit", "0"));
        CHECK_HAS(run.err, line);
        CHECK_HAS(drive_cli(LIST("run", flag, limits[i][1], "--", "./payload", "exit", "0")).err,
                  line);
    }
    CHECK_TEXT("", limit_run_quietly(LIST("--processes", "300"), BOMB("exit", "0")).err);
}

/* LIMITS_TIER says what it must be, where whoever runs the tests knows. */
static void tier(void)
{
    const char *want = getenv("LIMITS_TIER");
    const char *have = limit_tier();

    limit_note("cgroup: %s", have);
    if (want)
        CHECK_TEXT(want, have);
    else if (box.root && access("/sys/fs/cgroup/memory/cgroup.procs", W_OK) == 0)
        CHECK_TEXT("v1", have);
}

static void required(void)
{
    bool has = strcmp(limit_tier(), "false") != 0;
    struct limit_run run = limit_run(
        LIST("--memory", "64M", "--require", "memory,cpu_time,processes,disk"), BOMB("exit", "0"));

    CHECK_END(&run, "exited", 0);
    CHECK_HAS(limit_refused(LIST("--memory", "unlimited", "--require", "memory")), "memory");
    if (has) {
        run = limit_run(LIST("--memory", "64M", "--require", "memory,cgroup"), BOMB("exit", "0"));
        CHECK_END(&run, "exited", 0);
    } else {
        CHECK_HAS(limit_refused(LIST("--memory", "64M", "--require", "memory,cgroup")), "cgroup");
    }
}

/* ---- A supervisor that is short of descriptors ---- */

static void have_few(void *arg)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = *(const rlim_t *)arg;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static void few_descriptors(void)
{
    unsigned worked = 0;
    unsigned refused = 0;

    for (rlim_t count = 8; count <= 64; count++) {
        struct drive_child child = drive_start(
            LIST("run", "--memory", "64M", "--", "./payload", "exit", "0"), have_few, &count);
        struct drive_end end = drive_finish(&child, NULL, 0);
        if (end.status == 0) {
            worked++;
            continue;
        }
        refused++;
        CHECK_INT(125, end.status);
        CHECK_HAS(end.err, "ulimit -n");
    }
    CHECK(worked > 0 && refused > 0);
}

/* ---- After a crash ---- */

struct live {
    struct limit_run run;
    const char *sandbox;
};

static bool has_started(void *arg)
{
    struct live *live = arg;
    char *text = access(live->run.events_path, R_OK) == 0 ? box_read(live->run.events_path) : NULL;
    char *line = text ? strstr(text, "\"run.started\"") : NULL;
    char *id = line ? strstr(text, "\"sandbox\":\"") : NULL;

    if (!id)
        return false;
    id += strlen("\"sandbox\":\"");
    live->sandbox = box_text("%.*s", (int)strcspn(id, "\""), id);
    return true;
}

static struct live start_live(const char *const *argv)
{
    struct live live = {.run = limit_start(LIST("--memory", "64M", "--processes", "16"), argv)};

    REQUIRE(box_eventually(has_started, &live));
    return live;
}

static size_t groups_of(const struct live *live, const char *ret[GROUPS_MAX])
{
    return limit_cgroups(box_text("hutch-%s", live->sandbox), ret, GROUPS_MAX);
}

/* A group is only taken for left when it is older than any start takes. */
static void make_old(const char *path)
{
    struct timespec long_ago = {.tv_sec = time(NULL) - 3600};

    REQUIRE(utimensat(AT_FDCWD, path, (struct timespec[]){long_ago, long_ago}, 0) == 0);
}

static void kill_and_forget(struct live *live)
{
    kill(live->run.child.pid, SIGKILL);
    close(live->run.child.in);
    close(live->run.child.out);
    close(live->run.child.err);
    CHECK(box_reap_all());
}

static bool has_no_groups(void *arg)
{
    const char *left[GROUPS_MAX];

    return groups_of(arg, left) == 0;
}

static void crash_leaves_nothing(void)
{
    struct live live = start_live(BOMB("sleep", "20K"));
    const char *left[GROUPS_MAX];
    bool has_groups = groups_of(&live, left) > 0;

    CHECK(has_groups == (strcmp(limit_tier(), "false") != 0));
    if (has_groups && limit_by_systemd())
        CHECK_HAS(left[0], ".scope");
    if (has_groups && !limit_by_systemd()) {
        /* Who wants the engine gone may send what he likes to it and all around it. */
        pid_t janitor = box_child(live.run.child.pid, "hutch-janitor");
        REQUIRE(janitor > 0);
        CHECK_INT(janitor, getpgid(janitor));
        kill(janitor, SIGINT);
        kill(janitor, SIGTERM);
        kill(janitor, SIGHUP);
    }
    kill_and_forget(&live);
    /* Systemd hears of the end when all have ended. */
    CHECK(limit_by_systemd() ? box_eventually(has_no_groups, &live) : has_no_groups(&live));
}

/* Its janitor is gone too: what is left then is for a later run. */
static void crash_is_swept_up(void)
{
    const char *left[GROUPS_MAX];
    const char *others[GROUPS_MAX];

    if (strcmp(limit_tier(), "false") == 0)
        box_skip("there is no cgroup to leave");
    if (limit_by_systemd())
        box_skip("systemd removes its scopes");
    struct live victim = start_live(BOMB("sleep", "20K"));
    pid_t janitor = box_child(victim.run.child.pid, "hutch-janitor");
    REQUIRE(janitor > 0);
    kill(janitor, SIGKILL);
    kill_and_forget(&victim);
    struct live neighbour = start_live(LIST("cat")); /* until its input ends */
    size_t count = groups_of(&victim, left);
    size_t other_count = groups_of(&neighbour, others);
    CHECK_LEAST(1, count);
    CHECK_LEAST(1, other_count);

    /* One that begins like ours and is not, and one in use: both may be as old as they like. */
    const char *strange = box_text("%.*s/hutch-%s", (int)(strrchr(left[0], '/') - left[0]), left[0],
                                   box.id);
    REQUIRE(mkdir(strange, 0755) == 0);
    make_old(strange);
    for (size_t i = 0; i < count; i++)
        make_old(left[i]);
    for (size_t i = 0; i < other_count; i++)
        make_old(others[i]);
    struct limit_run run = limit_run(LIST("--memory", "64M", "--processes", "16"),
                                     BOMB("exit", "0"));
    CHECK_END(&run, "exited", 0);
    CHECK_INT(0, (long long)groups_of(&victim, left));
    CHECK_LEAST(other_count, groups_of(&neighbour, others)); /* there may be more by now */
    CHECK_INT(0, rmdir(strange));
    limit_finish(&neighbour.run);
    CHECK_END(&neighbour.run, "exited", 0);
    limit_check_clean(&neighbour.run);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"limits that cannot be are refused", bad_values},
        {"limits can be lifted", unlimited},
        {"limits above what the host has", absurd},
        {"limits have the means of this host", tier},
        {"limits can be required", required},
        {"limits of the supervisor's own on descriptors", few_descriptors},
        {"limits after a crash: no process stays, and no cgroup", crash_leaves_nothing},
        {"limits after a crash of the janitor too: a later run cleans up", crash_is_swept_up},
        {0},
    };

    return box_main(tests);
}
