/* SPDX-License-Identifier: Apache-2.0 */
/* Group A: files and names that the trusted side touches, protects or hides. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

/* ---- Plain reading and writing ---- */

static bool append(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0)
        return false;
    bool ok = write(fd, "pwned\n", 6) == 6;
    close(fd);
    return ok;
}

static int write_file(char **arg)
{
    return verdict(append(arg[0]), text("wrote to %s", arg[0]));
}

/* A mask that reads as empty holds as well as one that cannot be opened. */
static int read_file(char **arg)
{
    char buf[256];
    ssize_t n = slurp(arg[0], buf, sizeof buf);

    if (n == 0)
        return held("%s is empty", arg[0]);
    return verdict(n > 0, text("read %s", arg[0]));
}

static int sees(char **arg)
{
    struct stat st;

    return verdict(lstat(arg[0], &st) == 0, text("sees %s", arg[0]));
}

/* Say that we are here, and wait for a line. */
static void wait_for_line(void)
{
    char line[8];

    puts("ready");
    fflush(stdout);
    need(read(0, line, sizeof line) > 0, "wait for a line");
}

/* For late-mount. */
static int sees_later(char **arg)
{
    wait_for_line();
    return sees(arg);
}

static int write_later(char **arg)
{
    wait_for_line();
    return write_file(arg);
}

static int mountinfo_has(char **arg)
{
    static char buf[1 << 18];

    need(slurp("/proc/self/mountinfo", buf, sizeof buf) > 0, "read mountinfo");
    return strstr(buf, arg[0]) ? escaped("mountinfo names %s", arg[0]) : held("not named");
}

/* ---- Making what may not come into being. Judged from outside: hutch may undo it. ---- */

static bool make_socket(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    return bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0;
}

static bool make_tmpfile_link(const char *path)
{
    int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0755);

    return fd >= 0 &&
           linkat(AT_FDCWD, text("/proc/self/fd/%d", fd), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

static bool make_as(const char *how, const char *path)
{
    const char *ready = "ready.tmp";

    if (strcmp(how, "open") == 0)
        return append(path);
    if (strcmp(how, "mkdir") == 0)
        return mkdir(path, 0755) == 0;
    if (strcmp(how, "symlink") == 0)
        return symlink("/etc/passwd", path) == 0;
    if (strcmp(how, "fifo") == 0)
        return mkfifo(path, 0644) == 0;
    if (strcmp(how, "socket") == 0)
        return make_socket(path);
    if (strcmp(how, "tmpfile") == 0)
        return make_tmpfile_link(path);
    need(append(ready), ready);
    if (strcmp(how, "link") == 0)
        return link(ready, path) == 0;
    if (strcmp(how, "rename") == 0)
        return rename(ready, path) == 0;
    need(false, how);
    return false;
}

static int make(char **arg)
{
    bool made = make_as(arg[0], arg[1]);

    unlink("ready.tmp");
    return made ? done("%s of %s worked", arg[0], arg[1])
                : held("%s of %s: %s (errno %d)", arg[0], arg[1], strerror(errno), errno);
}

/* .git/hooks by moving .git away and making it anew. */
static int move_parent(char **arg)
{
    bool moved = rename(arg[0], "moved") == 0;
    int saved = errno;

    mkdir(arg[0], 0755);
    mkdir(text("%s/%s", arg[0], arg[1]), 0755);
    append(text("%s/%s/pwned", arg[0], arg[1]));
    return done("rename %s: %s", arg[0], moved ? "worked" : strerror(saved));
}

/* .git/hooks built elsewhere and moved into place with its parent. */
static int move_in(char **arg)
{
    mkdir("built", 0755);
    mkdir(text("built/%s", arg[1]), 0755);
    append(text("built/%s/pwned", arg[1]));
    bool moved = rename("built", arg[0]) == 0;
    int saved = errno;
    if (!moved)
        moved = syscall(SYS_renameat2, AT_FDCWD, "built", AT_FDCWD, arg[0], RENAME_EXCHANGE) == 0;
    return done("rename to %s: %s", arg[0], moved ? "worked" : strerror(saved));
}

static int via_link(char **arg)
{
    need(symlink(arg[0], "alias") == 0, "symlink");
    int r = mkdir(text("alias/%s", arg[1]), 0755);
    int saved = errno;
    append(text("alias/%s/pwned", arg[1]));
    return done("mkdir through a link: %s", r == 0 ? "worked" : strerror(saved));
}

/* A parent that is a link to a directory which has it already. */
static int link_parent(char **arg)
{
    mkdir("evil", 0755);
    mkdir(text("evil/%s", arg[1]), 0755);
    append(text("evil/%s/pwned", arg[1]));
    return done("link: %s", symlink("evil", arg[0]) == 0 ? "worked" : strerror(errno));
}

/* Deeper than anybody wants to clear away. */
static int deep(char **arg)
{
    char path[1024] = "built";

    mkdir(path, 0755);
    append("built/pwned");
    for (int i = 0; i < 100; i++) {
        strcat(path, "/d");
        mkdir(path, 0755);
    }
    append(text("%s/pwned", path));
    return done("rename: %s", rename("built", arg[0]) == 0 ? "worked" : strerror(errno));
}

/* Made, and then closed to everybody, its parent too but for looking. */
static int close_parent(char **arg)
{
    mkdir("built", 0755);
    append("built/pwned");
    const char *path = text("%s/%s", arg[0], arg[1]);
    bool moved = rename("built", path) == 0;
    chmod(path, 0);
    chmod(arg[0], 0111);
    return done("rename: %s", moved ? "worked" : strerror(errno));
}

/* With links to what is ours or not: whoever clears it away must not follow them. */
static int with_links(char **arg)
{
    mkdir("built", 0755);
    for (char **target = arg + 1; *target; target++)
        need(symlink(*target, text("built/link%d", (int)(target - arg))) == 0, *target);
    return done("rename: %s", rename("built", arg[0]) == 0 ? "worked" : strerror(errno));
}

/* Again and again until the end: a process that stays behind makes it at the very last moment. */
static int churn(char **arg)
{
    if (fork() == 0) {
        setsid();
        for (double end = now_ms() + 5000; now_ms() < end;) {
            mkdir(arg[0], 0755);
            append(text("%s/pwned", arg[0]));
        }
        _exit(0);
    }
    /* Long enough for the first to have been undone. */
    usleep(100000);
    return done("made it in a loop");
}

/* A directory and a link to one of ours, exchanged while somebody clears it away. */
static int churn_link(char **arg)
{
    mkdir("real", 0755);
    need(symlink(arg[1], "link") == 0, "symlink");
    for (double end = now_ms() + 300; now_ms() < end;) {
        mkdir(arg[0], 0755);
        append(text("%s/pwned", arg[0]));
        syscall(SYS_renameat2, AT_FDCWD, "link", AT_FDCWD, arg[0], RENAME_EXCHANGE);
        if (symlink(arg[1], "link") < 0 && errno != EEXIST)
            break;
    }
    return done("exchanged it in a loop");
}

/* ---- Changing what is protected ---- */

struct
try {
    const char *what;
    bool (*run)(const char *path);
};

static bool try_truncate(const char *path)
{
    return truncate(path, 0) == 0;
}

static bool try_unlink(const char *path)
{
    return unlink(path) == 0 || rmdir(path) == 0;
}

static bool try_rename(const char *path)
{
    return rename(path, "taken") == 0;
}

static bool try_replace(const char *path)
{
    return append("other") && rename("other", path) == 0;
}

static bool try_exchange(const char *path)
{
    return append("other") &&
           syscall(SYS_renameat2, AT_FDCWD, "other", AT_FDCWD, path, RENAME_EXCHANGE) == 0;
}

static bool try_chmod(const char *path)
{
    return chmod(path, 0777) == 0;
}

static bool try_xattr(const char *path)
{
    return setxattr(path, "user.pwned", "1", 1, 0) == 0;
}

static bool try_hard_link(const char *path)
{
    return link(path, "second") == 0 && append("second");
}

static bool try_parent(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && rename(text("%.*s", (int)(slash - path), path), "parent.moved") == 0;
}

static bool try_proc_fd(const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC);

    return fd >= 0 && append(text("/proc/self/fd/%d", fd));
}

static int change(char **arg)
{
    static const struct try tries[] = {
        {"write", append},
        {"write by /proc/self/fd", try_proc_fd},
        {"hard link", try_hard_link},
        {"truncate", try_truncate},
        {"chmod", try_chmod},
        {"setxattr", try_xattr},
        {"exchange", try_exchange},
        {"replace", try_replace},
        {"rename", try_rename},
        {"unlink", try_unlink},
        {"rename of its parent", try_parent},
    };

    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        if (tries[i].run(arg[0]))
            return escaped("%s of %s", tries[i].what, arg[0]);
    return held("%zu ways to change %s: %s (errno %d)", sizeof tries / sizeof *tries, arg[0],
                strerror(errno), errno);
}

/* ---- Set-user-id ---- */

static int same_euid(char **arg)
{
    (void)arg;
    if (geteuid() == getuid() && getegid() == getgid())
        return held("uid %d, euid %d", (int)getuid(), (int)geteuid());
    return escaped("uid %d, euid %d", (int)getuid(), (int)geteuid());
}

static int run_other(char **arg)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        execv(arg[0], (char *[]){arg[0], (char[]){"same-euid"}, NULL});
        _exit(held("exec %s: %s (errno %d)", arg[0], strerror(errno), errno));
    }
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    return status_code(status);
}

/*
 * A set-uid program of the host: the dynamic linker shows its auxiliary vector only when the kernel
 * has not raised its rights.
 */
static int secure_exec(char **arg)
{
    char buf[8192];
    size_t len = 0;
    ssize_t n;
    int out[2];

    need(pipe2(out, O_CLOEXEC) == 0, "pipe");
    if (fork() == 0) {
        dup2(out[1], 1);
        setenv("LD_SHOW_AUXV", "1", 1);
        execl(arg[0], arg[0], "--version", (char *)NULL);
        _exit(FAILED);
    }
    close(out[1]);
    while (len < sizeof buf - 1 && (n = read(out[0], buf + len, sizeof buf - 1 - len)) > 0)
        len += (size_t)n;
    buf[len] = '\0';
    need(len > 0 && wait(NULL) > 0, "run it");
    return strstr(buf, "AT_SECURE") ? held("%s ran without its set-uid bit", arg[0])
                                    : escaped("%s ran with its set-uid bit", arg[0]);
}

/* Leave a set-uid file behind in the workspace. */
static int suid(char **arg)
{
    const char *how = arg[0];
    const char *path = arg[1];
    int r = -1;

    if (strcmp(how, "creat") == 0) {
        r = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 06755);
        return done("open with mode 6755: %s", r < 0 ? strerror(errno) : "worked");
    }
    if (strcmp(how, "tmpfile") == 0) {
        r = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 06755);
        if (r >= 0)
            r = linkat(AT_FDCWD, text("/proc/self/fd/%d", r), AT_FDCWD, path, AT_SYMLINK_FOLLOW);
        return done("O_TMPFILE with mode 6755: %s", r < 0 ? strerror(errno) : "worked");
    }
    if (strcmp(how, "mknod") == 0)
        r = mknod(path, S_IFREG | 06755, 0);
    else
        need(append(path), path);
    if (strcmp(how, "chmod") == 0)
        r = chmod(path, 06755);
    if (strcmp(how, "fchmodat2") == 0)
        r = (int)syscall(SYS_fchmodat2, AT_FDCWD, path, 06755, AT_SYMLINK_NOFOLLOW);
    if (strcmp(how, "fchmod") == 0)
        r = fchmod(open(path, O_WRONLY | O_CLOEXEC), 06755);
    return r < 0 && errno == ENOSYS && strcmp(how, "fchmodat2") == 0
               ? held("fchmodat2: %s (errno %d)", strerror(errno), errno)
               : done("%s: %s", how, r < 0 ? strerror(errno) : "worked");
}

static int file_capability(char **arg)
{
    struct vfs_cap_data data = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE};

    data.data[0].permitted = 1U << CAP_NET_RAW;
    need(append(arg[0]), arg[0]);
    return verdict(setxattr(arg[0], "security.capability", &data, XATTR_CAPS_SZ_2, 0) == 0,
                   "gave a file a capability");
}

/* ---- The working directory ---- */

/* A descriptor of the host as working directory: something of the host can be seen from here. */
static int cwd_reaches(char **arg)
{
    char here[4096];
    char buf[64];

    if (slurp(arg[0], buf, sizeof buf) > 0 || slurp(text("../%s", arg[0]), buf, sizeof buf) > 0)
        return escaped("read %s from the working directory", arg[0]);
    if (!getcwd(here, sizeof here) || here[0] != '/')
        return escaped("the working directory is not in the root: %s", here);
    return held("the working directory is %s", here);
}

static int move(char **arg)
{
    return verdict(rename(arg[0], arg[1]) == 0, "moved it");
}

const struct verb path_verbs[] = {
    {"write-file", "PATH", 1, write_file},
    {"read-file", "PATH", 1, read_file},
    {"sees", "PATH", 1, sees},
    {"sees-later", "PATH", 1, sees_later},
    {"write-later", "PATH MARK", 2, write_later},
    {"mountinfo-has", "TEXT", 1, mountinfo_has},
    {"make", "open|mkdir|symlink|fifo|socket|tmpfile|link|rename PATH", 2, make},
    {"move", "FROM TO", 2, move},
    {"move-parent", "DIR NAME", 2, move_parent},
    {"move-in", "DIR NAME", 2, move_in},
    {"via-link", "DIR NAME", 2, via_link},
    {"link-parent", "DIR NAME", 2, link_parent},
    {"deep", "PATH", 1, deep},
    {"close-parent", "DIR NAME", 2, close_parent},
    {"with-links", "PATH TARGET...", 2, with_links},
    {"churn", "PATH", 1, churn},
    {"churn-link", "PATH TARGET", 2, churn_link},
    {"change", "PATH", 1, change},
    {"same-euid", "", 0, same_euid},
    {"run-other", "PROGRAM", 1, run_other},
    {"secure-exec", "PROGRAM", 1, secure_exec},
    {"suid", "chmod|fchmod|fchmodat2|creat|tmpfile|mknod PATH", 2, suid},
    {"file-capability", "PATH", 1, file_capability},
    {"cwd-reaches", "NAME", 1, cwd_reaches},
    {0},
};
