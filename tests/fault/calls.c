/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* Numbers that headers of distributions may lack; they are the same on every machine. */
#define NR_pidfd_send_signal 424
#define NR_open_tree 428
#define NR_move_mount 429
#define NR_fsopen 430
#define NR_fsconfig 431
#define NR_fsmount 432
#define NR_pidfd_open 434
#define NR_clone3 435
#define NR_close_range 436
#define NR_openat2 437
#define NR_pidfd_getfd 438
#define NR_faccessat2 439
#define NR_mount_setattr 442
#define NR_landlock_create_ruleset 444
#define NR_landlock_add_rule 445
#define NR_landlock_restrict_self 446

#define CALL(name, ...)                                                                            \
    {                                                                                              \
        SYS_##name, #name,                                                                         \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NEW(name, ...)                                                                             \
    {                                                                                              \
        NR_##name, #name,                                                                          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/*
 * EACCES is not among the errors of looking at a path: what is out of the caller's reach is out of
 * its sandbox's, and need not be covered there.
 */
static const struct call_info table[] = {
    /* Calls that do not fail with the arguments they get, or never return. */
    CALL(rt_sigaction, 0),
    CALL(rt_sigprocmask, 0),
    CALL(rt_sigreturn, 0),
    CALL(rt_sigtimedwait, 0),
    CALL(getpid, 0),
    CALL(getppid, 0),
    CALL(gettid, 0),
    CALL(getuid, 0),
    CALL(geteuid, 0),
    CALL(getgid, 0),
    CALL(getegid, 0),
    CALL(umask, 0),
    CALL(futex, 0),
    CALL(exit, 0),
    CALL(exit_group, 0),
    CALL(clock_gettime, 0),
    CALL(getrandom, 0),
    CALL(getrusage, 0),
    CALL(sched_getaffinity, 0), /* a wish about speed, not a step */
    CALL(sched_setaffinity, 0),
    CALL(brk, 0), /* the call itself returns no error but the break that stays */

    /* The descriptor is gone whatever close() says, and no caller can do anything about it. */
    {SYS_close, "close", {EIO, EINTR}, .after = true},

    CALL(capset, EPERM),
    CALL(chdir, EACCES, ENOENT, ENOMEM),
    CALL(chroot, EACCES, EPERM),
    CALL(clone, EAGAIN, ENOMEM, EPERM, ENOSPC),
    NEW(clone3, EPERM, EAGAIN, ENOMEM, ENOSPC, EINVAL, ENOSYS),
    NEW(close_range, ENOMEM, EMFILE, EINVAL, ENOSYS),
    CALL(dup3, EMFILE), /* after EBUSY some libcs try again */
    CALL(epoll_create1, EMFILE, ENFILE, ENOMEM),
    CALL(epoll_ctl, ENOMEM, ENOSPC),
    CALL(epoll_pwait, ENOMEM),
    CALL(execve, ENOMEM, EACCES, ENOENT, EPERM, E2BIG),
    CALL(faccessat, ENOMEM),
    NEW(faccessat2, ENOMEM, EACCES, ENOSYS),
    CALL(fchdir, EACCES, EIO),
    CALL(fcntl, EMFILE, ENOMEM, EINVAL),
    NEW(fsconfig, ENOMEM, EPERM, EINVAL),
    NEW(fsmount, EPERM, ENOMEM, EMFILE),
    NEW(fsopen, ENOMEM, EPERM, EMFILE, ENODEV, ENOSYS),
    CALL(fstat, EIO, ENOMEM),
    CALL(fstatfs, EIO, ENOMEM),
    CALL(flock, ENOLCK, EWOULDBLOCK),
    CALL(getdents64, EIO, ENOMEM),
    CALL(inotify_add_watch, ENOSPC, ENOMEM, EACCES),
    CALL(inotify_init1, EMFILE, ENFILE, ENOMEM),
    CALL(ioctl, EPERM, ENOMEM, EINVAL, ENOTTY),
    CALL(keyctl, EDQUOT, ENOMEM, EPERM, ENOSYS),
    CALL(kill, EPERM, ESRCH),
    NEW(landlock_add_rule, ENOMEM, EINVAL, EPERM),
    NEW(landlock_create_ruleset, ENOMEM, EMFILE, EINVAL, EOPNOTSUPP, ENOSYS),
    NEW(landlock_restrict_self, E2BIG, EPERM, ENOMEM, EINVAL),
    CALL(lseek, EIO),
    CALL(memfd_create, EMFILE, ENFILE, ENOMEM, ENOSYS),
    CALL(mkdirat, ENOSPC, EACCES, EROFS, ENOMEM),
    CALL(mknodat, ENOSPC, EACCES, EPERM, EROFS),
    CALL(mmap, ENOMEM, EPERM),
    CALL(mount, EPERM, ENOMEM, EINVAL),
    NEW(mount_setattr, EPERM, ENOMEM, EINVAL, ENOSYS),
    NEW(move_mount, EINVAL, EPERM, ENOMEM, ENOSPC, ELOOP),
    CALL(mprotect, ENOMEM),
    CALL(mremap, ENOMEM),
    CALL(munmap, ENOMEM),
    CALL(newfstatat, EIO, ENOMEM),
    NEW(open_tree, EPERM, ENOMEM, EMFILE, ENOSYS),
    CALL(openat, EMFILE, ENFILE, ENOMEM),
    NEW(openat2, ENOMEM, EMFILE, EACCES, ENOSYS),
    NEW(pidfd_getfd, EPERM, EMFILE, ENOSYS),
    NEW(pidfd_open, EMFILE, ENOMEM, EPERM, ENOSYS),
    NEW(pidfd_send_signal, EPERM, ENOSYS),
    CALL(pipe2, EMFILE, ENFILE),
    CALL(ppoll, ENOMEM),
    CALL(prctl, EPERM, EACCES, ENOMEM),
    CALL(pread64, EIO),
    CALL(prlimit64, EPERM),
    CALL(process_vm_readv, EPERM, ENOMEM, ENOSYS),
    CALL(read, EIO),
    CALL(readlinkat, EIO, ENOMEM),
    CALL(recvmsg, ENOMEM, ENOBUFS),
    CALL(seccomp, ENOMEM, EINVAL, EPERM, EBUSY, ENOSYS),
    CALL(sendmsg, ENOBUFS, ENOMEM),
    CALL(sendto, ENOBUFS, ENOMEM),
    CALL(setgroups, EPERM, ENOMEM),
    CALL(sethostname, EPERM),
    CALL(setpgid, EPERM),
    CALL(setresgid, EPERM, EAGAIN),
    CALL(setresuid, EPERM, EAGAIN),
    CALL(setsid, EPERM),
    CALL(signalfd4, EMFILE, ENFILE, ENOMEM),
    CALL(socket, EMFILE, ENOBUFS, EPERM),
    CALL(socketpair, EMFILE, ENFILE, ENOMEM),
    CALL(splice, ENOMEM, EINVAL),
    CALL(statx, EIO, ENOMEM),
    CALL(symlinkat, ENOSPC, EACCES),
    CALL(sysinfo, 0), /* fails for a bad pointer only */
    CALL(timerfd_create, EMFILE, ENFILE, ENOMEM),
    CALL(timerfd_settime, EINVAL),
    CALL(umount2, EINVAL, EPERM),
    CALL(uname, EPERM), /* a filter around us */
    CALL(unlinkat, EBUSY, EIO),
    CALL(unshare, EPERM, ENOMEM, ENOSPC),
    CALL(wait4, ECHILD),
    CALL(waitid, ECHILD),
    CALL(write, EPERM, EIO, ENOSPC),
    CALL(writev, EIO, ENOSPC),
#if defined(__x86_64__)
    CALL(access, EACCES),
    CALL(arch_prctl, 0),
    CALL(dup2, EMFILE),
    CALL(epoll_wait, ENOMEM),
    CALL(fork, EAGAIN, ENOMEM),
    CALL(lstat, EIO, ENOMEM),
    CALL(mkdir, ENOSPC, EACCES),
    CALL(open, EMFILE, ENOMEM),
    CALL(poll, ENOMEM),
    CALL(readlink, EIO, ENOMEM),
    CALL(stat, EIO, ENOMEM),
    CALL(vfork, EAGAIN, ENOMEM),
#endif
};

const struct call_info *call_info(long nr)
{
    static struct call_info unknown = {.errors = {EPERM, ENOMEM, ENOSYS}};
    static char name[32];

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].nr == nr)
            return &table[i];
    snprintf(name, sizeof name, "call %ld", nr);
    unknown.nr = nr;
    unknown.name = name;
    return &unknown;
}

const char *role_name(enum trace_role role)
{
    static const char *const names[] = {"engine", "helper", "init", "command"};

    return role < ROLE_COUNT ? names[role] : "anybody";
}

/* `error` 0: whichever; `role` ROLE_ANY: whoever makes it. */
struct exception {
    const char *name;
    enum trace_role role;
    int error;
    const char *why;
};

static const struct exception tolerated[] = {
    {"clone3", ROLE_ENGINE, ENOSYS, "clone does the same"},
    {"close", ROLE_ANY, 0, "the descriptor is gone all the same"},
    {"close_range", ROLE_HELPER, 0, "the janitor keeps some open until the engine's end"},
    {"fcntl", ROLE_INIT, 0, "a directory that cannot be watched is looked at every now and then"},
    {"faccessat2", ROLE_ENGINE, EACCES, "without a control group: `enforced` says so"},
    {"faccessat2", ROLE_ENGINE, ENOSYS, "faccessat does the same"},
    {"fstat", ROLE_ENGINE, 0, "a shortcut (splice, one group for two controllers) is not taken"},
    {"ioctl", ROLE_ENGINE, 0, "asks how large the caller's terminal is; there is a default"},
    {"keyctl", ROLE_INIT, ENOSYS, "a kernel without keyrings"},
    {"landlock_create_ruleset", ROLE_ENGINE, 0, "without Landlock: `enforced` says so"},
    {"mount_setattr", ROLE_INIT, EINVAL, "says that / is not where a mount starts: it is copied"},
    {"mount_setattr", ROLE_INIT, ENOSYS, "flags are set the old way"},
    {"munmap", ROLE_ANY, 0, "memory stays mapped a little longer"},
    {"newfstatat", ROLE_ENGINE, 0, "a shortcut (splice, no id map) is not taken"},
    {"newfstatat", ROLE_INIT, 0, "sockets in a tmpfs of unknown identity are refused"},
    {"openat", ROLE_INIT, 0, "a directory that cannot be watched is looked at every now and then"},
    {"openat2", ROLE_ENGINE, EACCES, "without a control group: `enforced` says so"},
    {"openat2", ROLE_ENGINE, ENOSYS, "openat does the same; a control group: `enforced` says so"},
    {"openat2", ROLE_INIT, 0, "a directory that cannot be watched is looked at every now and then"},
    {"seccomp", ROLE_COMMAND, EINVAL,
     "an older kernel: a flag less that only makes waiting better"},
    {"pidfd_open", ROLE_HELPER, 0, "the janitor looks whether the engine is there"},
    {"ppoll", ROLE_HELPER, 0, "the janitor looks whether the engine is there"},
    {"prctl", ROLE_HELPER, 0, "the janitor has the engine's name"},
    {"setpgid", ROLE_HELPER, 0, "the janitor stays in the engine's process group"},
    {"socket", ROLE_INIT, 0, "without NETLINK_SOCK_DIAG sockets in the workspace are refused"},
    {"stat", ROLE_ENGINE, 0, "a shortcut (no id map, init left to the host's reaper) is not taken"},
    {"wait4", ROLE_ENGINE, ECHILD, "the caller ignores SIGCHLD: the kernel has reaped it"},
};

/* Only after the set-up, during which everything counts. */
static const struct exception exempt[] = {
    {"ioctl", ROLE_INIT, 0, "a notification cannot be taken or answered when its caller is gone"},
    {"read", ROLE_ENGINE, 0, "of output: no error of a pipe is known, and EIO ends a terminal"},
    {"wait4", ROLE_INIT, 0, "its children are its own: there is one, or the call says 0"},
};

static const char *look_up(const struct exception *rows, size_t count,
                           const struct trace_call *call, int error)
{
    const char *name = call_info(call->nr)->name;

    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0 &&
            (rows[i].role == ROLE_ANY || rows[i].role == call->role) &&
            (rows[i].error == 0 || rows[i].error == error))
            return rows[i].why;
    return NULL;
}

const char *call_tolerated(const struct trace_call *call, int error)
{
    return look_up(tolerated, sizeof tolerated / sizeof *tolerated, call, error);
}

const char *call_exempt(const struct trace_call *call)
{
    return call->late ? look_up(exempt, sizeof exempt / sizeof *exempt, call, 0) : NULL;
}
