/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan: what will happen, here. A policy met this host: every path resolved, every default chosen,
 * every limit a number. Complete and immutable: after plan_build() nothing is looked up again.
 *
 * Built pass by pass (build.c lists them), owned by one arena, freed at once. A plan holds a
 * descriptor of every host path it names, so that what was resolved is what gets mounted, whatever
 * happens to the names meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <hutch.h>

#include "base/arena.h"
#include "policy/policy.h"

/* The steps that build the file system, executed in order (backend/native/files.c). */
enum mount_kind {
    MOUNT_BIND,   /* `source` of the host at `target` */
    MOUNT_TMPFS,  /* new and empty */
    MOUNT_PROC,   /* the sandbox's own /proc */
    MOUNT_DEVPTS, /* the sandbox's own terminals */
    MOUNT_MASK,   /* an empty, unreadable file or directory over `target` */
    MOUNT_EMPTY,  /* an empty directory over `target` */
    MOUNT_DIR,    /* make a directory */
    MOUNT_FILE,   /* make a file: empty to mount on, or with `content` */
    MOUNT_LINK,   /* make a symbolic link with the text `source` */
    MOUNT_SEAL,   /* nothing can be added to the tmpfs at `target` any more */
};

/* Why a step is there: what `hutch explain` calls it. */
enum mount_why {
    WHY_LAYOUT,
    WHY_MASK, /* of /proc and /sys, as container engines do */
    WHY_DEVICE,
    WHY_WORKSPACE,
    WHY_REPO,
    WHY_HOME,
    WHY_READ,
    WHY_WRITE,
    WHY_PIN, /* a directory above a protected or hidden path: it cannot be moved away */
    WHY_PROTECT,
    WHY_HIDE,
};

struct resolved_link; /* plan/resolve.h */

struct plan_mount {
    enum mount_kind kind;
    enum mount_why why;
    const char *target;  /* inside: absolute, normalized, no symbolic links on the way */
    const char *source;  /* bind: canonical host path; link: its text; proc: the subset shown */
    const char *content; /* file: what is in it; NULL for nothing */
    const char *origin;  /* flag or JSON pointer that asked for it; NULL for the layout's own */
    const struct resolved_link *links; /* bind: on the way to the source, as it was written */
    dev_t dev; /* bind: identity of the source, checked again before it is mounted */
    ino_t ino;
    int source_fd;   /* bind: O_PATH of `source`, -1 otherwise. Owned by the plan. */
    mode_t mode;     /* tmpfs, dir */
    uid_t owner_uid; /* bind with `idmap` */
    gid_t owner_gid;
    bool directory; /* bind, mask: directory or file */
    bool writable;
    bool recursive; /* bind: with what is mounted below the source */
    bool device;    /* bind: a device node, the only kind of mount without nodev */
    bool on_host;   /* dir: made in the workspace, a mount point that stays (layout root) */
    bool idmap;     /* bind: the owner on disk is the sandbox's own id inside */
};

struct filter; /* filter/filter.h */

/* A unix socket of the host that may be connected to. */
struct plan_socket {
    const char *path; /* canonical, the same inside */
    dev_t dev;
    ino_t ino;
};

/*
 * A protected path that does not exist. The kernel has no way to refuse its creation, so init
 * watches for it, undoes it and tells.
 */
struct plan_watch {
    const char *directory; /* inside: the deepest one that exists */
    const char *rest;      /* what would have to be created in it: "hooks", ".git/hooks" */
};

/* Who keeps a limit: what `enforced` says of it. */
enum plan_means {
    MEANS_NONE,       /* it is not limited */
    MEANS_SUPERVISOR, /* the run's own clock and buffers */
    MEANS_RLIMIT,     /* the kernel, per process; processes: per user namespace */
    MEANS_CGROUP,     /* the kernel, for the whole sandbox */
    MEANS_AFFINITY,   /* cpus: only these processors may be used */
    MEANS_HOST,       /* cpus: the host has no more */
    MEANS_SAMPLED,    /* measured every few milliseconds, and everything killed on excess */
    MEANS_TMPFS,      /* disk: nothing but memory can be written to, and that has a size */
};

struct plan_limits {
    uint64_t timeout_ms; /* each may be NUM_NO_LIMIT */
    uint64_t output_bytes;
    uint64_t open_files;
    uint64_t file_size_bytes;
    uint64_t cpu_time_ms;
    uint64_t cpus_milli; /* 1500: one and a half processors */
    uint64_t memory_bytes;
    uint64_t disk_bytes;
    uint64_t processes; /* and threads, at a time */
    uint64_t host_cpus_milli;
    uint64_t host_memory_bytes; /* this and what follows: NUM_NO_LIMIT when nobody asked */
    uint64_t host_disk_bytes;
    uint64_t host_processes;
    uint64_t host_open_files;
    enum plan_means cpu_time_means;
    enum plan_means cpus_means;
    enum plan_means memory_means;
    enum plan_means disk_means;
    enum plan_means processes_means;
    bool host_swaps;     /* memory can be put out of the way of its limit */
    bool cpus_asked_for; /* by a flag or a document, not just by a profile */
    bool disk_asked_for;
};

enum plan_unit {
    UNIT_MS,
    UNIT_BYTES,
    UNIT_COUNT,
    UNIT_MILLI, /* thousandths */
};

/* One limit by the name it has in a policy, for whoever treats them alike. */
struct plan_limit_row {
    const char *name;
    const char *key; /* of the number in JSON: the name with its unit */
    enum plan_unit unit;
    enum plan_means means;
    uint64_t max;  /* NUM_NO_LIMIT: none */
    uint64_t host; /* how much of it the host has, for limits asked for; NUM_NO_LIMIT: not known */
};
#define PLAN_LIMIT_ROWS 9

/* The controllers that hutch has a use for, most wanted first. In v2 cpuacct is part of every group. */
enum plan_controller {
    CONTROLLER_MEMORY,
    CONTROLLER_PIDS,
    CONTROLLER_CPU,
    CONTROLLER_CPUACCT,
    CONTROLLER_COUNT,
};

/* What a host lacks for a control group; of several things the one after which there would be one. */
enum plan_cgroup_lack {
    CGROUP_LACKS_NOTHING,
    CGROUP_LACKS_HIERARCHY,   /* none is mounted that this process is in */
    CGROUP_LACKS_WRITABLE,    /* it is mounted read-only, as in a container */
    CGROUP_LACKS_RIGHTS,      /* the groups of this process belong to another user */
    CGROUP_LACKS_CONTROLLERS, /* a group could be made, but would keep no limit */
    CGROUP_LACKS_MANAGER,     /* the caller's systemd would make one, but is not to be found */
};

/* Where the sandbox's control group can be made. Descriptors are the plan's. */
struct plan_cgroup {
    int version;                /* 2, 1, or 0: nowhere */
    enum plan_cgroup_lack lack; /* of version 0, when one was looked for */
    int parent
        [CONTROLLER_COUNT]; /* O_PATH directory a group is made in; v2: all in [0]; -1: none */
    bool unit;              /* v2, with no `parent`: the caller's systemd makes it, as a scope */
    bool bus;               /* `manager` is a message bus on which systemd is, not systemd itself */
    int manager;            /* unit: O_PATH of the socket where it is asked for that */
};

struct plan_identity {
    uid_t uid; /* inside */
    gid_t gid;
    uid_t host_uid; /* the same outside, as the caller sees it: never root of the host */
    gid_t host_gid;
    bool privileged; /* the caller is root of the host: the ids above are not its own */
};

struct plan {
    struct arena arena;
    enum policy_layout layout;
    enum policy_net net;
    struct plan_identity identity;
    struct plan_limits limits;
    struct plan_cgroup cgroup;
    const char *hostname;
    const char *home;       /* the caller's, canonical; NULL when there is none */
    const char *workspace;  /* inside */
    const char *const *env; /* "NAME=value", ends with NULL */
    struct plan_mount *mounts;
    size_t mount_count;
    size_t mount_cap;
    const char *const *system_dirs; /* inside, of the layout; ends with NULL. NULL: layout host */
    struct plan_socket *sockets;
    size_t socket_count;
    size_t socket_cap;
    struct plan_watch *watches;
    size_t watch_count;
    size_t watch_cap;
    int landlock_abi;                   /* 0: this kernel has none */
    bool strict;                        /* the strict filter, and nothing but processes in /proc */
    const char *filter_name;            /* "default", "strict" or a file */
    const struct filter *filter;        /* of every command */
    const struct filter *init_filter;   /* of PID 1, and so of everything */
    const struct filter *user_filter;   /* from a file, on top; NULL: none */
    const struct filter *unix_filter;   /* no unix sockets at all, on top; NULL: not asked for */
    const struct filter *pinned_filter; /* processors cannot be chosen, on top; NULL: they can */
    bool lasting;                       /* more than one command, which may signal one another */
    char id[17];                        /* of the sandbox */
};

/* A plan of nothing, for who fills it; free it with plan_free(). NULL when out of memory. */
struct plan *plan_new(void);

/* On success the caller owns *ret; free it with plan_free(). */
int plan_build(const struct policy *policy, struct plan **ret, struct hutch_error *err);

/* Free a plan and close its descriptors. NULL is accepted. */
void plan_free(struct plan *plan);

static inline void plan_free_auto(struct plan **plan)
{
    plan_free(*plan);
}
#define plan_auto __attribute__((cleanup(plan_free_auto)))

/* All limits, in the order people read them. */
void plan_limit_rows(const struct plan *plan, struct plan_limit_row ret[PLAN_LIMIT_ROWS]);

/* What `enforced` calls it. */
const char *plan_means_name(enum plan_means means);

/*
 * How a fact of `enforced` stands among all hosts; unknown where only a run can tell. Texts are static, or NULL
 * when there is nothing to say.
 */
struct plan_remark {
    enum hutch_host_state state;
    const char *reason;
    const char *help;
};
struct plan_remark plan_remark_on(const struct plan *plan, const char *fact);

/* What the kernel calls it. */
const char *plan_controller_name(enum plan_controller controller);

/* Whether what is written there lands on a disk of the host. */
bool plan_mount_grows(const struct plan_mount *mount);

/*
 * One command in the sandbox of a plan: what a run adds to it. Its strings are the plan's, or in the arena
 * that was given.
 */
struct plan_command {
    const char *const *argv;
    const char *cwd;        /* inside, absolute */
    const char *const *env; /* the plan's and its own, ends with NULL */
    uint64_t timeout_ms;
    bool tty;
    uint16_t rows;
    uint16_t cols;
};

/* Check a command, copy it into `arena`, and fill in what it leaves open. */
int plan_command_build(const struct plan *plan, const struct hutch_command *command,
                       struct arena *arena, struct plan_command *ret, struct hutch_error *err);

/* The plan for a person, or for a program. The caller owns *ret; free it with free(). */
int plan_explain_text(const struct plan *plan, const struct plan_command *command, char **ret,
                      struct hutch_error *err);
int plan_explain_json(const struct plan *plan, const struct plan_command *command, char **ret,
                      struct hutch_error *err);
