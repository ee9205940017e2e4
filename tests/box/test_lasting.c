/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that last: several commands in one, one after the other and at once. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "drive.h"

#define SLACK_MS 3000.0
#define SH(script) LIST("sh", "-c", script)

static struct hutch_error err;

/* Exit status and output must be these. */
static void check_exec(struct hutch_sandbox *sandbox, const char *script, int code,
                       const char *output)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = SH(script);
    struct hutch_result *result = drive_exec(sandbox, &command);
    CHECK_INT(code, result->exit_code);
    CHECK_TEXT(output, result->stdout_data);
    hutch_result_free(result);
}

static struct hutch_run *start(struct hutch_sandbox *sandbox, const char *const *argv, bool input)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_run *run = NULL;

    command.argv = argv;
    command.stdin_open = input;
    REQUIRE(hutch_sandbox_start(sandbox, &command, NULL, NULL, &run, &err) == 0);
    return run;
}

static struct hutch_result *finish(struct hutch_run *run)
{
    struct hutch_result *result = NULL;

    int r = hutch_run_finish(run, &result, &err);
    box_check(r == 0, __FILE__, __LINE__, "finish: %s", r < 0 ? err.msg : "");
    REQUIRE(r == 0);
    hutch_run_free(run);
    return result;
}

static void feed(struct hutch_run *run, const char *text)
{
    size_t len = strlen(text);

    for (size_t done = 0; done < len;) {
        int r = hutch_run_write(run, text + done, len - done, &err);
        REQUIRE(r >= 0);
        done += (size_t)r;
        if (done < len)
            REQUIRE(hutch_run_step(run, -1, &err) == 0);
    }
}

/* ---- One after the other ---- */

static const char *const layouts[] = {"host", "minimal", "root"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static void what_stays(void)
{
    for (size_t i = 0; i < LAYOUTS; i++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("--layout", layouts[i]));
        check_exec(sandbox, "echo one > /tmp/file; echo two > here", 0, "");
        check_exec(sandbox, "cat /tmp/file here; rm here; exit 3", 3, "one\ntwo\n");
        check_exec(sandbox, "cat /tmp/file; test -e here", 1, "one\n");
        hutch_sandbox_close(sandbox);
    }
    drive_expect_mount_points();
}

static void in_memory(void)
{
    for (size_t i = 0; i < LAYOUTS; i++) {
        struct hutch_sandbox *sandbox = drive_open(
            LIST("--workspace", "tmpfs", "--layout", layouts[i]));
        check_exec(sandbox, "echo kept > file", 0, "");
        check_exec(sandbox, "cat file", 0, "kept\n");
        hutch_sandbox_close(sandbox);
    }
}

static void each_has_its_own(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = SH("pwd; echo $ADDED $LANG");
    command.cwd = "/tmp";
    command.env = LIST("ADDED=yes", "LANG=other", "ADDED=last");
    struct hutch_result *result = drive_exec(sandbox, &command);
    CHECK_TEXT("/tmp\nlast other\n", result->stdout_data);
    hutch_result_free(result);
    check_exec(sandbox, "echo ${ADDED-none}", 0, "none\n");

    command.env = LIST("nothing");
    CHECK_INT(HUTCH_EINVALID, hutch_sandbox_exec(sandbox, &command, &result, &err));
    command.env = NULL;
    command.argv = LIST("no-such-command");
    result = drive_exec(sandbox, &command);
    CHECK_INT(127, result->exit_code);
    CHECK_HAS(result->error.msg, "no-such-command");
    hutch_result_free(result);
    check_exec(sandbox, "echo fine", 0, "fine\n");
    hutch_sandbox_close(sandbox);
}

/* The first command's process is there before init has seen to itself; later ones come after. */
static void all_begin_alike(void)
{
    static const char *const nets[] = {"none", "host"};
    static const char expected[] = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                                   "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
                                   "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
                                   "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";
    const int ignored[] = {SIGPIPE, SIGCHLD, SIGTTOU, SIGRTMAX};
    struct hutch_command command = HUTCH_COMMAND_INIT;
    sigset_t blocked;

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    command.argv = LIST("grep", "-E", "^(Sig(Blk|Ign)|Cap|NoNewPrivs)", "/proc/self/status");
    for (size_t i = 0; i < 2; i++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("--net", nets[i]));

        for (int n = 0; n < 3; n++) {
            struct hutch_result *result = drive_exec(sandbox, &command);
            CHECK_TEXT(expected, result->stdout_data);
            hutch_result_free(result);
        }
        hutch_sandbox_close(sandbox);

        struct hutch_policy *policy = drive_policy(LIST("--net", nets[i]));
        struct hutch_result *result = NULL;
        REQUIRE(hutch_run(policy, &command, &result, &err) == 0);
        CHECK_TEXT(expected, result->stdout_data);
        hutch_result_free(result);
        hutch_policy_free(policy);
    }
}

/* ---- What commands leave behind ---- */

static void left_behind(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    double begin = box_now_ms();

    check_exec(sandbox, "sleep 1000 & echo $! > /tmp/pid; echo started", 0, "started\n");
    CHECK(box_now_ms() - begin < SLACK_MS);
    check_exec(sandbox, "kill -0 $(cat /tmp/pid) && echo lives", 0, "lives\n");
    check_exec(sandbox, "kill $(cat /tmp/pid) && echo killed", 0, "killed\n");
    check_exec(sandbox, "while kill -0 $(cat /tmp/pid) 2>&-; do :; done; echo gone", 0, "gone\n");
    check_exec(sandbox, "sleep 1000 & sleep 1000 &", 0, "");
    hutch_sandbox_close(sandbox); /* the frame sees whether anything is left */
}

/* Also that one of init's which waits for the next command. */
static void all_killed(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);

    check_exec(sandbox, "sleep 1000 & echo fine", 0, "fine\n");
    for (int i = 0; i < 5; i++)
        check_exec(sandbox, "kill -9 -1; echo alone", 0, "alone\n");
    check_exec(sandbox, "ls /proc | grep -c '^[0-9]*$' > /dev/null; echo $?", 0, "0\n");
    hutch_sandbox_close(sandbox);
}

/* Links of /proc lead to descriptors of whoever looks: a command has its streams, and none of init's. */
static void no_way_through_descriptors(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;

    check_exec(sandbox, ":", 0, "");
    command.argv = SH("pwd; ls");
    for (int fd = 0; fd < 32; fd++) {
        command.cwd = box_text("/proc/self/fd/%d", fd);
        CHECK(hutch_sandbox_exec(sandbox, &command, &result, &err) < 0);
        command.cwd = box_text("/proc/1/fd/%d", fd);
        CHECK(hutch_sandbox_exec(sandbox, &command, &result, &err) < 0);
    }
    command.cwd = "/proc/1/root";
    CHECK(hutch_sandbox_exec(sandbox, &command, &result, &err) < 0);
    hutch_sandbox_close(sandbox);
}

/* ---- At once ---- */

static void at_once(void)
{
    enum { COUNT = 8 };
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *runs[COUNT];
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;

    for (int i = 0; i < COUNT; i++) {
        runs[i] = start(sandbox, LIST("cat"), true);
        CHECK_INT(i + 1, hutch_run_id(runs[i]));
    }
    REQUIRE(hutch_sandbox_info(sandbox, &info, &err) == 0);
    CHECK_INT(COUNT, (long long)info.run_count);
    for (int i = 0; i < COUNT; i++)
        feed(runs[i], box_text("number %d", i));
    /* The first to be closed is the last to be looked at: others' steps take what is for it. */
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(0, hutch_run_close_stdin(runs[i], &err));
    for (int i = COUNT; i-- > 0;) {
        struct hutch_result *result = finish(runs[i]);
        CHECK_TEXT(box_text("number %d", i), result->stdout_data);
        hutch_result_free(result);
    }
    hutch_sandbox_close(sandbox);
}

/* A program with its own loop waits for all descriptors; none of them may stay silent. */
static void own_loop(void)
{
    enum { COUNT = 4 };
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *runs[COUNT];
    struct pollfd fds[COUNT];
    int left = COUNT;

    for (int i = 0; i < COUNT; i++) {
        runs[i] = start(sandbox, SH("echo done"), false);
        fds[i] = (struct pollfd){.fd = hutch_run_fd(runs[i]), .events = POLLIN};
    }
    while (left > 0) {
        REQUIRE(poll(fds, COUNT, (int)SLACK_MS) > 0);
        for (int i = COUNT; i-- > 0;) {
            if (!fds[i].revents || fds[i].fd < 0)
                continue;
            int r = hutch_run_step(runs[i], 0, &err);
            REQUIRE(r >= 0);
            if (r == 0)
                continue;
            fds[i].fd = -1;
            left--;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        struct hutch_result *result = finish(runs[i]);
        CHECK_TEXT("done\n", result->stdout_data);
        hutch_result_free(result);
    }
    hutch_sandbox_close(sandbox);
}

/* What a run waits with is the next one's, unless the caller has it in a set of its own. */
static void loops_do_not_meet(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct epoll_event event = {.events = EPOLLIN};
    int mine = epoll_create1(EPOLL_CLOEXEC);

    check_exec(sandbox, "echo first", 0, "first\n");
    for (int i = 0; i < 2; i++) {
        struct hutch_run *run = start(sandbox, SH("echo seen"), false);
        REQUIRE(epoll_ctl(mine, EPOLL_CTL_ADD, hutch_run_fd(run), &event) == 0);
        hutch_result_free(finish(run));
        check_exec(sandbox, "echo between", 0, "between\n");
        CHECK_INT(0, epoll_wait(mine, &event, 1, 0));
    }
    close(mine);
    hutch_sandbox_close(sandbox);
}

/*
 * The first was alone when it began, and nobody steps it while the other takes what is for it. Its streams
 * stay open, and say nothing.
 */
static void a_late_second(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *first = start(sandbox, SH("sleep 1000 & echo $$ > /tmp/pid; exec cat"), true);
    struct pollfd ready = {.fd = hutch_run_fd(first), .events = POLLIN};
    struct hutch_run *second = start(
        sandbox, SH("until [ -s /tmp/pid ]; do :; done; kill -9 $(cat /tmp/pid); echo second"),
        false);
    struct hutch_result *result = finish(second);
    CHECK_TEXT("second\n", result->stdout_data);
    hutch_result_free(result);
    do
        REQUIRE(poll(&ready, 1, (int)SLACK_MS) == 1);
    while (hutch_run_step(first, 0, &err) == 0);
    result = finish(first);
    CHECK_INT(SIGKILL, result->signal);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);
}

static void much_input(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *run = start(sandbox, LIST("wc", "-c"), true);
    static char text[(4 << 20) + 1];

    memset(text, 'x', sizeof text - 1);
    feed(run, text);
    REQUIRE(hutch_run_close_stdin(run, &err) == 0);
    struct hutch_result *result = finish(run);
    CHECK_INT(4 << 20, strtol(result->stdout_data, NULL, 10));
    hutch_result_free(result);

    run = start(sandbox, LIST("true"), true); /* reads nothing */
    result = NULL;
    while (hutch_run_step(run, -1, &err) == 0)
        ;
    CHECK(hutch_run_write(run, "late", 4, &err) < 0);
    hutch_run_free(run);
    hutch_sandbox_close(sandbox);
}

/* ---- Ends ---- */

static void deadline_is_the_runs_own(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *other = start(sandbox, LIST("cat"), true);
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = SH("trap '' TERM; sleep 1000 & sleep 1000 & echo $$ $! > /tmp/pids; wait; wait");
    command.timeout_ms = 100;
    struct hutch_result *result = drive_exec(sandbox, &command);
    CHECK_INT(HUTCH_TIMEOUT, result->reason);
    hutch_result_free(result);
    check_exec(sandbox,
               "for p in $(cat /tmp/pids); do kill -0 $p 2>&- && echo $p lives; done; :", 0, "");
    feed(other, "lives");
    REQUIRE(hutch_run_close_stdin(other, &err) == 0);
    result = finish(other);
    CHECK_TEXT("lives", result->stdout_data);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);
}

static void cancelled(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *run = start(sandbox, SH("sleep 1000 & sleep 1000"), false);
    struct hutch_run *freed = start(sandbox, SH("sleep 1000; :"), false);

    REQUIRE(hutch_run_cancel(run, &err) == 0);
    REQUIRE(hutch_run_cancel(run, &err) == 0); /* more often is not more */
    struct hutch_result *result = finish(run);
    CHECK_INT(HUTCH_CANCELLED, result->reason);
    hutch_result_free(result);
    hutch_run_free(freed);
    struct hutch_run *over = start(sandbox, LIST("true"), false);
    while (hutch_run_step(over, -1, &err) == 0)
        ;
    REQUIRE(hutch_run_cancel(over, &err) == 0);
    hutch_run_free(over);
    check_exec(sandbox, "while pgrep sleep; do :; done >&-; echo none", 0, "none\n");
    hutch_sandbox_close(sandbox);
}

static void closed_under_a_run(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *run = start(sandbox, LIST("sleep", "1000"), false);

    hutch_sandbox_close(sandbox);
    CHECK_INT(HUTCH_ESTATE, hutch_run_step(run, 0, &err));
    CHECK_INT(HUTCH_ESTATE, hutch_run_signal(run, SIGTERM, &err));
    hutch_run_free(run);
}

static void gone_under_a_run(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *run = start(sandbox, LIST("sleep", "1000"), false);
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;

    pid_t init = box_child(getpid(), "hutch-init");
    REQUIRE(init > 0 && kill(init, SIGKILL) == 0);
    CHECK(hutch_run_finish(run, &result, &err) < 0 && !result);
    command.argv = LIST("true");
    CHECK(hutch_sandbox_exec(sandbox, &command, &result, &err) < 0);
    REQUIRE(hutch_sandbox_info(sandbox, &info, &err) == 0);
    CHECK(info.gone);
    hutch_run_free(run);
    hutch_sandbox_close(sandbox);
}

/* ---- Events, and many ---- */

struct seen {
    int started, stopped, runs, exited;
};

static void on_event(void *arg, const struct hutch_event *event)
{
    struct seen *seen = arg;

    seen->started += event->type == HUTCH_EVENT_SANDBOX_STARTED;
    seen->stopped += event->type == HUTCH_EVENT_SANDBOX_STOPPED;
    seen->runs += event->type == HUTCH_EVENT_RUN_STARTED && event->run > 0;
    seen->exited += event->type == HUTCH_EVENT_RUN_EXITED && event->result->exit_code == 0;
}

static void events(void)
{
    struct seen seen = {0};
    struct hutch_sandbox *sandbox = drive_open_told(NULL, on_event, &seen);

    CHECK_INT(1, seen.started);
    check_exec(sandbox, ":", 0, "");
    check_exec(sandbox, ":", 0, "");
    hutch_sandbox_close(sandbox);
    CHECK_INT(1, seen.started);
    CHECK_INT(2, seen.runs);
    CHECK_INT(2, seen.exited);
    CHECK_INT(1, seen.stopped);
}

static void many(void)
{
    enum { COUNT = 30 };
    struct hutch_sandbox *sandboxes[COUNT];

    for (int i = 0; i < COUNT; i++)
        sandboxes[i] = drive_open(NULL);
    for (int i = 0; i < COUNT; i++)
        check_exec(sandboxes[i], box_text("echo %d", i), 0, box_text("%d\n", i));
    for (int i = 0; i < COUNT; i++)
        hutch_sandbox_close(sandboxes[i]);
}

static void arguments(void)
{
    struct hutch_sandbox_info info = {0};
    struct hutch_sandbox *sandbox = drive_open(NULL);

    CHECK_INT(HUTCH_EINVALID, hutch_sandbox_open(NULL, NULL, NULL, &sandbox, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_sandbox_info(sandbox, &info, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_sandbox_info(NULL, &info, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_sandbox_exec(sandbox, NULL, NULL, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_run_write(NULL, "", 0, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_run_close_stdin(NULL, &err));
    hutch_sandbox_close(sandbox);
    hutch_sandbox_close(NULL);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"what a command writes stays", what_stays},
        {"a workspace in memory stays", in_memory},
        {"directory, variables and failures are each command's own", each_has_its_own},
        {"the first command begins as later ones do", all_begin_alike},
        {"processes left behind live on, and can be killed", left_behind},
        {"a command kills all that it can", all_killed},
        {"no way through descriptors", no_way_through_descriptors},
        {"several at once", at_once},
        {"several in the caller's own loop", own_loop},
        {"what one run waits with, and the caller's set", loops_do_not_meet},
        {"a second run while the first is not looked at", a_late_second},
        {"input as long as it likes", much_input},
        {"deadline is the run's own", deadline_is_the_runs_own},
        {"cancelling one run", cancelled},
        {"closing under a run", closed_under_a_run},
        {"sandbox that ends under a run", gone_under_a_run},
        {"events", events},
        {"many sandboxes", many},
        {"bad arguments", arguments},
        {NULL, NULL},
    };

    return box_main(tests);
}
