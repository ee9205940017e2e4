/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that the kernel or the supervisor keeps for one process: descriptors, files, output, time. */
#include <stdlib.h>
#include <string.h>

#include "limit.h"

static void open_files(void)
{
    const char *const *flags = LIST("--open-files", "64");
    struct limit_run run = limit_run(flags, BOMB("descriptors", "60"));

    CHECK_END(&run, "exited", 0);
    CHECK_TEXT("rlimit", limit_enforced(&run, "open_files"));
    run = limit_run_beside(flags, BOMB("descriptors", "1000"));
    CHECK_END(&run, "exited", 1);
    CHECK_INT(64, (long long)limit_said(&run, "descriptors"));
    CHECK_TEXT("EMFILE", limit_said_error(&run, "descriptors"));
    /* Fewer than starting it takes. */
    run = limit_run(LIST("--open-files", "5"), BOMB("descriptors", "1000"));
    CHECK_END(&run, "exited", 1);
    CHECK_INT(5, (long long)limit_said(&run, "descriptors"));
}

static void file_size(void)
{
    const char *const *flags = LIST("--file-size", "1M");
    struct limit_run run = limit_run(flags, BOMB("fill", "/tmp/x", "1M"));

    CHECK_END(&run, "exited", 0);
    CHECK_TEXT("rlimit", limit_enforced(&run, "file_size"));
    run = limit_run(flags, BOMB("fill", "/tmp/x", "4M"));
    CHECK_END(&run, "signaled", 128 + 25);
    run = limit_run(flags, BOMB("patient", ",", "fill", "/tmp/x", "4M"));
    CHECK_END(&run, "exited", 1);
    CHECK_INT(1 << 20, (long long)limit_said(&run, "fill"));
    CHECK_TEXT("EFBIG", limit_said_error(&run, "fill"));
}

static void output_under(void)
{
    struct limit_run run = limit_run(LIST("--output", "64K"), BOMB("output", "60K"));
    const char *out = limit_stdout(&run);

    CHECK_END(&run, "exited", 0);
    CHECK_INT(60 << 10, (long long)limit_usage(&run, "stdout_bytes"));
    CHECK_INT(60 << 10, (long long)strlen(out));
    CHECK(json_is_false(json_object_get(run.result, "truncated")));
}

/* Both ends are kept, the command is not stopped, and nothing says that a limit ended it. */
static void output_over(void)
{
    struct limit_run run = limit_run(LIST("--output", "64K"), BOMB("output", "4M"));
    const char *out = limit_stdout(&run);

    CHECK_END(&run, "exited", 0);
    CHECK_INT(4 << 20, (long long)limit_usage(&run, "stdout_bytes"));
    CHECK(json_is_true(json_object_get(run.result, "truncated")));
    CHECK_LEAST(64 * KIB, (double)strlen(out));
    CHECK_MOST(65 * KIB, (double)strlen(out));
    CHECK(strncmp(out, "begin\n", 6) == 0);
    CHECK_HAS(strlen(out) > 64 ? out + strlen(out) - 4 : out, "end\n");
    CHECK_INT(0, limit_events(&run, "limit.exceeded", NULL));
}

static void timeout_under(void)
{
    struct limit_run run = limit_run(LIST("--timeout", "20s"), BOMB("sleep", "100"));
    double took = json_number_value(json_object_get(run.result, "duration_ms"));

    CHECK_END(&run, "exited", 0);
    CHECK_NEAR(100, took, 50 * limit_slow() * limit_slow());
    CHECK_TEXT("supervisor", limit_enforced(&run, "timeout"));
}

static void timeout_over(void)
{
    double ms = 400 * limit_slow();
    struct limit_run run = limit_run_beside(LIST("--timeout", box_text("%.0fms", ms)),
                                            BOMB("sleep", "20K"));

    CHECK_END(&run, "timeout", 124);
    CHECK(json_is_true(json_object_get(run.result, "timed_out")));
    CHECK_INT(1, limit_events(&run, "run.timeout", NULL));
    limit_check_clean(&run);
    CHECK_MOST(2 * ms, run.ms);
}

/* What all limits let pass is told in one line. */
static void usage_line(void)
{
    struct drive_end end = drive_cli(LIST("run", "--usage", "--memory", "64M", "--processes", "16",
                                          "--", "./payload", "memory", "30M", ",", "forks", "3",
                                          ",", "spin", "100", ",", "sleep", "200"));

    CHECK_INT(0, end.status);
    CHECK_HAS(end.err, "cpu 0.");
    CHECK_HAS(end.err, "/64M");
    CHECK_HAS(end.err, "procs 5/16"); /* and the thread that spins */
    CHECK_HAS(end.err, "wall ");
}

int main(void)
{
    static const struct box_test tests[] = {
        {"descriptors are refused above the limit", open_files},
        {"files end at their limit", file_size},
        {"output below the limit is whole", output_under},
        {"output above the limit keeps both ends", output_over},
        {"time below the limit is measured", timeout_under},
        {"time above the limit ends the run", timeout_over},
        {"usage is told in one line", usage_line},
        {0},
    };

    return box_main(tests);
}
