/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of one sandbox that lasts, among each other: what one did is not told of another, or charged to it. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drive.h"

#define SH(script) LIST("sh", "-c", script)

static struct hutch_error err;

static struct hutch_result *exec_script(struct hutch_sandbox *sandbox, const char *script)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = SH(script);
    return drive_exec(sandbox, &command);
}

static void check_reason(struct hutch_sandbox *sandbox, const char *script,
                         enum hutch_reason reason)
{
    struct hutch_result *result = exec_script(sandbox, script);

    CHECK_INT(reason, result->reason);
    hutch_result_free(result);
}

/* A run that does nothing until finish() closes its input, and then this. */
static struct hutch_run *start_waiting_to(struct hutch_sandbox *sandbox, const char *script)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_run *run = NULL;

    command.argv = LIST("sh", "-c", "cat; eval \"$1\"", "sh", script);
    command.stdin_open = true;
    REQUIRE(hutch_sandbox_start(sandbox, &command, NULL, NULL, &run, &err) == 0);
    return run;
}

static struct hutch_run *start_waiting(struct hutch_sandbox *sandbox)
{
    return start_waiting_to(sandbox, ":");
}

static struct hutch_result *finish(struct hutch_run *run)
{
    struct hutch_result *result = NULL;

    REQUIRE(hutch_run_close_stdin(run, &err) == 0);
    REQUIRE(hutch_run_finish(run, &result, &err) == 0);
    hutch_run_free(run);
    return result;
}

/* ---- Limits ---- */

static void memory(void)
{
    struct hutch_sandbox *sandbox = drive_open(LIST("--memory", "64M"));
    const uint64_t bound = UINT64_C(48) << 20;

    check_reason(sandbox, "head -c 200M /dev/zero | tail -c 200M | wc -c", HUTCH_MEMORY);
    check_reason(sandbox, "exit 3", HUTCH_EXITED);
    struct hutch_result *result = exec_script(sandbox, ":");
    CHECK_INT(HUTCH_EXITED, result->reason);
    CHECK(result->peak_memory_bytes < bound);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);
}

/* AddressSanitizer lets nobody take away what it watches over. */
#if defined(__SANITIZE_ADDRESS__)
#define LETS_GO false
#elif defined(__has_feature)
#define LETS_GO (!__has_feature(address_sanitizer))
#else
#define LETS_GO true
#endif

/* KiB that init has in memory. */
static long init_size(void)
{
    pid_t init = box_child(gettid(), "hutch-init"); /* the child of who made it */
    const char *status = box_read(box_text("/proc/%d/status", (int)init));
    const char *line = strstr(status, "VmRSS:");

    return line ? strtol(line + strlen("VmRSS:"), NULL, 10) : LONG_MAX;
}

/*
 * Init, and who waits for the next command, are copies of this process: that is not the command's. And init does not
 * stay one: the kernel kills the largest, and in v2 init is in the group.
 */
static void *be_large(void *arg)
{
    const size_t size = (size_t)96 << 20;
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(data != MAP_FAILED);
    memset(data, 1, size);
    struct hutch_sandbox *sandbox = drive_open(LIST("--memory", "64M"));
    struct hutch_result *small = exec_script(sandbox, "sleep 0.4");
    CHECK_INT(HUTCH_EXITED, small->reason);
    CHECK(small->peak_memory_bytes == HUTCH_UNKNOWN || small->peak_memory_bytes < size / 2);
    hutch_result_free(small);
    CHECK(!LETS_GO || init_size() < 16 << 10);
    check_reason(sandbox, "head -c 100M /dev/zero | tail -c 100M | wc -c", HUTCH_MEMORY);
    check_reason(sandbox, "exit 3", HUTCH_EXITED);
    hutch_sandbox_close(sandbox);
    const struct hutch_result *result = drive_run(LIST("--memory", "64M"), LIST("true"));
    CHECK_INT(HUTCH_EXITED, result->reason);
    munmap(data, size);
    return arg;
}

static void large_caller(void)
{
    be_large(NULL);
}

/* Whose stack and variables lie where other memory does. */
static void large_caller_on_a_thread(void)
{
    pthread_t thread;

    REQUIRE(pthread_create(&thread, NULL, be_large, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void processor_time(void)
{
    struct hutch_sandbox *sandbox = drive_open(LIST("--cpu-time", "1s"));
    struct hutch_run *idle = start_waiting(sandbox);

    struct hutch_result *result = exec_script(sandbox, "while :; do :; done");
    CHECK_INT(HUTCH_CPU_TIME, result->reason);
    CHECK(result->user_ms + result->system_ms > 900);
    hutch_result_free(result);
    result = finish(idle);
    CHECK_INT(HUTCH_EXITED, result->reason);
    CHECK(result->user_ms + result->system_ms < 500);
    hutch_result_free(result);
    /* What lives on after its run is not charged to those that come after it. */
    check_reason(sandbox, "(while :; do :; done) >&- 2>&- &", HUTCH_EXITED);
    check_reason(sandbox, "sleep 1.5", HUTCH_EXITED);
    hutch_sandbox_close(sandbox);
}

static enum hutch_reason reason_of(struct hutch_sandbox *sandbox, const char *script)
{
    struct hutch_result *result = exec_script(sandbox, script);
    enum hutch_reason reason = result->reason;

    hutch_result_free(result);
    return reason;
}

/* Neighbours write to the same file system, and free space: that can hide it, but not every time. */
static void disk(void)
{
    enum hutch_reason first = HUTCH_DISK;
    enum hutch_reason second = HUTCH_EXITED;

    for (int i = 0; i < 5 && (first != HUTCH_EXITED || second != HUTCH_DISK); i++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("--disk", "16M"));
        first = reason_of(sandbox, "head -c 12M /dev/zero > one; sync one");
        second = reason_of(sandbox, "head -c 12M /dev/zero > two; sync two; sleep 1");
        check_reason(sandbox, "rm one two", HUTCH_EXITED);
        hutch_sandbox_close(sandbox);
    }
    CHECK_INT(HUTCH_EXITED, first);
    CHECK_INT(HUTCH_DISK, second);
}

/* A sandbox that is beyond its limit of 16 MiB by what it has in "one" and "two". Others may free as much meanwhile. */
static struct hutch_sandbox *open_beyond(void)
{
    for (int i = 0; i < 5; i++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("--disk", "16M"));
        reason_of(sandbox, "head -c 12M /dev/zero > one; sync one");
        if (reason_of(sandbox, "head -c 12M /dev/zero > two; sync two; sleep 1") == HUTCH_DISK)
            return sandbox;
        reason_of(sandbox, "rm one two");
        hutch_sandbox_close(sandbox);
    }
    box_skip("others free as much on this disk as is written");
}

/*
 * A run that makes room in such a sandbox, while a neighbour on the same file system takes space again that it had
 * freed: what the neighbour takes is not what the run adds.
 */
static void room_is_made(void)
{
    enum { NEIGHBOUR = 32 << 20, LOOKS = 10, LOOK_MS = 30 };
    int neighbour = open("..", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    REQUIRE(neighbour >= 0 && posix_fallocate(neighbour, 0, NEIGHBOUR) == 0);
    struct hutch_sandbox *sandbox = open_beyond();
    REQUIRE(ftruncate(neighbour, 0) == 0);
    hutch_result_free(exec_script(sandbox, ":"));

    struct hutch_run *run = start_waiting_to(sandbox, "rm one two");
    REQUIRE(posix_fallocate(neighbour, 0, NEIGHBOUR) == 0);
    for (int i = 0; i < LOOKS; i++)
        CHECK(hutch_run_step(run, LOOK_MS, &err) == 0);
    struct hutch_result *result = finish(run);
    CHECK_INT(HUTCH_EXITED, result->reason);
    hutch_result_free(result);
    check_reason(sandbox, "head -c 8M /dev/zero > three; sync three; rm three", HUTCH_EXITED);
    close(neighbour);
    hutch_sandbox_close(sandbox);
}

static void processes(void)
{
    struct hutch_sandbox *sandbox = drive_open(LIST("--processes", "8"));

    /* As many as there may be: what that is called depends on who counts. */
    hutch_result_free(exec_script(sandbox, "for i in 1 2 3 4 5 6; do sleep 0.2 & done; sleep 0.3"));
    check_reason(sandbox, "sleep 0.1; exit 3", HUTCH_EXITED);
    hutch_sandbox_close(sandbox);
}

/* ---- Violations ---- */

static void refusals(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_result *result = exec_script(
        sandbox, "i=0; while [ $i -lt 150 ]; do unshare -m true; i=$((i+1)); done 2>&-; :");

    CHECK_INT(150, (int)result->violation_total);
    hutch_result_free(result);
    result = exec_script(sandbox, "unshare -m true; :");
    CHECK_INT(1, (int)result->violation_total);
    REQUIRE(result->violation_count == 1);
    CHECK_TEXT("unshare", result->violations[0].name);
    CHECK_TEXT("unshare", result->violations[0].command);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);
}

static void protected_paths(void)
{
    static const char script[] = "mkdir .vscode; while [ -e .vscode ]; do :; done";
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *other = start_waiting(sandbox);

    struct hutch_result *result = exec_script(sandbox, script);
    REQUIRE(result->violation_count == 1);
    CHECK_TEXT("protect", result->violations[0].kind);
    CHECK(strstr(result->violations[0].detail, "/.vscode") != NULL);
    hutch_result_free(result);
    result = finish(other); /* which run it was, nobody can tell */
    CHECK_INT(1, (int)result->violation_count);
    hutch_result_free(result);
    result = exec_script(sandbox, ":");
    CHECK_INT(0, (int)result->violation_count);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);

    const char *once = drive_cli(LIST("run", "--json", "--", "sh", "-c", script)).out;
    CHECK(strstr(once, "\"violations\":[{\"kind\":\"protect\",\"name\":\"create\"") != NULL);
}

/* ---- Starts and ends ---- */

/* It has a session of its own and a parent that ends when told to, and takes no notice itself. */
static void deaf_child(void)
{
    static const char script[] =
        "setsid sh -c 'trap : TERM; : > /tmp/ready; while :; do sleep 0.1; done' "
        ">&- 2>&- & "
        "while [ ! -e /tmp/ready ]; do :; done; echo ready; sleep 1000";
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;

    command.argv = SH(script);
    command.timeout_ms = 2500; /* a slow machine takes a while to be ready */
    REQUIRE(hutch_sandbox_exec(sandbox, &command, &result, &err) == 0);
    CHECK_INT(HUTCH_TIMEOUT, result->reason);
    CHECK_TEXT("ready\n", result->stdout_data);
    hutch_result_free(result);
    result = exec_script(sandbox, "pgrep -f [r]eady; :");
    CHECK_TEXT("", result->stdout_data);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);
}

static void failed_start(void)
{
    struct hutch_sandbox *sandbox = drive_open(NULL);
    struct hutch_run *other = start_waiting(sandbox);
    struct hutch_command command = HUTCH_COMMAND_INIT;

    command.argv = LIST("true");
    command.cwd = "/nowhere";
    for (int i = 0; i < 20; i++) {
        struct hutch_run *run = NULL;
        struct hutch_result *result = NULL;
        REQUIRE(hutch_sandbox_start(sandbox, &command, NULL, NULL, &run, &err) == 0);
        /* The other run's step hears of it first. */
        REQUIRE(hutch_run_step(other, 20, &err) == 0);
        CHECK(hutch_run_finish(run, &result, &err) < 0);
        CHECK(strstr(err.msg, "cannot enter '/nowhere'") != NULL);
        hutch_run_free(run);
    }
    hutch_result_free(finish(other));
    hutch_sandbox_close(sandbox);
}

/* Each keeps its command's filter, which init has to answer for. */
static void many_left_behind(void)
{
    struct hutch_sandbox *sandbox = drive_open(LIST("--processes", "400"));

    for (int i = 0; i < 80; i++) {
        struct hutch_result *result = exec_script(sandbox, "sleep 1000 >&- 2>&- & echo $!");
        REQUIRE(result->stdout_len > 0);
        hutch_result_free(result);
    }
    struct hutch_run *run = start_waiting(sandbox);
    struct hutch_result *result = NULL;
    REQUIRE(hutch_run_cancel(run, &err) == 0);
    REQUIRE(hutch_run_finish(run, &result, &err) == 0);
    CHECK_INT(HUTCH_CANCELLED, result->reason);
    hutch_result_free(result);
    hutch_run_free(run);
    result = exec_script(sandbox, "pgrep -c sleep"); /* and it is there */
    CHECK_TEXT("80\n", result->stdout_data);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);
}

static void too_many_at_once(void)
{
    struct hutch_sandbox *sandbox = drive_open(LIST("--processes", "400"));
    struct hutch_run *runs[64];
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;

    for (size_t i = 0; i < 64; i++) {
        runs[i] = start_waiting(sandbox);
        REQUIRE(hutch_run_step(runs[i], -1, &err) == 0);
    }
    command.argv = LIST("sh", "-c", ": > ran");
    CHECK_INT(HUTCH_EBUSY, hutch_sandbox_exec(sandbox, &command, &result, &err));
    CHECK(strstr(err.msg, "64 commands run in the sandbox") != NULL);
    for (size_t i = 0; i < 64; i++)
        hutch_result_free(finish(runs[i]));
    result = exec_script(sandbox, "[ -e ran ] || echo not run");
    CHECK_TEXT("not run\n", result->stdout_data);
    hutch_result_free(result);
    hutch_sandbox_close(sandbox);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"memory that another run was killed for", memory},
        {"memory that the caller has", large_caller},
        {"memory that the caller of a thread has", large_caller_on_a_thread},
        {"CPU time that others used", processor_time},
        {"disk is the sandbox's, in all runs together", disk},
        {"room is made in a sandbox beyond its limit", room_is_made},
        {"processes that another run was refused", processes},
        {"refusals are each run's own", refusals},
        {"a protected path is told of", protected_paths},
        {"a start that fails, beside another run", failed_start},
        {"what is deaf ends with its run", deaf_child},
        {"many commands leave processes behind", many_left_behind},
        {"too many at once are refused", too_many_at_once},
        {NULL, NULL},
    };

    return box_main(tests);
}
