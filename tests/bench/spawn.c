/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From posix_spawn() of a command to its end, p50 and p90. All commands take turns, each time in another
 * order, so that whatever else the machine does hits all of them alike; also what the kernel still has
 * to do for the one before. Then how long Landlock and the two filters of every command take to put on.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/filter.h"
#include "sys/clone.h"
#include "sys/landlock.h"
#include "sys/seccomp.h"

enum {
    TREE_DIRS = 100,
    TREE_FILES = 1000, /* in each directory */
    MAX_ARGS = 32,
};

enum { BARE, BWRAP, HOST, MINIMAL, HOST_FULL, MINIMAL_FULL, UNLIMITED, MINIMAL_UNLIMITED, CASES };

struct spawn_case {
    const char *name;
    const char *cwd;
    const char *argv[MAX_ARGS];
    bool skip;
    double *us; /* one per iteration */
    double p50;
    double p90;
};

static struct spawn_case cases[CASES];
static size_t rounds;
static double limits_us; /* what limits add: p50 of the differences in every round */
static double quiet_us;  /* a bare process in turn with the locks */
static double locks_us;  /* what a command waits for */
static double beside_us; /* what init does for them while the network is being made */

static void fill_tree(const char *parent)
{
    for (int d = 0; d < TREE_DIRS; d++) {
        char dir[PATH_MAX];
        char name[32];

        snprintf(name, sizeof name, "dir%03d", d);
        make_dir(dir, parent, name);

        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int f = 0; f < TREE_FILES; f++) {
            snprintf(name, sizeof name, "file%04d", f);
            if (mknodat(fd, name, S_IFREG | 0644, 0) < 0)
                die("cannot make a file in '%s': %s", dir, strerror(errno));
        }
        close(fd);
    }
}

static bool in_path(const char *name)
{
    const char *path = getenv("PATH");

    for (const char *dir = path ? path : "/usr/bin"; *dir;) {
        char file[PATH_MAX];
        size_t len = strcspn(dir, ":");

        snprintf(file, sizeof file, "%.*s/%s", (int)len, dir, name);
        if (access(file, X_OK) == 0)
            return true;
        dir += len + (dir[len] == ':');
    }
    return false;
}

#define NO_LIMITS                                                                                  \
    "--memory", "unlimited", "--cpu-time", "unlimited", "--cpus", "unlimited", "--disk",           \
        "unlimited", "--processes", "unlimited"

static void set_cases(const char *hutch, const char *empty, const char *full)
{
    const struct spawn_case rows[CASES] = {
        [BARE] = {"posix_spawn /bin/true", empty, {"/bin/true"}},
        [BWRAP] = {"bwrap --unshare-all",
                   empty,
                   {"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                    "--unshare-all", "--die-with-parent", "/bin/true"}},
        [HOST] = {"hutch run", empty, {hutch, "run", "--", "/bin/true"}},
        [MINIMAL] = {"hutch run --layout minimal",
                     empty,
                     {hutch, "run", "--layout", "minimal", "--", "/bin/true"}},
        [HOST_FULL] = {"hutch run, 100,000 files", full, {hutch, "run", "--", "/bin/true"}},
        [MINIMAL_FULL] = {"  with --layout minimal",
                          full,
                          {hutch, "run", "--layout", "minimal", "--", "/bin/true"}},
        [UNLIMITED] = {"hutch run, no limits", empty, {hutch, "run", NO_LIMITS, "--", "/bin/true"}},
        [MINIMAL_UNLIMITED] = {"  with --layout minimal",
                               empty,
                               {hutch, "run", NO_LIMITS, "--layout", "minimal", "--", "/bin/true"}},
    };

    memcpy(cases, rows, sizeof rows);
    cases[BWRAP].skip = !in_path("bwrap");
}

static double time_spawn(const struct spawn_case *c)
{
    double begin = now_us();

    finish(start(c->argv, c->cwd, -1, -1, -1), c->name);
    return now_us() - begin;
}

struct locks {
    double command_us;
    double init_us;
    int error;
    pid_t tid;
};

/* As init and a command do it: in a process that shares the memory of another. */
SYS_OWN_STACK static int put_on_locks(void *arg)
{
    struct locks *took = arg;
    static const struct {
        const char *path;
        enum sys_landlock_access access;
    } rules[] = {{"/", SYS_LANDLOCK_READ},
                 {"/dev", SYS_LANDLOCK_DEVICE},
                 {"/tmp", SYS_LANDLOCK_WRITE},
                 {"/dev/shm", SYS_LANDLOCK_WRITE},
                 {".", SYS_LANDLOCK_WRITE}};
    const struct filter *init = filter_shipped("init");
    const struct filter *command = filter_shipped("default");
    int abi = sys_landlock_abi();
    int ruleset = -1;
    double begin = now_us();

    if (abi > 0) {
        ruleset = sys_landlock_create(abi, false);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
            int fd = open(rules[i].path, O_PATH | O_CLOEXEC);
            sys_landlock_allow(ruleset, abi, fd, rules[i].access, true);
            close(fd);
        }
    }
    took->init_us = now_us() - begin;
    int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    begin = now_us();
    if (r == 0 && ruleset >= 0)
        r = sys_landlock_restrict(ruleset);
    int listener = r < 0 ? r : sys_seccomp_load_listen(command->code, command->len);
    took->command_us = now_us() - begin;
    begin = now_us();
    r = listener < 0 ? listener : sys_seccomp_load(init->code, init->len);
    took->init_us += now_us() - begin;
    close(listener);
    close(ruleset);
    took->error = r < 0 ? -r : 0;
    _exit(0);
}

static void time_locks(double *command_us, double *init_us)
{
    static char stack[64 << 10] __attribute__((aligned(16)));
    struct locks took = {.error = EIO};

    pid_t pid = sys_share_start(put_on_locks, &took, stack, sizeof stack, &took.tid);
    if (pid < 0)
        die("cannot start a process: %s", strerror(-pid));
    finish(pid, "Landlock and filters");
    if (took.error)
        die("Landlock and the filters cannot be put on: %s", strerror(took.error));
    *command_us = took.command_us;
    *init_us = took.init_us;
}

static double take_p50(double *us, size_t count)
{
    double p50 = percentile(us, count, 50);

    free(us);
    return p50;
}

/* In turn with a bare process, and with nothing that leaves the kernel work for later. */
static void measure_locks(size_t iterations)
{
    double *bare = make_numbers(iterations);
    double *command = make_numbers(iterations);
    double *init = make_numbers(iterations);

    for (size_t n = 0; n < iterations; n++) {
        check_stop();
        bare[n] = time_spawn(&cases[BARE]);
        time_locks(&command[n], &init[n]);
    }
    quiet_us = take_p50(bare, iterations);
    locks_us = take_p50(command, iterations);
    beside_us = take_p50(init, iterations);
}

static void measure_spawns(size_t iterations)
{
    double *added = make_numbers(iterations);

    for (int i = 0; i < CASES; i++) {
        cases[i].us = make_numbers(iterations);
        if (!cases[i].skip)
            time_spawn(&cases[i]); /* the first one reads from disk */
    }
    int order[CASES];
    unsigned state = 1;
    for (int i = 0; i < CASES; i++)
        order[i] = i;
    for (size_t n = 0; n < iterations; n++) {
        check_stop();
        shuffle(order, CASES, &state);
        for (int i = 0; i < CASES; i++) {
            struct spawn_case *c = &cases[order[i]];
            if (!c->skip)
                c->us[n] = time_spawn(c);
        }
        added[n] = cases[HOST].us[n] - cases[UNLIMITED].us[n];
    }
    limits_us = take_p50(added, iterations);
    for (int i = 0; i < CASES; i++) {
        cases[i].p50 = percentile(cases[i].us, iterations, 50);
        cases[i].p90 = percentile(cases[i].us, iterations, 90);
        free(cases[i].us);
    }
}

static void measure(const struct bench *bench)
{
    static char full[PATH_MAX];

    make_dir(full, bench->root, "full");
    fill_tree(full);
    set_cases(bench->hutch, bench->empty, full);
    rounds = bench->iterations;
    measure_spawns(rounds);
    measure_locks(rounds);
}

static void print_ratio(const struct spawn_case *c, const struct spawn_case *base)
{
    if (base->skip)
        printf("%9s", "-");
    else
        printf("%9.2f", c->p50 / base->p50);
}

static void print_text(void)
{
    printf("%-34s %8s %8s %9s %8s\n", "spawn", "p50 us", "p90 us", "x bare", "x bwrap");
    for (int i = 0; i < CASES; i++) {
        const struct spawn_case *c = &cases[i];

        if (c->skip) {
            printf("  %-32s not installed\n", c->name);
            continue;
        }
        printf("  %-32s %8.0f %8.0f", c->name, c->p50, c->p90);
        print_ratio(c, &cases[BARE]);
        print_ratio(c, &cases[BWRAP]);
        putchar('\n');
    }
    printf("  (%zu of each, taking turns; ratios of p50)\n", rounds);
    printf(
        "\nA command puts on Landlock and its filter in %.0f us (p50), a bare process in turn with\n"
        "that takes %.0f us; Landlock's rules and init's own filter, beside the network: %.0f us\n",
        locks_us, quiet_us, beside_us);
}

static void print_goals(void)
{
    const struct spawn_case *c = cases;

    if (!c[BWRAP].skip) {
        print_goal("hutch run / bwrap", c[HOST].p50 / c[BWRAP].p50, "<=", 0.6);
        print_goal("hutch run --layout minimal / bwrap", c[MINIMAL].p50 / c[BWRAP].p50, "<=", 0.6);
        print_goal("hutch run, no limits / bwrap", c[UNLIMITED].p50 / c[BWRAP].p50, "<=", 0.6);
        print_goal("the same, --layout minimal", c[MINIMAL_UNLIMITED].p50 / c[BWRAP].p50,
                   "<=", 0.6);
    }
    print_goal("100,000 files / empty workspace", c[HOST_FULL].p50 / c[HOST].p50, "<=", 1.1);
    print_goal("the same, --layout minimal", c[MINIMAL_FULL].p50 / c[MINIMAL].p50, "<=", 1.1);
    print_goal("what limits add / bare", limits_us / c[BARE].p50, "<=", 0.2);
    print_goal("Landlock and filter / bare", locks_us / quiet_us, "<=", 0.15);
}

static void print_json(void)
{
    static const char *const keys[CASES] = {
        "bare",      "bwrap",        "host",      "minimal",
        "host_100k", "minimal_100k", "unlimited", "minimal_unlimited",
    };
    const char *comma = "";

    printf("\"spawn\": {");
    for (int i = 0; i < CASES; i++) {
        const struct spawn_case *c = &cases[i];

        if (c->skip)
            continue;
        printf("%s\"%s\": {\"p50_us\": %.1f, \"p90_us\": %.1f, \"to_bare\": %.3f", comma, keys[i],
               c->p50, c->p90, c->p50 / cases[BARE].p50);
        if (!cases[BWRAP].skip)
            printf(", \"to_bwrap\": %.3f", c->p50 / cases[BWRAP].p50);
        putchar('}');
        comma = ", ";
    }
    printf("}, \"limits_p50_us\": %.1f, \"locks_p50_us\": %.1f, \"beside_p50_us\": %.1f", limits_us,
           locks_us, beside_us);
}

const struct subject subject_spawn = {"spawn", measure, print_text, print_goals, print_json};
