/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/*
 * Directories are exchanged for links to outside while every call runs. A canary outside must not be
 * read, changed or removed, and nothing may appear beside it. The control shows that the race is real:
 * plain calls on the same paths do touch it.
 */
#include "work/work.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "inside.h"

#define SECRET "THE SECRET OF THE CANARY\n"
#define FLIPS_MIN 20000
#define SECONDS_MIN 2.0
#define SECONDS_MAX 20.0

static volatile unsigned long *flips;
static pid_t flipper;

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * The pairs: a directory, and a link that is to take its place. None is below another, or the flipper
 * itself would go outside.
 */
static const struct {
    const char *dir, *link, *target;
} pairs[] = {
    {"flip", "flip.link", "@/outside"},
    {"tree/x", "tree/x.link", "../../../outside"},
    {"tree/z/y", "tree/z/y.link", "../../../../outside"},
};

static _Noreturn void flip_for_ever(void)
{
    char dir[ARRAY_LEN(pairs)][PATH_MAX], link[ARRAY_LEN(pairs)][PATH_MAX];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        snprintf(dir[i], PATH_MAX, "%s", host(pairs[i].dir));
        snprintf(link[i], PATH_MAX, "%s", host(pairs[i].link));
    }
    for (;;)
        for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
            if (syscall(SYS_renameat2, AT_FDCWD, dir[i], AT_FDCWD, link[i], 2 /* EXCHANGE */) ==
                0) {
                ++*flips;
            } else { /* removed by a call: make them again, with something in them */
                mkdir(host("tree"), 0755);
                mkdir(host("tree/z"), 0755);
                mkdir(dir[i], 0755);
                if (symlink(at(pairs[i].target), link[i]) < 0)
                    continue;
            }
        }
}

static void put_outside(const char *name)
{
    fd_auto int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, SECRET, strlen(SECRET)) < 0)
        fail_msg("cannot write '%s'", name);
}

static int setup(void **state)
{
    if (inside_setup(state) < 0)
        return -1;
    flips = mmap(NULL, sizeof *flips, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    put_outside("@/outside/canary");
    if (mkdir(at("@/outside/sub"), 0755) < 0)
        return -1;
    put_outside("@/outside/sub/canary");
    flipper = fork();
    if (flipper == 0)
        flip_for_ever();
    return flips == MAP_FAILED ? -1 : 0;
}

static void stop(void)
{
    if (flipper > 0) {
        kill(flipper, SIGKILL);
        waitpid(flipper, NULL, 0);
    }
    flipper = 0;
}

static int teardown(void **state)
{
    stop();
    munmap((void *)flips, sizeof *flips);
    return inside_teardown(state);
}

static unsigned count_entries(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static void check_outside(const struct stat *before)
{
    static const char *const files[] = {"@/outside/canary", "@/outside/sub/canary"};
    struct stat st = {0};
    char data[64] = "";

    assert_int_equal(count_entries(at("@/outside")), 4);
    assert_int_equal(count_entries(at("@/outside/sub")), 3);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        fd_auto int fd = open(at(files[i]), O_RDONLY | O_CLOEXEC | O_NOATIME);
        assert_true(fd >= 0 && fstat(fd, &st) == 0);
        assert_true(read(fd, data, sizeof data) > 0);
        assert_memory_equal(data, SECRET, strlen(SECRET));
        assert_true(st.st_ino == before[i].st_ino);
        assert_true(st.st_mtim.tv_sec == before[i].st_mtim.tv_sec &&
                    st.st_mtim.tv_nsec == before[i].st_mtim.tv_nsec);
        assert_true(st.st_mode == before[i].st_mode);
    }
}

struct tally {
    unsigned worked, failed;
};

static void count(struct tally *tally, int r)
{
    r == 0 ? tally->worked++ : tally->failed++;
}

static void one_round(const char *file, const char *dir, struct tally *tally)
{
    struct hutch_file_read_options reading = HUTCH_FILE_READ_INIT;
    struct hutch_file_write_options writing = HUTCH_FILE_WRITE_INIT;
    struct hutch_file_edit_options editing = HUTCH_FILE_EDIT_INIT;
    struct hutch_file_list_options listing = HUTCH_FILE_LIST_INIT;
    struct hutch_file_glob_options globbing = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_grep_options grepping = HUTCH_FILE_GREP_INIT;
    struct hutch_file_content content;
    struct hutch_file_written written;
    struct hutch_file_edited edited;
    struct hutch_file_entry entry;
    struct hutch_file_entries entries;
    struct hutch_file_matches matches;

    count(tally, work_write(&work, file, "mine", 4, &writing, &arena, &written, &err));
    int r = work_read(&work, file, &reading, &arena, &content, &err);
    if (r == 0 && strcmp(content.data, "mine") != 0)
        fail_msg("'%s' has '%s'", file, content.data);
    count(tally, r);
    count(tally, work_edit(&work, file, "mine", "mine", &editing, &arena, &edited, &err));
    count(tally, work_stat(&work, file, true, &arena, &entry, &err));
    count(tally, work_list(&work, dir, &listing, &arena, &entries, &err));
    globbing.directories = globbing.hidden = true;
    r = work_glob(&work, NULL, "**/canary", &globbing, &arena, &entries, &err);
    for (size_t i = 0; r == 0 && i < entries.count; i++)
        if (entries.items[i].size != 4)
            fail_msg("glob saw '%s' of %d bytes", entries.items[i].path,
                     (int)entries.items[i].size);
    count(tally, r);
    r = work_grep(&work, NULL, "SECRET", &grepping, &arena, &matches, &err);
    if (r == 0 && matches.count > 0)
        fail_msg("grep saw '%s'", matches.items[0].path);
    count(tally, r);
    struct hutch_file_delete_options removing = {.recursive = true, .budget_ms = 1000};
    count(tally, work_delete(&work, file, &removing, &err));
    arena_clear(&arena);
}

static void nothing_outside_is_touched(void **state)
{
    static const char *const files[] = {"flip/canary",         "flip/sub/canary",
                                        "tree/x/canary",       "tree/z/y/sub/canary",
                                        "flip/../flip/canary", "tree/x/../../flip/canary"};
    static const char *const dirs[] = {"flip", "flip/sub", "tree", "tree/x/..", "flip", "tree/x"};
    struct hutch_file_delete_options removing = {.recursive = true, .budget_ms = 1000};
    struct stat before[2];
    struct tally tally = {0};
    unsigned removed = 0;
    double start = now();

    assert_int_equal(stat(at("@/outside/canary"), &before[0]), 0);
    assert_int_equal(stat(at("@/outside/sub/canary"), &before[1]), 0);
    for (unsigned i = 0;
         now() - start < SECONDS_MIN || (*flips < FLIPS_MIN && now() - start < SECONDS_MAX); i++) {
        one_round(files[i % ARRAY_LEN(files)], dirs[i % ARRAY_LEN(dirs)], &tally);
        if (i % 4 == 3)
            removed += work_delete(&work, i % 8 == 3 ? "tree" : "flip", &removing, &err) == 0;
    }
    unsigned long flipped = *flips;
    stop();
    print_message("# %lu flips; %u calls worked, %u failed, %u trees removed\n", flipped,
                  tally.worked, tally.failed, removed);
    check_outside(before);
    assert_true(flipped >= FLIPS_MIN);
    assert_true(tally.worked > 100 && tally.failed > 10 && removed > 1);
}

static void the_race_is_real(void **state)
{
    double start = now();
    bool touched = false;

    while (!touched && now() - start < SECONDS_MAX) {
        int fd = open(host("flip/control"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0)
            close(fd);
        touched = access(at("@/outside/control"), F_OK) == 0;
    }
    stop();
    assert_true(touched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_outside_is_touched, setup, teardown),
        cmocka_unit_test_setup_teardown(the_race_is_real, setup, teardown),
    };

    alarm(100);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
