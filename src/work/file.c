/* SPDX-License-Identifier: Apache-2.0 */
#include "work/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "sys/procfs.h"
#include "sys/ret.h"
#include "work/path.h"

#define LOAD_STEP ((size_t)256 << 10)

int work_file_check(const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return 0;
    return S_ISDIR(st->st_mode) ? -EISDIR : S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
}

int work_file_reopen(int found, int flags)
{
    char name[SYS_PROC_NAME_MAX];

    sys_proc_fd_name(found, name);
    /* O_NONBLOCK: without it, whoever holds a lease could make us wait for most of a minute. */
    int fd = ret_errno(open(name, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd == -EAGAIN)
        return -EBUSY;
    return fd == -ENOENT ? -ENOSYS : fd; /* we have the file: it is /proc that is not there */
}

/*
 * Whether a file of /proc is about a process of the sandbox. Commands are kept from what is private to
 * others (their environment, their memory) by Landlock; nothing would keep us.
 */
static bool is_of_process(const struct work *work, int found, const struct stat *st)
{
    const uid_t own = work->fsuid == (uid_t)-1 ? geteuid() : work->fsuid;
    struct statfs fs;

    /* Root's are those about no process. No sandbox is root's. */
    if (st->st_uid != own || own == 0)
        return false;
    return fstatfs(found, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

int work_file_open_found(const struct work *work, int found, struct stat *ret_st)
{
    struct stat st;

    if (fstat(found, &st) < 0)
        return -errno;
    int r = work_file_check(&st);
    if (r < 0)
        return r;
    if (is_of_process(work, found, &st))
        return -EACCES;
    *ret_st = st;
    return work_file_reopen(found, O_RDONLY);
}

int work_file_open(const struct work *work, const char *text, struct stat *ret_st)
{
    fd_auto int found = work_path_open(work, text, O_PATH);

    return found < 0 ? found : work_file_open_found(work, found, ret_st);
}

int work_file_open_at(const struct work *work, int dir, const char *name, struct stat *ret_st)
{
    fd_auto int found = ret_errno(openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));

    return found < 0 ? found : work_file_open_found(work, found, ret_st);
}

ssize_t work_file_read(int fd, void *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = read(fd, (char *)data + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int work_file_write(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

void work_bytes_clear(struct work_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct work_bytes){0};
}

static int reserve(struct work_bytes *bytes, size_t cap)
{
    if (cap <= bytes->cap)
        return 0;
    if (cap < bytes->cap * 2)
        cap = bytes->cap * 2;
    char *data = realloc(bytes->data, cap);
    if (!data)
        return -ENOMEM;
    bytes->data = data;
    bytes->cap = cap;
    return 0;
}

int work_file_load(int fd, size_t max, bool text, struct work_bytes *bytes)
{
    bytes->len = 0;
    bytes->more = false;
    /* Sizes are not asked for: they lie in /proc, and of files that grow or have holes. */
    for (;;) {
        size_t step = max - bytes->len < LOAD_STEP ? max - bytes->len : LOAD_STEP;
        int r = reserve(bytes, bytes->len + step + 2);
        if (r < 0)
            return r;
        char *at = bytes->data + bytes->len;
        /* One byte too many, to see that there is more. */
        ssize_t n = work_file_read(fd, at, step + (bytes->len + step == max));
        if (n < 0)
            return (int)n;
        bytes->more = (size_t)n > step;
        bytes->len += bytes->more ? step : (size_t)n;
        bytes->data[bytes->len] = '\0';
        if ((size_t)n != step || step == 0 || (text && memchr(at, '\0', (size_t)n)))
            return 0;
    }
}

enum hutch_file_type work_file_type(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return HUTCH_FILE_REGULAR;
    case S_IFDIR: return HUTCH_FILE_DIRECTORY;
    case S_IFLNK: return HUTCH_FILE_SYMLINK;
    default: return HUTCH_FILE_OTHER;
    }
}

int64_t work_file_modified_ns(const struct stat *st)
{
    int64_t ns;

    /* Any user can give a file any time: those beyond the year 2262 do not fit. */
    if (__builtin_mul_overflow((int64_t)st->st_mtim.tv_sec, 1000000000, &ns) ||
        __builtin_add_overflow(ns, st->st_mtim.tv_nsec, &ns))
        return st->st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}
