/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command in the sandbox: leaves the file "ran", so that everybody sees it was executed, and
 * says all that it can find out about how it is confined. Two sandboxes that say the same are the
 * same: nothing that changes from run to run is in it.
 *
 * Its first argument is a path that is protected and does not exist, or empty. The others are
 * paths; it says what it may do with each.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static const char *outcome(long r)
{
    return r < 0 ? strerrorname_np(errno) : "ok";
}

/* Which of two locks was met first depends on whose file it looks like. */
static const char *write_outcome(long r)
{
    return r < 0 && (errno == EROFS || errno == EACCES) ? "refused" : outcome(r);
}

/* A sandbox of root has another id on the host each time: nine digits and more become '#'. */
static void blot_ids(char *line)
{
    char *out = line;

    for (const char *p = line; *p;) {
        size_t digits = strspn(p, "0123456789");
        if (digits >= 9) {
            *out++ = '#';
            p += digits;
        } else {
            size_t len = digits ? digits : 1;
            memmove(out, p, len);
            out += len;
            p += len;
        }
    }
    *out = '\0';
}

/* Lines of a file, all of them or those that begin with one of the prefixes. */
static void say_file(const char *path, const char *const *prefixes)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");

    printf("%s: %s\n", path, file ? "ok" : strerrorname_np(errno));
    while (file && getline(&line, &size, file) > 0) {
        bool wanted = !prefixes;
        for (size_t i = 0; prefixes && prefixes[i]; i++)
            wanted = wanted || strncmp(line, prefixes[i], strlen(prefixes[i])) == 0;
        if (strstr(path, "_map"))
            blot_ids(line);
        if (wanted)
            fputs(line, stdout);
    }
    free(line);
    if (file)
        fclose(file);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A line of mountinfo without what differs each time, or NULL when the mount is covered. */
static char *mount_line(char *line)
{
    char root[4096];
    char point[4096];
    int rest = 0;
    struct statx stx;

    unsigned long id = strtoul(line, NULL, 10);
    if (sscanf(line, "%*s %*s %*s %4095s %4095s%n", root, point, &rest) != 2)
        return NULL;
    if (statx(AT_FDCWD, point, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &stx) == 0 &&
        stx.stx_mnt_id != id)
        return NULL;
    blot_ids(line + rest);
    /* Where everybody may do what the owner may, a map of ids is left out; what counts is tried. */
    char *mapped = strstr(line + rest, ",idmapped");
    if (mapped)
        memmove(mapped, mapped + strlen(",idmapped"), strlen(mapped) - strlen(",idmapped") + 1);
    char *text = NULL;
    return asprintf(&text, "mount %s of %s%s", point, root, line + rest) < 0 ? NULL : text;
}

/* Sorted: the order in which they were made is nobody's business. */
static void say_mounts(void)
{
    static char *lines[1024];
    size_t count = 0;
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");

    while (file && count < 1024 && getline(&line, &size, file) > 0) {
        lines[count] = mount_line(line);
        count += lines[count] != NULL;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++)
        fputs(lines[i], stdout);
    free(line);
    if (file)
        fclose(file);
}

static void say_process(void)
{
    static const char *const status[] = {"Umask",      "Uid",     "Gid",    "Groups",
                                         "SigBlk",     "SigIgn",  "SigCgt", "Cap",
                                         "NoNewPrivs", "Seccomp", NULL};
    struct utsname name;
    char cwd[4096];

    say_file("/proc/self/status", status);
    say_file("/proc/self/limits", NULL);
    say_file("/proc/self/uid_map", NULL);
    say_file("/proc/self/gid_map", NULL);
    uname(&name);
    printf("host %s, leader %d, parent %d, nice %d\n", name.nodename, getsid(0) == getpid(),
           getppid(), getpriority(PRIO_PROCESS, 0));
    printf("cwd %s\n", getcwd(cwd, sizeof cwd) ? cwd : "?");
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("descriptor %d flags %o\n", fd, fcntl(fd, F_GETFL));
    for (char **var = environ; *var; var++)
        printf("variable %s\n", *var);
}

static void say_network(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = ioctl(sock, SIOCGIFFLAGS, &request);
    struct if_nameindex *list = if_nameindex();

    printf("lo %s %x\n", outcome(r), (unsigned)request.ifr_flags);
    for (size_t i = 0; list && list[i].if_index; i++)
        printf("interface %s\n", list[i].if_name);
    if_freenameindex(list);
    close(sock);
}

/* Only questions: none of these could do anything with these arguments, but the last. */
static void say_calls(void)
{
    static const struct {
        const char *name;
        long nr;
        long args[3];
    } calls[] = {
        {"mount", SYS_mount, {0, 0, 0}},
        {"umount2", SYS_umount2, {0, 0, 0}},
        {"pivot_root", SYS_pivot_root, {0, 0, 0}},
        {"setns", SYS_setns, {-1, 0, 0}},
        {"bpf", SYS_bpf, {-1, 0, 0}},
        {"perf_event_open", SYS_perf_event_open, {0, 0, 0}},
        {"userfaultfd", SYS_userfaultfd, {-1, 0, 0}},
        {"keyctl", SYS_keyctl, {-1, 0, 0}},
        {"add_key", SYS_add_key, {0, 0, 0}},
        {"ptrace", SYS_ptrace, {-1, 1, 0}},
        {"process_vm_readv", SYS_process_vm_readv, {1, 0, 0}},
        {"kexec_load", SYS_kexec_load, {0, 0, 0}},
        {"init_module", SYS_init_module, {0, 0, 0}},
        {"open_by_handle_at", SYS_open_by_handle_at, {-1, 0, 0}},
        {"sethostname", SYS_sethostname, {0, 0, 0}},
        {"io_uring_setup", 425, {0, 0, 0}},
        {"open_tree", 428, {-1, 0, 0}},
        {"fsopen", 430, {0, 0, 0}},
        {"clone3", 435, {0, 0, 0}},
        {"netlink", SYS_socket, {AF_NETLINK, SOCK_RAW, 12}},
        {"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}},
        {"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}},
        {"alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}},
        {"kill init", SYS_kill, {1, 0, 0}},
        {"unshare", SYS_unshare, {CLONE_NEWUSER, 0, 0}},
    };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        long r = syscall(calls[i].nr, calls[i].args[0], calls[i].args[1], calls[i].args[2], 0, 0);
        printf("call %s %s\n", calls[i].name, outcome(r));
    }
}

static void say_path(const char *path)
{
    struct stat st = {0};
    int r = lstat(path, &st);

    printf("%s: stat %s mode %o", path, outcome(r), st.st_mode);
    printf(" read %s", outcome(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
    if (S_ISDIR(st.st_mode)) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/fault-test", path);
        r = mkdir(inside, 0700);
        printf(" create %s", write_outcome(r));
        if (r == 0)
            rmdir(inside);
    } else {
        printf(" write %s",
               write_outcome(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
    }
    r = rename(path, "renamed");
    printf(" rename %s\n", outcome(r));
    if (r == 0)
        rename("renamed", path);
}

/* Something that is protected and does not exist cannot be brought into being, or not for long. */
static void say_missing(const char *path)
{
    struct stat st;
    int r = mkdir(path, 0700);

    for (int i = 0; r == 0 && i < 1000 && lstat(path, &st) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    printf("%s %s\n", path, lstat(path, &st) == 0 ? "is there to stay" : "is not there");
    if (r == 0)
        rmdir(path);
}

int main(int argc, char **argv)
{
    static const char *const paths[] = {"/",
                                        "/etc",
                                        "/usr",
                                        "/tmp",
                                        "/dev",
                                        "/dev/null",
                                        "/dev/pts/ptmx",
                                        "/proc/1/environ",
                                        "/proc/1/mem",
                                        "/proc/1/cmdline",
                                        "/proc/1/fd",
                                        "/proc/1/root",
                                        "/proc/kcore",
                                        "/proc/sys/kernel/core_pattern",
                                        "/sys",
                                        "."};

    close(open("ran", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    say_process();
    say_mounts();
    say_file("/proc/1/comm", NULL);
    say_file("/proc/1/cmdline", NULL);
    if (argc > 1 && argv[1][0])
        say_missing(argv[1]);
    say_network();
    say_calls();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        say_path(paths[i]);
    for (int i = 2; i < argc; i++)
        say_path(argv[i]);
    return 0;
}
