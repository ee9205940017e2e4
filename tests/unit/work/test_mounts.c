/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/*
 * Mounts of another namespace, which is what a sandbox looks like from the engine. The kernel lets us
 * remove and replace what is a mount point only there, and takes the mount away with it: that would undo
 * what the policy hides and protects.
 */
#include "work/work.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "inside.h"
#include "sys/path.h"

static pid_t holder;

static int write_text(const char *path, const char *text)
{
    fd_auto int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static bool mount_on_itself(const char *path, unsigned long flags)
{
    return mount(path, path, NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | flags, NULL) == 0;
}

/* In the child: a namespace with "protected" read-only and "granted" writable, each a mount. */
static int hold(int ready)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
        return 2;
    if (uid != 0) {
        prctl(PR_SET_DUMPABLE, 1);
        snprintf(map, sizeof map, "%u %u 1", uid, uid);
        if (write_text("/proc/self/setgroups", "deny") < 0 ||
            write_text("/proc/self/uid_map", map) < 0)
            return 2;
        snprintf(map, sizeof map, "%u %u 1", gid, gid);
        if (write_text("/proc/self/gid_map", map) < 0)
            return 2;
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        !mount_on_itself(host("protected"), MS_RDONLY) ||
        !mount_on_itself(host("dir/protected"), MS_RDONLY) ||
        !mount_on_itself(host("dir/full"), MS_RDONLY) || !mount_on_itself(host("granted"), 0))
        return 3;
    if (write(ready, "", 1) != 1)
        return 4;
    pause();
    return 0;
}

static int setup(void **state)
{
    int ready[2];
    char byte, path[PATH_MAX];

    if (inside_setup(state) < 0 || pipe(ready) < 0)
        return -1;
    make_dir("dir");
    make_dir("dir/full");
    put("dir/full/file", "kept");
    put("dir/protected", "kept");
    put("dir/other", "x");
    put("protected", "kept");
    put("granted", "old");
    holder = fork();
    if (holder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        _exit(hold(ready[1]));
    }
    close(ready[1]);
    bool is_held = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    fd_close(&work.root);
    snprintf(path, sizeof path, "/proc/%d/root%s", holder, host("/"));
    work.root = is_held ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    return 0;
}

static int teardown(void **state)
{
    if (holder > 0) {
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
    }
    holder = 0;
    return inside_teardown(state);
}

/* Whether the mounts are still there, seen through the namespace. */
static bool is_mount(const char *path)
{
    struct {
        uint32_t head[2];
        uint64_t attributes;
        uint64_t rest[30];
    } st = {0};
    fd_auto int fd = sys_open_inside(work.root, path, O_PATH);

    return fd >= 0 && syscall(SYS_statx, fd, "", 0x1000 /* AT_EMPTY_PATH */, 0, &st) == 0 &&
           (st.attributes & 0x2000);
}

static void mounts_hold(void **state)
{
    struct hutch_file_write_options how = HUTCH_FILE_WRITE_INIT;
    struct hutch_file_edit_options editing = HUTCH_FILE_EDIT_INIT;
    struct hutch_file_delete_options removing = HUTCH_FILE_DELETE_INIT;
    struct hutch_file_written written;
    struct hutch_file_edited edited;

    if (work.root < 0) {
        SKIP("no mount namespace can be made here");
    }
    assert_true(is_mount("/ws/protected"));
    expect("write", work_write(&work, "protected", "x", 1, &how, &arena, &written, &err),
           HUTCH_EDENIED, EROFS);
    expect("edit", work_edit(&work, "protected", "kept", "x", &editing, &arena, &edited, &err),
           HUTCH_EDENIED, EROFS);
    expect("delete", work_delete(&work, "protected", &removing, &err), HUTCH_EBUSY, EBUSY);
    removing.recursive = true;
    expect("directory", work_delete(&work, "dir/full", &removing, &err), HUTCH_EBUSY, EBUSY);
    expect("above", work_delete(&work, "dir", &removing, &err), HUTCH_EBUSY, EBUSY);
    assert_true(is_mount("/ws/protected"));
    assert_true(is_mount("/ws/dir/full"));
    assert_true(is_mount("/ws/dir/protected"));
    assert_string_equal(get("protected"), "kept");
    assert_string_equal(get("dir/protected"), "kept");
    assert_string_equal(get("dir/full/file"), "kept");
}

static void what_is_granted_by_itself_can_be_written(void **state)
{
    struct hutch_file_write_options how = HUTCH_FILE_WRITE_INIT;
    struct hutch_file_edit_options editing = HUTCH_FILE_EDIT_INIT;
    struct hutch_file_written written;
    struct hutch_file_edited edited;

    if (work.root < 0) {
        SKIP("no mount namespace can be made here");
    }
    expect("write", work_write(&work, "granted", "new", 3, &how, &arena, &written, &err), 0, 0);
    assert_true(written.in_place);
    assert_string_equal(get("granted"), "new");
    expect("edit", work_edit(&work, "granted", "new", "newer", &editing, &arena, &edited, &err), 0,
           0);
    assert_string_equal(get("granted"), "newer");
    assert_true(is_mount("/ws/granted"));
}

/* Without the check: what the kernel does for somebody outside. */
static void the_kernel_would_not_refuse(void **state)
{
    if (work.root < 0) {
        SKIP("no mount namespace can be made here");
    }
    fd_auto int dir = sys_open_inside(work.root, "/ws", O_PATH | O_DIRECTORY);
    assert_int_equal(unlinkat(dir, "protected", 0), 0);
    assert_false(is_there("protected"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mounts_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_granted_by_itself_can_be_written, setup, teardown),
        cmocka_unit_test_setup_teardown(the_kernel_would_not_refuse, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
