/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new file beside the old one, renamed over it: whoever reads sees the old content or the new.
 * Nothing is synced to disk: this is for processes, not for power cuts.
 *
 * The directory belongs to the untrusted. They may put anything at the temporary name or at the last
 * one, at any time; then that is what gets renamed or replaced, in the same directory, which is
 * nothing they could not have done themselves.
 */
#include "work/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/ret.h"
#include "work/file.h"

#define K_SYS_faccessat2 439 /* Linux 5.8 */
#define K_AT_EMPTY_PATH 0x1000
#define K_RENAME_NOREPLACE 1

#define NEW_MODE 0644
#define NAME_TRIES 8

/* The old file, if there is one. */
struct before {
    int found;    /* O_PATH */
    bool mounted; /* it is a mount point */
    struct stat st;
};

static int look(const struct replace *replace, struct before *before)
{
    const struct work_spot *spot = replace->spot;
    int fd = ret_errno(openat(spot->dir, spot->name, O_PATH | O_NOFOLLOW | O_CLOEXEC));

    before->found = fd;
    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return fd;
    if (fstat(fd, &before->st) < 0)
        return -errno;
    if (replace->exclusive)
        return -EEXIST;
    int r = work_file_check(&before->st);
    if (r < 0)
        return r;
    r = work_is_mount(spot->dir, spot->name);
    if (r < 0)
        return r;
    before->mounted = r > 0;
    /* A file that may not be written is not to be replaced either, though its directory would let us. */
    return ret_errno(syscall(K_SYS_faccessat2, fd, "", W_OK, AT_EACCESS | K_AT_EMPTY_PATH));
}

static int make_temporary(int dir, char *name, size_t size)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        unsigned long long random;

        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return -EIO;
        snprintf(name, size, ".hutch-%016llx", random);
        int fd = ret_errno(
            openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd != -EEXIST)
            return fd;
    }
    return -EEXIST;
}

static int fill(const struct replace *replace, int fd, const struct before *before)
{
    bool was = before->found >= 0;
    mode_t mode = replace->mode ? replace->mode : was ? before->st.st_mode & 0777 : NEW_MODE;
    struct stat st;

    int r = work_file_write(fd, replace->data, replace->len);
    if (r < 0)
        return r;
    if (fstat(fd, &st) < 0)
        return -errno;
    /* Owner and group stay where that is possible. Before the mode: a new owner clears bits of it. */
    if (was && st.st_gid != before->st.st_gid && fchown(fd, (uid_t)-1, before->st.st_gid) < 0 &&
        errno != EPERM)
        return -errno;
    if (was && st.st_uid != before->st.st_uid && fchown(fd, before->st.st_uid, (gid_t)-1) < 0 &&
        errno != EPERM)
        return -errno;
    return ret_errno(fchmod(fd, mode));
}

static int by_rename(const struct replace *replace, const struct before *before)
{
    const struct work_spot *spot = replace->spot;
    char name[32];
    fd_auto int fd = make_temporary(spot->dir, name, sizeof name);
    if (fd < 0)
        return fd;

    int r = fill(replace, fd, before);
    if (r == 0)
        r = ret_errno(syscall(SYS_renameat2, spot->dir, name, spot->dir, spot->name,
                              replace->exclusive ? K_RENAME_NOREPLACE : 0));
    if (r < 0)
        unlinkat(spot->dir, name, 0);
    return r;
}

/*
 * For files that cannot be replaced: mounted by themselves (a writable path of the policy), or in a
 * directory that is not ours to change. A command would write them in the same way.
 */
static int in_place(const struct replace *replace, const struct before *before)
{
    fd_auto int fd = work_file_reopen(before->found, O_WRONLY);
    if (fd < 0)
        return fd;
    if (ftruncate(fd, 0) < 0)
        return -errno;
    int r = work_file_write(fd, replace->data, replace->len);
    if (r == 0 && replace->mode && (before->st.st_mode & 07777) != replace->mode)
        r = ret_errno(fchmod(fd, replace->mode));
    return r;
}

int replace_file(struct replace *replace)
{
    struct before before = {.found = -1};
    int r = look(replace, &before);

    if (r == 0) {
        r = before.mounted ? -EBUSY : by_rename(replace, &before);
        replace->created = before.found < 0;
        if (before.found >= 0 && (r == -EACCES || r == -EPERM || r == -EROFS || r == -EBUSY)) {
            replace->in_place = true;
            r = in_place(replace, &before);
        }
    }
    fd_close(&before.found);
    return r;
}
