/* SPDX-License-Identifier: Apache-2.0 */
#include "work/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/str.h"
#include "sys/path.h"
#include "sys/procfs.h"
#include "sys/ret.h"

#define K_STATX_ATTR_MOUNT_ROOT 0x2000 /* Linux 5.8 */

/* struct statx of the kernel, which musl 1.2.3 does not have. */
struct k_statx {
    uint32_t mask;
    uint32_t blksize;
    uint64_t attributes;
    uint64_t unused[5];
    uint64_t attributes_mask;
    uint64_t rest[24];
};
_Static_assert(sizeof(struct k_statx) == 256, "the kernel writes 256 bytes");

#define LINKS_MAX 40 /* as many as the kernel follows */
#define DIRECTORY_MODE 0755

/* Append the names of `path` to the text of `len` bytes. */
static int append(char out[PATH_MAX], size_t *len, const char *path)
{
    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        size_t name = strcspn(path, "/");

        if (name != 1 || path[0] != '.') {
            if (*len + 1 + name >= PATH_MAX)
                return -ENAMETOOLONG;
            out[(*len)++] = '/';
            memcpy(out + *len, path, name);
            *len += name;
        }
        path += name;
    }
    out[*len] = '\0';
    return 0;
}

static int join(const char *dir, const char *path, char out[PATH_MAX])
{
    size_t len = 0;
    int r = path[0] == '/' ? 0 : append(out, &len, dir);

    if (r == 0)
        r = append(out, &len, path);
    if (r == 0 && len == 0)
        memcpy(out, "/", 2);
    return r;
}

int work_path_text(const struct work *work, const char *path, char out[PATH_MAX])
{
    if (path && !*path)
        return -ENOENT; /* as everywhere */
    return join(work->cwd ? work->cwd : "/", path ? path : ".", out);
}

int work_path_below(const char *dir, const char *below, char out[PATH_MAX])
{
    size_t len = 0;
    int r = append(out, &len, dir);

    if (r == 0)
        r = append(out, &len, below);
    if (r == 0 && len == 0)
        memcpy(out, "/", 2);
    return r;
}

int work_path_open(const struct work *work, const char *text, uint64_t flags)
{
    return sys_open_inside(work->root, text, flags);
}

void work_spot_clear(struct work_spot *spot)
{
    fd_close(&spot->dir);
}

int work_spot_open(const struct work *work, const char *text, struct work_spot *ret)
{
    const char *slash = strrchr(text, '/');
    char dir[PATH_MAX];

    if (!slash[1] || str_eq(slash + 1, ".."))
        return -EISDIR;
    size_t len = (size_t)(slash - text);
    memcpy(dir, text, len);
    dir[len] = '\0';
    int fd = work_path_open(work, len ? dir : "/", O_PATH | O_DIRECTORY);
    if (fd < 0)
        return fd;
    *ret = (struct work_spot){.dir = fd, .name = slash + 1};
    return 0;
}

/* Links of /proc have a text that is not where they lead. */
static bool is_magic(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* The text of the link at `spot`; -EINVAL when there is none. */
static int read_link(const struct work_spot *spot, char out[PATH_MAX])
{
    struct stat st;
    fd_auto int fd = ret_errno(openat(spot->dir, spot->name, O_PATH | O_NOFOLLOW | O_CLOEXEC));

    if (fd < 0)
        return fd == -ENOENT ? -EINVAL : fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISLNK(st.st_mode))
        return -EINVAL;
    if (is_magic(fd))
        return -ELOOP;
    ssize_t len = readlinkat(fd, "", out, PATH_MAX);
    if (len < 0)
        return -errno;
    if (len == PATH_MAX)
        return -ENAMETOOLONG;
    out[len] = '\0';
    return 0;
}

int work_spot_follow(const struct work *work, char text[PATH_MAX], struct work_spot *ret)
{
    char link[PATH_MAX], next[PATH_MAX];

    link[0] = '\0';
    for (int links = 0; links <= LINKS_MAX; links++) {
        work_spot_auto struct work_spot spot = WORK_SPOT_INIT;
        int r = work_spot_open(work, text, &spot);
        if (r < 0)
            return r;
        r = read_link(&spot, link);
        if (r == -EINVAL) {
            *ret = (struct work_spot){.dir = fd_take(&spot.dir), .name = spot.name};
            return 0;
        }
        if (r < 0)
            return r;
        text[spot.name - text] = '\0'; /* the directory, which is where the link's text starts */
        r = join(text, link, next);
        if (r < 0)
            return r;
        memcpy(text, next, strlen(next) + 1);
    }
    return -ELOOP;
}

/* A directory, which may have come into being meanwhile. Returns its descriptor. */
static int make_one(int dir, const char *name)
{
    char self[SYS_PROC_NAME_MAX];
    struct stat st;
    bool made = mkdirat(dir, name, DIRECTORY_MODE) == 0;

    if (!made && errno != EEXIST)
        return -errno;
    fd_auto int fd = sys_open_beneath(dir, name, O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return fd == -ELOOP ? -ENOTDIR : fd;
    /* What the umask took away. The rest (a set-group-id bit) is the directory's to hand down. */
    sys_proc_fd_name(fd, self);
    if (made && (fstat(fd, &st) < 0 || chmod(self, (st.st_mode & 07777) | DIRECTORY_MODE) < 0))
        return -errno;
    return fd_take(&fd);
}

/* The directory `name` in the one that we are in; `text` is its whole path. */
static int open_next(const struct work *work, int dir, const char *name, const char *text)
{
    int fd = str_eq(name, "..") ? -ELOOP : sys_open_beneath(dir, name, O_PATH | O_DIRECTORY, 0);

    /* From here alone, ".." and links would mean something else. */
    return fd == -ELOOP ? work_path_open(work, text, O_PATH | O_DIRECTORY) : fd;
}

int work_path_make_parents(const struct work *work, const char *text)
{
    char dir[PATH_MAX];
    size_t len = (size_t)(strrchr(text, '/') - text);
    fd_auto int fd = work_path_open(work, "/", O_PATH | O_DIRECTORY);

    memcpy(dir, text, len);
    dir[len] = '\0';
    for (char *name = dir; *name && fd >= 0;) {
        char *end = strchrnul(++name, '/');
        char kept = *end;

        *end = '\0';
        int next = open_next(work, fd, name, dir);
        /* Not all that follows must be missing: "new/../old/file". */
        if (next == -ENOENT)
            next = make_one(fd, name);
        *end = kept;
        name = end;
        fd_close(&fd);
        fd = next;
    }
    return fd < 0 ? fd : 0;
}

int work_is_mount(int dir, const char *name)
{
    struct k_statx st;
    int r = ret_errno(syscall(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &st));

    if (r < 0)
        return r;
    if (!(st.attributes_mask & K_STATX_ATTR_MOUNT_ROOT))
        return 1; /* cannot tell */
    return st.attributes & K_STATX_ATTR_MOUNT_ROOT ? 1 : 0;
}
