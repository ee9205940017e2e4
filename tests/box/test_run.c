/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: how a run starts, is fed, read, timed, ended and reported. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"

/* What a busy host may add to a time. Generous: it tells "at once" from "never". */
#define SLACK_MS 3000.0
#define GRACE_MS 2000.0

/* ---- How it ends ---- */

static void exit_statuses(void)
{
    static const int codes[] = {0, 1, 2, 42, 124, 125, 126, 127, 128, 255};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct hutch_result *result = drive_run(NULL,
                                                      PAYLOAD("exit", box_text("%d", codes[i])));
        CHECK_INT(HUTCH_EXITED, result->reason);
        CHECK_INT(codes[i], result->exit_code);
        CHECK_INT(codes[i], result->status);
        CHECK_INT(0, result->signal);
        CHECK_INT(0, result->error.code);
    }
}

static void signals_end_it(void)
{
    static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGKILL,
                                  SIGSEGV, SIGPIPE, SIGTERM, SIGUSR1};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct hutch_result *result = drive_run(NULL,
                                                      PAYLOAD("raise", box_text("%d", numbers[i])));
        CHECK_INT(HUTCH_SIGNALED, result->reason);
        CHECK_INT(numbers[i], result->signal);
        CHECK_INT(-1, result->exit_code);
        CHECK_INT(128 + numbers[i], result->status);
    }
}

/* Whatever it fails with: one that may have no second process has not been refused one. */
static void failures_of_a_single_process(void)
{
    const struct hutch_result *result = drive_run(LIST("--processes", "1"),
                                                  LIST("sh", "-c", "exit 3"));

    CHECK_INT(HUTCH_EXITED, result->reason);
    CHECK_INT(3, result->exit_code);
    result = drive_run(LIST("--processes", "1"), LIST("sh", "-c", "kill -SEGV $$"));
    CHECK_INT(HUTCH_SIGNALED, result->reason);
    CHECK_INT(SIGSEGV, result->signal);
}

static void what_cannot_be_executed(void)
{
    static const struct {
        const char *name;
        int status;
    } cases[] = {
        {"./none", 127},  {"no-such-command", 127}, {"./none/x", 127},
        {"./plain", 126}, {"./dir", 126},           {"./plain/x", 126},
    };

    box_file("work/plain", "not executable\n");
    box_dir("work/dir");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct hutch_result *result = drive_run(NULL, LIST(cases[i].name));
        box_check(result->status == cases[i].status, __FILE__, __LINE__,
                  "'%s' has status %d, wanted %d", cases[i].name, result->status, cases[i].status);
        CHECK_INT(HUTCH_SETUP, result->reason);
        CHECK(result->error.code < 0);
        CHECK_HAS(result->error.msg, cases[i].name);
    }
}

static void scripts_run(void)
{
    box_file("work/with", "#!/bin/sh\necho with $1 $0\n");
    box_file("work/without", "echo without $1 $0\n");
    box_file("work/broken", "#!/none\n");
    REQUIRE(chmod("with", 0755) == 0 && chmod("without", 0755) == 0 && chmod("broken", 0755) == 0);

    CHECK_TEXT("with a ./with\n", drive_out(NULL, LIST("./with", "a")));
    CHECK_TEXT("without a ./without\n", drive_out(NULL, LIST("./without", "a")));
    CHECK_TEXT("without a /without\n", drive_out(LIST("--layout", "root"), LIST("/without", "a")));
    CHECK_INT(127, drive_run(NULL, LIST("./broken"))->status);
    box_expect_any("work"); /* the root layout's mount points */
}

static void commands_are_found_in_the_path(void)
{
    box_dir("work/bin");
    REQUIRE(drive_shell("cp payload bin/tool; cp payload bin/locked; chmod 644 bin/locked") == 0);
    box_expect("work/bin/tool");
    box_expect("work/bin/locked");
    const char *path = box_text("PATH=/none:%s/bin:/usr/bin:/bin", box.work);

    CHECK_TEXT("hi\n", drive_out(LIST("--env", path), LIST("tool", "echo", "hi")));
    CHECK_INT(126, drive_run(LIST("--env", path), LIST("locked"))->status);
    CHECK_INT(127, drive_run(LIST("--env", path), LIST("none"))->status);
    CHECK_TEXT("hi\n", drive_out(LIST("--env", "PATH="), LIST("payload", "echo", "hi")));
}

static void working_directory(void)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;

    box_dir("work/sub");
    command.argv = LIST("../payload", "cwd");
    command.cwd = "sub";
    CHECK_TEXT(box_text("cwd %s/sub\n", box.work), drive_command(NULL, &command)->stdout_data);
    command.argv = LIST(box_text("%s/payload", box.work), "cwd");
    command.cwd = "/usr";
    CHECK_TEXT("cwd /usr\n", drive_command(NULL, &command)->stdout_data);

    struct hutch_policy *policy = drive_policy(NULL);
    struct hutch_result *result;
    struct hutch_error err = {0};
    command.cwd = "/none";
    CHECK(hutch_run(policy, &command, &result, &err) < 0);
    CHECK_HAS(err.msg, "/none");
    hutch_policy_free(policy);
}

/* ---- Input and output ---- */

static void input_is_empty_without_one(void)
{
    const struct hutch_result *result = drive_run(NULL, PAYLOAD("cat", ",", "echo", "end"));

    CHECK_TEXT("end\n", result->stdout_data);
}

/* A child that writes `len` bytes of a pattern into a pipe; returns the pipe's other end. */
static int feed(size_t len, pid_t *ret_pid)
{
    int ends[2];

    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    fflush(stdout);
    *ret_pid = fork();
    if (*ret_pid == 0) {
        dup2(ends[1], 1);
        execl("./payload", "payload", "spam", box_text("%zu", len), (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    return ends[0];
}

static bool is_alphabet(const char *data, size_t len, size_t first)
{
    for (size_t i = 0; i < len; i++)
        if (data[i] != (char)('a' + (first + i) % 26))
            return false;
    return true;
}

static void much_input_arrives_whole(void)
{
    static const size_t len = 10U << 20;
    struct hutch_command command = HUTCH_COMMAND_INIT;
    pid_t pid;

    command.argv = PAYLOAD("cat");
    command.stdin_fd = feed(len, &pid);
    const struct hutch_result *result = drive_command(LIST("--output", "unlimited"), &command);
    close(command.stdin_fd);
    CHECK_INT(0, drive_wait(pid, NULL));
    CHECK_INT((long long)len, (long long)result->stdout_len);
    CHECK(is_alphabet(result->stdout_data, result->stdout_len, 0));
    CHECK(!result->truncated);
}

static void input_may_be_a_file(void)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;

    REQUIRE(drive_shell("./payload spam 300000 > input") == 0);
    box_expect("work/input");
    command.argv = PAYLOAD("cat");
    command.stdin_fd = open("input", O_RDONLY | O_CLOEXEC);
    const struct hutch_result *result = drive_command(NULL, &command);
    close(command.stdin_fd);
    CHECK_INT(300000, (long long)result->stdout_len);
    CHECK(is_alphabet(result->stdout_data, result->stdout_len, 0));
}

/* A command that does not read its input ends all the same, and whoever writes it is not ours. */
static void unread_input_does_not_hold_it_up(void)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    pid_t pid;

    command.argv = PAYLOAD("exit", "3");
    command.stdin_fd = feed(5U << 20, &pid);
    CHECK_INT(3, drive_command(NULL, &command)->exit_code);
    close(command.stdin_fd);
    drive_wait(pid, NULL);

    /* An input that never ends, nor says anything. */
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    command.stdin_fd = ends[0];
    CHECK_INT(3, drive_command(NULL, &command)->exit_code);
    close(ends[0]);
    close(ends[1]);
}

static void both_streams_are_kept_apart(void)
{
    const struct hutch_result *result = drive_run(
        NULL, PAYLOAD("spam", "200000", "2", ",", "spam", "100000", ",", "spam", "26", "2"));

    CHECK_INT(100000, (long long)result->stdout_len);
    CHECK_INT(200026, (long long)result->stderr_len);
    CHECK_INT(100000, (long long)result->stdout_bytes);
    CHECK_INT(200026, (long long)result->stderr_bytes);
    CHECK(is_alphabet(result->stdout_data, 100000, 0));
    CHECK(is_alphabet(result->stderr_data, 200000, 0));
}

static void any_bytes_get_through(void)
{
    static const char want[] = {0x00, 'a', (char)0xff, (char)0xfe, 0x00, '\n', (char)0xc3};
    const struct hutch_result *result = drive_run(
        NULL, PAYLOAD("bytes", "0", "61", "ff", "fe", "0", "a", "c3"));

    CHECK_INT(sizeof want, (long long)result->stdout_len);
    CHECK(memcmp(want, result->stdout_data, sizeof want) == 0);
    CHECK(result->stdout_data[result->stdout_len] == '\0');
}

/* Past its limit, the first and the last half are kept, and a line says what is missing. */
static void captured_output_is_cut_in_the_middle(void)
{
    const struct hutch_result *result = drive_run(LIST("--output", "1000"),
                                                  PAYLOAD("spam", "1000000"));
    const char *gap = "\n... 999000 bytes of output are missing here ...\n";

    CHECK(result->truncated);
    CHECK_INT(0, result->exit_code);
    CHECK_INT(1000000, (long long)result->stdout_bytes);
    CHECK_INT(1000 + (long long)strlen(gap), (long long)result->stdout_len);
    CHECK(is_alphabet(result->stdout_data, 500, 0));
    CHECK(strncmp(result->stdout_data + 500, gap, strlen(gap)) == 0);
    CHECK(is_alphabet(result->stdout_data + 500 + strlen(gap), 500, 1000000 - 500));

    result = drive_run(LIST("--output", "1000"), PAYLOAD("spam", "1000"));
    CHECK(!result->truncated);
    CHECK_INT(1000, (long long)result->stdout_len);
    CHECK(is_alphabet(result->stdout_data, 1000, 0));
}

/* Gigabytes go through the command without staying in it. */
static void much_output_passes_through(void)
{
#ifdef BOX_SANITIZED
    static const long long len = 100LL << 20, most_kb = 1LL << 40;
#else
    static const long long len = 2LL << 30, most_kb = 8 * 1024;
#endif
    static char chunk[1 << 20];
    struct drive_child child = drive_start(
        LIST("run", "--timeout", "unlimited", "--", "./payload", "spam", box_text("%lld", len)),
        NULL, NULL);
    long long got = 0;
    long rss = 0;
    ssize_t now;

    while ((now = read(child.out, chunk, sizeof chunk)) > 0) {
        CHECK_INT('a' + got % 26, chunk[0]);
        got += now;
    }
    close(child.in);
    close(child.out);
    close(child.err);
    CHECK_INT(0, drive_wait(child.pid, &rss));
    CHECK_INT(len, got);
    box_check(rss < most_kb, __FILE__, __LINE__, "the engine grew to %ld KB", rss);
}

/* A receiver that goes away must not take the caller with it: SIGPIPE is at its default here. */
static void receiver_that_goes_away(void)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    int ends[2];

    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]);
    command.argv = PAYLOAD("spam", "10000000");
    command.stdout_fd = ends[1];
    const struct hutch_result *result = drive_command(NULL, &command);
    CHECK_INT(SIGPIPE, result->signal);
    CHECK_INT(128 + SIGPIPE, result->status);
    close(ends[1]);

    struct sigaction action;
    REQUIRE(sigaction(SIGPIPE, NULL, &action) == 0);
    CHECK(action.sa_handler == SIG_DFL);
}

/* ---- Time ---- */

/* A run that its time limit must end, `grace` or less after that. */
static const struct hutch_result *time_out(const char *const *argv, double grace)
{
    double start = box_now_ms();
    const struct hutch_result *result = drive_run(LIST("--timeout", "300ms"), argv);
    double ms = box_now_ms() - start;

    CHECK_INT(HUTCH_TIMEOUT, result->reason);
    CHECK_INT(124, result->status);
    box_check(ms >= 300 + (grace > 0 ? GRACE_MS : 0) && ms < 300 + grace + SLACK_MS, __FILE__,
              __LINE__, "%s took %.0f ms", argv[1], ms);
    return result;
}

static void time_limit_asks_first(void)
{
    const struct hutch_result *result = time_out(PAYLOAD("on-signal", box_text("%d", SIGTERM)), 0);

    CHECK_HAS(result->stdout_data, "got 15");
    CHECK_INT(40 + SIGTERM, result->exit_code);
}

static void time_limit_wakes_what_is_stopped(void)
{
    CHECK_INT(SIGTERM,
              time_out(PAYLOAD("stop-self"), 0)->signal); /* not SIGKILL, after the grace */
}

static void time_limit_insists(void)
{
    const struct hutch_result *result = time_out(PAYLOAD("ignore-term"), GRACE_MS);

    CHECK_INT(SIGKILL, result->signal);
    CHECK_TEXT("ready\n", result->stdout_data);
}

/* Processes that hold this open are still there. */
static int open_fifo(void)
{
    REQUIRE(mkfifo("fifo", 0666) == 0 && chmod("fifo", 0666) == 0);
    box_expect("work/fifo");
    int fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(fd >= 0);
    return fd;
}

/* Whether the fifo has been held, and is so no more. */
static bool was_let_go(int fd)
{
    char text[16] = "";
    ssize_t len = read(fd, text, sizeof text);

    return len == 5 && read(fd, text, sizeof text) == 0;
}

static void time_limit_takes_daemons_too(void)
{
    int fd = open_fifo();

    time_out(PAYLOAD("hold", "fifo"), GRACE_MS);
    CHECK(was_let_go(fd));
    close(fd);
}

static void time_limit_catches_what_always_forks(void)
{
    time_out(PAYLOAD("fork-chain"), GRACE_MS);
}

static void daemons_end_with_the_command(void)
{
    double start = box_now_ms();
    const struct hutch_result *result = drive_run(NULL, PAYLOAD("double-fork"));

    CHECK_INT(0, result->exit_code);
    CHECK_HAS(result->stdout_data, "daemon ");
    CHECK(box_now_ms() - start < SLACK_MS);
}

static void time_is_measured(void)
{
    const struct hutch_result *result = drive_run(NULL, LIST("/bin/sleep", "0.2"));

    CHECK(result->duration_ms >= 200 && result->duration_ms < 200 + SLACK_MS);
    CHECK(result->setup_total_ms > 0);
    CHECK(result->peak_memory_bytes > 100000);
}

/* ---- Big commands ---- */

static char *checksum(const char *const *strings)
{
    size_t count = 0;
    size_t bytes = 0;
    unsigned long long sum = 14695981039346656037ULL;

    for (; *strings; strings++, count++)
        for (const char *p = *strings; *p; p++, bytes++)
            sum = (sum ^ (unsigned char)*p) * 1099511628211ULL;
    return box_text("%zu %zu %llx", count, bytes, sum);
}

static void long_arguments_and_environment(void)
{
    enum { COUNT = 300, LENGTH = 2000 };
    const char *argv[COUNT + 3] = {"./payload", "args"};
    const char *flags[2 * COUNT + 3] = {"--clear-env", NULL};
    const char *vars[COUNT + 2] = {NULL};
    static char filler[LENGTH + 1];

    memset(filler, 'y', LENGTH);
    for (int i = 0; i < COUNT; i++) {
        argv[i + 2] = box_text("%d %s", i, filler);
        vars[i] = box_text("V%d=%s", i, filler);
    }
    struct hutch_policy *policy = drive_policy(flags);
    for (int i = 0; i < COUNT; i++)
        REQUIRE(hutch_policy_set(policy, "--env", vars[i], NULL, NULL) == 0);
    vars[COUNT] = "PATH=/bin";
    REQUIRE(hutch_policy_set(policy, "--env", vars[COUNT], NULL, NULL) == 0);

    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result;
    struct hutch_error err;
    command.argv = argv;
    if (hutch_run(policy, &command, &result, &err) < 0)
        box_fatal(__FILE__, __LINE__, "%s", err.msg);
    CHECK_TEXT(box_text("args %s\nvars %s\n", checksum(argv + 2), checksum(vars)),
               result->stdout_data);
    hutch_result_free(result);
    hutch_policy_free(policy);
}

static void too_long_an_argument_is_said(void)
{
    char *big = box_keep(malloc(1 << 20));

    memset(big, 'z', (1 << 20) - 1);
    big[(1 << 20) - 1] = '\0';
    const struct hutch_result *result = drive_run(NULL, PAYLOAD("echo", big)); /* MAX_ARG_STRLEN */
    CHECK_INT(126, result->status);
    CHECK_INT(7, result->error.sys_errno); /* E2BIG */
}

/* ---- A run as a handle ---- */

static struct hutch_run *start_run(const char *const *flags, const char *const *argv,
                                   hutch_event_fn *on_event, void *arg)
{
    struct hutch_policy *policy = drive_policy(flags);
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_run *run;
    struct hutch_error err;

    command.argv = argv;
    if (hutch_run_start(policy, &command, on_event, arg, &run, &err) < 0)
        box_fatal(__FILE__, __LINE__, "%s", err.msg);
    hutch_policy_free(policy);
    return run;
}

static void note_output(void *arg, const struct hutch_event *event)
{
    if (event->type == HUTCH_EVENT_RUN_OUTPUT && memmem(event->data, event->data_len, "ready", 5))
        *(bool *)arg = true;
}

static void step_until(struct hutch_run *run, const bool *flag)
{
    struct hutch_error err;

    while (!*flag)
        REQUIRE(hutch_run_step(run, -1, &err) == 0);
}

static void step_to_end(struct hutch_run *run, enum hutch_reason want)
{
    struct hutch_error err = {0};
    struct hutch_result *result;
    int r;

    while ((r = hutch_run_step(run, -1, &err)) == 0)
        ;
    if (r < 0)
        box_fatal(__FILE__, __LINE__, "%s", err.msg);
    REQUIRE(hutch_run_result(run, &result, &err) == 0);
    CHECK_INT(want, result->reason);
    CHECK(hutch_run_result(run, &result, &err) == HUTCH_ESTATE);
    hutch_result_free(result);
    hutch_run_free(run);
}

static void cancelling_ends_everything(void)
{
    bool ready = false;
    int fd = open_fifo();
    struct hutch_run *run = start_run(NULL, PAYLOAD("hold", "fifo"), note_output, &ready);

    step_until(run, &ready);
    CHECK(hutch_run_cancel(run, NULL) == 0);
    CHECK(hutch_run_cancel(run, NULL) == 0);
    step_to_end(run, HUTCH_CANCELLED);
    CHECK(was_let_go(fd));
    close(fd);
}

static void cancelling_at_once(void)
{
    for (int i = 0; i < 20; i++) {
        struct hutch_run *run = start_run(NULL, PAYLOAD("hog-stdin"), NULL, NULL);
        for (int k = 0; k < i; k++)
            REQUIRE(hutch_run_step(run, 0, NULL) == 0);
        CHECK(hutch_run_cancel(run, NULL) == 0);
        step_to_end(run, HUTCH_CANCELLED);
    }
}

static void freeing_ends_everything(void)
{
    bool ready = false;
    int fd = open_fifo();
    struct hutch_run *run = start_run(NULL, PAYLOAD("hold", "fifo"), note_output, &ready);

    step_until(run, &ready);
    hutch_run_free(run);
    CHECK(was_let_go(fd));
    close(fd);
    hutch_run_free(start_run(NULL, PAYLOAD("hog-stdin"), NULL, NULL));
    hutch_run_free(NULL);
}

static void signals_reach_the_command(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bool ready = false;
        struct hutch_run *run = start_run(NULL, PAYLOAD("on-signal", box_text("%d", numbers[i])),
                                          note_output, &ready);
        step_until(run, &ready);
        CHECK(hutch_run_signal(run, numbers[i], NULL) == 0);
        step_to_end(run, HUTCH_EXITED);
    }
}

struct seen {
    char order[64];
    size_t output;
};

static void note_order(void *arg, const struct hutch_event *event)
{
    static const char letters[] = "?SXRoTE";
    struct seen *seen = arg;
    size_t len = strlen(seen->order);
    char letter = (size_t)event->type < sizeof letters ? letters[event->type] : '?';

    if (event->type == HUTCH_EVENT_LIMIT_WARNING)
        return; /* whether the time limit comes near before it is there is chance */
    if (event->type == HUTCH_EVENT_RUN_OUTPUT)
        seen->output += event->data_len;
    if (len + 1 < sizeof seen->order && !(letter == 'o' && len && seen->order[len - 1] == 'o'))
        seen->order[len] = letter;
}

static void events_come_in_order(void)
{
    struct seen seen = {0};

    step_to_end(start_run(NULL, PAYLOAD("spam", "100000"), note_order, &seen), HUTCH_EXITED);
    CHECK_TEXT("SRoEX", seen.order); /* sandbox, run, output, its end, the sandbox's */
    CHECK_INT(100000, (long long)seen.output);
    memset(&seen, 0, sizeof seen);
    step_to_end(start_run(LIST("--timeout", "100ms"), PAYLOAD("stop-self"), note_order, &seen),
                HUTCH_TIMEOUT);
    CHECK_TEXT("SRoTEX", seen.order);
}

/* Nobody reads the output, so the run cannot be over; its command has ended in time all the same. */
static void slow_receiver_does_not_stop_the_clock(void)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_policy *policy = drive_policy(LIST("--timeout", "200ms"));
    struct hutch_run *run;
    struct seen seen = {0};
    int ends[2];

    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    command.argv = PAYLOAD("spam", "10000000");
    command.stdout_fd = ends[1];
    REQUIRE(hutch_run_start(policy, &command, note_order, &seen, &run, NULL) == 0);
    close(ends[1]);
    hutch_policy_free(policy);
    while (!strchr(seen.order, 'T'))
        REQUIRE(hutch_run_step(run, -1, NULL) == 0);
    close(ends[0]);
    step_to_end(run, HUTCH_TIMEOUT);
}

static void two_runs_in_one_thread(void)
{
    struct seen seen[2] = {{{0}, 0}, {{0}, 0}};
    struct hutch_run *runs[2];
    bool over[2] = {false, false};

    for (int i = 0; i < 2; i++)
        runs[i] = start_run(NULL, PAYLOAD("spam", "3000000"), note_order, &seen[i]);
    while (!over[0] || !over[1]) {
        struct pollfd fds[2];
        for (int i = 0; i < 2; i++)
            fds[i] = (struct pollfd){.fd = over[i] ? -1 : hutch_run_fd(runs[i]), .events = POLLIN};
        REQUIRE(poll(fds, 2, -1) > 0);
        for (int i = 0; i < 2; i++)
            if (fds[i].revents) {
                int r = hutch_run_step(runs[i], 0, NULL);
                REQUIRE(r >= 0);
                over[i] = r == 1;
            }
    }
    for (int i = 0; i < 2; i++) {
        CHECK_INT(3000000, (long long)seen[i].output);
        hutch_run_free(runs[i]);
    }
}

/* Threads may not use what tests share, so this counts by itself. */
static void *run_many(void *arg)
{
    int *good = arg;

    for (int i = 0; i < 25; i++) {
        struct hutch_policy *policy;
        struct hutch_result *result;
        struct hutch_command command = HUTCH_COMMAND_INIT;
        command.argv = PAYLOAD("spam", "100000");
        if (hutch_policy_new(NULL, &policy, NULL) < 0)
            return NULL;
        if (hutch_run(policy, &command, &result, NULL) == 0) {
            *good += result->exit_code == 0 && result->stdout_len == 100000;
            hutch_result_free(result);
        }
        hutch_policy_free(policy);
    }
    return NULL;
}

static void runs_in_many_threads(void)
{
    pthread_t threads[4];
    int good[4] = {0};

    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run_many, &good[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        CHECK_INT(25, good[i]);
}

static void *run_and_leave(void *arg)
{
    *(struct hutch_run **)arg = start_run(NULL, PAYLOAD("on-signal", "15"), NULL, NULL);
    return NULL;
}

/* The engine is a process, not the thread that happened to start a run. */
static void run_outlives_the_thread_that_started_it(void)
{
    pthread_t thread;
    struct hutch_run *run = NULL;

    REQUIRE(pthread_create(&thread, NULL, run_and_leave, &run) == 0);
    pthread_join(thread, NULL);
    CHECK(hutch_run_step(run, 100, NULL) == 0);
    CHECK(hutch_run_cancel(run, NULL) == 0);
    step_to_end(run, HUTCH_CANCELLED);
}

static void terminal_inside(void)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = PAYLOAD("tty", ",", "session");
    command.tty = true;
    command.rows = 33;
    command.cols = 101;
    const struct hutch_result *result = drive_command(NULL, &command);
    CHECK_HAS(result->stdout_data, "isatty 0 yes\r\nisatty 1 yes\r\nisatty 2 yes\r\n");
    CHECK_HAS(result->stdout_data, "ttyname /dev/pts/0\r\n");
    CHECK_HAS(result->stdout_data, "size 33 101\r\n");
    CHECK_HAS(result->stdout_data, "session own\r\ngroup own\r\nterminal yes\r\n");
    command.tty = false;
    CHECK_HAS(drive_command(NULL, &command)->stdout_data,
              "isatty 0 no\nisatty 1 no\nisatty 2 no\n");
}

int main(void)
{
    static const struct box_test tests[] = {
        {"exit statuses", exit_statuses},
        {"signals end it", signals_end_it},
        {"failures of a single process", failures_of_a_single_process},
        {"what cannot be executed", what_cannot_be_executed},
        {"scripts run", scripts_run},
        {"commands are found in the path", commands_are_found_in_the_path},
        {"working directory", working_directory},
        {"input is empty without one", input_is_empty_without_one},
        {"much input arrives whole", much_input_arrives_whole},
        {"input may be a file", input_may_be_a_file},
        {"unread input does not hold it up", unread_input_does_not_hold_it_up},
        {"both streams are kept apart", both_streams_are_kept_apart},
        {"any bytes get through", any_bytes_get_through},
        {"captured output is cut in the middle", captured_output_is_cut_in_the_middle},
        {"much output passes through", much_output_passes_through},
        {"receiver that goes away", receiver_that_goes_away},
        {"slow receiver does not stop the clock", slow_receiver_does_not_stop_the_clock},
        {"time limit asks first", time_limit_asks_first},
        {"time limit wakes what is stopped", time_limit_wakes_what_is_stopped},
        {"time limit insists", time_limit_insists},
        {"time limit takes daemons too", time_limit_takes_daemons_too},
        {"time limit catches what always forks", time_limit_catches_what_always_forks},
        {"daemons end with the command", daemons_end_with_the_command},
        {"time is measured", time_is_measured},
        {"long arguments and environment", long_arguments_and_environment},
        {"too long an argument is said", too_long_an_argument_is_said},
        {"cancelling ends everything", cancelling_ends_everything},
        {"cancelling at once", cancelling_at_once},
        {"freeing ends everything", freeing_ends_everything},
        {"signals reach the command", signals_reach_the_command},
        {"events come in order", events_come_in_order},
        {"two runs in one thread", two_runs_in_one_thread},
        {"runs in many threads", runs_in_many_threads},
        {"run outlives the thread that started it", run_outlives_the_thread_that_started_it},
        {"terminal inside", terminal_inside},
        {NULL, NULL},
    };

    return box_main(tests);
}
