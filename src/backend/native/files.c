/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the file system, in init's new mount namespace.
 *
 * Sources are copied first, while the host's tree is as it was; then the root is made and everything
 * is attached in the plan's order. A layout that shows the host's root uses the namespace's own copy
 * of it in place: nothing to clone and enter.
 *
 * Should: name every source from the host's root and every target from the new root by descriptor,
 * following no link; check that a source is still the file that was planned; give a mount its
 * flags while it is detached, so that it is never there without them.
 * Mustn't: create anything outside of tmpfs mounts made here, but for the mount points of a
 * workspace that is the root; leave a way to the host's root, which stays covered.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/init.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/str.h"
#include "sys/mount.h"
#include "sys/path.h"
#include "sys/ret.h"

/* Empty files take memory too: as many as the limit on the disk has room for, and some. */
#define INODE_BYTES 4096
#define INODES_LEAST 1024

#define MEMORY_FLAGS (SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV)

struct builder {
    const struct plan *plan;
    int *trees;            /* per mount: its detached tree, -1 when none or attached */
    int host;              /* the host's root */
    int memory;            /* the one tmpfs that everything of the sandbox's own is a part of */
    int root;              /* the new root, -1 before its mount */
    int parent;            /* of the last step's target, since many share one; -1: none yet */
    const char *parent_of; /* the target it was opened for */
    size_t parent_len;     /* how much of that is its own path */
    bool in_place;
    bool needs_remount;
};

unsigned init_mount_flags(const struct plan_mount *mount)
{
    unsigned flags = SYS_MOUNT_NOSUID;

    if (!mount->device && mount->kind != MOUNT_DEVPTS)
        flags |= SYS_MOUNT_NODEV;
    if (mount->why == WHY_DEVICE || mount->kind == MOUNT_PROC || mount->kind == MOUNT_MASK ||
        mount->kind == MOUNT_EMPTY)
        flags |= SYS_MOUNT_NOEXEC;
    if ((mount->kind == MOUNT_BIND && !mount->writable) || mount->kind == MOUNT_MASK ||
        mount->kind == MOUNT_EMPTY || mount->kind == MOUNT_PROC)
        flags |= SYS_MOUNT_RDONLY;
    return flags;
}

static int set_flags(struct builder *b, int tree, const struct plan_mount *mount)
{
    int r = sys_mount_set(tree, mount->recursive, init_mount_flags(mount));

    if (r != -ENOSYS)
        return r;
    b->needs_remount = true;
    return 0;
}

/* A detached copy of one directory or file of `memory`. */
static int clone_memory(struct builder *b, const char *name, const struct plan_mount *mount)
{
    fd_auto int tree = sys_mount_clone(b->memory, name, false);
    int r = tree < 0 ? tree : set_flags(b, tree, mount);

    return r < 0 ? r : fd_take(&tree);
}

static int new_tmpfs(struct builder *b, size_t index)
{
    const struct plan_mount *mount = &b->plan->mounts[index];
    char name[24];

    *num_put(name, index, 10) = '\0';
    int r = ret_errno(mkdirat(b->memory, name, mount->mode));
    return r < 0 ? r : clone_memory(b, name, mount);
}

/* With a `source`, that subset of it only. */
static int new_proc(const struct plan_mount *mount)
{
    const struct sys_mount_option options[] = {{mount->source ? "subset" : NULL, mount->source},
                                               {NULL, NULL}};

    return sys_mount_new("proc", options, init_mount_flags(mount));
}

static int new_devpts(const struct plan_mount *mount)
{
    static const struct sys_mount_option options[] = {{"ptmxmode", "0666"}, {NULL, NULL}};

    return sys_mount_new("devpts", options, init_mount_flags(mount));
}

/* Whether this is the very file the plan looked at. */
static int check_source(int fd, const struct plan_mount *mount)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (mount->device && !(S_ISCHR(st.st_mode) && st.st_rdev == mount->dev))
        return -ENXIO;
    if (mount->ino && !(st.st_ino == mount->ino && st.st_dev == mount->dev))
        return -ESTALE;
    return 0;
}

/* Devices are at places that only the host's root can change: named at once, and checked after. */
static int clone_device(struct builder *b, const struct plan_mount *mount)
{
    fd_auto int tree = sys_mount_clone(b->host, mount->source + 1, false);
    int r = tree < 0 ? tree : check_source(tree, mount);

    if (r == 0)
        r = set_flags(b, tree, mount);
    return r < 0 ? r : fd_take(&tree);
}

static int clone_source(struct builder *b, const struct plan_mount *mount)
{
    if (mount->device)
        return clone_device(b, mount);
    fd_auto int source = sys_open_beneath(b->host, mount->source + 1, O_PATH | O_NOFOLLOW, 0);
    int r = source < 0 ? source : check_source(source, mount);
    if (r < 0)
        return r;

    fd_auto int tree = sys_mount_clone(source, "", mount->recursive);
    r = tree < 0 ? tree : set_flags(b, tree, mount);
    return r < 0 ? r : fd_take(&tree);
}

static int make_tree(struct builder *b, size_t index)
{
    const struct plan_mount *mount = &b->plan->mounts[index];

    switch (mount->kind) {
    case MOUNT_BIND: return fd_take(&b->trees[index]);
    case MOUNT_TMPFS: return new_tmpfs(b, index);
    case MOUNT_PROC: return new_proc(mount);
    case MOUNT_DEVPTS: return new_devpts(mount);
    case MOUNT_MASK: return clone_memory(b, mount->directory ? "mask" : "file", mount);
    case MOUNT_EMPTY: return clone_memory(b, "empty", mount);
    default: return -EINVAL;
    }
}

static int use_host_root(struct builder *b)
{
    b->root = sys_dup(b->host, 0);
    return b->root < 0 ? b->root : set_flags(b, b->root, &b->plan->mounts[0]);
}

/* The first step is the root. */
static int make_root(struct builder *b)
{
    int r = ret_errno(mkdirat(b->memory, "root", 0));
    if (r < 0)
        return r;
    fd_auto int tree = make_tree(b, 0);
    r = tree < 0 ? tree : sys_mount_attach(tree, b->memory, "root");

    if (r == 0)
        b->root = fd_take(&tree);
    return r;
}

/*
 * The directory that `path` is in, and its last component. Kept open for the next step: what is in a
 * directory comes after what is mounted on it.
 */
static int open_parent(struct builder *b, const char *path, const char **ret_name)
{
    char dir[4096];
    size_t len = (size_t)(strrchr(path, '/') - path);

    *ret_name = path + len + 1;
    if (b->parent >= 0 && len == b->parent_len && memcmp(path, b->parent_of, len) == 0)
        return 0;
    if (len >= sizeof dir)
        return -ENAMETOOLONG;
    memcpy(dir, path, len);
    dir[len] = '\0';
    fd_close(&b->parent);
    b->parent = sys_open_beneath(b->root, len ? dir + 1 : "", O_PATH | O_DIRECTORY, 0);
    b->parent_of = path;
    b->parent_len = len;
    return b->parent < 0 ? b->parent : 0;
}

static int attach(struct builder *b, size_t index)
{
    const char *name;
    fd_auto int tree = make_tree(b, index);
    if (tree < 0)
        return tree;

    int r = open_parent(b, b->plan->mounts[index].target, &name);
    return r < 0 ? r : sys_mount_attach(tree, b->parent, name);
}

/* A mount point in the workspace may be there from the last run; it must be a directory then. */
static int make_directory(int parent, const char *name, const struct plan_mount *mount)
{
    int r = ret_errno(mkdirat(parent, name, mount->mode));

    if (r != -EEXIST)
        return r;
    fd_auto int there = sys_open_beneath(parent, name, O_PATH | O_NOFOLLOW | O_DIRECTORY, 0);
    return there < 0 ? there : 0;
}

static int make_file(int parent, const char *name, const struct plan_mount *mount)
{
    if (!mount->content) {
        int r = ret_errno(mknodat(parent, name, S_IFREG | 0444, 0));
        return r == -EEXIST && mount->on_host ? 0 : r;
    }
    fd_auto int fd = ret_errno(openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (fd < 0)
        return fd;
    ssize_t len = (ssize_t)strlen(mount->content);
    ssize_t done = write(fd, mount->content, (size_t)len);
    return done < 0 ? -errno : done == len ? 0 : -ENOSPC;
}

static int make_node(struct builder *b, const struct plan_mount *mount)
{
    const char *name;
    int r = open_parent(b, mount->target, &name);
    if (r < 0)
        return r;

    if (mount->kind == MOUNT_DIR)
        return make_directory(b->parent, name, mount);
    if (mount->kind == MOUNT_LINK)
        return ret_errno(symlinkat(mount->source, b->parent, name));
    return make_file(b->parent, name, mount);
}

static int seal(struct builder *b, const struct plan_mount *mount)
{
    fd_auto int target = sys_open_beneath(b->root, mount->target + 1, O_PATH | O_NOFOLLOW, 0);
    if (target < 0)
        return target;

    int r = sys_mount_set(target, false, SYS_MOUNT_RDONLY);
    if (r != -ENOSYS)
        return r;
    b->needs_remount = true;
    return 0;
}

static int build_step(struct builder *b, size_t index)
{
    const struct plan_mount *mount = &b->plan->mounts[index];

    switch (mount->kind) {
    case MOUNT_DIR:
    case MOUNT_FILE:
    case MOUNT_LINK: return make_node(b, mount);
    case MOUNT_SEAL: return seal(b, mount);
    default: return attach(b, index);
    }
}

/*
 * All that is the sandbox's own lies in one tmpfs: its limit is the limit of everything, and one costs
 * less than many. In it: what hidden paths are covered with, a directory and a file that nobody may
 * read and an empty directory; later a directory for each MOUNT_TMPFS.
 *
 * It lies on the root of the namespace, above the host's root, and nobody's root is there: the kernel refuses
 * a new user namespace to who has another root than its mount namespace, and that is the second lock on them,
 * beside the filters. Copies inherit its flags.
 */
static int make_memory(struct builder *b)
{
    char size[24] = {0};
    char inodes[24] = {0};
    struct sys_mount_option options[4] = {{"mode", "0700"}};
    uint64_t limit = b->plan->limits.disk_bytes;

    /* Without a limit of ours there is the kernel's: half of the host's memory. */
    if (limit != NUM_NO_LIMIT) {
        num_put(size, limit, 10);
        num_put(inodes, limit / INODE_BYTES + INODES_LEAST, 10);
        options[1] = (struct sys_mount_option){"size", size};
        options[2] = (struct sys_mount_option){"nr_inodes", inodes};
    }
    b->memory = sys_mount_new("tmpfs", options, MEMORY_FLAGS);
    if (b->memory < 0)
        return b->memory;
    int r = ret_errno(mkdirat(b->memory, "mask", 0));
    if (r == 0)
        r = ret_errno(mkdirat(b->memory, "empty", 0555));
    if (r == 0)
        r = ret_errno(mknodat(b->memory, "file", S_IFREG, 0));
    return r < 0 ? r : sys_mount_attach(b->memory, b->host, "");
}

/* What was copied from stays where nobody gets to; all the same, read-only. */
static int close_memory(struct builder *b, dev_t *ret_dev)
{
    struct stat st;

    if (fstat(b->memory, &st) < 0)
        return -errno;
    *ret_dev = st.st_dev;
    int r = sys_mount_set(b->memory, false, SYS_MOUNT_RDONLY);

    if (r != -ENOSYS)
        return r;
    b->needs_remount = true;
    r = ret_errno(fchdir(b->memory)); /* no path leads to it */
    return r < 0 ? r : sys_mount_remount(".", MEMORY_FLAGS | SYS_MOUNT_RDONLY);
}

static bool shows_host(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_BIND && strcmp(mount->source, "/") == 0;
}

/* Whether "/" is where a mount starts. It is not in a chroot: then there is nothing to use in place. */
static int is_mount_root(int fd)
{
    int r = sys_mount_set(fd, false, 0);

    return r == -EINVAL ? 0 : r == 0 || r == -ENOSYS ? 1 : r;
}

static int clone_sources(struct builder *b, uint32_t *ret_index)
{
    for (size_t i = b->in_place ? 1 : 0; i < b->plan->mount_count; i++) {
        if (b->plan->mounts[i].kind != MOUNT_BIND || b->trees[i] >= 0)
            continue;
        *ret_index = (uint32_t)i;
        b->trees[i] = clone_source(b, &b->plan->mounts[i]);
        if (b->trees[i] < 0)
            return b->trees[i];
    }
    return 0;
}

int init_files_build(const struct plan *plan, int *trees, struct init_files *ret,
                     uint32_t *ret_index)
{
    struct builder b = {.plan = plan, .trees = trees, .root = -1, .parent = -1};

    b.host = sys_open("/", O_PATH | O_DIRECTORY);
    if (b.host < 0)
        return b.host;
    int r = shows_host(&plan->mounts[0]) ? is_mount_root(b.host) : 0;
    b.in_place = r > 0;

    if (r >= 0)
        r = sys_mount_make_private();
    if (r == 0)
        r = clone_sources(&b, ret_index);
    /* The host's root is made read-only before there is anything of our own in it. */
    if (r == 0 && b.in_place)
        r = use_host_root(&b);
    if (r == 0)
        r = make_memory(&b);
    if (r == 0 && !b.in_place)
        r = make_root(&b);
    for (size_t i = 1; r == 0 && i < plan->mount_count; i++) {
        *ret_index = (uint32_t)i;
        r = build_step(&b, i);
    }
    if (r == 0)
        r = close_memory(&b, &ret->memory);
    ret->root = b.in_place ? -1 : b.root;
    ret->memory_fd = b.memory;
    ret->needs_remount = b.needs_remount;
    return r; /* init closes every descriptor but its own after set-up, or ends */
}
