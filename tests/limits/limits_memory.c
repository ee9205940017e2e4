/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the whole tree, with what its tmpfs holds. */
#include <string.h>

#include "limit.h"

/* What a small program and its kernel structures need beside what it asks for. */
#define OVERHEAD (2.5 * MIB)
#define LIMIT "--memory", "64M"

/* Longer than a sampler pauses at most, which may have to look at every page to be sure of a peak. */
static const char *hold(void)
{
    return box_text("%.0f", 500 * limit_slow());
}

static void under(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("memory", "40M", ",", "sleep", hold()));
    const char *means = limit_enforced(&run, "memory");

    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(40 * MIB, limit_usage(&run, "peak_memory_bytes"), OVERHEAD);
    CHECK_INT(0, limit_events(&run, "limit.warning", NULL));
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
    CHECK_TEXT(strcmp(limit_enforced(&run, "cgroup"), "false") == 0 ? "sampled" : "cgroup", means);
}

static void tree_is_summed(void)
{
    struct limit_run run = limit_run(LIST(LIMIT),
                                     BOMB("memory-tree", "40M", "5", ",", "sleep", hold()));

    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(40 * MIB, limit_usage(&run, "peak_memory_bytes"), 2 * OVERHEAD);
}

static void warned(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("memory", "55M", ",", "sleep", hold()));

    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(55 * MIB, limit_usage(&run, "peak_memory_bytes"), OVERHEAD);
    CHECK_INT(1, limit_events(&run, "limit.warning", "memory"));
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

static void check_over(const struct limit_run *run)
{
    CHECK_END(run, "memory", 137);
    limit_check_exceeded(run, "memory");
    limit_check_clean(run);
    CHECK_LEAST(0.8 * 64 * MIB, limit_usage(run, "peak_memory_bytes"));
    if (strcmp(limit_enforced(run, "memory"), "cgroup") == 0)
        CHECK_MOST(1.02 * 64 * MIB, limit_usage(run, "peak_memory_bytes"));
}

static void over(void)
{
    struct limit_run run = limit_run_beside(LIST(LIMIT),
                                            BOMB("memory", "256M", ",", "sleep", "5K"));

    check_over(&run);
}

static void tree_over(void)
{
    struct limit_run run = limit_run_beside(LIST(LIMIT),
                                            BOMB("memory-tree", "160M", "8", ",", "sleep", "5K"));

    check_over(&run);
}

/* Whoever the kernel chose to kill: the rest goes, too, within a moment. */
static void nobody_survives(void)
{
    struct limit_run run = limit_run(
        LIST(LIMIT), LIST("sh", "-c", "./payload memory 256M; sleep .3; echo survived; sleep 5"));

    check_over(&run);
    CHECK_LACKS(run.out, "survived");
    CHECK_MOST(4000 * limit_slow(), run.ms);
}

static void tmpfs_counts(void)
{
    struct limit_run run = limit_run(LIST(LIMIT),
                                     BOMB("fill", "/tmp/x", "40M", ",", "sleep", hold()));

    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(40 * MIB, limit_usage(&run, "peak_memory_bytes"), OVERHEAD);
}

static void tmpfs_over(void)
{
    struct limit_run run = limit_run_beside(
        LIST(LIMIT), BOMB("fill", "/dev/shm/x", "30M", ",", "fill", "/tmp/x", "128M", "2"));

    check_over(&run);
}

/* The kernel takes the cache of files back when it needs room: that is nobody's fault. */
static void cache_of_files_is_no_excess(void)
{
    struct limit_run run = limit_run(LIST("--memory", "32M", "--disk", "unlimited"),
                                     BOMB("fill", "./big", "96M", ",", "remove", "./big"));

    CHECK_END(&run, "exited", 0);
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

static void told_apart_from_a_kill(void)
{
    struct limit_run run = limit_run(LIST(LIMIT), BOMB("memory", "58M", ",", "kill", "9"));

    CHECK_END(&run, "signaled", 137);
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

static void says_why(void)
{
    struct drive_end end = drive_cli(
        LIST("run", LIMIT, "--", "./payload", "memory", "256M", ",", "sleep", "5K"));

    CHECK_INT(137, end.status);
    CHECK_HAS(end.err, "memory");
    CHECK(strchr(end.err, '\n') == end.err + end.err_len - 1);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"memory below the limit is measured", under},
        {"memory of a tree is summed", tree_is_summed},
        {"memory has a warning at 80 %", warned},
        {"memory above the limit ends the run", over},
        {"memory of a tree ends the run", tree_over},
        {"memory limit leaves nobody", nobody_survives},
        {"memory has tmpfs in it", tmpfs_counts},
        {"memory ends the run that fills tmpfs", tmpfs_over},
        {"memory has no cache of files in it", cache_of_files_is_no_excess},
        {"memory limit is told apart from a kill", told_apart_from_a_kill},
        {"memory limit says why", says_why},
        {0},
    };

    return box_main(tests);
}
