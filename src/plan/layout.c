/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three layouts: what the file system looks like before any rule of the policy.
 *
 *   host     the host's root, read-only; workspace at its own place
 *   minimal  an empty root with /usr and a little of /etc; /repo, /workspace
 *   root     the workspace is /; /usr and a little of /etc on top; /.cache
 *
 * All have their own /proc, /dev and /tmp.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "plan/passes.h"
#include "sys/path.h"

/* Character devices and their numbers: a node of another number is not the device of that name. */
static const struct {
    const char *path;
    unsigned major;
    unsigned minor;
} devices[] = {
    {"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
    {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
    const char *path;
    const char *text;
} device_links[] = {
    {"/dev/fd", "/proc/self/fd"},       {"/dev/ptmx", "pts/ptmx"},
    {"/dev/stdin", "/proc/self/fd/0"},  {"/dev/stdout", "/proc/self/fd/1"},
    {"/dev/stderr", "/proc/self/fd/2"},
};

/* Directories that hold the system. On most hosts all but /usr are links into it. */
static const char *const system_dirs[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
};

/*
 * What programs look for in /etc and that tells nothing about this host's secrets. Each costs a
 * mount, so only what is missed when it is missing.
 */
static const char *const etc_files[] = {
    "/etc/alternatives", "/etc/java-17-openjdk", "/etc/java-21-openjdk",
    "/etc/ld.so.cache",  "/etc/localtime",       "/etc/os-release",
};

/* The same for programs that talk to other hosts. */
static const char *const etc_network_files[] = {
    "/etc/ca-certificates", "/etc/crypto-policies", "/etc/pki", "/etc/protocols",
    "/etc/resolv.conf",     "/etc/services",        "/etc/ssl",
};

/*
 * What /proc and /sys tell everybody about the host's hardware, kernel and keys. What container
 * engines mask beside these is for root alone, whom no sandbox has the id of: kcore, timer_list,
 * debugging and tracing.
 */
static const char *const masked[] = {
    "/proc/acpi", "/proc/asound",        "/proc/config.gz",   "/proc/interrupts",
    "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
};

static const char *const masked_sys[] = {
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
    "/sys/kernel/security",
};

struct layout {
    const struct policy *policy;
    struct resolver *resolver;
    struct plan *plan;
    struct plan_entries *entries;
    int error; /* sticky: the first failure to look at something of the host */
    const char *error_path;
};

static void add(struct layout *layout, struct plan_mount mount)
{
    mount.source_fd = -1;
    plan_entry_add(layout->plan, layout->entries, mount);
}

/* The same for a directory of the caller's, which stays open. Takes *fd. */
static void add_open(struct layout *layout, struct plan_mount mount, const struct resolved *found,
                     int *fd)
{
    mount.kind = MOUNT_BIND;
    mount.source = found->path;
    mount.source_fd = fd_take(fd);
    mount.dev = found->st.st_dev;
    mount.ino = found->st.st_ino;
    mount.directory = true;
    mount.idmap = plan_needs_idmap(layout->plan, found->path, &found->st, mount.writable);
    mount.owner_uid = found->st.st_uid;
    mount.owner_gid = found->st.st_gid;
    mount.links = found->links;
    plan_entry_add(layout->plan, layout->entries, mount);
}

static void add_tmpfs(struct layout *layout, const char *target, mode_t mode, bool writable)
{
    add(layout, (struct plan_mount){
                    .kind = MOUNT_TMPFS, .target = target, .mode = mode, .writable = writable});
}

/* A directory of our own: part of the root where that is a tmpfs already, else one more. */
static void add_own_dir(struct layout *layout, const char *target, enum mount_why why)
{
    bool in_root = layout->plan->layout == LAYOUT_MINIMAL;

    add(layout,
        (struct plan_mount){
            .kind = in_root ? MOUNT_DIR : MOUNT_TMPFS, .why = why, .target = target, .mode = 0755});
}

static void add_devices(struct layout *layout)
{
    add_own_dir(layout, "/dev", WHY_DEVICE);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        add(layout, (struct plan_mount){.kind = MOUNT_BIND,
                                        .why = WHY_DEVICE,
                                        .target = devices[i].path,
                                        .source = devices[i].path,
                                        .dev = makedev(devices[i].major, devices[i].minor),
                                        .device = true,
                                        .writable = true});
    for (size_t i = 0; i < ARRAY_LEN(device_links); i++)
        add(layout, (struct plan_mount){.kind = MOUNT_LINK,
                                        .why = WHY_DEVICE,
                                        .target = device_links[i].path,
                                        .source = device_links[i].text});
    add(layout,
        (struct plan_mount){
            .kind = MOUNT_DEVPTS, .why = WHY_DEVICE, .target = "/dev/pts", .writable = true});
    add(layout, (struct plan_mount){.kind = MOUNT_TMPFS,
                                    .why = WHY_DEVICE,
                                    .target = "/dev/shm",
                                    .mode = 01777,
                                    .writable = true});
}

/*
 * Whether something of the host is there for a sandbox to see, after a look at it that set errno
 * unless it `went_well`. No failure but absence may pass for absence: what must be covered would not.
 */
static bool is_there(struct layout *layout, const char *path, bool went_well)
{
    if (!went_well && errno != ENOENT && errno != ENOTDIR && errno != EACCES && !layout->error) {
        layout->error = -errno;
        layout->error_path = path;
    }
    return went_well;
}

static void add_masks(struct layout *layout, const char *const *paths, size_t count)
{
    struct stat st;

    for (size_t i = 0; i < count; i++)
        if (is_there(layout, paths[i], lstat(paths[i], &st) == 0) && (st.st_mode & S_IRWXO))
            add(layout, (struct plan_mount){.kind = MOUNT_MASK,
                                            .why = WHY_MASK,
                                            .target = paths[i],
                                            .directory = S_ISDIR(st.st_mode)});
}

/* What every layout has of its own. */
static void add_kernel_dirs(struct layout *layout)
{
    /* Read-only: what can be written there concerns the host, or weakens the writer. */
    add(layout, (struct plan_mount){.kind = MOUNT_PROC,
                                    .target = "/proc",
                                    .source = layout->plan->strict ? "pid" : NULL});
    if (!layout->plan->strict)
        add_masks(layout, masked, ARRAY_LEN(masked));
    add_devices(layout);
    add_tmpfs(layout, "/tmp", 01777, true);
}

/*
 * A file or directory of the system, read-only. Most links of the system lead into /usr, which every
 * layout has: where the target is ours to put a link in (`links`), that is cheaper than a mount.
 */
static void add_system(struct layout *layout, const char *path, bool links)
{
    struct plan_mount mount = {.kind = MOUNT_BIND, .target = path, .source = path};
    char text[PATH_MAX];
    struct stat st;

    if (!is_there(layout, path, lstat(path, &st) == 0))
        return; /* not every host has everything */
    if (S_ISLNK(st.st_mode)) {
        if (!is_there(layout, path, realpath(path, text) && stat(text, &st) == 0))
            return;
        mount.kind = links && str_starts(text, "/usr/") ? MOUNT_LINK : MOUNT_BIND;
        mount.source = arena_strdup(&layout->plan->arena, text);
    }
    mount.directory = S_ISDIR(st.st_mode);
    add(layout, mount);
}

static void add_system_dirs(struct layout *layout, bool links)
{
    for (size_t i = 0; i < ARRAY_LEN(system_dirs); i++)
        add_system(layout, system_dirs[i], links);
}

/* Names for the ids there are, and for loopback; the host's own would tell about its users. */
static void add_etc_own(struct layout *layout)
{
    struct plan *plan = layout->plan;
    const struct plan_identity *id = &plan->identity;
    const char *home = plan->layout == LAYOUT_ROOT ? "/" : "/workspace";
    const char *user = id->uid == 0 ? "root" : "user";
    const struct {
        const char *path;
        const char *content;
    } own[] = {
        {"/etc/group", arena_printf(&plan->arena, "%s:x:%u:\nnogroup:x:65534:\n", user, id->gid)},
        {"/etc/hosts",
         arena_printf(&plan->arena, "127.0.0.1 localhost %s\n::1 localhost\n", plan->hostname)},
        {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
        {"/etc/passwd",
         arena_printf(&plan->arena,
                      "%s:x:%u:%u::%s:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n",
                      user, id->uid, id->gid, home)},
    };

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        add(layout, (struct plan_mount){
                        .kind = MOUNT_FILE, .target = own[i].path, .content = own[i].content});
}

static void add_etc(struct layout *layout)
{
    add_own_dir(layout, "/etc", WHY_LAYOUT);
    add_etc_own(layout);
    for (size_t i = 0; i < ARRAY_LEN(etc_files); i++)
        add_system(layout, etc_files[i], true);
    if (layout->plan->net == NET_HOST)
        for (size_t i = 0; i < ARRAY_LEN(etc_network_files); i++)
            add_system(layout, etc_network_files[i], true);
}

/* A directory the policy names, as a bind at `target` (NULL: its own place). */
static int add_grant(struct layout *layout, enum policy_id id, enum mount_why why,
                     const char *target, bool writable, struct hutch_error *err)
{
    const struct policy_value *value = &layout->policy->values[id];
    struct policy_item item = {.text = value->text, .origin = value->origin, .from_flag = true};
    struct resolver *resolver = layout->resolver;
    struct resolve_base *base = why == WHY_REPO ? &resolver->repo : &resolver->workspace;
    struct resolved found;
    char shown[256];

    int r = resolve_existing(layout->resolver, &item, &found, err);
    if (r < 0)
        return r;
    fd_auto int fd = found.fd;
    str_printable(value->text, shown, sizeof shown);
    if (!S_ISDIR(found.st.st_mode))
        return err_set(err, HUTCH_EPOLICY, value->origin, "'%s' is not a directory", shown);
    if (str_eq(found.path, "/"))
        return err_set(err, HUTCH_EPOLICY, value->origin,
                       "'%s' is the root of the host: name a directory in it", shown);

    /* Every rule about a path in it would fail, and none of them would name it. */
    if (fstatat(fd, ".", &found.st, 0) < 0)
        return err_sys(err, -errno, value->origin, "cannot look into '%s'", shown);

    base->fd = sys_dup(fd, 3);
    if (base->fd < 0)
        return err_sys(err, base->fd, value->origin, "cannot keep '%s' open", shown);
    base->name = found.path;
    if (why == WHY_WORKSPACE)
        layout->plan->workspace = target ? target : found.path;
    add_open(layout,
             (struct plan_mount){.why = why,
                                 .target = target ? target : found.path,
                                 .origin = value->origin,
                                 .writable = writable,
                                 .recursive = true},
             &found, &fd);
    return 0;
}

/* The workspace: in memory at `memory_target`, or a directory at `target` (NULL: its own place). */
static int add_workspace(struct layout *layout, const char *target, const char *memory_target,
                         struct hutch_error *err)
{
    const struct policy_value *value = &layout->policy->values[POLICY_WORKSPACE];

    if (!value->text)
        return err_set(err, HUTCH_EPOLICY, value->origin ? value->origin : "/filesystem/workspace",
                       "there is no workspace: name a directory, or 'tmpfs' for one in memory");
    if (!str_eq(value->text, "tmpfs"))
        return add_grant(layout, POLICY_WORKSPACE, WHY_WORKSPACE, target, true, err);

    layout->plan->workspace = memory_target;
    add(layout, (struct plan_mount){.kind = MOUNT_TMPFS,
                                    .why = WHY_WORKSPACE,
                                    .target = memory_target,
                                    .origin = value->origin,
                                    .mode = 0755,
                                    .writable = true});
    return 0;
}

static int add_repo(struct layout *layout, struct hutch_error *err)
{
    if (!layout->policy->values[POLICY_REPO].text)
        return 0;
    return add_grant(layout, POLICY_REPO, WHY_REPO,
                     layout->plan->layout == LAYOUT_HOST ? NULL : "/repo", false, err);
}

/*
 * A root caller's home is closed to the id its sandbox has. Seen through an id map it opens, still
 * read-only, so that tools installed there work.
 */
static int add_home(struct layout *layout, struct hutch_error *err)
{
    struct plan *plan = layout->plan;
    struct policy_item item = {.text = "~", .origin = "HOME", .from_flag = true};
    struct resolved found;

    if (!layout->resolver->home)
        return 0;
    int r = resolve_path(layout->resolver, &item, &found, err);
    if (r < 0)
        return r;
    fd_auto int fd = found.fd;
    if (!found.exists || !S_ISDIR(found.st.st_mode))
        return 0;
    plan->home = found.path;
    if (!plan->identity.privileged || str_eq(found.path, "/") || found.st.st_uid != 0)
        return 0;
    add_open(layout, (struct plan_mount){.why = WHY_HOME, .target = found.path}, &found, &fd);
    return 0;
}

/*
 * /run is where the sockets of the host's services are. What else is there that programs miss: the
 * resolver's configuration, and on some hosts the system itself.
 */
static void add_run(struct layout *layout)
{
    struct plan *plan = layout->plan;
    char path[PATH_MAX];
    char system[PATH_MAX];
    struct stat st;

    if (!is_there(layout, "/run", lstat("/run", &st) == 0) || !S_ISDIR(st.st_mode))
        return;
    ssize_t len = readlink("/run/current-system", system, sizeof system);
    is_there(layout, "/run/current-system", len >= 0 || errno == EINVAL);
    bool resolver = plan->net == NET_HOST && realpath("/etc/resolv.conf", path) &&
                    str_starts(path, "/run/");
    if (len <= 0 && !resolver) {
        add(layout, (struct plan_mount){.kind = MOUNT_EMPTY, .target = "/run", .directory = true});
        return;
    }
    add_tmpfs(layout, "/run", 0755, false);
    if (resolver)
        add_system(layout, arena_strdup(&plan->arena, path), false);
    if (len > 0)
        add(layout,
            (struct plan_mount){.kind = MOUNT_LINK,
                                .target = "/run/current-system",
                                .source = arena_strndup(&plan->arena, system, (size_t)len)});
}

static int layout_host(struct layout *layout, struct hutch_error *err)
{
    add(layout, (struct plan_mount){.kind = MOUNT_BIND,
                                    .target = "/",
                                    .source = "/",
                                    .directory = true,
                                    .recursive = true});
    add_kernel_dirs(layout);
    add_masks(layout, masked_sys, ARRAY_LEN(masked_sys));
    add_run(layout);
    int r = add_home(layout, err);
    if (r == 0)
        r = add_workspace(layout, NULL, "/tmp/workspace", err);
    return r < 0 ? r : add_repo(layout, err);
}

static int layout_minimal(struct layout *layout, struct hutch_error *err)
{
    add_tmpfs(layout, "/", 0755, false);
    add_kernel_dirs(layout);
    add_system_dirs(layout, true);
    add_etc(layout);
    add(layout, (struct plan_mount){.kind = MOUNT_LINK, .target = "/var/tmp", .source = "/tmp"});
    int r = add_workspace(layout, "/workspace", "/workspace", err);
    return r < 0 ? r : add_repo(layout, err);
}

static int layout_root(struct layout *layout, struct hutch_error *err)
{
    int r = add_workspace(layout, "/", "/", err);
    if (r < 0)
        return r;
    add_kernel_dirs(layout);
    add_system_dirs(layout, false);
    add_etc(layout);
    add_tmpfs(layout, "/.cache", 0755, true);
    return add_repo(layout, err);
}

int plan_pass_layout(const struct policy *policy, struct resolver *resolver, struct plan *plan,
                     struct plan_entries *entries, struct hutch_error *err)
{
    struct layout layout = {
        .policy = policy, .resolver = resolver, .plan = plan, .entries = entries};
    int r = 0;

    plan->layout = (enum policy_layout)policy->values[POLICY_LAYOUT].number;
    switch (plan->layout) {
    case LAYOUT_HOST: r = layout_host(&layout, err); break;
    case LAYOUT_MINIMAL: r = layout_minimal(&layout, err); break;
    case LAYOUT_ROOT: r = layout_root(&layout, err); break;
    }
    if (r == 0 && arena_failed(&plan->arena))
        r = err_oom(err);
    if (r == 0 && layout.error)
        r = err_sys(err, layout.error, layout.error_path, "cannot look at '%s'", layout.error_path);
    return r;
}
