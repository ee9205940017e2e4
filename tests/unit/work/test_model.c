/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

/*
 * Random operations: through the calls on "@/root/ws", and with plain POSIX on "@/copy". Each must come
 * out the same, errors too, and so must the trees. Meanwhile somebody keeps exchanging the link by which the
 * calls come to "ws" with another one, and a directory beside it with a link to the outside.
 */
#include "work/work.h"

#define INSIDE_IN_MEMORY
#include "inside.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OPERATIONS 10000 /* each takes ten times as long */
#endif
#endif
#ifndef OPERATIONS
#define OPERATIONS 100000
#endif
#define COMPARE_EVERY 200

static volatile unsigned long *flips;
static pid_t flipper;

static _Noreturn void flip_for_ever(void)
{
    static const char *const pairs[][2] = {{"/now", "/then"}, {"/dir", "/link"}};
    char paths[2][2][PATH_MAX];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 4; i++)
        snprintf(paths[i / 2][i % 2], PATH_MAX, "%s", host(pairs[i / 2][i % 2]));
    for (unsigned i = 0;; i = !i) {
        if (syscall(SYS_renameat2, AT_FDCWD, paths[i][0], AT_FDCWD, paths[i][1], 2) == 0)
            ++*flips;
        if (*flips % 64 == 0)
            sched_yield();
    }
}

static int setup(void **state)
{
    if (inside_setup(state) < 0 || symlink("ws", host("/now")) < 0 ||
        symlink("./ws", host("/then")) < 0 || mkdir(host("/dir"), 0755) < 0 ||
        symlink(at("@/copy"), host("/link")) < 0)
        return -1;
    work.cwd = "/now";
    flips = mmap(NULL, sizeof *flips, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (flips == MAP_FAILED)
        return -1;
    flipper = fork();
    if (flipper == 0)
        flip_for_ever();
    return flipper < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    kill(flipper, SIGKILL);
    waitpid(flipper, NULL, 0);
    print_message("# %lu exchanges\n", *flips);
    return inside_teardown(state);
}

static uint64_t seed = 1;

static unsigned dice(unsigned sides)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(seed >> 33) % sides;
}

/* A path of a few names, relative; some of the names are directories, files and links in turn. */
static const char *random_path(void)
{
    static const char *const names[] = {"a", "b", "c", "d.txt", "e\nf", "\xff", "..", "."};
    static char path[256];
    size_t len = 0;
    unsigned count = 1 + dice(4);

    for (unsigned i = 0; i < count; i++) {
        bool dots_allowed = i > 0 && i + 1 < count && dice(4) == 0;
        const char *name = names[dice(dots_allowed ? 8 : 6)];

        /* Never above the top, where inside and copy differ. */
        if (str_eq(name, "..") && (i != 1 || str_eq(path, "..")))
            name = "a";
        len += (size_t)snprintf(path + len, sizeof path - len, "%s%s", i ? "/" : "", name);
    }
    return path;
}

static const char *copy(const char *path)
{
    static char out[2][PATH_MAX];
    static unsigned next;
    char *answer = out[next++ % 2];

    snprintf(answer, PATH_MAX, "%s/copy/%s", scratch, path);
    return answer;
}

static const char *random_text(void)
{
    static const char *const parts[] = {"one", "two", "\n", "\r\n", " ", "\n\n", "three\n", "ö"};
    static char text[512];
    size_t len = 0;

    text[0] = '\0';
    for (unsigned count = dice(24); count > 0; count--)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s", parts[dice(8)]);
    return text;
}

/* ---- What plain calls do ---- */

static char data[65536];

static int plain_read(const char *path)
{
    struct stat st;
    fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
        return EISDIR;
    ssize_t len = read(fd, data, sizeof data - 1);
    data[len < 0 ? 0 : len] = '\0';
    return len < 0 ? errno : 0;
}

static int plain_write(const char *path, const char *text)
{
    fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0)
        return errno;
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : errno;
}

/* "mkdir -p" of all but the last name. */
static int plain_parents(const char *path)
{
    char text[PATH_MAX];
    struct stat st;
    size_t skip = strlen(copy(""));

    snprintf(text, sizeof text, "%s", path);
    char *last = strrchr(text, '/');
    *last = '\0';
    if (stat(text, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    if (errno != ENOENT)
        return errno;
    for (char *slash = text + skip; slash && slash < last; slash = strchr(slash + 1, '/')) {
        char *end = strchrnul(slash + (*slash == '/'), '/');
        char kept = *end;

        *end = '\0';
        int r = stat(text, &st) < 0 ? errno : 0;
        if (r == ENOENT && str_eq(strrchr(text, '/'), "/.."))
            return ENOENT; /* of what is not there */
        if (r == ENOENT && mkdir(text, 0755) < 0)
            return errno == EEXIST ? ENOTDIR : errno;
        *end = kept;
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    return remove(path) < 0 ? errno : 0;
}

static int plain_delete(const char *path, bool recursive)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode) && recursive)
        return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return remove(path) < 0 ? errno : 0;
}

/* ---- One operation on both; returns the errno of either ---- */

static int outcome(int r)
{
    if (r < 0 && err.sys_errno == 0)
        fail_msg("no errno: %s", err.msg);
    return r < 0 ? err.sys_errno : 0;
}

static void same(const char *what, const char *path, int got, int want)
{
    if (got != want)
        fail_msg("%s '%s': %s, not %s (%s)", what, path, strerror(got), strerror(want), err.msg);
}

static void op_write(const char *path)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    struct hutch_file_written got;
    const char *text = random_text();
    int want = plain_parents(copy(path));

    if (want == 0)
        want = plain_write(copy(path), text);
    int r = work_write(&work, path, text, strlen(text), &options, &arena, &got, &err);
    same("write", path, outcome(r), want);
}

static void op_read(const char *path)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_file_content got;
    uint64_t lines = 0, offset = dice(5), limit = dice(5);
    int want = plain_read(copy(path));

    options.offset = offset;
    options.limit = limit;
    same("read", path, outcome(work_read(&work, path, &options, &arena, &got, &err)), want);
    if (want != 0)
        return;
    /* The wanted lines, one by one. */
    const char *at_line = data, *start = NULL, *end = data;
    for (; *at_line; lines++) {
        const char *newline = strchr(at_line, '\n');
        const char *next = newline ? newline + 1 : at_line + strlen(at_line);

        if (lines >= offset && lines < offset + limit) {
            start = start ? start : at_line;
            end = next;
        }
        at_line = next;
    }
    size_t len = start ? (size_t)(end - start) : 0;
    assert_int_equal(got.total_lines, lines);
    assert_int_equal(got.len, len);
    assert_memory_equal(got.data, start ? start : "", len);
    assert_int_equal(got.size, strlen(data));
}

static void op_edit(const char *path)
{
    static const char *const words[] = {"one", "two", "\n", "ö", "one\n", "threeone"};
    static char changed[262144];
    struct hutch_file_edit_options options = HUTCH_FILE_EDIT_INIT;
    struct hutch_file_edited got;
    const char *from = words[dice(6)], *to = words[dice(2)];
    int want = plain_read(copy(path));
    unsigned found = 0;
    size_t len = 0;

    options.all = dice(2);
    changed[0] = '\0';
    for (const char *p = data; want == 0 && *p;) {
        bool hit = str_starts(p, from);
        found += hit;
        len += (size_t)snprintf(changed + len, sizeof changed - len, "%.*s",
                                hit ? (int)strlen(to) : 1, hit ? to : p);
        p += hit ? strlen(from) : 1;
    }
    /* Where the text is there only with other line ends is for the table of test_edit.c. */
    if (want == 0 && found == 0 && strchr(from, '\n'))
        return;
    if (want == 0)
        want = found == 0 ? ENOMSG : found > 1 && !options.all ? ENOTUNIQ : 0;
    int r = work_edit(&work, path, from, to, &options, &arena, &got, &err);
    same("edit", path, outcome(r), want);
    if (want == 0) {
        assert_int_equal(got.occurrences, found);
        assert_int_equal(plain_write(copy(path), changed), 0);
    }
}

static void op_delete(const char *path)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    options.recursive = dice(3) == 0;
    int want = plain_delete(copy(path), options.recursive);
    same("delete", path, outcome(work_delete(&work, path, &options, &err)), want);
}

static void op_stat(const char *path)
{
    struct hutch_file_entry got;
    struct stat st;
    int want = lstat(copy(path), &st) < 0 ? errno : 0;

    same("stat", path, outcome(work_stat(&work, path, false, &arena, &got, &err)), want);
    if (want != 0)
        return;
    assert_int_equal(got.type, S_ISDIR(st.st_mode)   ? HUTCH_FILE_DIRECTORY
                               : S_ISLNK(st.st_mode) ? HUTCH_FILE_SYMLINK
                                                     : HUTCH_FILE_REGULAR);
    assert_int_equal(got.mode, st.st_mode & 07777);
    if (!S_ISDIR(st.st_mode))
        assert_int_equal(got.size, st.st_size);
}

static int bytewise(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *e)
{
    return !str_eq(e->d_name, ".") && !str_eq(e->d_name, "..");
}

static void op_list(const char *path)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;
    struct hutch_file_entries got;
    struct dirent **names;
    int count = scandir(copy(path), &names, not_dots, bytewise);
    int want = count < 0 ? errno : 0;

    same("list", path, outcome(work_list(&work, path, &options, &arena, &got, &err)), want);
    if (count < 0)
        return;
    assert_int_equal(got.count, count);
    for (int i = 0; i < count; i++) {
        assert_string_equal(got.items[i].name, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

/* Names of all regular files of the copy, also through a link at the end, in order. */
static const char *found[8192];
static size_t found_count;

static int note_file(const char *path, const struct stat *st, int type, struct FTW *place)
{
    struct stat target;

    if (stat(path, &target) == 0 && S_ISREG(target.st_mode) && found_count < ARRAY_LEN(found))
        found[found_count++] = arena_strdup(&arena, path + strlen(copy("")));
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void op_glob(const char *path)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_entries got;

    found_count = 0;
    nftw(copy("."), note_file, 16, FTW_PHYS);
    for (size_t i = 0; i < found_count; i++)
        found[i] += 2; /* "./" */
    qsort(found, found_count, sizeof *found, by_text);
    assert_int_equal(work_glob(&work, NULL, "**", &options, &arena, &got, &err), 0);
    assert_int_equal(got.count, found_count);
    for (size_t i = 0; i < found_count; i++)
        assert_string_equal(got.items[i].name, found[i]);
}

static size_t hits;

static int count_hits(const char *path, const struct stat *st, int type, struct FTW *place)
{
    if (!S_ISREG(st->st_mode) || plain_read(path) != 0)
        return 0;
    for (char *line = strtok(data, "\n"); line; line = strtok(NULL, "\n"))
        hits += strstr(line, "twoone") != NULL;
    return 0;
}

static void op_grep(const char *path)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    struct hutch_file_matches got;

    hits = 0;
    nftw(copy("."), count_hits, 16, FTW_PHYS);
    options.regex = dice(2);
    assert_int_equal(work_grep(&work, NULL, options.regex ? "tw(o|q)on[e]" : "twoone", &options,
                               &arena, &got, &err),
                     0);

    assert_int_equal(got.count, hits);
}

/* Things that no call makes: by plain calls, in both. */
static void op_outside(const char *path)
{
    static const char *const targets[] = {"a", "b", "c/d.txt", "none", "b/c"};
    const char *target = targets[dice(5)];
    mode_t mode = dice(2) ? 0600 : 0755;
    int a, b;

    switch (dice(3)) {
    case 0:
        a = mkdir(host(path), 0755);
        b = mkdir(copy(path), 0755);
        break;
    case 1:
        a = symlink(target, host(path));
        b = symlink(target, copy(path));
        break;
    default: {
        struct stat st;
        bool file = lstat(host(path), &st) == 0 && S_ISREG(st.st_mode);
        a = file ? chmod(host(path), mode) : 0;
        b = file ? chmod(copy(path), mode) : 0;
        break;
    }
    }
    assert_int_equal(a, b);
}

/* ---- The trees ---- */

/* One line per entry: name, mode, and what a link or a file contains. */
static const char *lines[4096];
static size_t line_count;
static size_t top_len;

static int note_line(const char *path, const struct stat *st, int type, struct FTW *place)
{
    data[0] = '\0';
    if (S_ISREG(st->st_mode))
        assert_int_equal(plain_read(path), 0);
    if (S_ISLNK(st->st_mode)) {
        ssize_t len = readlink(path, data, sizeof data - 1);
        data[len < 0 ? 0 : len] = '\0';
    }
    if (line_count < ARRAY_LEN(lines))
        lines[line_count++] = arena_printf(&arena, "%s|%o|%s\n", path + top_len,
                                           (unsigned)st->st_mode, data);
    return 0;
}

static const char *describe(const char *top)
{
    const char *text = "";

    line_count = 0;
    top_len = strlen(top);
    assert_int_equal(nftw(top, note_line, 16, FTW_PHYS), 0);
    assert_true(line_count < ARRAY_LEN(lines));
    qsort(lines, line_count, sizeof *lines, by_text);
    for (size_t i = 0; i < line_count; i++)
        text = arena_concat(&arena, text, lines[i]);
    return text;
}

static void same_as_plain_calls(void **state)
{
    static const struct {
        void (*fn)(const char *path);
        unsigned weight;
    } operations[] = {
        {op_write, 6}, {op_read, 4}, {op_edit, 3}, {op_delete, 4},  {op_stat, 3},
        {op_list, 2},  {op_glob, 1}, {op_grep, 1}, {op_outside, 4},
    };
    unsigned all = 0;

    umask(022);
    assert_int_equal(mkdir(at("@/copy"), 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        all += operations[i].weight;
    /* What differs for root is whose files they are: a part of it is enough. */
    unsigned count = geteuid() == 0 ? OPERATIONS / 4 : OPERATIONS;
    for (unsigned n = 0; n < count; n++) {
        unsigned pick = dice(all), i = 0;

        while (pick >= operations[i].weight)
            pick -= operations[i++].weight;
        char path[256];
        snprintf(path, sizeof path, "%s", random_path());
        operations[i].fn(path);
        if (n % COMPARE_EVERY == 0)
            assert_string_equal(describe(host("/ws")), describe(at("@/copy")));
        arena_clear(&arena);
    }
    assert_string_equal(describe(host("/ws")), describe(at("@/copy")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_as_plain_calls, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
