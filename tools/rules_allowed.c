/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that need no look at their arguments, because nothing about them reaches out. */
#include "rules_lists.h"

const char calls_files[] =
    /* data */
    "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek sendfile "
    "splice tee copy_file_range ftruncate truncate fallocate fadvise64 readahead sync syncfs "
    "fsync fdatasync sync_file_range cachestat "
    /* descriptors */
    "close close_range dup dup2 dup3 pipe pipe2 flock "
    /* names and attributes; those that set a mode are in rules.c, and fcntl */
    "access faccessat faccessat2 stat fstat lstat newfstatat statx statfs fstatfs getdents "
    "getdents64 getcwd chdir fchdir rename renameat renameat2 rmdir link linkat unlink "
    "unlinkat symlink symlinkat readlink readlinkat umask utime utimes futimesat utimensat "
    "chown fchown lchown fchownat setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr "
    "listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr setxattrat "
    "getxattrat listxattrat removexattrat "
    /* watching */
    "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch";

const char calls_memory[] =
    "mmap munmap mremap mprotect madvise brk msync mincore munlock munlockall membarrier "
    "pkey_mprotect pkey_alloc pkey_free get_mempolicy memfd_create remap_file_pages mseal "
    /* glibc, where the processor has shadow stacks */
    "map_shadow_stack";

const char calls_processes[] =
    "fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid "
    "getpgrp setpgid getsid setsid set_tid_address set_robust_list get_robust_list rseq "
    "futex futex_waitv futex_wake futex_wait futex_requeue arch_prctl pidfd_open "
    "pidfd_send_signal restart_syscall "
    /* A process may confine itself further. */
    "landlock_create_ruleset landlock_add_rule landlock_restrict_self "
    /* The kernel's own trampoline, when an administrator traces a library that is in use here. */
    "uretprobe "
    /* ids: without capabilities these can only give up */
    "getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid "
    "setregid setresuid setresgid setfsuid setfsgid setgroups capget capset "
    /* limits and scheduling; what sets them is in rules.c */
    "getrlimit getrusage getpriority sched_yield sched_getaffinity sched_getparam sched_getattr "
    "sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval "
    "ioprio_get getcpu "
    /* the system, as far as it can be seen from here */
    "uname sysinfo times getrandom";

const char calls_signals[] =
    "kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend "
    "rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack signalfd signalfd4 pause "
    /* time */
    "alarm getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun "
    "timer_delete timerfd_create timerfd_settime timerfd_gettime nanosleep clock_gettime "
    "clock_getres clock_nanosleep gettimeofday time";

const char calls_ipc[] =
    /* waiting */
    "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
    "epoll_pwait2 eventfd eventfd2 "
    /* sockets, once they are made; making and connecting is in rules.c */
    "bind listen accept accept4 getsockname getpeername getsockopt shutdown sendto recvfrom "
    "sendmsg recvmsg sendmmsg recvmmsg "
    /* System V and POSIX, in a namespace of their own */
    "shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl "
    "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr";
