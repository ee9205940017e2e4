/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races: somebody exchanges directories for symbolic links to a canary while sandboxes are set up
 * there and while they end; and the engine is killed at any moment.
 *
 * The canary is a directory that no sandbox may change or read. That it was not even opened is seen
 * with inotify, which does not count what hutch itself does: look at it by O_PATH.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../box/drive.h"
#include "../box/harness.h"

#define ROUNDS_MS 1200 /* of each race */
#define ROUNDS_MAX_MS 12000
#define FLIPS_MIN 20000 /* seven races: more than a hundred thousand */
#define KILLS 1000
#define MEASURE_EVERY 16 /* rounds */
#define SECRET "CANARY"

/* ---- The canary ---- */

static int canary_make(void)
{
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    box_dir("out/canary");
    box_file("out/canary/token", SECRET);
    box_file("out/canary/missing", SECRET);
    REQUIRE(watch >= 0);
    /* Of the directory itself and of everything in it. */
    REQUIRE(inotify_add_watch(watch, box_text("%s/canary", box.out), IN_ALL_EVENTS) >= 0);
    return watch;
}

/* That nothing was added or removed the frame sees. */
static void canary_check(int watch)
{
    union {
        struct inotify_event event;
        char bytes[4096];
    } buffer;
    ssize_t len = read(watch, &buffer, sizeof buffer);

    if (len > 0)
        box_check(false, __FILE__, __LINE__, "the canary was touched: event %x on '%s'",
                  buffer.event.mask, buffer.event.len ? buffer.event.name : "");
    close(watch);
    CHECK_TEXT(SECRET, box_read(box_text("%s/canary/token", box.out)));
    CHECK_TEXT(SECRET, box_read(box_text("%s/canary/missing", box.out)));
}

/* ---- Flipping ---- */

struct flipper {
    pid_t pid;
    volatile unsigned long *count;
};

/* Directory `paths[i]` and a link of the same name with ".link" to the canary. */
static void make_pair(const char *path)
{
    mkdir(path, 0755);
    chmod(path, 0777);
    if (symlink(box_text("%s/canary", box.out), box_text("%s.link", path)) < 0)
        REQUIRE(errno == EEXIST);
}

static _Noreturn void flip_for_ever(const char *const *paths, volatile unsigned long *count)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        for (const char *const *path = paths; *path; path++) {
            char link[4096];
            snprintf(link, sizeof link, "%s.link", *path);
            if (renameat2(AT_FDCWD, *path, AT_FDCWD, link, RENAME_EXCHANGE) == 0)
                ++*count;
            else if (errno == ENOENT) /* undone by a sandbox that found a link in its way */
                make_pair(*path);
        }
}

static struct flipper flip_start(const char *const *paths)
{
    struct flipper flipper = {.count = mmap(NULL, sizeof *flipper.count, PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

    REQUIRE(flipper.count != MAP_FAILED);
    for (const char *const *path = paths; *path; path++)
        make_pair(*path);
    fflush(stdout);
    flipper.pid = fork();
    REQUIRE(flipper.pid >= 0);
    if (flipper.pid == 0)
        flip_for_ever(paths, flipper.count);
    return flipper;
}

static void flip_stop(struct flipper *flipper)
{
    kill(flipper->pid, SIGKILL);
    drive_wait(flipper->pid, NULL);
    munmap((void *)flipper->count, sizeof *flipper->count);
}

/* ---- Runs while it flips ---- */

struct tally {
    unsigned worked;
    unsigned refused;
};

/* One run in this process: it works, or is refused with a reason. */
static void run_once(const char *const *flags, const char *const *argv, struct tally *tally)
{
    struct hutch_policy *policy = drive_policy(flags);
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result;
    struct hutch_error err;

    command.argv = argv;
    if (hutch_run(policy, &command, &result, &err) < 0) {
        tally->refused++;
        box_check(err.code != HUTCH_EINTERNAL && err.msg[0] && err.where[0], __FILE__, __LINE__,
                  "refused with code %d at '%s': '%s'", err.code, err.where, err.msg);
    } else {
        tally->worked++;
        CHECK_LACKS(result->stdout_data, SECRET);
        hutch_result_free(result);
    }
    hutch_policy_free(policy);
}

/* With many links to flip hardly a run in a hundred works: the race goes on until one has. */
static bool is_over(double start, unsigned long flips, const struct tally *tally)
{
    bool enough = flips >= FLIPS_MIN && tally->worked > 0;

    return box_now_ms() - start >= (enough ? ROUNDS_MS : ROUNDS_MAX_MS);
}

/* Run a script over and over while the pairs are flipped. */
static void race(const char *const *paths, const char *const *flags, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    int watch = canary_make();
    struct flipper flipper = flip_start(paths);
    struct tally tally = {0};
    double start = box_now_ms();

    while (!is_over(start, *flipper.count, &tally))
        run_once(flags, argv, &tally);
    printf("# %lu flips, %u runs worked, %u were refused\n", *flipper.count, tally.worked,
           tally.refused);
    CHECK(*flipper.count >= FLIPS_MIN);
    CHECK(tally.worked > 0);
    flip_stop(&flipper);
    canary_check(watch);
}

static char *in_out(const char *name)
{
    return box_text("%s/%s", box.out, name);
}

/* The same directory is granted and, when it is the canary, hidden: hidden wins. */
static void test_read(void)
{
    const char *path = in_out("grant/flip");

    box_dir("out/grant");
    box_expect_any("out/grant");
    race(LIST(path), LIST("--layout", "minimal", "--read", path, "--hide", in_out("canary")),
         box_text("cat %s/token %s/canary/token 2>/dev/null; true", path, box.out));
}

static void test_write(void)
{
    const char *path = in_out("grant/flip");

    box_dir("out/grant");
    box_expect_any("out/grant");
    race(LIST(path), LIST("--write", path, "--hide", in_out("canary")),
         box_text("echo x >%s/mark; echo x >>%s/canary/token; rm -f %s/mark; true", path, box.out,
                  path));
}

static void test_hide(void)
{
    const char *path = box_text("%s/sub/flip", box.work);

    box_dir("work/sub");
    box_expect_any("work/sub");
    race(LIST(path), LIST("--hide", path), "echo x >sub/flip/token; rm -f sub/flip/token; true");
}

static void test_protect(void)
{
    const char *path = box_text("%s/sub/flip", box.work);

    box_dir("work/sub");
    box_expect_any("work/sub");
    race(LIST(path), LIST("--protect", path), "echo x >sub/flip/token; rm -f sub/flip/token; true");
}

/* What must not come to be is undone; "missing" exists where the link leads to. */
static void test_protect_missing(void)
{
    const char *path = box_text("%s/sub/flip", box.work);

    box_dir("work/sub");
    box_expect_any("work/sub");
    race(LIST(path), LIST("--protect", box_text("%s/missing", path)),
         "mkdir sub/flip/missing; echo x >sub/flip/missing; true");
}

/* The one layout for which directories are made on the host. */
static void test_mount_points(void)
{
    const char *const names[] = {"usr", "etc", "proc", "dev", "tmp"};
    const char *paths[sizeof names / sizeof *names + 1] = {NULL};

    box_dir("out/root");
    box_expect_any("out/root");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        paths[i] = box_text("%s/root/%s", box.out, names[i]);
    race(paths, LIST("--layout", "root", "--workspace", in_out("root")), "true");
}

/* A workspace that is replaced: what was looked at is what is used, or nothing. */
static void test_workspace(void)
{
    const char *path = in_out("grant/flip");

    box_dir("out/grant");
    box_expect_any("out/grant");
    race(LIST(path), LIST("--workspace", path, "--hide", in_out("canary")),
         "echo x >mark; rm -f mark; true");
}

/* ---- The command itself flips, and is ended while it does ---- */

static void flip_inside(const char *layout)
{
    const char *root = in_out("root");
    const char *canary = in_out("canary");
    const char *const argv[] = {"./flip", "a", "b", canary, NULL};
    int watch = canary_make();
    struct tally tally = {0};

    box_dir("out/root");
    box_expect_any("out/root");
    REQUIRE(drive_shell(box_text("cp %s %s/flip", box.payload, root)) == 0);
    for (double start = box_now_ms(); box_now_ms() - start < ROUNDS_MS;)
        run_once(LIST("--layout", layout, "--workspace", root, "--protect",
                      box_text("%s/a/missing", root), "--timeout", "20ms"),
                 argv, &tally);
    printf("# %u runs worked, %u were refused\n", tally.worked, tally.refused);
    CHECK(tally.worked > 0);
    canary_check(watch);
}

static void test_inside_root(void)
{
    flip_inside("root");
}

static void test_inside_host(void)
{
    flip_inside("host");
}

/* ---- Killing the engine ---- */

static pid_t spawn_hutch(const char *const *args)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    REQUIRE(posix_spawn(&pid, box.hutch, &actions, NULL, (char *const *)args, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static unsigned seed_of_now(void)
{
    const char *text = getenv("RACE_SEED"); /* to repeat a failure as far as it can be */
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return text ? (unsigned)strtoul(text, NULL, 10) : (unsigned)ts.tv_nsec;
}

/* Busy: a timer is too coarse for microseconds. */
static void wait_ms(double ms)
{
    for (double end = box_now_ms() + ms; box_now_ms() < end;)
        ;
}

/*
 * How long a run takes from start to end under what the rounds put on the machine: beside somebody who is busy, and after
 * one that was killed. On a quiet machine it takes half of that, and its end would never be hit.
 */
static double measure(const char *const *args)
{
    double start = box_now_ms();
    pid_t pid = spawn_hutch(args);
    int status = -1;

    while (waitpid(pid, &status, WNOHANG) == 0)
        ;
    double length = box_now_ms() - start;
    CHECK_INT(0, status);
    REQUIRE(box_reap_all());
    return length;
}

static void kill_rounds(const char *const *args, unsigned rounds)
{
    unsigned seed = seed_of_now();
    double length = measure(args);
    unsigned early = 0;

    for (unsigned i = 0; i < rounds; i++) {
        if (i % MEASURE_EVERY == 0)
            length = (length + measure(args)) / 2;
        pid_t pid = spawn_hutch(args);
        wait_ms(length * 1.2 * rand_r(&seed) / RAND_MAX);
        kill(pid, SIGKILL);
        early += drive_wait(pid, NULL) == 128 + SIGKILL;
        /* Whatever it had started is ours now, and must end without anybody's help. */
        if (!box_reap_all())
            box_fatal(__FILE__, __LINE__, "something lives on after kill %u", i);
    }
    printf("# seed %u, a run takes %.1f ms, %u of %u were killed before their end\n", seed, length,
           early, rounds);
    /* All of a run is hit: most kills come before its end, and some after. */
    CHECK(early > rounds / 3);
    CHECK(rounds - early > rounds / 50);
}

static void test_kill(void)
{
    kill_rounds(LIST("hutch", "run", "--read", in_out(""), "--hide", box.home, "--", "sh", "-c",
                     "true & true"),
                KILLS * 3 / 4);
}

static void test_kill_root_layout(void)
{
    box_dir("out/root");
    box_expect_any("out/root");
    kill_rounds(LIST("hutch", "run", "--layout", "root", "--workspace", in_out("root"), "--tty",
                     "--", "sh", "-c", "true & true"),
                KILLS / 4);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"a path to read is replaced by a link", test_read},
        {"a path to write is replaced by a link", test_write},
        {"a hidden path is replaced by a link", test_hide},
        {"a protected path is replaced by a link", test_protect},
        {"a directory above a missing protected path is replaced by a link", test_protect_missing},
        {"mount points in the workspace are replaced by links", test_mount_points},
        {"the workspace is replaced by a link", test_workspace},
        {"the command flips links in its root while it is ended", test_inside_root},
        {"the command flips links in its workspace while it is ended", test_inside_host},
        {"the engine is killed at any moment", test_kill},
        {"the engine is killed at any moment, root layout and terminal", test_kill_root_layout},
        {NULL, NULL},
    };

    return box_main(tests);
}
