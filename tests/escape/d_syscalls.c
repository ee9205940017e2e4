/* SPDX-License-Identifier: Apache-2.0 */
/* Group D, first half: calls that must not reach the kernel, by any of its doors. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#define HIGH (1UL << 32)
#define BAD (-1L) /* a pointer that points nowhere, a descriptor that is not open */

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_listmount
#define SYS_listmount 458
#endif
#ifndef SYS_statmount
#define SYS_statmount 457
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

/* ---- One call, with arguments that make it fail late and change nothing ---- */

static const struct {
    const char *name;
    long nr;
    long args[6];
} calls[] = {
    {"acct", SYS_acct, {BAD}},
    {"add_key", SYS_add_key, {BAD, BAD, 0, 0, BAD}},
    {"bpf", SYS_bpf, {0, BAD, 16}},
    {"clock_adjtime", SYS_clock_adjtime, {BAD, BAD}},
    {"clock_settime", SYS_clock_settime, {0, BAD}},
    {"delete_module", SYS_delete_module, {BAD, 0}},
    {"fanotify_init", SYS_fanotify_init, {BAD, 0}},
    {"finit_module", SYS_finit_module, {BAD, BAD, 0}},
    {"init_module", SYS_init_module, {BAD, 1, BAD}},
    {"io_uring_enter", SYS_io_uring_enter, {BAD, 0, 0, 0, 0, 0}},
    {"io_uring_register", SYS_io_uring_register, {BAD, 0, 0, 0}},
    {"io_uring_setup", SYS_io_uring_setup, {1, BAD}},
    {"kexec_load", SYS_kexec_load, {0, 1, BAD, 0}},
    {"keyctl", SYS_keyctl, {11, BAD, BAD, 0, 0}},
    {"listmount", SYS_listmount, {BAD, BAD, 1, 0}},
    {"memfd_secret", SYS_memfd_secret, {BAD}},
    {"mount", SYS_mount, {BAD, BAD, BAD, 0, 0}},
    {"move_pages", SYS_move_pages, {0, 1, BAD, 0, BAD, 0}},
    {"nfsservctl", SYS_nfsservctl, {0, 0, 0}},
    {"open_by_handle_at", SYS_open_by_handle_at, {BAD, BAD, 0}},
    {"open_tree_attr", SYS_open_tree_attr, {BAD, BAD, 1, 0, 0}},
    {"perf_event_open", SYS_perf_event_open, {BAD, 0, 0, BAD, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd, {BAD, 0, 0}},
    {"process_madvise", SYS_process_madvise, {BAD, BAD, 1, 0, 0}},
    {"quotactl", SYS_quotactl, {0, BAD, 0, BAD}},
    {"quotactl_fd", SYS_quotactl_fd, {BAD, 0, 0, 0}},
    {"reboot", SYS_reboot, {0, 0, 0, 0}},
    {"request_key", SYS_request_key, {BAD, BAD, 0, 0}},
    {"setdomainname", SYS_setdomainname, {BAD, 1}},
    {"sethostname", SYS_sethostname, {BAD, 1}},
    {"settimeofday", SYS_settimeofday, {BAD, 0}},
    {"statmount", SYS_statmount, {BAD, BAD, 1, 0}},
    {"swapon", SYS_swapon, {BAD, 0}},
    {"swapoff", SYS_swapoff, {BAD}},
    {"syslog", SYS_syslog, {3, BAD, 1}},
    {"umount2", SYS_umount2, {BAD, 0}},
    {"userfaultfd", SYS_userfaultfd, {O_CLOEXEC | 1}},
    {"vmsplice", SYS_vmsplice, {BAD, BAD, 1, 0}},
#ifdef __x86_64__
    {"ioperm", SYS_ioperm, {BAD, 1, 1}},
    {"iopl", SYS_iopl, {4}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, BAD, 1}},
    {"modify_ldt", SYS_modify_ldt, {1, BAD, 16}},
    {"sysfs", SYS_sysfs, {9}},
    {"uselib", SYS_uselib, {BAD}},
    {"ustat", SYS_ustat, {0, BAD}},
#endif
};

/* "Not permitted" and "no such call" are refusals; any other answer comes from behind them. */
static bool is_refusal(long r, int error)
{
    return r < 0 && (error == EPERM || error == EACCES || error == ENOSYS);
}

static int make_call(void *arg)
{
    long r = syscall(calls[*(size_t *)arg].nr, calls[*(size_t *)arg].args[0],
                     calls[*(size_t *)arg].args[1], calls[*(size_t *)arg].args[2],
                     calls[*(size_t *)arg].args[3], calls[*(size_t *)arg].args[4],
                     calls[*(size_t *)arg].args[5]);
    int error = errno;

    if (!is_refusal(r, error))
        return escaped("the kernel answered: %s", r < 0 ? strerror(error) : "success");
    return held("%s (errno %d)", strerror(error), error);
}

static int try_call(char **arg)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(arg[0], calls[i].name) == 0) {
            int status = in_child(make_call, &i);
            return status == 128 + SIGSYS ? held("killed by SIGSYS") : status;
        }
    return absent("no such call on this architecture");
}

/* ---- Foreign ABIs ---- */

#ifdef __x86_64__
static int call_i386(void *arg)
{
    long r = 20; /* getpid */

    (void)arg;
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
    if (r == getpid())
        return ESCAPED;
    return r == -ENOSYS ? ABSENT : HELD;
}

static int call_x32(void *arg)
{
    (void)arg;
    return syscall(SYS_getpid | 0x40000000) == getpid() ? ESCAPED : errno == ENOSYS ? ABSENT : HELD;
}

/* Inside, ENOSYS is an answer of the filter; outside it says that the kernel has no such ABI. */
static int foreign_abi(char **arg)
{
    int (*call)(void *) = strcmp(arg[0], "x32") == 0 ? call_x32 : call_i386;
    int status = in_child(call, NULL);

    if (status == ESCAPED)
        return escaped("a call by the %s ABI was answered", arg[0]);
    return held("%s: %s (errno %d)", arg[0], status == ABSENT ? "ENOSYS" : "killed or refused",
                status == ABSENT ? ENOSYS : EPERM);
}
#else
static int foreign_abi(char **arg)
{
    return absent("%s is of another architecture", arg[0]);
}
#endif

/* ---- Namespaces ---- */

static const struct {
    const char *name;
    unsigned long flag;
    const char *file;
} spaces[] = {
    {"user", CLONE_NEWUSER, "user"}, {"mnt", CLONE_NEWNS, "mnt"},
    {"pid", CLONE_NEWPID, "pid"},    {"net", CLONE_NEWNET, "net"},
    {"ipc", CLONE_NEWIPC, "ipc"},    {"uts", CLONE_NEWUTS, "uts"},
    {"time", 0x80, "time"},          {"cgroup", CLONE_NEWCGROUP, "cgroup"},
};

static size_t space(const char *name)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strcmp(spaces[i].name, name) == 0)
            return i;
    need(false, name);
    return 0;
}

static int do_unshare(char **arg)
{
    return verdict(unshare((int)spaces[space(arg[0])].flag) == 0, text("unshare %s", arg[0]));
}

static long raw_clone(unsigned long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return pid;
}

/* The flag of a time namespace is below the mask of clone()'s signal: only clone3 can have it. */
static int do_clone(char **arg)
{
    return verdict(raw_clone(spaces[space(arg[0])].flag) > 0, text("clone %s", arg[0]));
}

static int do_clone3(char **arg)
{
    struct clone_args args = {.flags = spaces[space(arg[0])].flag, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof args);

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return verdict(pid > 0, text("clone3 %s", arg[0]));
}

/* Into the namespace of a process: our own is the one that is always there. */
static int do_setns(char **arg)
{
    int fd = open(text("/proc/self/ns/%s", spaces[space(arg[0])].file), O_RDONLY | O_CLOEXEC);

    need(fd >= 0, "open the namespace");
    int r = setns(fd, (int)spaces[space(arg[0])].flag);
    return verdict(r == 0 || errno == EINVAL, text("setns %s", arg[0]));
}

/* ---- The upper half of a register, which the kernel ignores where it takes an int ---- */

static int high_half(char **arg)
{
    const char *what = arg[0];
    long r = -1;

    if (strcmp(what, "socket") == 0)
        r = syscall(SYS_socket, AF_PACKET | HIGH, SOCK_RAW | HIGH, 0);
    else if (strcmp(what, "netlink") == 0)
        r = syscall(SYS_socket, AF_NETLINK | HIGH, SOCK_RAW, 12 | HIGH);
    else if (strcmp(what, "personality") == 0)
        r = syscall(SYS_personality, READ_IMPLIES_EXEC | HIGH);
    else if (strcmp(what, "setns") == 0)
        r = syscall(SYS_setns, open("/proc/self/ns/uts", O_RDONLY), CLONE_NEWUTS | HIGH);
    else if (strcmp(what, "clone") == 0)
        r = raw_clone(CLONE_NEWUSER | HIGH);
    else
        need(false, what);
    return verdict(r >= 0, text("%s with a bit above the 32nd", what));
}

static int set_personality(char **arg)
{
    (void)arg;
    return verdict(personality(READ_IMPLIES_EXEC | MMAP_PAGE_ZERO) >= 0,
                   "personality(READ_IMPLIES_EXEC|MMAP_PAGE_ZERO)");
}

const struct verb syscall_verbs[] = {
    {"call", "NAME", 1, try_call},
    {"foreign-abi", "i386|x32", 1, foreign_abi},
    {"unshare", "NAMESPACE", 1, do_unshare},
    {"clone", "NAMESPACE", 1, do_clone},
    {"clone3", "NAMESPACE", 1, do_clone3},
    {"setns", "NAMESPACE", 1, do_setns},
    {"high-half", "socket|netlink|personality|setns|clone", 1, high_half},
    {"personality", "", 0, set_personality},
    {0},
};
