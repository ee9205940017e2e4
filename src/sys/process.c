/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sys/procfs.h"
#include "sys/raw.h"
#include "sys/ret.h"

#define K_SYS_pidfd_send_signal 424
#define K_SYS_pidfd_getfd 438
#define K_P_PIDFD 3
#define K_CLOSE_RANGE_UNSHARE 2U
#define K_PIDFD_THREAD O_EXCL
#define K_SIGNALS 64

int sys_pidfd_open(pid_t pid)
{
    return ret_errno(syscall(K_SYS_pidfd_open, pid, 0));
}

/* The n-th (from 1) space-separated number after `text`. */
static uintptr_t nth_number(const char *text, int n)
{
    uintptr_t value = 0;

    for (; n > 1 && *text; n--) {
        while (*text && *text != ' ')
            text++;
        while (*text == ' ')
            text++;
    }
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uintptr_t)(*text - '0');
    return value;
}

int sys_pidfd_open_thread(pid_t tid)
{
    char text[512];
    int r = ret_errno(syscall(K_SYS_pidfd_open, tid, K_PIDFD_THREAD));

    if (r != -EINVAL)
        return r;
    r = sys_pidfd_open(tid);
    if (r != -EINVAL && r != -ENOENT)
        return r;
    /* An older kernel, and not the first thread: /proc knows whose it is. */
    r = sys_proc_read(tid, "status", text, sizeof text);
    const char *tgid = r < 0 ? NULL : strstr(text, "\nTgid:\t");
    return tgid ? sys_pidfd_open((pid_t)nth_number(tgid + 7, 1)) : -ESRCH;
}

int sys_pidfd_take(int pidfd, int fd)
{
    return ret_errno(syscall(K_SYS_pidfd_getfd, pidfd, fd, 0));
}

int sys_memory_read(pid_t pid, uint64_t address, void *data, size_t len)
{
    struct iovec local = {.iov_base = data, .iov_len = len};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = len};
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

    if (got < 0)
        return -errno;
    return (size_t)got == len ? 0 : -EFAULT;
}

int sys_memory_write(pid_t pid, uint64_t address, const void *data, size_t len)
{
    struct iovec local = {.iov_base = (void *)data, .iov_len = len};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = len};
    ssize_t put = process_vm_writev(pid, &local, 1, &remote, 1, 0);

    if (put < 0)
        return -errno;
    return (size_t)put == len ? 0 : -EFAULT;
}

bool sys_has_descriptors(pid_t pid, unsigned count)
{
    struct rlimit limit;
    struct stat st;
    fd_auto int dir = sys_proc_open_dir(pid, "fd");

    /* Its size is how many there are. */
    if (dir < 0 || fstat(dir, &st) < 0 || prlimit(pid, RLIMIT_NOFILE, NULL, &limit) < 0)
        return true;
    return st.st_size == 0 || (rlim_t)st.st_size + count <= limit.rlim_cur;
}

int sys_pidfd_kill(int pidfd, int signal)
{
    return ret_errno(syscall(K_SYS_pidfd_send_signal, pidfd, signal, NULL, 0));
}

static void set_exit(struct sys_exit *ret, int how, int status)
{
    ret->code = how == CLD_EXITED ? status : -1;
    ret->signal = how == CLD_EXITED ? 0 : status;
}

int sys_pidfd_wait(int pidfd, bool block, struct sys_exit *ret)
{
    siginfo_t info = {0};
    struct rusage usage = {0};
    int flags = WEXITED | __WALL | (block ? 0 : WNOHANG);
    int r;

    /* The raw call has a fifth argument that libc's waitid() hides. */
    do {
        r = ret_errno(syscall(SYS_waitid, K_P_PIDFD, pidfd, &info, flags, &usage));
    } while (r == -EINTR);
    if (r < 0)
        return r;
    if (info.si_pid == 0)
        return -EAGAIN;

    set_exit(ret, info.si_code, info.si_status);
    ret->usage = usage;
    return 0;
}

int sys_wait_any(struct sys_exit *ret)
{
    int status = 0;
    int pid = ret_errno(wait4(-1, &status, WNOHANG, &ret->usage));

    if (pid <= 0)
        return pid;
    if (WIFEXITED(status))
        set_exit(ret, CLD_EXITED, WEXITSTATUS(status));
    else
        set_exit(ret, CLD_KILLED, WTERMSIG(status));
    return pid;
}

static void get_usage(int who, struct rusage *ret)
{
    /* It fails for bad arguments alone. */
    if (getrusage(who, ret) < 0)
        memset(ret, 0, sizeof *ret);
}

void sys_children_usage(struct rusage *ret)
{
    get_usage(RUSAGE_CHILDREN, ret);
}

void sys_own_usage(struct rusage *ret)
{
    get_usage(RUSAGE_SELF, ret);
}

unsigned sys_wait_all(void)
{
    unsigned count = 0;

    for (;;) {
        if (wait4(-1, NULL, 0, NULL) > 0)
            count++;
        else if (errno != EINTR)
            return count;
    }
}

int sys_close_from(unsigned first)
{
    return ret_errno(syscall(K_SYS_close_range, first, ~0U, 0));
}

int sys_unshare_descriptors(void)
{
    /* Closes nothing: no descriptor has this number. */
    return ret_errno(syscall(K_SYS_close_range, ~0U, ~0U, K_CLOSE_RANGE_UNSHARE));
}

void sys_signals_reset(void)
{
    /* The kernel's own structure, on every architecture: a handler, flags and an empty set. */
    static const unsigned long defaults[4];
    static const uint64_t none;

    for (int i = 1; i <= K_SIGNALS; i++)
        SYS_RAW(SYS_rt_sigaction, i, defaults, NULL, sizeof none);
    SYS_RAW(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

/* The kernel forgets where they are. -EINVAL when it was built without what can restore a process. */
static int forget_arguments(void)
{
    static char nowhere[2];
    const uint64_t at = (uint64_t)(uintptr_t)nowhere;
    struct prctl_mm_map map = {
        .start_code = at,
        .end_code = at + 1,
        .start_data = at,
        .end_data = at,
        .start_brk = at,
        .brk = at,
        .start_stack = at,
        .arg_start = at,
        .arg_end = at,
        .env_start = at,
        .env_end = at,
        .exe_fd = (uint32_t)-1,
    };

    return ret_errno(prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0));
}

int sys_wipe_arguments(void)
{
    char text[1024];
    int r = forget_arguments();

    if (r != -EINVAL)
        return r;
    fd_auto int fd = ret_errno(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return fd;
    ssize_t len = read(fd, text, sizeof text - 1);
    if (len <= 0)
        return -EIO;
    text[len] = '\0';

    /* The second field is the program's name in parentheses and may contain anything. */
    const char *after_name = strrchr(text, ')');
    if (!after_name || after_name[1] != ' ')
        return -EIO;

    /* proc(5): arg_start and arg_end are fields 48 and 49; the text here starts at field 3. */
    uintptr_t start = nth_number(after_name + 2, 48 - 2);
    uintptr_t end = nth_number(after_name + 2, 49 - 2);
    if (!start || end < start)
        return -EIO;
    memset((void *)start, 0, end - start);
    return 0;
}

void sys_run_elsewhere(pid_t pid)
{
    cpu_set_t mask;
    int here = sched_getcpu();

    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof mask, &mask) < 0)
        return;
    CPU_CLR(here, &mask);
    if (CPU_COUNT(&mask) == 0 || sched_setaffinity(pid, sizeof mask, &mask) < 0)
        return;
    /* Moved it is; when it has to wait there, the kernel may take it back. */
    CPU_SET(here, &mask);
    sched_setaffinity(pid, sizeof mask, &mask);
}

int sys_use_processors(unsigned count)
{
    cpu_set_t mask;
    cpu_set_t chosen;
    int here = sched_getcpu();
    int r = ret_errno(sched_getaffinity(0, sizeof mask, &mask));

    if (r < 0)
        return r;
    CPU_ZERO(&chosen);
    /* From here on: sandboxes that start at the same time are on different ones. */
    for (int i = 0; i < CPU_SETSIZE && count > 0; i++) {
        int cpu = (here < 0 ? i : here + i) % CPU_SETSIZE;
        if (CPU_ISSET(cpu, &mask)) {
            CPU_SET(cpu, &chosen);
            count--;
        }
    }
    return ret_errno(sched_setaffinity(0, sizeof chosen, &chosen));
}
