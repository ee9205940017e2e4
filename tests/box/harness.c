/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEST_SECONDS 90 /* 10 GB of output alone take some machines half of that */
#define WAIT_MS 10000
#define SCRATCH "/var/tmp/hutch-box-XXXXXX"
#define KEPT_MAX 8192
#define EXPECTED_MAX 512
#define EXIT_FAILED 1
#define EXIT_SKIPPED 77

struct box box;

/* Of the test in this process. */
static struct {
    bool failed;
    void *kept[KEPT_MAX];
    size_t kept_count;
    char *expected[EXPECTED_MAX]; /* relative to the scratch directory */
    size_t expected_count;
    char *any[8];
    size_t any_count;
} now;

/* What the process of a test tells the frame. */
static struct {
    char skip[256];
} * shared;

/* ---- Saying how it went ---- */

static void __attribute__((format(printf, 3, 0)))
say(const char *file, int line, const char *fmt, va_list args)
{
    char text[2048];
    const char *base = strrchr(file, '/');

    vsnprintf(text, sizeof text, fmt, args);
    printf("# %s:%d: ", base ? base + 1 : file, line);
    /* Every line of a message must be a comment, and text. */
    for (const char *p = text; *p; p++) {
        if (*p == '\n')
            printf("\n#   ");
        else
            putchar(*p < ' ' || *p > '~' ? '?' : *p);
    }
    putchar('\n');
    fflush(stdout);
}

void box_check(bool ok, const char *file, int line, const char *fmt, ...)
{
    va_list args;

    if (ok)
        return;
    now.failed = true;
    va_start(args, fmt);
    say(file, line, fmt, args);
    va_end(args);
}

void box_fatal(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(file, line, fmt, args);
    va_end(args);
    _exit(EXIT_FAILED);
}

void box_skip(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(shared->skip, sizeof shared->skip, fmt, args);
    va_end(args);
    _exit(now.failed ? EXIT_FAILED : EXIT_SKIPPED);
}

void box_check_int(long long want, long long got, const char *what, const char *file, int line)
{
    box_check(want == got, file, line, "%s is %lld, wanted %lld", what, got, want);
}

void box_check_text(const char *want, const char *got, const char *what, const char *file, int line)
{
    box_check(got && strcmp(want, got) == 0, file, line, "%s is:\n%s\nwanted:\n%s", what,
              got ? got : "(null)", want);
}

static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);

    for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
        if (strncmp(p, line, len) == 0 && (p[len] == '\n' || p[len] == '\0'))
            return true;
    return false;
}

void box_check_part(const char *text, const char *part, bool line_only, bool wanted,
                    const char *file, int line)
{
    bool found = line_only ? has_line(text, part) : strstr(text, part) != NULL;

    box_check(found == wanted, file, line, "%s %s '%s' in:\n%s", wanted ? "no" : "unwanted",
              line_only ? "line" : "text", part, text);
}

/* ---- Memory and text ---- */

void *box_keep(void *memory)
{
    REQUIRE(memory && now.kept_count < KEPT_MAX);
    now.kept[now.kept_count++] = memory;
    return memory;
}

char *box_text(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    return box_keep(len < 0 ? NULL : text);
}

/* With malloc's memory, which is the caller's. */
static char *read_all(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");

    if (!file)
        return NULL;
    /* Files of /proc have no size; "no delimiter but NUL" reads to the end of any text. */
    ssize_t len = getdelim(&text, &size, '\0', file);
    fclose(file);
    if (len < 0 && text)
        text[0] = '\0';
    return text;
}

char *box_read(const char *path)
{
    char *text = read_all(path);

    if (!text)
        box_fatal(__FILE__, __LINE__, "cannot read '%s': %s", path, strerror(errno));
    return box_keep(text);
}

/* ---- The host's files ---- */

static char *in_scratch(const char *path)
{
    return box_text("%s/%s", box.dir, path);
}

void box_expect(const char *path)
{
    REQUIRE(now.expected_count < EXPECTED_MAX);
    now.expected[now.expected_count++] = box_text("%s", path);
}

void box_expect_gone(const char *path)
{
    for (size_t i = 0; i < now.expected_count; i++)
        if (strcmp(now.expected[i], path) == 0) {
            now.expected[i] = now.expected[--now.expected_count];
            return;
        }
    box_fatal(__FILE__, __LINE__, "'%s' was never expected", path);
}

void box_expect_any(const char *path)
{
    REQUIRE(now.any_count < sizeof now.any / sizeof *now.any);
    now.any[now.any_count++] = box_text("%s/", path);
}

void box_file(const char *path, const char *text)
{
    int fd = open(in_scratch(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    REQUIRE(fchmod(fd, 0666) == 0);
    close(fd);
    box_expect(path);
}

void box_dir(const char *path)
{
    REQUIRE(mkdir(in_scratch(path), 0755) == 0 && chmod(in_scratch(path), 0777) == 0);
    box_expect(path);
}

void box_symlink(const char *target, const char *path)
{
    REQUIRE(symlink(target, in_scratch(path)) == 0);
    box_expect(path);
}

static void copy_payload(const char *to)
{
    char chunk[65536];
    ssize_t len;
    int src = open(box.payload, O_RDONLY | O_CLOEXEC);
    int dst = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

    REQUIRE(src >= 0 && dst >= 0);
    while ((len = read(src, chunk, sizeof chunk)) > 0)
        REQUIRE(write(dst, chunk, (size_t)len) == len);
    REQUIRE(len == 0 && fchmod(dst, 0755) == 0);
    close(src);
    close(dst);
}

/* ---- Waiting ---- */

double box_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

bool box_eventually(bool (*fn)(void *arg), void *arg)
{
    double deadline = box_now_ms() + WAIT_MS;

    for (;;) {
        if (fn(arg))
            return true;
        if (box_now_ms() > deadline)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

static bool no_children(void *arg)
{
    (void)arg;
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
        ;
    return waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
}

bool box_reap_all(void)
{
    return box_eventually(no_children, NULL);
}

pid_t box_child(pid_t parent, const char *name)
{
    char *list = box_read(box_text("/proc/%d/task/%d/children", (int)parent, (int)parent));
    char *rest = NULL;

    for (char *pid = strtok_r(list, " ", &rest); pid; pid = strtok_r(NULL, " ", &rest)) {
        char *comm = box_read(box_text("/proc/%s/comm", pid));
        comm[strcspn(comm, "\n")] = '\0';
        if (strcmp(comm, name) == 0)
            return (pid_t)strtol(pid, NULL, 10);
    }
    return -1;
}

/* ---- What must not be left ---- */

static int count_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static bool is_expected(const char *path)
{
    for (size_t i = 0; i < now.any_count; i++)
        if (strncmp(path, now.any[i], strlen(now.any[i])) == 0)
            return true;
    for (size_t i = 0; i < now.expected_count; i++)
        if (strcmp(now.expected[i], path) == 0)
            return true;
    return false;
}

static int look_at_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    const char *relative = path + strlen(box.dir) + 1;

    (void)st;
    (void)type;
    if (at->level > 0 && !is_expected(relative))
        box_check(false, __FILE__, __LINE__, "left in the scratch directory: %s", relative);
    return 0;
}

static void check_scratch(void)
{
    struct stat st;

    CHECK(nftw(box.dir, look_at_file, 16, FTW_PHYS) == 0);
    for (size_t i = 0; i < now.expected_count; i++)
        box_check(lstat(in_scratch(now.expected[i]), &st) == 0, __FILE__, __LINE__,
                  "gone from the scratch directory: %s", now.expected[i]);
}

/* Tests that make something in a shared place put the test's name into its name. */
static void check_shared_places(void)
{
    static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm", "/run"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        DIR *dir = opendir(places[i]);
        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
            box_check(!strstr(entry->d_name, box.id) || strcmp(entry->d_name, box.id) == 0,
                      __FILE__, __LINE__, "left on the host: %s/%s", places[i], entry->d_name);
        if (dir)
            closedir(dir);
    }
}

/* The command leaves a sandbox's first process to its end, which takes a moment and nobody's help. */
static bool has_no_children(void *arg)
{
    (void)arg;
    while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
        ;
    return errno == ECHILD;
}

static void check_children(void)
{
    box_check(box_eventually(has_no_children, NULL), __FILE__, __LINE__,
              "a process is left that nobody ended");
}

/* ---- One test ---- */

/* In the process of the test. Everything it needs is made here; the frame removes it. */
static void set_up(void)
{
    box.work = box_text("%s/work", box.dir);
    box.home = box_text("%s/home", box.dir);
    box.out = box_text("%s/out", box.dir);
    box_dir("work");
    box_dir("home");
    box_dir("out");
    copy_payload(box_text("%s/payload", box.work));
    box_expect("work/payload");
    REQUIRE(chdir(box.work) == 0);
    REQUIRE(setenv("HOME", box.home, 1) == 0);
}

/* A job in the background, or one under nohup, starts with some ignored; no test means that. */
static void default_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD};
    sigset_t none;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run_test(const struct box_test *test)
{
    default_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    alarm(TEST_SECONDS);
    umask(022);
    set_up();

    char *mounts = box_read("/proc/self/mountinfo");
    int descriptors = count_descriptors();
    test->fn();

    CHECK_INT(descriptors, count_descriptors());
    check_children();
    CHECK_TEXT(mounts, box_read("/proc/self/mountinfo"));
    check_scratch();
    check_shared_places();
    for (size_t i = 0; i < now.kept_count; i++)
        free(now.kept[i]);
    exit(now.failed ? EXIT_FAILED : 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_D || type == FTW_DNR) /* before what is in it: make that possible */
        return chmod(path, st->st_mode | 0700) < 0 && errno == ENOENT;
    return 0;
}

static int remove_two(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path) < 0 && errno != ENOENT;
}

/* What a test left running became our child, because we are a subreaper. */
static void kill_rest(void)
{
    while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0) {
        char *list = read_all("/proc/thread-self/children");
        for (char *p = list, *end = NULL; p && *p; p = end) {
            long pid = strtol(p, &end, 10);
            if (end == p)
                break;
            kill((pid_t)pid, SIGKILL);
        }
        free(list);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static int run_in_process(const struct box_test *test)
{
    static char dir[sizeof SCRATCH];
    int status = 0;

    memcpy(dir, SCRATCH, sizeof dir);
    shared->skip[0] = '\0';
    if (!mkdtemp(dir) || chmod(dir, 0755) < 0) {
        printf("# cannot make a scratch directory in /var/tmp\n");
        return EXIT_FAILED;
    }
    box.dir = dir;
    box.id = dir + strlen("/var/tmp/");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        run_test(test);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    kill_rest();
    nftw(dir, remove_one, 16, FTW_PHYS);
    nftw(dir, remove_two, 16, FTW_PHYS | FTW_DEPTH);
    if (pid > 0 && WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("# took longer than %d s\n", TEST_SECONDS);
    else
        printf("# ended by signal %d\n", WTERMSIG(status));
    return EXIT_FAILED;
}

static const char *need_env(const char *name)
{
    const char *path = getenv(name);
    char *real = path ? realpath(path, NULL) : NULL;

    if (!real) {
        printf("Bail out! %s must name a program\n", name);
        exit(EXIT_FAILED);
    }
    return real;
}

int box_main(const struct box_test *tests)
{
    const char *only = getenv("BOX_ONLY"); /* to look at one test */
    bool failed = false;
    int count = 0;

    box.hutch = need_env("HUTCH");
    box.payload = need_env("HUTCH_PAYLOAD");
    box.root = geteuid() == 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (const struct box_test *test = tests; test->name; test++) {
        if (only && strcmp(only, test->name) != 0)
            continue;
        int status = run_in_process(test);
        count++;
        if (status == EXIT_SKIPPED)
            printf("ok %d - %s # SKIP %s\n", count, test->name, shared->skip);
        else
            printf("%sok %d - %s\n", status ? "not " : "", count, test->name);
        failed = failed || (status && status != EXIT_SKIPPED);
        fflush(stdout);
    }
    printf("1..%d\n", count);
    return failed ? EXIT_FAILED : 0;
}
