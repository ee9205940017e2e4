/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules. What is in no row is answered with ENOSYS, which every libc takes for an old kernel
 * and works around. Constants are the kernel's, the same on x86_64 and arm64.
 */
#include "rules.h"

#include <errno.h>

#include "rules_lists.h"

#define NEVER "no setting allows it"
#define DEBUGGING "needs --syscalls default: strict has no debugging of other processes"

/* ---- Namespaces ---- */

#define CLONE_NEW_ANY 0x7e020000    /* NEWNS CGROUP UTS IPC USER PID NET; NEWTIME is not clone's */
#define UNSHARE_HARMLESS 0x00050f00 /* FS FILES SYSVSEM, and VM SIGHAND THREAD, which do nothing */

/* The kernel takes the low half of clone's flags only. */
static const struct rule clone_rules[] = {
    {{BITS(0, CLONE_NEW_ANY)}, NOTIFY},
    {{{0}}, ALLOW},
};

static const struct rule unshare_rules[] = {
    {{HIGH_BITS(0)}, NOTIFY},
    {{BITS(0, ~UNSHARE_HARMLESS)}, NOTIFY},
    {{{0}}, ALLOW},
};

/* ---- Set-user-ID and set-group-ID files, and device nodes ---- */

#define MODE_SETID 06000
#define MODE_TYPE 0170000
#define FLAGS_CREATE 0x00400040 /* O_CREAT, and what is new in O_TMPFILE */

static const struct rule mode_arg1_rules[] = {
    {{BITS(1, MODE_SETID)}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};
static const struct rule mode_arg2_rules[] = {
    {{BITS(2, MODE_SETID)}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};

/* Without O_CREAT the mode is whatever was in the register. */
static const struct rule open_rules[] = {
    {{BITS(2, MODE_SETID), BITS(1, FLAGS_CREATE)}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};
static const struct rule openat_rules[] = {
    {{BITS(3, MODE_SETID), BITS(2, FLAGS_CREATE)}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};

#define NODE_RULES(arg)                                                                            \
    {                                                                                              \
        {{BITS(arg, MODE_SETID)}, FAIL(EPERM)}, {{MASKED(arg, MODE_TYPE, 0020000)}, FAIL(EPERM)},  \
            {{MASKED(arg, MODE_TYPE, 0060000)}, FAIL(EPERM)}, {{{0}}, ALLOW},                      \
    }
static const struct rule mknod_rules[] = NODE_RULES(1);
static const struct rule mknodat_rules[] = NODE_RULES(2);

/* ---- Sockets ---- */

#define UNIX LOW(0, 1)
#define INET MASKED(0, ~8U, 2) /* AF_INET is 2, AF_INET6 10 */
#define NETLINK LOW(0, 16)
/* The low four bits of the type; the others are flags. */
#define STREAM MASKED(1, 0xf, 1)
#define DGRAM MASKED(1, 0xf, 2)
#define STREAM_OR_SEQPACKET MASKED(1, 0xb, 1) /* 1 and 5 */
#define PROTOCOL(number) LOW(2, number)

/*
 * A unix datagram socket can send to any path without connect, where nobody could look at it, so
 * there are none; who asks for a pair gets one of another kind from the listener. Other protocols of the
 * internet families look as if not built in: programs that merely try MPTCP go on with TCP.
 */
#define SOCKET_RULES(netlink)                                                                      \
    {                                                                                              \
        {{UNIX, STREAM_OR_SEQPACKET}, ALLOW}, {{UNIX}, NOTIFY},                                    \
            {{INET, STREAM, PROTOCOL(0)}, ALLOW}, {{INET, STREAM, PROTOCOL(6)}, ALLOW},            \
            {{INET, STREAM}, FAIL(EPROTONOSUPPORT)}, {{INET, DGRAM, PROTOCOL(0)}, ALLOW},          \
            {{INET, DGRAM, PROTOCOL(17)}, ALLOW}, {{INET, DGRAM, PROTOCOL(1)}, ALLOW},             \
            {{INET, DGRAM, PROTOCOL(58)}, ALLOW}, {{INET, DGRAM}, FAIL(EPROTONOSUPPORT)},          \
            {{NETLINK, PROTOCOL(0)}, netlink}, {{{0}}, NOTIFY},                                    \
    }
static const struct rule socket_rules[] = SOCKET_RULES(ALLOW);
/* Quiet: every getaddrinfo() asks for the list of interfaces and does without. */
static const struct rule socket_strict_rules[] = SOCKET_RULES(FAIL(EAFNOSUPPORT));

static const struct rule socketpair_rules[] = {
    {{UNIX, STREAM_OR_SEQPACKET}, ALLOW},
    {{{0}}, NOTIFY},
};

const struct rule rule_no_unix[] = {
    {{UNIX}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};

/* TCP_ULP and UDP_ENCAP put a socket under kernel code that has been a way into the page cache. */
static const struct rule setsockopt_rules[] = {
    {{LOW(1, 6), LOW(2, 31)}, FAIL(EPERM)},
    {{LOW(1, 17), LOW(2, 100)}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};

/* ---- Calls that are many in one ---- */

/*
 * TIOCSTI TIOCLINUX TIOCCONS TIOCSETD: typing for others, and what else a terminal is to obey. And snapshots
 * of btrfs, which show what is hidden where it was not.
 */
static const struct rule ioctl_rules[] = {
    {{LOW(1, 0x5412)}, NOTIFY},
    {{LOW(1, 0x541c)}, NOTIFY},
    {{LOW(1, 0x541d)}, NOTIFY},
    {{LOW(1, 0x5423)}, NOTIFY},
    {{LOW(1, 0x50009401)}, FAIL(EPERM)}, /* BTRFS_IOC_SNAP_CREATE */
    {{LOW(1, 0x50009417)}, FAIL(EPERM)}, /* BTRFS_IOC_SNAP_CREATE_V2 */
    {{{0}}, ALLOW},
};

/* F_SETLEASE: whoever else opens the file, on the host or to execute it, would wait for the sandbox. */
static const struct rule fcntl_rules[] = {
    {{LOW(1, 1024)}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};

static const struct rule prctl_rules[] = {
    {{LOW(0, 35)}, FAIL(EPERM)}, /* PR_SET_MM */
    {{{0}}, ALLOW},
};

/*
 * A core limit of exactly 1 is what keeps the kernel from handing a core to a program of the host;
 * 0 would not. Programs that ask for 0 mean well and are told that it worked.
 */
#define CORE 4
static const struct rule setrlimit_rules[] = {
    {{LOW(0, CORE)}, FAIL(0)},
    {{{0}}, ALLOW},
};

/* ---- Process 1, whose ids are the command's own ---- */

#define PROCESS_1(arg) LOW(arg, 1)

/* At its limit of CPU time the kernel would kill it, before it has undone what must not stay. */
static const struct rule prlimit_rules[] = {
    {{PROCESS_1(0), BITS(2, ~0U)}, FAIL(EPERM)},
    {{PROCESS_1(0), HIGH_BITS(2)}, FAIL(EPERM)},
    {{LOW(1, CORE), BITS(2, ~0U), BITS(3, ~0U)}, FAIL(EPERM)}, /* the old value could not be told */
    {{LOW(1, CORE), BITS(2, ~0U)}, FAIL(0)},
    {{LOW(1, CORE), HIGH_BITS(2)}, FAIL(0)},
    {{{0}}, ALLOW},
};

/*
 * It sees to it that what must not come to be goes at once, which must not wait until nobody else wants the
 * processor; and commands that come later are as it is.
 */
static const struct rule schedule_rules[] = {
    {{PROCESS_1(0)}, FAIL(EPERM)},
    {{{0}}, ALLOW},
};

/* By its number, which is its group's too, or as one of all processes of a user. */
#define PRIORITY_RULES(user)                                                                       \
    {                                                                                              \
        {{LOW(0, user)}, FAIL(EPERM)}, {{PROCESS_1(1)}, FAIL(EPERM)}, {{{0}}, ALLOW},              \
    }
static const struct rule setpriority_rules[] = PRIORITY_RULES(2);
static const struct rule ioprio_rules[] = PRIORITY_RULES(3);

/* SCHED_OTHER, SCHED_BATCH and SCHED_IDLE, with or without SCHED_RESET_ON_FORK. */
static const struct rule scheduler_strict_rules[] = {
    {{PROCESS_1(0)}, FAIL(EPERM)},
    {{MASKED(1, ~0x40000000U, 0)}, ALLOW},
    {{MASKED(1, ~0x40000000U, 3)}, ALLOW},
    {{MASKED(1, ~0x40000000U, 5)}, ALLOW},
    {{{0}}, FAIL(EPERM)},
};

/* ---- Filters and personalities ---- */

/* A second listener cannot be: the kernel would answer the same. */
static const struct rule seccomp_rules[] = {
    {{BITS(1, 1U << 3)}, FAIL(EBUSY)}, /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
    {{{0}}, ALLOW},
};

#define PERSONALITY_QUERY LOW(0, 0xffffffff)
static const struct rule personality_rules[] = {
    {{PERSONALITY_QUERY}, ALLOW},
    {{BITS(0, ~0x00060008U)}, NOTIFY}, /* but PER_LINUX32, UNAME26 and ADDR_NO_RANDOMIZE */
    {{{0}}, ALLOW},
};
static const struct rule personality_strict_rules[] = {
    {{PERSONALITY_QUERY}, ALLOW},
    {{{0}}, NOTIFY},
};

const struct rule_group rule_groups[] = {
    {calls_files, .normal = {ALLOW}},
    {calls_memory, .normal = {ALLOW}},
    {calls_processes, .normal = {ALLOW}},
    {calls_signals, .normal = {ALLOW}},
    {calls_ipc, .normal = {ALLOW}},

    /* Allowed to development tools; confined by the pid namespace and by Landlock. */
    {"ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp", .normal = {ALLOW},
     .strict = {NOTIFY}, .hint = DEBUGGING},
    {"mlock mlock2 mlockall mbind set_mempolicy "
     "set_mempolicy_home_node migrate_pages move_pages name_to_handle_at",
     .normal = {ALLOW}, .strict = {FAIL(EPERM)}},
    {"io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents", .normal = {ALLOW},
     .strict = {FAIL(ENOSYS)}},
    {"personality", .normal = {.rules = personality_rules},
     .strict = {.rules = personality_strict_rules}, .hold = HOLD_FLOOR,
     .hint =
         "only address randomisation and the kernel's name may be changed, with --syscalls default"},

    /* Allowed, but for what they could do to others. */
    {"open", .normal = {.rules = open_rules}, .hold = HOLD_FLOOR},
    {"openat", .normal = {.rules = openat_rules}, .hold = HOLD_FLOOR},
    {"chmod fchmod creat mkdir", .normal = {.rules = mode_arg1_rules}, .hold = HOLD_FLOOR},
    {"fchmodat fchmodat2 mkdirat", .normal = {.rules = mode_arg2_rules}, .hold = HOLD_FLOOR},
    {"mknod", .normal = {.rules = mknod_rules}, .hold = HOLD_FLOOR},
    {"mknodat", .normal = {.rules = mknodat_rules}, .hold = HOLD_FLOOR},
    {"socket", .normal = {.rules = socket_rules}, .strict = {.rules = socket_strict_rules},
     .hold = HOLD_FLOOR,
     .hint = "only unix stream and seqpacket sockets, TCP, UDP, ping and route netlink exist in a "
             "sandbox; unix datagrams go through pairs (socketpair)"},
    {"socketpair", .normal = {.rules = socketpair_rules}, .hold = HOLD_FLOOR,
     .hint = "only pairs of unix sockets exist in a sandbox"},
    {"setsockopt", .normal = {.rules = setsockopt_rules}, .hold = HOLD_FLOOR},
    {"ioctl", .normal = {.rules = ioctl_rules}, .hold = HOLD_FLOOR,
     .hint = "a terminal's input, console and line discipline stay as they are: " NEVER},
    {"fcntl", .normal = {.rules = fcntl_rules}, .hold = HOLD_FLOOR},
    {"prctl", .normal = {.rules = prctl_rules}, .hold = HOLD_FLOOR},
    {"setrlimit", .normal = {.rules = setrlimit_rules}, .hold = HOLD_FLOOR},
    {"prlimit64", .normal = {.rules = prlimit_rules}, .hold = HOLD_FLOOR},
    {"sched_setparam sched_setaffinity", .normal = {.rules = schedule_rules}, .hold = HOLD_FLOOR},
    {"sched_setattr", .normal = {.rules = schedule_rules}, .strict = {FAIL(EPERM)},
     .hold = HOLD_FLOOR},
    {"sched_setscheduler", .normal = {.rules = schedule_rules},
     .strict = {.rules = scheduler_strict_rules}, .hold = HOLD_FLOOR},
    {"setpriority", .normal = {.rules = setpriority_rules}, .hold = HOLD_FLOOR},
    {"ioprio_set", .normal = {.rules = ioprio_rules}, .hold = HOLD_FLOOR},
    {"seccomp", .normal = {.rules = seccomp_rules}, .hold = HOLD_FLOOR},

    /* Done on behalf, from descriptors, after a look at where it leads. */
    {"connect", .normal = {NOTIFY}, .hold = HOLD_FLOOR,
     .hint = "to reach a socket of the host, name its path in network.unix"},

    /* What they are to do is behind a pointer, so an older call has to say it in registers. */
    {"clone3", .normal = {FAIL(ENOSYS)}, .hold = HOLD_INIT},
    {"openat2", .normal = {FAIL(ENOSYS)}, .hold = HOLD_FLOOR},

    /* Never, for anyone. */
    {"clone", .normal = {.rules = clone_rules}, .hold = HOLD_INIT,
     .hint = "a sandbox cannot make namespaces: " NEVER},
    {"unshare", .normal = {.rules = unshare_rules}, .hold = HOLD_INIT,
     .hint = "a sandbox cannot make namespaces: " NEVER},
    /* Not held for init: it puts its filter on while the network that it will enter is being made. */
    {"setns", .normal = {NOTIFY}, .hold = HOLD_FLOOR,
     .hint = "a sandbox cannot enter namespaces: " NEVER},
    {"mount umount2 pivot_root chroot fsopen fsmount fsconfig fspick open_tree "
     "open_tree_attr move_mount mount_setattr",
     .normal = {NOTIFY}, .hold = HOLD_INIT,
     .hint = "a sandbox's file system is fixed: use --read, --write, --hide or --protect"},
    {"open_by_handle_at", .normal = {NOTIFY}, .hold = HOLD_INIT,
     .hint = "it opens files that the sandbox does not have: " NEVER},
    {"bpf perf_event_open userfaultfd", .normal = {NOTIFY}, .hold = HOLD_INIT,
     .hint = "this part of the kernel is closed to sandboxes: " NEVER},
    {"add_key request_key keyctl", .normal = {NOTIFY}, .hold = HOLD_INIT,
     .hint = "the kernel's keyrings are not the sandbox's: " NEVER},
    {"create_module init_module finit_module delete_module query_module get_kernel_syms "
     "kexec_load kexec_file_load swapon swapoff reboot quotactl quotactl_fd acct",
     .normal = {NOTIFY}, .hold = HOLD_INIT, .hint = "it would change the whole machine: " NEVER},
    {"settimeofday clock_settime adjtimex clock_adjtime", .normal = {NOTIFY}, .hold = HOLD_INIT,
     .hint = "the clock is the whole machine's: " NEVER},
    {"sethostname setdomainname", .normal = {NOTIFY}, .hold = HOLD_INIT,
     .hint = "a sandbox's name is set by identity.hostname"},
    {"iopl ioperm modify_ldt", .normal = {NOTIFY}, .hold = HOLD_INIT,
     .hint = "direct use of the processor's ports and segments is closed: " NEVER},
    /* Not told: run-times try it on every start and do without, as where a sysctl disables it. */
    {"io_uring_setup io_uring_enter io_uring_register", .normal = {FAIL(EPERM)}, .hold = HOLD_INIT},

    /* Known, of no use without capabilities, and not worth a word. */
    {"syslog vhangup fanotify_init fanotify_mark lookup_dcookie process_madvise",
     .normal = {FAIL(EPERM)}},
};

const size_t rule_group_count = sizeof(rule_groups) / sizeof(rule_groups[0]);
