/* SPDX-License-Identifier: Apache-2.0 */
/* Group D, second half: the filter itself, and the supervisor that answers for it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* ---- Another call than the one that was checked ---- */

#ifdef __x86_64__
/* A tracer changes getppid into unshare(CLONE_NEWUSER) after the filter may have seen it. */
static int reenter(char **arg)
{
    struct user_regs_struct regs;
    int status = 0;
    pid_t pid = fork();

    (void)arg;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        /* Without the wrapper's errno: 0 is what unshare returns and getppid never does here. */
        _exit(syscall(SYS_getppid, CLONE_NEWUSER) == 0 ? ESCAPED : HELD);
    }
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    while (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
           WIFSTOPPED(status)) {
        if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0 && regs.orig_rax == SYS_getppid) {
            regs.orig_rax = SYS_unshare;
            regs.rdi = CLONE_NEWUSER;
            ptrace(PTRACE_SETREGS, pid, NULL, &regs);
        }
    }
    if (!WIFEXITED(status))
        return held("ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status) == ESCAPED ? escaped("a changed call was not checked")
                                          : held("the changed call was checked");
}
#else
static int reenter(char **arg)
{
    (void)arg;
    return absent("written for x86_64");
}
#endif

/* ---- A filter of the attacker's own ---- */

static int install(unsigned flags, unsigned action)
{
    /* unshare gets `action`, everything else passes. */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};

    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* Answer one notification with "go on". */
static void answer(int listener)
{
    struct seccomp_notif request = {0};
    struct seccomp_notif_resp reply = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return;
    reply.id = request.id;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/*
 * When two filters want to notify, the one that was added last is asked: a listener of our own that
 * says "go on" would overrule one that refuses.
 */
static int own_listener(char **arg)
{
    int status = 0;
    int listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_USER_NOTIF);

    (void)arg;
    if (listener < 0)
        return held("no listener: %s (errno %d)", strerror(errno), errno);
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) == 0 ? ESCAPED : HELD);
    answer(listener);
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status_code(status) == ESCAPED ? escaped("our listener let unshare pass")
                                          : held("our listener cannot allow it");
}

static int unshare_below(const char *name, unsigned action)
{
    if (install(0, action) < 0)
        return held("no filter: %s (errno %d)", strerror(errno), errno);
    return verdict(unshare(CLONE_NEWUSER) == 0, text("unshare below a filter that says %s", name));
}

/* A filter that asks a tracer, and the tracer says "go on". */
static int below_tracer(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        need(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "be traced");
        raise(SIGSTOP);
        _exit(unshare_below("trace", SECCOMP_RET_TRACE));
    }
    need(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "wait for it");
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(long)PTRACE_O_TRACESECCOMP);
    while (ptrace(PTRACE_CONT, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
           WIFSTOPPED(status))
        ;
    return status_code(status);
}

/* Weaker answers of a later filter must not win over the first. */
static int own_filter(char **arg)
{
    if (strcmp(arg[0], "allow") == 0)
        return unshare_below(arg[0], SECCOMP_RET_ALLOW);
    if (strcmp(arg[0], "log") == 0)
        return unshare_below(arg[0], SECCOMP_RET_LOG);
    need(strcmp(arg[0], "trace") == 0, arg[0]);
    return below_tracer();
}

/* ---- Arguments that change after they were looked at ---- */

static _Atomic bool stop_flipping;

struct flip {
    char *at;
    const char *a;
    const char *b;
};

/* The two names have the same length, so that every state in between is a name as well. */
static void *flip_names(void *arg)
{
    struct flip *flip = arg;
    size_t len = strlen(flip->a);

    while (!stop_flipping) {
        memcpy(flip->at, flip->b, len);
        memcpy(flip->at, flip->a, len);
    }
    return NULL;
}

static void listen_at(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    unlink(path);
    need(bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0 && listen(fd, 4096) == 0, "listen");
}

/* connect to a socket of our own while another thread turns its name into that of the host's. */
static int flip_connect(char **arg)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct flip flip = {addr.sun_path, arg[0], arg[1]};
    pthread_t thread;

    need(strlen(arg[0]) == strlen(arg[1]), "names of the same length");
    listen_at(arg[0]);
    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", arg[0]);
    need(pthread_create(&thread, NULL, flip_names, &flip) == 0, "pthread_create");
    for (double end = now_ms() + 500; now_ms() < end;) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fd, (struct sockaddr *)&addr, sizeof addr);
        close(fd);
    }
    stop_flipping = true;
    pthread_join(thread, NULL);
    return done("connected for half a second");
}

/* The same with a name that may be made and one that may not. */
static int flip_mkdir(char **arg)
{
    char name[256];
    struct flip flip = {name, arg[0], arg[1]};
    pthread_t thread;

    need(strlen(arg[0]) == strlen(arg[1]), "names of the same length");
    snprintf(name, sizeof name, "%s", arg[0]);
    need(pthread_create(&thread, NULL, flip_names, &flip) == 0, "pthread_create");
    for (double end = now_ms() + 500; now_ms() < end;) {
        mkdir(name, 0755);
        rmdir(arg[0]);
    }
    stop_flipping = true;
    pthread_join(thread, NULL);
    return done("made directories for half a second");
}

static void *exchange_files(void *arg)
{
    char **names = arg;

    while (!stop_flipping)
        syscall(SYS_renameat2, AT_FDCWD, names[0], AT_FDCWD, names[1], 2 /* exchange */);
    return NULL;
}

/* connect to a socket of our own while another thread puts the host's in its place. */
static int swap_connect(char **arg)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    pthread_t thread;

    listen_at(arg[0]);
    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", arg[0]);
    need(pthread_create(&thread, NULL, exchange_files, arg) == 0, "pthread_create");
    for (double end = now_ms() + 500; now_ms() < end;) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fd, (struct sockaddr *)&addr, sizeof addr);
        close(fd);
    }
    stop_flipping = true;
    pthread_join(thread, NULL);
    return done("connected for half a second");
}

/* ---- Too much for the supervisor ---- */

/* A connection that nobody accepts: whoever makes it for us must not wait with us. */
static int connect_forever(char **arg)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool tcp = strcmp(arg[0], "tcp") == 0;
    struct sockaddr *to = tcp ? (struct sockaddr *)&inet : (struct sockaddr *)&addr;
    socklen_t len = tcp ? sizeof inet : sizeof addr;
    int server = socket(to->sa_family, SOCK_STREAM, 0);

    snprintf(addr.sun_path, sizeof addr.sun_path, "full");
    need(bind(server, to, len) == 0 && listen(server, 0) == 0, "listen");
    need(getsockname(server, to, &len) == 0, "getsockname");
    alarm(20);
    for (int i = 0; i < 16; i++)
        if (connect(socket(to->sa_family, SOCK_STREAM, 0), to, len) < 0)
            return done("connect: %s", strerror(errno));
    return done("nothing ever blocked");
}

/* Processes that are gone when the answer comes. */
static int ask_and_die(char **arg)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = "nowhere"};

    for (long i = number(arg[0]); i > 0; i--) {
        pid_t pid = fork();
        if (pid == 0) {
            int fd = socket(AF_UNIX, SOCK_STREAM, 0);
            for (;;) {
                (void)connect(fd, (struct sockaddr *)&addr, sizeof addr);
                unshare(CLONE_NEWUSER);
            }
        }
        usleep((useconds_t)(i % 7) * 50);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return verdict(unshare(CLONE_NEWUSER) == 0, "unshare after all that");
}

static void do_nothing(int sig)
{
    (void)sig;
}

/* A refused call again and again: all must be refused. `storm`: while signals arrive. */
static int flood(char **arg)
{
    long count = number(arg[0]);
    struct itimerval every = {{0, 200}, {0, 200}};

    if (strcmp(arg[1], "storm") == 0) {
        struct sigaction action = {.sa_handler = do_nothing}; /* no restart: waits end early */
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &every, NULL);
    }
    for (long i = 0; i < count; i++)
        if (unshare(CLONE_NEWUSER) == 0)
            return escaped("unshare worked at try %ld", i + 1);
    return held("%ld times: %s (errno %d)", count, strerror(errno), errno);
}

/* Say that we are here, and then do what is refused until we are ended. */
static int refused_forever(char **arg)
{
    puts("ready");
    fflush(stdout);
    for (double end = now_ms() + 10000; now_ms() < end;)
        if (unshare(CLONE_NEWUSER) == 0) {
            int fd = open(arg[0], O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
            return fd >= 0 ? ESCAPED : FAILED;
        }
    return HELD;
}

const struct verb filter_verbs[] = {
    {"reenter", "", 0, reenter},
    {"own-listener", "", 0, own_listener},
    {"own-filter", "allow|log|trace", 1, own_filter},
    {"flip-connect", "OWN HOST", 2, flip_connect},
    {"swap-connect", "OWN HOST", 2, swap_connect},
    {"connect-forever", "unix|tcp", 1, connect_forever},
    {"ask-and-die", "COUNT", 1, ask_and_die},
    {"flip-mkdir", "FREE PROTECTED", 2, flip_mkdir},
    {"flood", "COUNT quiet|storm", 2, flood},
    {"refused-forever", "FILE", 1, refused_forever},
    {0},
};
