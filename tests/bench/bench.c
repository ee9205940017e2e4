/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a sandbox costs, beside a bare process and beside bubblewrap, in one run.
 *
 *     HUTCH=build/release/hutch bench [-n N] [--json]
 *
 * Four measurements:
 *  - spawn: from posix_spawn() of a command to its end, p50 and p90 of N. All commands take turns, each
 *    time in another order, so that whatever else the machine does hits all of them alike; also what
 *    the kernel still has to do for the one before.
 *  - locks: how long Landlock and the two filters of every command take to put on.
 *  - engine: the peak resident size of `hutch run` while its command waits for input.
 *  - relay: how fast output arrives through hutch, and through a plain pipe.
 *
 * Anything that goes wrong ends the program with a message: half a measurement is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filter/filter.h"
#include "sys/landlock.h"
#include "sys/seccomp.h"

enum {
    TREE_DIRS = 100,
    TREE_FILES = 1000, /* in each directory */
    RELAY_ROUNDS = 7,
    RELAY_REPEAT = 16, /* how often cat is given the big file */
    RELAY_FILE_MB = 64,
    MAX_ARGS = 32,
};

/* Directories that the commands run in, all below `root`. */
struct places {
    char root[PATH_MAX];
    char empty[PATH_MAX];
    char full[PATH_MAX]; /* 100,000 files */
};

struct spawn_case {
    const char *name;
    const char *cwd;
    const char *argv[MAX_ARGS];
    bool skip;
    double *us; /* one per iteration */
    double p50;
    double p90;
};

/* A small generator of our own: every run of the benchmark has the same orders. */
static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245U + 12345U;
    return *state >> 16;
}

static void shuffle(int *order, int count, unsigned *state)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next_random(state) % (unsigned)(i + 1));
        int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

enum { BARE, BWRAP, HOST, MINIMAL, HOST_FULL, MINIMAL_FULL, UNLIMITED, SPAWN_CASES };

struct relay_case {
    const char *name;
    const char *argv[MAX_ARGS];
    double mb_per_s[RELAY_ROUNDS];
    double p50;
};

enum { PLAIN, CAT, HUTCH, RELAY_CASES };

struct report {
    size_t iterations;
    struct spawn_case spawns[SPAWN_CASES];
    struct relay_case relays[RELAY_CASES];
    double locks_us;
    long engine_kib;
};

/* ---- Files --------------------------------------------------------------------------------- */

static char tree_to_remove[PATH_MAX];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(void)
{
    if (tree_to_remove[0])
        nftw(tree_to_remove, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
    va_list args;

    fputs("bench: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static void make_dir(char *path, size_t size, const char *parent, const char *name)
{
    if ((size_t)snprintf(path, size, "%s/%s", parent, name) >= size)
        die("the path of '%s' is too long", name);
    if (mkdir(path, 0755) < 0)
        die("cannot make '%s': %s", path, strerror(errno));
}

static void fill_tree(const char *parent)
{
    for (int d = 0; d < TREE_DIRS; d++) {
        char dir[PATH_MAX];
        char name[32];

        snprintf(name, sizeof name, "dir%03d", d);
        make_dir(dir, sizeof dir, parent, name);

        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int f = 0; f < TREE_FILES; f++) {
            snprintf(name, sizeof name, "file%04d", f);
            if (mknodat(fd, name, S_IFREG | 0644, 0) < 0)
                die("cannot make a file in '%s': %s", dir, strerror(errno));
        }
        close(fd);
    }
}

static void make_big_file(const char *dir)
{
    static char block[1 << 20];
    char path[PATH_MAX + 8];

    snprintf(path, sizeof path, "%s/big", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    for (int i = 0; i < RELAY_FILE_MB; i++) {
        if (fd < 0 || write(fd, block, sizeof block) != sizeof block)
            die("cannot write '%s': %s", path, strerror(errno));
    }
    close(fd);
}

static void make_places(struct places *places)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(places->root, sizeof places->root, "%s/hutch-bench.XXXXXX", tmp ? tmp : "/var/tmp");
    if (!mkdtemp(places->root))
        die("cannot make '%s': %s", places->root, strerror(errno));
    memcpy(tree_to_remove, places->root, sizeof tree_to_remove);
    atexit(remove_tree);

    make_dir(places->empty, sizeof places->empty, places->root, "empty");
    make_dir(places->full, sizeof places->full, places->root, "full");
    fill_tree(places->full);
    make_big_file(places->full);
}

/* ---- Processes ----------------------------------------------------------------------------- */

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Start argv in `cwd`; `in` and `out` become its input and output, -1 stands for /dev/null. */
static pid_t start(const char *const *argv, const char *cwd, int in, int out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, cwd);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);

    int r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        die("cannot start %s: %s", argv[0], strerror(r));
    return pid;
}

static void finish(pid_t pid, const char *name)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        die("cannot wait for %s: %s", name, strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die("'%s' failed with wait status 0x%x", name, (unsigned)status);
}

static void make_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        die("cannot make a pipe: %s", strerror(errno));
}

/* ---- The three measurements ---------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts `values`. */
static double percentile(double *values, size_t n, unsigned percent)
{
    qsort(values, n, sizeof *values, compare);
    return values[(n - 1) * percent / 100];
}

static double time_spawn(const struct spawn_case *c)
{
    double begin = now_us();

    finish(start(c->argv, c->cwd, -1, -1), c->name);
    return now_us() - begin;
}

static void measure_spawns(struct spawn_case *cases, size_t iterations)
{
    for (int i = 0; i < SPAWN_CASES; i++) {
        cases[i].us = calloc(iterations, sizeof(double));
        if (!cases[i].us)
            die("out of memory");
        if (!cases[i].skip)
            time_spawn(&cases[i]); /* the first one reads from disk */
    }
    int order[SPAWN_CASES];
    unsigned state = 1;
    for (int i = 0; i < SPAWN_CASES; i++)
        order[i] = i;
    for (size_t n = 0; n < iterations; n++) {
        shuffle(order, SPAWN_CASES, &state);
        for (int i = 0; i < SPAWN_CASES; i++) {
            struct spawn_case *c = &cases[order[i]];
            if (!c->skip)
                c->us[n] = time_spawn(c);
        }
    }
    for (int i = 0; i < SPAWN_CASES; i++) {
        cases[i].p50 = percentile(cases[i].us, iterations, 50);
        cases[i].p90 = percentile(cases[i].us, iterations, 90);
        free(cases[i].us);
    }
}

/* As init and a command do it together. Never returns. */
static _Noreturn void put_on_locks(int out)
{
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
    int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    double begin = now_us();

    if (abi > 0) {
        int ruleset = sys_landlock_create(abi, false);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
            int fd = open(rules[i].path, O_PATH | O_CLOEXEC);
            sys_landlock_allow(ruleset, abi, fd, rules[i].access, true);
            close(fd);
        }
        r = r == 0 ? sys_landlock_restrict(ruleset) : r;
    }
    if (r == 0)
        r = sys_seccomp_load(init->code, init->len);
    if (r == 0)
        r = sys_seccomp_load_listen(command->code, command->len);
    double us = now_us() - begin;
    _exit(r < 0 || write(out, &us, sizeof us) != sizeof us);
}

static double measure_locks(size_t iterations)
{
    double *us = calloc(iterations, sizeof *us);
    int out[2];

    if (!us)
        die("out of memory");
    make_pipe(out);
    for (size_t i = 0; i < iterations; i++) {
        pid_t pid = fork();
        if (pid == 0)
            put_on_locks(out[1]);
        finish(pid, "Landlock and filters");
        if (read(out[0], &us[i], sizeof *us) != sizeof *us)
            die("Landlock and the filters cannot be put on");
    }
    close(out[0]);
    close(out[1]);
    double p50 = percentile(us, iterations, 50);
    free(us);
    return p50;
}

static long read_peak_kib(pid_t pid)
{
    char path[64];
    char line[256];
    long kib = -1;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    if (file)
        fclose(file);
    if (kib < 0)
        die("cannot read the peak size in %s", path);
    return kib;
}

/* One byte through the sandboxed cat shows that all is set up; then the engine only waits. */
static long measure_engine(const char *hutch, const char *cwd)
{
    const char *const argv[] = {hutch, "run", "--", "cat", NULL};
    int in[2];
    int out[2];
    char byte = 'x';

    make_pipe(in);
    make_pipe(out);
    pid_t pid = start(argv, cwd, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    if (write(in[1], &byte, 1) != 1 || read(out[0], &byte, 1) != 1)
        die("the sandboxed cat does not answer");

    long kib = read_peak_kib(pid);
    close(in[1]);
    finish(pid, "hutch run -- cat");
    close(out[0]);
    return kib;
}

static double time_relay(const struct relay_case *c, const char *cwd)
{
    static char sink[1 << 20];
    const size_t want = (size_t)RELAY_FILE_MB * RELAY_REPEAT << 20;
    size_t got = 0;
    ssize_t n;
    int out[2];

    make_pipe(out);
    double begin = now_us();
    pid_t pid = start(c->argv, cwd, -1, out[1]);
    close(out[1]);
    while ((n = read(out[0], sink, sizeof sink)) > 0)
        got += (size_t)n;
    double us = now_us() - begin;
    close(out[0]);
    finish(pid, c->name);
    if (got != want)
        die("'%s' delivered %zu of %zu bytes", c->name, got, want);
    return (double)got / us; /* bytes a microsecond are megabytes a second */
}

static void measure_relays(struct relay_case *cases, const char *cwd)
{
    for (int round = 0; round < RELAY_ROUNDS; round++) {
        for (int i = 0; i < RELAY_CASES; i++)
            cases[i].mb_per_s[round] = time_relay(&cases[i], cwd);
    }
    for (int i = 0; i < RELAY_CASES; i++)
        cases[i].p50 = percentile(cases[i].mb_per_s, RELAY_ROUNDS, 50);
}

/* ---- What is measured ---------------------------------------------------------------------- */

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

static void set_spawn_cases(struct spawn_case *cases, const char *hutch,
                            const struct places *places)
{
    const struct spawn_case rows[SPAWN_CASES] = {
        [BARE] = {"posix_spawn /bin/true", places->empty, {"/bin/true"}},
        [BWRAP] = {"bwrap --unshare-all",
                   places->empty,
                   {"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                    "--unshare-all", "--die-with-parent", "/bin/true"}},
        [HOST] = {"hutch run", places->empty, {hutch, "run", "--", "/bin/true"}},
        [MINIMAL] = {"hutch run --layout minimal",
                     places->empty,
                     {hutch, "run", "--layout", "minimal", "--", "/bin/true"}},
        [HOST_FULL] = {"hutch run, 100,000 files", places->full, {hutch, "run", "--", "/bin/true"}},
        [MINIMAL_FULL] = {"  with --layout minimal",
                          places->full,
                          {hutch, "run", "--layout", "minimal", "--", "/bin/true"}},
        [UNLIMITED] = {"hutch run, no limits",
                       places->empty,
                       {hutch, "run", "--memory", "unlimited", "--cpu-time", "unlimited", "--cpus",
                        "unlimited", "--disk", "unlimited", "--processes", "unlimited", "--",
                        "/bin/true"}},
    };

    memcpy(cases, rows, sizeof rows);
    cases[BWRAP].skip = !in_path("bwrap");
}

static void set_relay_cases(struct relay_case *cases, const char *hutch)
{
    struct relay_case rows[RELAY_CASES] = {
        [PLAIN] = {"cat, plain pipe", {"cat"}},
        [CAT] = {"cat, through another cat", {"sh", "-c", "cat \"$@\" | cat", "sh"}},
        [HUTCH] = {"cat, through hutch run", {hutch, "run", "--", "cat"}},
    };

    for (int i = 0; i < RELAY_CASES; i++) {
        const char **arg = rows[i].argv;

        while (*arg)
            arg++;
        for (int n = 0; n < RELAY_REPEAT; n++)
            *arg++ = "big";
    }
    memcpy(cases, rows, sizeof rows);
}

/* ---- Report -------------------------------------------------------------------------------- */

static void print_ratio(const struct spawn_case *c, const struct spawn_case *base)
{
    if (base->skip)
        printf("%9s", "-");
    else
        printf("%9.2f", c->p50 / base->p50);
}

static void print_goal(const char *what, double value, const char *relation, double goal, bool met)
{
    printf("  %-38s %6.2f  %s %.2f  %s\n", what, value, relation, goal, met ? "yes" : "NO");
}

static void print_goals(const struct report *r)
{
    const struct spawn_case *s = r->spawns;
    double relay = r->relays[HUTCH].p50 / r->relays[PLAIN].p50;
    double engine_mb = (double)r->engine_kib / 1024;

    puts("\ngoals");
    if (!s[BWRAP].skip) {
        double host = s[HOST].p50 / s[BWRAP].p50;
        double minimal = s[MINIMAL].p50 / s[BWRAP].p50;

        print_goal("hutch run / bwrap", host, "<=", 0.6, host <= 0.6);
        print_goal("hutch run --layout minimal / bwrap", minimal, "<=", 0.6, minimal <= 0.6);
    }
    double host_full = s[HOST_FULL].p50 / s[HOST].p50;
    double minimal_full = s[MINIMAL_FULL].p50 / s[MINIMAL].p50;
    print_goal("100,000 files / empty workspace", host_full, "<=", 1.1, host_full <= 1.1);
    print_goal("the same, --layout minimal", minimal_full, "<=", 1.1, minimal_full <= 1.1);
    double limits = (s[HOST].p50 - s[UNLIMITED].p50) / s[BARE].p50;
    print_goal("what limits add / bare", limits, "<=", 0.2, limits <= 0.2);
    double locks = r->locks_us / s[BARE].p50;
    print_goal("Landlock and filters / bare", locks, "<=", 0.15, locks <= 0.15);
    print_goal("engine, MiB", engine_mb, "<=", 3, engine_mb <= 3);
    print_goal("relay / plain pipe", relay, ">=", 0.5, relay >= 0.5);
}

static void print_text(const struct report *r)
{
    printf("%-34s %8s %8s %9s %8s\n", "spawn", "p50 us", "p90 us", "x bare", "x bwrap");
    for (int i = 0; i < SPAWN_CASES; i++) {
        const struct spawn_case *c = &r->spawns[i];

        if (c->skip) {
            printf("  %-32s not installed\n", c->name);
            continue;
        }
        printf("  %-32s %8.0f %8.0f", c->name, c->p50, c->p90);
        print_ratio(c, &r->spawns[BARE]);
        print_ratio(c, &r->spawns[BWRAP]);
        putchar('\n');
    }
    printf("  (%zu of each, taking turns; ratios of p50)\n", r->iterations);

    printf("\nLandlock and filters, p50: %.0f us\n", r->locks_us);
    printf("\nengine, peak resident: %ld KiB\n", r->engine_kib);

    printf("\n%-34s %8s\n", "relay", "MB/s");
    for (int i = 0; i < RELAY_CASES; i++)
        printf("  %-32s %8.0f\n", r->relays[i].name, r->relays[i].p50);
    print_goals(r);
}

static void print_json(const struct report *r)
{
    static const char *const spawn_keys[SPAWN_CASES] = {
        "bare", "bwrap", "host", "minimal", "host_100k", "minimal_100k", "unlimited",
    };
    static const char *const relay_keys[RELAY_CASES] = {"plain", "cat", "hutch"};
    const char *comma = "";

    printf("{\"iterations\": %zu, \"spawn\": {", r->iterations);
    for (int i = 0; i < SPAWN_CASES; i++) {
        const struct spawn_case *c = &r->spawns[i];

        if (c->skip)
            continue;
        printf("%s\"%s\": {\"p50_us\": %.1f, \"p90_us\": %.1f, \"to_bare\": %.3f", comma,
               spawn_keys[i], c->p50, c->p90, c->p50 / r->spawns[BARE].p50);
        if (!r->spawns[BWRAP].skip)
            printf(", \"to_bwrap\": %.3f", c->p50 / r->spawns[BWRAP].p50);
        putchar('}');
        comma = ", ";
    }
    printf("}, \"locks_p50_us\": %.1f", r->locks_us);
    printf(", \"engine_peak_kib\": %ld, \"relay_mb_per_s\": {", r->engine_kib);
    for (int i = 0; i < RELAY_CASES; i++)
        printf("%s\"%s\": %.0f", i ? ", " : "", relay_keys[i], r->relays[i].p50);
    puts("}}");
}

static const char usage[] = "usage: HUTCH=PROGRAM bench [-n N] [--json]";

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
    static struct report report = {.iterations = 300};
    static struct places places;
    bool json = false;
    int option;

    while ((option = getopt_long(argc, argv, "n:", options, NULL)) != -1) {
        if (option == 'j')
            json = true;
        else if (option == 'n')
            report.iterations = strtoul(optarg, NULL, 10);
        else
            die("%s", usage);
    }
    if (optind != argc || report.iterations == 0 || report.iterations > 1000000)
        die("%s", usage);

    const char *program = getenv("HUTCH");
    char *hutch = program ? realpath(program, NULL) : NULL;
    if (!hutch)
        die("the variable HUTCH must name the program; it is '%s'", program ? program : "");

    make_places(&places);
    set_spawn_cases(report.spawns, hutch, &places);
    set_relay_cases(report.relays, hutch);
    measure_spawns(report.spawns, report.iterations);
    report.locks_us = measure_locks(report.iterations);
    report.engine_kib = measure_engine(hutch, places.empty);
    measure_relays(report.relays, places.full);
    if (json)
        print_json(&report);
    else
        print_text(&report);
    free(hutch);
    return 0;
}
