/* SPDX-License-Identifier: Apache-2.0 */
/* What a command is inside: its ids, rights, session, descriptors, environment and surroundings. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"

static void ids_are_ordinary(void)
{
    CHECK_TEXT("uid 1000 1000 1000\ngid 1000 1000 1000\ngroups\n", drive_out(NULL, PAYLOAD("ids")));

    static const char json[] = "{\"identity\": {\"user\": 77, \"group\": 78}}";
    struct hutch_policy *policy = drive_policy(NULL);
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result;
    command.argv = PAYLOAD("ids", ",", "stat", ".", ",", "create", "new");
    REQUIRE(hutch_policy_merge(policy, json, sizeof json - 1, "test", NULL) == 0);
    REQUIRE(hutch_run(policy, &command, &result, NULL) == 0);
    CHECK_LINE(result->stdout_data, "uid 77 77 77");
    CHECK_LINE(result->stdout_data, "gid 78 78 78");
    CHECK_LINE(result->stdout_data, "stat .: ok 77 78 777");
    CHECK_LINE(result->stdout_data, "create new: ok");
    hutch_result_free(result);
    hutch_policy_free(policy);
    box_expect("work/new");
}

static void files_belong_to_the_owner_of_the_workspace(void)
{
    struct stat dir;
    struct stat file;

    const char *out = drive_out(NULL, PAYLOAD("create", "new", ",", "stat", "new", ",", "mkdir",
                                              "newdir", ",", "stat", ".", ",", "chmod", "new"));
    CHECK_LINE(out, "stat new: ok 1000 1000 644");
    CHECK_HAS(out, "stat .: ok 1000 1000");
    CHECK_LINE(out, "chmod new: ok");
    REQUIRE(stat(box.work, &dir) == 0 && stat("new", &file) == 0);
    CHECK_INT(dir.st_uid, file.st_uid);
    CHECK_INT(dir.st_gid, file.st_gid);
    CHECK_INT(geteuid(), file.st_uid);
    box_expect("work/new");
    box_expect("work/newdir");
}

/* Root's workspace of another user: files are that user's, not root's. */
static void files_of_another_owner_stay_his(void)
{
    struct stat file;

    if (!box.root)
        box_skip("only root can run for another owner");
    box_dir("out/his");
    REQUIRE(chown("../out/his", 4711, 4712) == 0);
    drive_out(LIST("-w", "../out/his"), LIST(box_text("%s/payload", box.work), "create", "new"));
    REQUIRE(stat("../out/his/new", &file) == 0);
    CHECK_INT(4711, file.st_uid);
    CHECK_INT(4712, file.st_gid);
    box_expect("out/his/new");
}

/* The rights are an ordinary user's, whoever calls. */
static void secrets_of_root_are_closed(void)
{
    const char *out = drive_out(NULL, PAYLOAD("read", "/etc/shadow", ",", "read", "/etc/passwd"));

    CHECK_LINE(out, "read /etc/shadow: EACCES");
    CHECK_HAS(out, "read /etc/passwd: ok root:");
    if (!box.root)
        return;
    box_file("out/secret", "secret\n");
    REQUIRE(chmod("../out/secret", 0600) == 0);
    CHECK_TEXT("secret\n", box_read("../out/secret")); /* ours */
    CHECK_LINE(drive_out(NULL, PAYLOAD("read", "../out/secret")), "read ../out/secret: EACCES");
}

static void no_capability_is_left(void)
{
    CHECK_TEXT("CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
               "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n",
               drive_out(NULL, PAYLOAD("caps")));
}

static void session_is_its_own(void)
{
    CHECK_TEXT("session own\ngroup own\nterminal ENXIO\n", drive_out(NULL, PAYLOAD("session")));
}

static void hostname_is_its_own(void)
{
    char before[256] = "";
    char after[256] = "";

    REQUIRE(gethostname(before, sizeof before) == 0);
    CHECK_TEXT("hostname hutch\n", drive_out(NULL, PAYLOAD("hostname")));
    REQUIRE(gethostname(after, sizeof after) == 0);
    CHECK_TEXT(before, after);
}

/* Everything a careless program may hold: files, directories, sockets, none close-on-exec. */
static void no_descriptor_gets_in(void)
{
    int fds[200];
    int pair[2];
    int dir = open("/", O_RDONLY | O_DIRECTORY);

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && dir >= 0);
    for (int i = 0; i < 200; i++)
        REQUIRE((fds[i] = fcntl(i % 2 ? dir : pair[0], F_DUPFD, 3)) >= 0);
    CHECK_TEXT("fd 0\nfd 1\nfd 2\n", drive_out(NULL, PAYLOAD("fds")));

    /* The same through the command, which inherits them. */
    struct drive_end end = drive_cli(LIST("run", "--", "./payload", "fds"));
    CHECK_TEXT("fd 0\nfd 1\nfd 2\n", end.out);

    /* The control: a plain child has them all. */
    CHECK_INT(0, drive_shell("./payload fds > control && [ $(wc -l < control) -gt 200 ]"));
    box_expect("work/control");
    for (int i = 0; i < 200; i++)
        close(fds[i]);
    close(dir);
    close(pair[0]);
    close(pair[1]);
}

static void environment_is_an_allow_list(void)
{
    clearenv();
    setenv("HOME", box.home, 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("LC_ALL", "C", 1);
    setenv("TERM", "dumb", 1);
    setenv("LD_PRELOAD", "/nowhere/evil.so", 1);
    setenv("SECRET_TOKEN", "s3cret", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "s3cret", 1);
    setenv("GIVEN", "from the caller", 1);
    setenv("SSH_AUTH_SOCK", "/run/agent", 1);

    CHECK_TEXT(
        box_text("env PATH=/usr/bin:/bin\nenv LC_ALL=C\nenv TERM=dumb\nenv HOME=%s\n", box.home),
        drive_out(NULL, PAYLOAD("env")));
    const char *out = drive_out(LIST("--env", "GIVEN", "--env", "NEW=a=b", "--unset-env", "TERM"),
                                PAYLOAD("env"));
    CHECK_LINE(out, "env GIVEN=from the caller");
    CHECK_LINE(out, "env NEW=a=b");
    CHECK_LACKS(out, "TERM");
    CHECK_LACKS(out, "s3cret");
    CHECK_LACKS(out, "evil");
    out = drive_out(LIST("--clear-env", NULL, "--env", "ONLY=1"), PAYLOAD("env"));
    CHECK_LACKS(out, "LC_ALL");
    CHECK_LINE(out, "env ONLY=1");
    CHECK_HAS(out, "env PATH=/"); /* every libc has its own idea of a missing one */
}

static void umask_is_the_callers(void)
{
    umask(027);
    CHECK_TEXT("umask 027\ncreate new: ok\nstat new: ok 1000 1000 640\n",
               drive_out(NULL, PAYLOAD("umask", ",", "create", "new", ",", "stat", "new")));
    umask(022);
    CHECK_TEXT("umask 022\n", drive_out(NULL, PAYLOAD("umask")));
    box_expect("work/new");
}

static void do_nothing(int number)
{
    (void)number;
}

static void signals_are_reset(void)
{
    static const char clean[] = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                                "SigCgt:\t0000000000000000\n";
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    sigdelset(&all, SIGALRM); /* the frame's */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGRTMIN + 3, SIG_IGN);
    signal(SIGUSR1, do_nothing);
    sigprocmask(SIG_SETMASK, &all, &old);
    CHECK_TEXT(clean, drive_out(NULL, PAYLOAD("signals")));

    /* The control: a plain child keeps what is blocked and ignored. */
    struct drive_end end = drive_cli(LIST("run", "--", "./payload", "signals"));
    CHECK_TEXT(clean, end.out);
    CHECK_INT(0, drive_shell(
                     "./payload signals > control; ! grep -q 'SigIgn:.0000000000000000' control"));
    box_expect("work/control");
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void limits_are_set(void)
{
    const char *out = drive_out(LIST("--open-files", "77", "--file-size", "1M"), PAYLOAD("limits"));

    CHECK_TEXT("limit open_files 77 77\nlimit file_size 1048576 1048576\nlimit core 1 1\n", out);
    const struct hutch_result *result = drive_run(
        LIST("--file-size", "4K"), LIST("/bin/sh", "-c", "exec ./payload spam 5000 > big"));
    CHECK_INT(SIGXFSZ, result->signal);
    box_expect("work/big");
}

/* The first process holds nothing of the host, and gives nothing away. */
static void first_process_gives_nothing(void)
{
    const char *out = drive_out(NULL, PAYLOAD("pid1", ",", "pid1", "self"));

    CHECK_LINE(out, "open /proc/1/environ: EACCES");
    CHECK_LINE(out, "open /proc/1/cmdline: 0 bytes");
    CHECK_LINE(out, "open /proc/1/mem: EACCES");
    CHECK_LINE(out, "open /proc/1/maps: EACCES");
    CHECK_LINE(out, "open /proc/1/auxv: EACCES");
    CHECK_LACKS(out, "readlink /proc/1/root: ok");
    CHECK_LACKS(out, "readlink /proc/1/cwd: ok");
    CHECK_LACKS(out, "readlink /proc/1/exe: ok");
    CHECK_LACKS(out, "readlink /proc/1/fd/0: ok");
    CHECK_LINE(out, "ptrace 1: EPERM");
    /* The control: one's own are open. */
    CHECK_LINE(out, "readlink /proc/self/root: ok");
    CHECK_LINE(out, "readlink /proc/self/fd/0: ok");
    CHECK_LACKS(out, "open /proc/self/maps: EACCES");
    CHECK_LACKS(out, "open /proc/self/environ: 0 bytes");
}

static void setuid_gains_nothing(void)
{
    if (!box.root)
        box_skip("only root can make a setuid program that would gain something");
    REQUIRE(drive_shell("cp payload suid && chmod 4755 suid") == 0);
    box_expect("work/suid");

    /* The control: outside, an ordinary user becomes root with it. */
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(23456) < 0 || setuid(23456) < 0)
            _exit(1);
        execl("/bin/sh", "sh", "-c", "./suid ids | grep -q '^uid 23456 0 0'", (char *)NULL);
        _exit(1);
    }
    if (drive_wait(pid, NULL) != 0)
        box_skip("setuid programs do not work in /var/tmp here");
    CHECK_LINE(drive_out(NULL, LIST("./suid", "ids")), "uid 1000 1000 1000");
    CHECK_LINE(drive_out(NULL, PAYLOAD("exec", "./suid", "ids")), "uid 1000 1000 1000");
}

static void orphans_are_reaped(void)
{
    CHECK_LINE(drive_out(NULL, PAYLOAD("orphans", "200")), "left 2");
}

/* The library lives in somebody else's program, which must not notice. */
static void caller_is_left_as_it_was(void)
{
    char cwd[4096];
    sigset_t before;
    sigset_t after;
    pid_t other = fork();

    if (other == 0) {
        raise(SIGSTOP);
        _exit(5);
    }
    REQUIRE(waitpid(other, NULL, WUNTRACED) == other);
    kill(other, SIGCONT);
    sigprocmask(SIG_SETMASK, NULL, &before);
    drive_out(NULL, PAYLOAD("ids"));
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < SIGRTMAX; i++)
        CHECK_INT(sigismember(&before, i), sigismember(&after, i));
    CHECK_TEXT(box.work, getcwd(cwd, sizeof cwd));
    CHECK_INT(022, umask(022));
    CHECK_INT(5, drive_wait(other, NULL)); /* its own child was not taken from it */
}

int main(void)
{
    static const struct box_test tests[] = {
        {"ids are ordinary", ids_are_ordinary},
        {"files belong to the owner of the workspace", files_belong_to_the_owner_of_the_workspace},
        {"files of another owner stay his", files_of_another_owner_stay_his},
        {"secrets of root are closed", secrets_of_root_are_closed},
        {"no capability is left", no_capability_is_left},
        {"session is its own", session_is_its_own},
        {"hostname is its own", hostname_is_its_own},
        {"no descriptor gets in", no_descriptor_gets_in},
        {"environment is an allow-list", environment_is_an_allow_list},
        {"umask is the caller's", umask_is_the_callers},
        {"signals are reset", signals_are_reset},
        {"limits are set", limits_are_set},
        {"first process gives nothing", first_process_gives_nothing},
        {"setuid gains nothing", setuid_gains_nothing},
        {"orphans are reaped", orphans_are_reaped},
        {"caller is left as it was", caller_is_left_as_it_was},
        {NULL, NULL},
    };

    return box_main(tests);
}
