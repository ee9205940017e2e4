/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "work/rights.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "inside.h"

#define OTHER 23456

static struct hutch_file_content content;
static struct hutch_file_written written;

static int read_as(const char *path)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;

    return work_read(&work, path, &options, &arena, &content, &err);
}

static int write_as(const char *path)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;

    return work_write(&work, path, "x", 1, &options, &arena, &written, &err);
}

/* Everything about this thread that must be as before. */
struct state {
    unsigned fsuid, fsgid;
    int groups;
    unsigned caps[2];
    int dumpable, death_signal;
};

static struct state look(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];
    struct state now = {0};

    syscall(SYS_capget, &header, caps);
    now.fsuid = (unsigned)syscall(SYS_setfsuid, -1);
    now.fsgid = (unsigned)syscall(SYS_setfsgid, -1);
    now.groups = getgroups(0, NULL);
    now.caps[0] = caps[0].effective;
    now.caps[1] = caps[1].effective;
    now.dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_GET_PDEATHSIG, &now.death_signal, 0, 0, 0);
    return now;
}

static void rights_are_the_sandboxs(void **state)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;

    if (geteuid() != 0) {
        SKIP("only root can have other ids");
    }
    put("roots", "secret");
    chmod(host("roots"), 0600);
    put("open", "x");
    make_dir("theirs");
    assert_int_equal(chown(host("theirs"), OTHER, OTHER), 0);
    put("grouped", "x");
    assert_int_equal(chown(host("grouped"), 0, 0), 0);
    chmod(host("grouped"), 0640); /* for the group 0, which this process is in */

    work.fsuid = OTHER;
    work.fsgid = OTHER;
    struct state before = look();
    expect("roots", read_as("roots"), HUTCH_EDENIED, EACCES);
    expect("grouped", read_as("grouped"), HUTCH_EDENIED, EACCES);
    expect("open", read_as("open"), 0, 0);
    expect("open", write_as("open"), HUTCH_EDENIED, EACCES);
    expect("new", write_as("new"), HUTCH_EDENIED, EACCES);
    expect("theirs", write_as("theirs/a/b/new"), 0, 0);
    expect("delete", work_delete(&work, "open", &options, &err), HUTCH_EDENIED, EACCES);
    struct state after = look();
    assert_memory_equal(&before, &after, sizeof before);

    struct stat st;
    assert_int_equal(stat(host("theirs/a/b/new"), &st), 0);
    assert_int_equal(st.st_uid, OTHER);
    assert_int_equal(st.st_gid, OTHER);
    assert_int_equal(stat(host("theirs/a"), &st), 0);
    assert_int_equal(st.st_uid, OTHER);
}

static void everything_is_given_back(void **state)
{
    gid_t groups[3] = {5, 6, 7};

    if (geteuid() != 0) {
        SKIP("only root can have other ids");
    }
    pid_t pid = fork();
    if (pid == 0) {
        syscall(SYS_setgroups, 3, groups);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        work.fsuid = work.fsgid = OTHER;
        struct state before = look(), after;
        for (int i = 0; i < 100; i++)
            read_as("none");
        after = look();
        _exit(memcmp(&before, &after, sizeof before) != 0 || after.groups != 3);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void what_cannot_be_taken_is_an_error(void **state)
{
    struct rights rights;

    work.fsuid = 5;
    assert_int_equal(rights_take(&work, &rights), -EINVAL);
    if (geteuid() == 0)
        return;
    work.fsgid = 5;
    expect("ids of others", read_as("none"), HUTCH_ESYSTEM, EPERM);
    assert_int_equal(syscall(SYS_setfsuid, -1), geteuid());
    work.fsuid = geteuid();
    work.fsgid = getegid();
    expect("its own", write_as("new"), 0, 0);
}

struct elsewhere {
    pthread_barrier_t barrier;
    struct state seen;
};

static void *look_elsewhere(void *arg)
{
    struct elsewhere *elsewhere = arg;

    pthread_barrier_wait(&elsewhere->barrier); /* the other one has taken its rights */
    elsewhere->seen = look();
    pthread_barrier_wait(&elsewhere->barrier);
    return NULL;
}

static void other_threads_keep_theirs(void **state)
{
    struct elsewhere elsewhere;
    struct rights rights;
    pthread_t thread;

    if (geteuid() != 0) {
        SKIP("only root can have other ids");
    }
    struct state before = look();
    pthread_barrier_init(&elsewhere.barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, look_elsewhere, &elsewhere), 0);
    work.fsuid = work.fsgid = OTHER;
    int taken = rights_take(&work, &rights);
    struct state during = look();
    pthread_barrier_wait(&elsewhere.barrier);
    pthread_barrier_wait(&elsewhere.barrier);
    int given = rights_give_back(&rights);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&elsewhere.barrier);
    assert_int_equal(taken, 0);
    assert_int_equal(given, 0);
    assert_int_equal(during.fsuid, OTHER);
    assert_int_equal(during.fsgid, OTHER);
    assert_int_equal(during.groups, 0);
    assert_int_equal(during.caps[0] | during.caps[1], 0);
    assert_int_equal(geteuid(), 0);
    assert_int_equal(elsewhere.seen.fsuid, before.fsuid);
    assert_int_equal(elsewhere.seen.groups, before.groups);
    assert_int_equal(elsewhere.seen.caps[0], before.caps[0]);
}

/* Threads in calls as different ids at the same time. */
struct job {
    struct work work;
    const char *path;
    int want;
    int wrong;
};

static void *keep_reading(void *arg)
{
    struct job *job = arg;

    for (int i = 0; i < 2000; i++) {
        struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
        struct hutch_file_content got;
        struct arena own;

        arena_init(&own);
        job->wrong += work_read(&job->work, job->path, &options, &own, &got, NULL) != job->want;
        arena_clear(&own);
    }
    return NULL;
}

static void threads_do_not_mix(void **state)
{
    struct job jobs[4] = {
        {.path = "/ws/first", .want = 0},
        {.path = "/ws/first", .want = HUTCH_EDENIED},
        {.path = "/ws/second", .want = 0},
        {.path = "/ws/first", .want = 0},
    };
    pthread_t threads[4];

    if (geteuid() != 0) {
        SKIP("only root can have other ids");
    }
    put("first", "1");
    put("second", "2");
    chmod(host("first"), 0600);
    chmod(host("second"), 0600);
    assert_int_equal(chown(host("first"), OTHER, OTHER), 0);
    assert_int_equal(chown(host("second"), OTHER + 1, OTHER + 1), 0);
    for (int i = 0; i < 4; i++) {
        jobs[i].work = work;
        jobs[i].work.fsuid = i == 0 ? OTHER : i == 3 ? (uid_t)-1 : OTHER + 1;
        jobs[i].work.fsgid = jobs[i].work.fsuid;
        assert_int_equal(pthread_create(&threads[i], NULL, keep_reading, &jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rights_are_the_sandboxs, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(everything_is_given_back, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_taken_is_an_error, inside_setup,
                                        inside_teardown),
        cmocka_unit_test_setup_teardown(other_threads_keep_theirs, inside_setup, inside_teardown),
        cmocka_unit_test_setup_teardown(threads_do_not_mix, inside_setup, inside_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
