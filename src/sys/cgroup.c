/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/str.h"
#include "sys/path.h"
#include "sys/ret.h"

#define K_CGROUP2_SUPER_MAGIC 0x63677270
#define LIST_MAX 512 /* names of controllers */

bool sys_cgroup_is_absent(int r)
{
    switch (-r) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP: /* a link where a hierarchy would be */
    case EACCES:
    case EPERM:
    case EROFS:
    case EOPNOTSUPP: /* a group of threads */
    case ENOSYS: return true;
    default: return false;
    }
}

/* ---- Where ---- */

int sys_cgroup_root(void)
{
    return sys_open("/sys/fs/cgroup", O_PATH | O_DIRECTORY);
}

int sys_cgroup_version(int root)
{
    struct statfs fs;

    if (fstatfs(root, &fs) < 0)
        return -errno;
    return fs.f_type == K_CGROUP2_SUPER_MAGIC ? 2 : 1;
}

/* Whether `word` is in a list of `len` bytes. */
static bool is_listed(const char *list, size_t len, char separator, const char *word)
{
    size_t word_len = strlen(word);

    for (const char *end = list + len; list <= end;) {
        const char *next = memchr(list, separator, (size_t)(end - list));
        size_t item = (size_t)((next ? next : end) - list);
        if (item == word_len && memcmp(list, word, item) == 0)
            return true;
        list += item + 1;
    }
    return false;
}

/* A path that begins with ".." is one outside of the cgroup namespace: nothing we can reach. */
static bool is_outside(const char *path, size_t len)
{
    return len >= 3 && memcmp(path, "/..", 3) == 0 && (len == 3 || path[3] == '/');
}

static int join_path(const char *mount, size_t mount_len, const char *path, size_t len, char *out,
                     size_t size)
{
    if (len == 0 || path[0] != '/' || is_outside(path, len))
        return -ENOENT;
    /* Without a mount the path's own slash would make it absolute; a lone slash says nothing. */
    size_t skip = mount_len == 0 || len == 1;
    if (mount_len + len - skip >= size)
        return -ENAMETOOLONG;
    memcpy(out, mount, mount_len);
    memcpy(out + mount_len, path + skip, len - skip);
    out[mount_len + len - skip] = '\0';
    return 0;
}

int sys_cgroup_place(const char *text, const char *controller, char *out, size_t size)
{
    /* "4:cpu,cpuacct:/path"; only the path can have more colons. A line without an end was cut. */
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        const char *list = memchr(text, ':', (size_t)(end - text));
        const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (!path)
            continue;
        size_t len = (size_t)(path - ++list);
        if (is_listed(list, len, ',', controller))
            return join_path(list, len, path + 1, (size_t)(end - path - 1), out, size);
    }
    return -ENOENT;
}

/* ---- Searching ---- */

static int read_file(int dir, const char *file, char *out, size_t size)
{
    fd_auto int fd = ret_errno(openat(dir, file, O_RDONLY | O_CLOEXEC));

    return fd < 0 ? fd : sys_cgroup_read(fd, out, size);
}

int sys_cgroup_listed(int dir, const char *file, const char *const *names, unsigned *ret)
{
    char text[LIST_MAX];
    int len = read_file(dir, file, text, sizeof text);

    *ret = 0;
    if (len < 0)
        return len;
    if (len > 0 && text[len - 1] == '\n')
        len--;
    for (unsigned i = 0; names[i]; i++)
        if (is_listed(text, (size_t)len, ' ', names[i]))
            *ret |= 1U << i;
    return 0;
}

static int may_write(int dir, const char *file)
{
    return ret_errno(faccessat(dir, file, W_OK, AT_EACCESS));
}

/* A group with processes cannot give its children controllers, unless it is the root of them all. */
static int may_enable(int dir)
{
    char first[8];
    int r = may_write(dir, "cgroup.subtree_control");

    if (r < 0)
        return r;
    r = ret_errno(faccessat(dir, "cgroup.type", F_OK, 0));
    if (r == -ENOENT)
        return 0;
    if (r == 0)
        r = read_file(dir, "cgroup.procs", first, sizeof first);
    return r > 0 ? -EPERM : r;
}

static int controllers_of(int dir, const char *const *names, unsigned all, unsigned *ret)
{
    unsigned known;
    int r = sys_cgroup_listed(dir, "cgroup.subtree_control", names, ret);

    if (r < 0 || *ret == all)
        return r;
    r = sys_cgroup_listed(dir, "cgroup.controllers", names, &known);
    if (r < 0 || !(known & ~*ret))
        return r;
    r = may_enable(dir);
    if (r == 0)
        *ret |= known;
    return sys_cgroup_is_absent(r) ? 0 : r;
}

/* What a group in `path` could have, when this process may make one there. */
static int look_at(int root, const char *path, const char *const *names, unsigned all,
                   unsigned *ret_have)
{
    fd_auto int dir = sys_open_beneath(root, path, O_PATH | O_DIRECTORY, 0);
    int r = dir < 0 ? dir : sys_cgroup_may_make(dir);

    /* To move a process, one must be allowed to write to `cgroup.procs` above both its groups. */
    if (r == 0)
        r = may_write(dir, "cgroup.procs");
    if (r == 0)
        r = controllers_of(dir, names, all, ret_have);
    return r < 0 ? r : fd_take(&dir);
}

/* Whether `a` has the most wanted of what only one of the two has. */
static bool is_better(unsigned a, unsigned b)
{
    unsigned differ = a ^ b;

    return (a & differ & -differ) != 0;
}

/* The parent of a path; false when it has none. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (!path[0])
        return false;
    *(slash ? slash : path) = '\0';
    return true;
}

int sys_cgroup_search(int root, const char *own, const char *const *names, unsigned *ret_have)
{
    char path[PATH_MAX];
    fd_auto int best = -1;
    unsigned best_have = 0;
    unsigned all = 0;
    int in_the_way = 0;
    size_t len = strlen(own);

    if (len >= sizeof path)
        return -ENAMETOOLONG;
    memcpy(path, own, len + 1);
    for (unsigned i = 0; names[i]; i++)
        all |= 1U << i;
    do {
        unsigned have = 0;
        fd_auto int dir = look_at(root, path, names, all, &have);
        if (dir < 0 && !sys_cgroup_is_absent(dir))
            return dir;
        if (dir < 0 && in_the_way == 0)
            in_the_way = dir;
        if (dir < 0 || (best >= 0 && !is_better(have, best_have)))
            continue;
        fd_close(&best);
        best = fd_take(&dir);
        best_have = have;
    } while ((best < 0 || best_have != all) && go_up(path));
    if (best < 0)
        return in_the_way;
    *ret_have = best_have;
    return fd_take(&best);
}

int sys_cgroup_enable(int dir, const char *controller)
{
    char text[64] = "+";
    size_t len = strlen(controller);

    if (len >= sizeof text - 1)
        return -ENAMETOOLONG;
    memcpy(text + 1, controller, len + 1);
    return sys_cgroup_write(dir, "cgroup.subtree_control", text);
}

/* ---- Groups ---- */

int sys_cgroup_may_make(int dir)
{
    return may_write(dir, ".");
}

int sys_cgroup_make(int parent, const char *name)
{
    return ret_errno(mkdirat(parent, name, 0755));
}

int sys_cgroup_remove(int parent, const char *name)
{
    return ret_errno(unlinkat(parent, name, AT_REMOVEDIR));
}

int sys_cgroup_open(int parent, const char *name)
{
    return ret_errno(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int sys_cgroup_lock(int dir)
{
    return ret_errno(flock(dir, LOCK_EX | LOCK_NB));
}

int sys_cgroup_write(int dir, const char *file, const char *text)
{
    fd_auto int fd = ret_errno(openat(dir, file, O_WRONLY | O_CLOEXEC));
    if (fd < 0)
        return fd;

    /* These files take all of it or nothing. */
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int sys_cgroup_write_number(int dir, const char *file, uint64_t value)
{
    char text[NUM_TEXT_MAX];

    *num_put(text, value, 10) = '\0';
    return sys_cgroup_write(dir, file, text);
}

int sys_cgroup_join(int tasks_fd)
{
    return write(tasks_fd, "0", 1) < 0 ? -errno : 0;
}

/* ---- What files say ---- */

int sys_cgroup_read(int fd, char *out, size_t size)
{
    ssize_t len = pread(fd, out, size - 1, 0);

    if (len < 0)
        return -errno;
    out[len] = '\0';
    return (int)len;
}

/* The number that `text` begins with; NULL when there is none, else where it ends. */
static const char *take_number(const char *text, uint64_t *ret)
{
    const char *start = text;
    uint64_t value = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(value, 10U, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return NULL;
    if (text == start)
        return NULL;
    *ret = value;
    return text;
}

int sys_cgroup_number(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    const char *end = take_number(text, &value);

    if (str_eq(text, "max\n") || str_eq(text, "max")) {
        *ret = UINT64_MAX;
        return 0;
    }
    if (!end || (*end != '\n' && *end != '\0'))
        return -EINVAL;
    *ret = value;
    return 0;
}

int sys_cgroup_key(const char *text, const char *key, uint64_t *ret)
{
    size_t len = strlen(key);

    for (; text; text = strchr(text, '\n'), text = text ? text + 1 : NULL) {
        uint64_t value = 0;
        if (strncmp(text, key, len) != 0 || text[len] != ' ')
            continue;
        const char *end = take_number(text + len + 1, &value);
        if (!end || (*end != '\n' && *end != '\0'))
            return -EINVAL;
        *ret = value;
        return 0;
    }
    return -EINVAL;
}

int sys_cgroup_sum(const char *text, const char *key, uint64_t *ret)
{
    size_t len = strlen(key);
    uint64_t sum = 0;

    for (const char *word = text; word;
         word = strpbrk(word, " \n"), word = word ? word + 1 : NULL) {
        uint64_t value = 0;
        if (strncmp(word, key, len) != 0 || word[len] != '=')
            continue;
        if (!take_number(word + len + 1, &value))
            return -EINVAL;
        sum += value;
    }
    *ret = sum;
    return 0;
}
