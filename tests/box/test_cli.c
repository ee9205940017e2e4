/* SPDX-License-Identifier: Apache-2.0 */
/* The command: its exit status, its output, its signals, its terminal, and its sudden death. */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "drive.h"

/* `hutch run -- ./payload ...`, and with flags before the dashes. */
#define RUN(...) LIST("run", "--", "./payload", __VA_ARGS__)

/* ---- Status and messages ---- */

static void status_is_the_commands(void)
{
    static const struct {
        const char *args[8];
        int status;
        int lines; /* on stderr */
    } cases[] = {
        {{"run", "--", "./payload", "exit", "0"}, 0, 0},
        {{"run", "--", "./payload", "exit", "7"}, 7, 0},
        {{"run", "--", "./payload", "exit", "255"}, 255, 0},
        {{"run", "./payload", "exit", "7"}, 7, 0},
        {{"run", "--", "./payload", "raise", "15"}, 143, 0},
        {{"run", "--", "./payload", "raise", "11"}, 139, 0},
        {{"run", "--", "./none"}, 127, 1},
        {{"run", "--", "no-such-command"}, 127, 1},
        {{"run", "--", "/etc/passwd"}, 126, 1},
        {{"run", "--timeout", "100ms", "--", "./payload", "hog-stdin"}, 124, 1},
        {{"run", "--net", "allow", "--", "./payload", "ids"}, 125, 1},
        {{"run", "-w", "/none", "--", "./payload", "ids"}, 125, 1},
        {{"run", "--cwd", "/none", "--", "./payload", "ids"}, 125, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drive_end end = drive_cli(cases[i].args);
        int lines = 0;
        for (const char *p = end.err; *p; p++)
            lines += *p == '\n';
        box_check(end.status == cases[i].status && lines == cases[i].lines, __FILE__, __LINE__,
                  "case %zu: status %d, wanted %d; stderr: %s", i, end.status, cases[i].status,
                  end.err);
        CHECK(lines == 0 || strncmp(end.err, "hutch: ", 7) == 0);
    }
}

/* Bad input of every kind: 125, one line, nothing on stdout, nothing run. */
static void bad_input_is_refused(void)
{
    static const struct {
        const char *args[8];
        const char *part;
    } cases[] = {
        {{"run"}, "command"},
        {{"run", "--"}, "command"},
        {{"run", "--none", "--", "true"}, "--none"},
        {{"run", "--timeout"}, "--timeout"},
        {{"run", "--timeout", "0", "--", "true"}, "--timeout"},
        {{"run", "--timeout", "-1s", "--", "true"}, "--timeout"},
        {{"run", "--timeout", "5 parsecs", "--", "true"}, "5 parsecs"},
        {{"run", "--output", "1.5G", "--", "true"}, "1.5G"},
        {{"run", "--output", "99999999999999999999", "--", "true"}, "--output"},
        {{"run", "--layout", "round", "--", "true"}, "round"},
        {{"run", "--net", "some", "--", "true"}, "some"},
        {{"run", "--profile", "none", "--", "true"}, "'none'"},
        {{"run", "-p", "none", "--", "true"}, "(at --profile)"},
        {{"run", "--profile", "../etc/passwd", "--", "true"}, "../etc/passwd"},
        {{"run", "--policy", "none.json", "--", "true"}, "none.json"},
        {{"run", "--policy", "bad.json", "--", "true"}, "bad.json"},
        {{"run", "--policy", "key.json", "--", "true"}, "/filesystem/writ"},
        {{"run", "--policy", "type.json", "--", "true"}, "/limits/timeout"},
        {{"run", "--policy", "/dev/null", "--", "true"}, "/dev/null"},
        {{"run", "--policy", ".", "--", "true"}, "."},
        {{"run", "--stdin", "none", "--", "true"}, "none"},
        {{"run", "--stdin", ".", "--", "true"}, "--stdin"},
        {{"run", "--events", "/none/x", "--", "true"}, "/none/x"},
        {{"run", "--env", "=x", "--", "true"}, "--env"},
        {{"run", "--memory", "0", "--", "true"}, "--memory"},
        {{"run", "--syscalls", "none.json", "--", "true"}, "none.json"},
        {{"run", "--level", "vm", "--", "true"}, "not enforced"},
        {{"run", "--backend", "docker", "--", "true"}, "not enforced"},
        {{"run", "--require", "magic", "--", "true"}, "magic"},
        {{"run", "--read", "none\nline\x1b[31m", "--", "true"}, "none"},
        {{"run", "--", ""}, "empty"},
    };

    box_file("work/bad.json", "{ \"limits\": ");
    box_file("work/key.json", "{ \"filesystem\": { \"writ\": [] } }");
    box_file("work/type.json", "{ \"limits\": { \"timeout\": [] } }");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drive_end end = drive_cli(cases[i].args);
        const char *newline = strchr(end.err, '\n');
        box_check(end.status == 125 && newline && !newline[1] && end.out_len == 0 &&
                      !strchr(end.err, '\x1b') && strncmp(end.err, "hutch: ", 7) == 0,
                  __FILE__, __LINE__, "%s %s: status %d, stdout '%s', stderr '%s'",
                  cases[i].args[1] ? cases[i].args[1] : "",
                  cases[i].args[2] ? cases[i].args[2] : "", end.status, end.out, end.err);
        CHECK_HAS(end.err, cases[i].part);
    }
    REQUIRE(setenv("HUTCH_PROFILE", "none", 1) == 0);
    CHECK_HAS(drive_cli(LIST("run", "--", "true")).err, "(at HUTCH_PROFILE)");
}

/* The command has functions of its own beside the library's, all in one program. */
static void a_filter_of_ones_own_is_read(void)
{
    box_file("work/filter.json",
             "{ \"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [ "
             "{ \"names\": [\"getcwd\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 39 } ] }");
    struct drive_end end = drive_cli(
        LIST("run", "--syscalls", "filter.json", "--", "./payload", "cwd"));

    CHECK_INT(0, end.status);
    CHECK_HAS(end.out, "ENOTEMPTY");
}

static void streams_pass_through(void)
{
    struct drive_child child = drive_start(RUN("cat", ",", "spam", "26", "2"), NULL, NULL);
    struct drive_end end = drive_finish(&child, "in and out\n", 11);

    CHECK_INT(0, end.status);
    CHECK_TEXT("in and out\n", end.out);
    CHECK_TEXT("abcdefghijklmnopqrstuvwxyz", end.err);
    box_file("work/input", "from a file\n");
    end = drive_cli(LIST("run", "--stdin", "input", "--", "./payload", "cat"));
    CHECK_TEXT("from a file\n", end.out);
}

/* Appending is a kind of file that splice() refuses. */
static void output_goes_to_any_kind_of_file(void)
{
    box_file("work/log", "first\n");
    const char *command = box_text("%s run -- ./payload spam 26 >> log && "
                                   "%s run -- ./payload echo x > /dev/null && "
                                   "%s run -- ./payload spam 100000 > plain",
                                   box.hutch, box.hutch, box.hutch);
    CHECK_INT(0, drive_shell(command));
    CHECK_TEXT("first\nabcdefghijklmnopqrstuvwxyz", box_read("log"));
    struct stat st;
    CHECK(stat("plain", &st) == 0 && st.st_size == 100000);
    box_expect("work/plain");
}

static void receiver_that_goes_away(void)
{
    struct drive_child child = drive_start(RUN("spam", "100000000"), NULL, NULL);

    close(child.in);
    close(child.out);
    CHECK_INT(128 + SIGPIPE, drive_wait(child.pid, NULL));
    close(child.err);
}

/* ---- JSON ---- */

static json_t *run_json(const char *const *args, int want_status)
{
    struct drive_end end = drive_cli(args);
    json_error_t error;
    json_t *object = json_loads(end.out, 0, &error);

    CHECK_INT(want_status, end.status);
    CHECK_TEXT("", end.err);
    if (!json_is_object(object))
        box_fatal(__FILE__, __LINE__, "no JSON object: %s", end.out);
    return object;
}

static const char *text_at(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "(no such text)";
}

static void json_has_it_all(void)
{
    static const char *const keys[] = {"exit_code",   "signal",    "success", "reason", "timed_out",
                                       "stdout",      "truncated", "stderr",  "usage",  "enforced",
                                       "duration_ms", "setup_ms",  "sandbox", "run"};
    static const char *const usage[] = {"cpu_ms",       "user_ms",      "system_ms",
                                        "stdout_bytes", "stderr_bytes", "peak_memory_bytes"};
    static const char *const facts[] = {"userns", "mountns", "pidns", "netns", "ipcns"};
    json_t *object = run_json(LIST("run", "--json", "--", "./payload", "echo", "hi"), 0);

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        box_check(json_object_get(object, keys[i]), __FILE__, __LINE__, "no '%s'", keys[i]);
    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++)
        CHECK(json_is_number(json_object_get(json_object_get(object, "usage"), usage[i])));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        CHECK(json_is_true(json_object_get(json_object_get(object, "enforced"), facts[i])));
    CHECK(json_is_number(json_object_get(json_object_get(object, "setup_ms"), "total")));
    CHECK_INT(0, json_integer_value(json_object_get(object, "exit_code")));
    CHECK(json_is_null(json_object_get(object, "signal")));
    CHECK(json_is_true(json_object_get(object, "success")));
    CHECK_TEXT("hi\n", text_at(object, "stdout"));
    CHECK_TEXT("exited", text_at(object, "reason"));
    CHECK_TEXT("native", text_at(json_object_get(object, "enforced"), "backend"));
    json_decref(object);
}

static void json_of_other_ends(void)
{
    json_t *object = run_json(LIST("run", "--json", "--", "./payload", "raise", "9"), 137);
    CHECK(json_is_null(json_object_get(object, "exit_code")));
    CHECK_INT(9, json_integer_value(json_object_get(object, "signal")));
    CHECK_TEXT("signaled", text_at(object, "reason"));
    json_decref(object);

    object = run_json(LIST("run", "--json", "--timeout", "100ms", "--", "./payload", "hog-stdin"),
                      124);
    CHECK_TEXT("timeout", text_at(object, "reason"));
    CHECK(json_is_true(json_object_get(object, "timed_out")));
    CHECK_TEXT("ready\n", text_at(object, "stdout"));
    json_decref(object);

    object = run_json(LIST("run", "--json", "--", "./payload", "bytes", "61", "ff"), 0);
    CHECK_TEXT("Yf8=", text_at(object, "stdout_base64"));
    json_decref(object);

    object = run_json(LIST("run", "--json", "--", "./none"), 127);
    CHECK_TEXT("setup", text_at(object, "reason"));
    CHECK_TEXT("not_found", text_at(json_object_get(object, "error"), "code"));
    json_decref(object);

    object = run_json(LIST("run", "--json", "--read", "/none", "--", "./payload", "ids"), 125);
    CHECK_TEXT("setup", text_at(object, "reason"));
    CHECK_TEXT("policy", text_at(json_object_get(object, "error"), "code"));
    CHECK_TEXT("--read", text_at(json_object_get(object, "error"), "where"));
    json_decref(object);
}

static void events_are_lines_of_json(void)
{
    static const char *const want[] = {"sandbox.started", "run.started", "run.output", "run.exited",
                                       "sandbox.stopped"};
    size_t count = 0;

    struct drive_end end = drive_cli(
        LIST("run", "--events", "events", "--", "./payload", "echo", "hi"));
    CHECK_INT(0, end.status);
    CHECK_TEXT("hi\n", end.out);
    box_expect("work/events");
    char *text = box_read("events");
    char *at = NULL;
    for (char *line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
        json_t *event = json_loads(line, 0, NULL);
        CHECK(count < 5 && strcmp(text_at(event, "type"), want[count]) == 0);
        json_decref(event);
        count++;
    }
    CHECK_INT(5, (long long)count);
}

/* ---- Signals ---- */

static void signals_reach_the_command(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct drive_child child = drive_start(RUN("on-signal", box_text("%d", numbers[i])), NULL,
                                               NULL);
        drive_read_until(child.out, "ready\n");
        REQUIRE(kill(child.pid, numbers[i]) == 0);
        struct drive_end end = drive_finish(&child, NULL, 0);
        CHECK_HAS(end.out, box_text("got %d\n", numbers[i]));
        CHECK_INT(40 + numbers[i], end.status);
    }
    /* One that does not handle it dies of it. */
    struct drive_child child = drive_start(RUN("hog-stdin"), NULL, NULL);
    drive_read_until(child.out, "ready\n");
    REQUIRE(kill(child.pid, SIGTERM) == 0);
    CHECK_INT(128 + SIGTERM, drive_finish(&child, NULL, 0).status);
}

static void own_group(void *arg)
{
    (void)arg;
    setpgid(0, 0); /* the kernel stops nobody in a group that no shell knows of */
}

/* A process whose arguments begin with "sh" and end with the test's id. */
struct inner {
    pid_t pid;
    char state; /* as /proc has it: T for stopped */
};

static bool is_inner(const char *pid)
{
    FILE *file = fopen(box_text("/proc/%s/cmdline", pid), "re");
    char line[256] = "";
    size_t len = file ? fread(line, 1, sizeof line - 1, file) : 0;
    size_t id = strlen(box.id) + 1;

    if (file)
        fclose(file);
    return len > id && strcmp(line, "sh") == 0 && strcmp(line + len - id, box.id) == 0;
}

static bool has_state(void *arg)
{
    const struct inner *inner = arg;
    const char *stat = box_read(box_text("/proc/%d/stat", inner->pid));
    const char *state = strrchr(stat, ')');

    return state && (state[2] == 'T') == (inner->state == 'T');
}

static pid_t find_inner(void)
{
    DIR *proc = opendir("/proc");
    pid_t pid = 0;

    REQUIRE(proc);
    for (struct dirent *e = readdir(proc); e && !pid; e = readdir(proc))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_inner(e->d_name))
            pid = (pid_t)strtol(e->d_name, NULL, 10);
    closedir(proc);
    return pid;
}

#define TALK "echo ready; read line; echo \"$line\""

/* Ctrl-Z: without us nobody would keep the limits of a command that goes on. */
static void check_stop(const char *const *args)
{
    struct drive_child child = drive_start(args, own_group, NULL);
    struct inner inner;
    int status = 0;

    drive_read_until(child.out, "ready\n");
    inner.pid = find_inner();
    REQUIRE(inner.pid > 0);
    for (int i = 0; i < 2; i++) {
        REQUIRE(kill(child.pid, SIGTSTP) == 0);
        REQUIRE(waitpid(child.pid, &status, WUNTRACED) == child.pid && WIFSTOPPED(status));
        inner.state = 'T';
        CHECK(box_eventually(has_state, &inner));
        REQUIRE(kill(child.pid, SIGCONT) == 0);
        inner.state = 'S';
        CHECK(box_eventually(has_state, &inner));
    }
    struct drive_end end = drive_finish(&child, "done\n", 5);
    CHECK_TEXT("done\n", end.out);
    CHECK_INT(0, end.status);
}

static void a_stop_is_the_commands_too(void)
{
    check_stop(LIST("run", "--", "sh", "-c", TALK, "sh", box.id));
    /* Wherever its processes have gone. */
    check_stop(LIST("run", "--", "sh", "-c",
                    "setsid sh -c \"$1\" sh \"${0#sh}\"; :", box_text("sh%s", box.id), TALK));
}

/* A zombie has none pending either. */
static bool has_taken_signals(void *arg)
{
    const char *status = box_read(box_text("/proc/%d/status", *(pid_t *)arg));

    return strstr(status, "ShdPnd:\t0000000000000000");
}

static void insisting_ends_a_deaf_command(void)
{
    struct drive_child child = drive_start(RUN("ignore-term"), NULL, NULL);

    drive_read_until(child.out, "ready\n");
    for (int i = 0; i < 3; i++) {
        REQUIRE(kill(child.pid, SIGTERM) == 0);
        CHECK(box_eventually(has_taken_signals, &child.pid)); /* equal ones would merge */
    }
    CHECK_INT(128 + SIGKILL, drive_finish(&child, NULL, 0).status);
}

static void ignore_hangup(void *arg)
{
    (void)arg;
    signal(SIGHUP, SIG_IGN);
}

static void nohup_is_respected(void)
{
    struct drive_child child = drive_start(RUN("hog-stdin"), ignore_hangup, NULL);

    drive_read_until(child.out, "ready\n");
    REQUIRE(kill(child.pid, SIGHUP) == 0);
    REQUIRE(kill(child.pid, SIGTERM) == 0);
    CHECK_INT(128 + SIGTERM, drive_finish(&child, NULL, 0).status);
}

/* ---- Sudden death ---- */

struct holder {
    int fd;
    bool held;
};

/* Whether nobody holds the fifo (any more). */
static bool is_free(void *arg)
{
    struct holder *holder = arg;
    char text[64];
    ssize_t len = read(holder->fd, text, sizeof text);

    holder->held = holder->held || len > 0;
    return len == 0;
}

/* Processes of a killed hutch become our children; all must end, and let go of the fifo. */
static void kill_after(long microseconds, struct holder *holder, const char *layout)
{
    double start = box_now_ms();
    struct drive_child child = drive_start(
        LIST("run", "--layout", layout, "--", "./payload", "hold", "fifo"), NULL, NULL);

    while ((box_now_ms() - start) * 1000 < (double)microseconds)
        ;
    kill(child.pid, SIGKILL);
    CHECK_INT(128 + SIGKILL, drive_wait(child.pid, NULL));
    close(child.in);
    close(child.out);
    close(child.err);
    box_check(box_reap_all(), __FILE__, __LINE__, "killed after %ld us: a process lives on",
              microseconds);
    box_check(box_eventually(is_free, holder), __FILE__, __LINE__,
              "killed after %ld us: the command lives on", microseconds);
}

/* How long a start takes here, so that the moments below cover all of it. */
static long start_microseconds(struct holder *holder)
{
    double longest = 0;

    for (int i = 0; i < 5; i++) {
        double start = box_now_ms();
        struct drive_child child = drive_start(RUN("hold", "fifo"), NULL, NULL);
        drive_read_until(child.out, "ready\n");
        double now = box_now_ms() - start;
        longest = now > longest ? now : longest;
        kill(child.pid, SIGKILL);
        drive_finish(&child, NULL, 0);
        CHECK(box_reap_all() && box_eventually(is_free, holder));
    }
    return (long)(longest * 1000);
}

static void make_fifo(struct holder *holder)
{
    REQUIRE(mkfifo("fifo", 0666) == 0 && chmod("fifo", 0666) == 0);
    box_expect("work/fifo");
    holder->fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(holder->fd >= 0);
}

static void killed_at_any_moment(void)
{
    enum { MOMENTS = 200 };
    static const char *const layouts[] = {"host", "minimal"};
    struct holder holder = {0};
    int held = 0;

    make_fifo(&holder);
    long whole = start_microseconds(&holder);
    for (long i = 0; i < MOMENTS; i++) {
        holder.held = false;
        kill_after(whole * 3 * i / MOMENTS, &holder, layouts[i % 2]);
        held += holder.held;
    }
    /* Some must have died before the command ran, and some after it did. */
    box_check(held > 5 && held < MOMENTS - 5, __FILE__, __LINE__, "%d of %d commands had started",
              held, MOMENTS);
    close(holder.fd);
}

static void killed_when_all_is_up(void)
{
    struct holder holder = {0};

    make_fifo(&holder);
    struct drive_child child = drive_start(RUN("hold", "fifo"), NULL, NULL);
    drive_read_until(child.out, "ready\n");
    CHECK(!is_free(&holder) && holder.held);
    kill(child.pid, SIGKILL);
    CHECK_INT(128 + SIGKILL, drive_wait(child.pid, NULL));
    close(child.in);
    close(child.out);
    close(child.err);
    CHECK(box_eventually(is_free, &holder));
    CHECK(box_reap_all());
    close(holder.fd);
}

/* ---- Closed streams ---- */

static void close_some(void *arg)
{
    int which = *(int *)arg;

    for (int fd = 0; fd < 3; fd++)
        if (which & 1 << fd)
            close(fd);
}

static void closed_streams(void)
{
    for (int which = 1; which < 8; which++) {
        struct drive_child child = drive_start(RUN("fds", ",", "spam", "26", "2", ",", "exit", "9"),
                                               close_some, &which);
        struct drive_end end = drive_finish(&child, NULL, 0);
        box_check(end.status == 9, __FILE__, __LINE__, "closed %d: status %d: %s", which,
                  end.status, end.err);
        if (!(which & 2))
            CHECK_TEXT("fd 0\nfd 1\nfd 2\n", end.out);
        if (!(which & 4))
            CHECK_TEXT("abcdefghijklmnopqrstuvwxyz", end.err);
    }
}

/* Nothing that hutch opens may land where the command's output is expected. */
static void closed_stdout_is_no_other_file(void)
{
    int which = 2;
    struct drive_child child = drive_start(
        LIST("run", "--events", "events", "--", "./payload", "echo", "SHOUT"), close_some, &which);
    struct drive_end end = drive_finish(&child, NULL, 0);

    box_expect("work/events");
    CHECK_INT(0, end.status);
    char *events = box_read("events");
    CHECK_LACKS(events, "\nSHOUT"); /* it is in run.output only */
    CHECK(strncmp(events, "SHOUT", 5) != 0);
}

static void full_stdout(void *arg)
{
    (void)arg;
    dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
}

/* A result that nobody gets is no success. */
static void json_that_cannot_be_written(void)
{
    static const struct {
        const char *args[8];
        int status;
    } cases[] = {
        {{"run", "--json", "--", "./payload", "exit", "0"}, 125},
        {{"run", "--json", "--", "./payload", "spam", "100000", "1"}, 125},
        {{"run", "--json", "--no-such-flag", "--", "true"}, 125},
        {{"profile", "list"}, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int which = 2;
        struct drive_child child = drive_start(cases[i].args, close_some, &which);
        struct drive_end end = drive_finish(&child, NULL, 0);
        CHECK_INT(cases[i].status, end.status);
        CHECK_TEXT("hutch: cannot write the output: Bad file descriptor\n", end.err);

        child = drive_start(cases[i].args, full_stdout, NULL);
        end = drive_finish(&child, NULL, 0);
        CHECK_INT(cases[i].status, end.status);
        CHECK_TEXT("hutch: cannot write the output: No space left on device\n", end.err);
    }
    int which = 2;
    struct drive_child child = drive_start(LIST("run", "--no-such-flag"), close_some, &which);
    CHECK_LACKS(drive_finish(&child, NULL, 0).err, "cannot write");
}

/* ---- Terminal ---- */

struct terminal {
    int master;
    char *name;
};

static struct terminal open_terminal(unsigned short rows, unsigned short cols)
{
    struct terminal terminal = {.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};

    if (terminal.master < 0 || grantpt(terminal.master) < 0 || unlockpt(terminal.master) < 0)
        box_skip("this host gives no terminals");
    terminal.name = box_text("%s", ptsname(terminal.master));
    struct winsize size = {.ws_row = rows, .ws_col = cols};
    REQUIRE(ioctl(terminal.master, TIOCSWINSZ, &size) == 0);
    return terminal;
}

/* In the child: a session with this terminal, on all three streams. */
static void take_terminal(void *arg)
{
    const struct terminal *terminal = arg;

    setsid();
    int fd = open(terminal->name, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
        _exit(95);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    if (fd > 2)
        close(fd);
}

static struct drive_child start_on(struct terminal *terminal, const char *const *args)
{
    struct drive_child child = drive_start(args, take_terminal, terminal);

    close(child.in);
    close(child.out);
    close(child.err);
    return child;
}

/* A terminal lasts as long as somebody has it open; settings are looked at through this. */
static int open_slave(const struct terminal *terminal)
{
    int fd = open(terminal->name, O_RDWR | O_NOCTTY | O_CLOEXEC);

    REQUIRE(fd >= 0);
    return fd;
}

static void terminal_has_the_size_of_ours(void)
{
    struct terminal terminal = open_terminal(31, 97);
    int slave = open_slave(&terminal);
    struct termios before;
    struct termios after;

    REQUIRE(tcgetattr(slave, &before) == 0);
    struct drive_child child = start_on(&terminal, LIST("run", "--tty", "--", "./payload", "tty",
                                                        ",", "session", ",", "echo", "end"));
    const char *out = drive_read_until(terminal.master, "end\r\n");
    CHECK_HAS(out, "isatty 0 yes\r\nisatty 1 yes\r\nisatty 2 yes\r\n");
    CHECK_HAS(out, "ttyname /dev/pts/0\r\n");
    CHECK_HAS(out, "size 31 97\r\n");
    CHECK_HAS(out, "terminal yes\r\n");
    CHECK_INT(0, drive_wait(child.pid, NULL));
    REQUIRE(tcgetattr(slave, &after) == 0);
    CHECK_INT(before.c_lflag, after.c_lflag);
    CHECK_INT(before.c_iflag, after.c_iflag);
    CHECK_INT(before.c_oflag, after.c_oflag);
    close(slave);
    close(terminal.master);
}

static void resizing_gets_through(void)
{
    struct terminal terminal = open_terminal(24, 80);
    int slave = open_slave(&terminal);
    struct drive_child child = start_on(
        &terminal, LIST("run", "-t", "--", "./payload", "winch", ",", "echo", "end"));

    CHECK_HAS(drive_read_until(terminal.master, "ready\r\n"), "size 24 80\r\n");
    struct winsize size = {.ws_row = 50, .ws_col = 132};
    REQUIRE(ioctl(terminal.master, TIOCSWINSZ, &size) == 0);
    CHECK_HAS(drive_read_until(terminal.master, "end\r\n"), "size 50 132\r\n");
    CHECK_INT(0, drive_wait(child.pid, NULL));
    close(slave);
    close(terminal.master);
}

static void keys_get_through(void)
{
    struct terminal terminal = open_terminal(24, 80);
    int slave = open_slave(&terminal);
    struct drive_child child = start_on(
        &terminal, LIST("run", "-t", "--", "./payload", "on-signal", box_text("%d", SIGINT)));

    drive_read_until(terminal.master, "ready\r\n");
    REQUIRE(write(terminal.master, "\x03", 1) == 1); /* Ctrl-C */
    drive_read_until(terminal.master, "got 2\r\n");
    CHECK_INT(40 + SIGINT, drive_wait(child.pid, NULL));

    child = start_on(&terminal, LIST("run", "-t", "--", "./payload", "echo", "ready", ",", "cat"));
    drive_read_until(terminal.master, "ready\r\n");
    REQUIRE(write(terminal.master, "typed\r", 6) == 6);
    drive_read_until(terminal.master, "typed\r\ntyped\r\n"); /* its echo, and cat's */
    REQUIRE(write(terminal.master, "\x04", 1) == 1);         /* Ctrl-D */
    CHECK_INT(0, drive_wait(child.pid, NULL));
    close(slave);
    close(terminal.master);
}

/* Without --tty the command gets pipes and no terminal, even when ours is one. */
static void terminal_is_not_given_unasked(void)
{
    struct terminal terminal = open_terminal(24, 80);
    int slave = open_slave(&terminal);
    struct drive_child child = start_on(
        &terminal, LIST("run", "--", "./payload", "tty", ",", "session", ",", "echo", "end"));
    const char *out = drive_read_until(terminal.master, "end\r\n");

    CHECK_HAS(out, "isatty 0 no");
    CHECK_HAS(out, "terminal ENXIO");
    CHECK_INT(0, drive_wait(child.pid, NULL));
    close(slave);
    close(terminal.master);
}

/* It is in our session, and cannot be told from one that never had a terminal. The engine is the control. */
static void first_process_has_no_terminal(void)
{
    struct terminal terminal = open_terminal(24, 80);
    int slave = open_slave(&terminal);
    struct drive_child child = start_on(
        &terminal, LIST("run", "--", "sh", "-c", "cut -d' ' -f7 /proc/1/stat; echo end; cat"));
    const char *line = box_text("cut -d' ' -f7 /proc/%d/stat | grep -qv '^0$'", (int)child.pid);

    CHECK_HAS(drive_read_until(terminal.master, "end\r\n"), "0\r\nend");
    CHECK_INT(0, drive_shell(line));
    REQUIRE(write(terminal.master, "\x04", 1) == 1); /* Ctrl-D */
    CHECK_INT(0, drive_wait(child.pid, NULL));
    close(slave);
    close(terminal.master);
}

/* ---- A person's shell ---- */

static void a_shell_says_where_one_is(void)
{
    static const char *const shells[] = {"/bin/sh", "/none/such", ""};
    struct terminal terminal = open_terminal(24, 200);
    int slave = open_slave(&terminal);

    for (size_t i = 0; i < 3; i++) {
        setenv("SHELL", shells[i], 1);
        struct drive_child child = start_on(&terminal, LIST("shell", "--net", "none"));
        const char *out = drive_read_until(terminal.master, "'exit' leaves it\r\n");
        CHECK_HAS(out, box_text("workspace %s, layout host, network none", box.work));
        const char typed[] = "tty; echo $((6*7))-is; exit 3\r";
        REQUIRE(write(terminal.master, typed, sizeof typed - 1) == sizeof typed - 1);
        CHECK_HAS(drive_read_until(terminal.master, "42-is\r\n"), "/dev/pts/0\r\n");
        CHECK_INT(3, drive_wait(child.pid, NULL));
    }
    struct drive_child child = start_on(&terminal, LIST("shell", "--", "./payload", "exit", "4"));
    drive_read_until(terminal.master, "leaves it\r\n");
    CHECK_INT(4, drive_wait(child.pid, NULL));
    close(slave);
    close(terminal.master);
}

static void a_shell_has_the_time_it_is_given(void)
{
    struct drive_end end = drive_cli(LIST("shell", "--dry-run", "-p", "strict"));
    CHECK_INT(0, end.status);
    CHECK_HAS(end.out, "timeout    unlimited\n");
    CHECK_HAS(end.out, "cpu_time   unlimited\n");
    end = drive_cli(LIST("shell", "--dry-run", "--timeout", "5m", "--cpu-time", "7s"));
    CHECK_HAS(end.out, "timeout    5m");
    CHECK_HAS(end.out, "cpu_time   7s");
    end = drive_cli(LIST("shell", "--dry-run", "--limits", "auto"));
    CHECK_INT(0, end.status);
}

static void a_shell_wants_a_terminal(void)
{
    static const struct {
        const char *args[4];
        const char *part;
    } cases[] = {
        {{"shell"}, "must be a terminal"},
        {{"shell", "--json"}, "--json"},
        {{"shell", "--stdin", "/dev/null"}, "--stdin"},
        {{"shell", "--none"}, "--none"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drive_end end = drive_cli(cases[i].args);
        CHECK_INT(125, end.status);
        CHECK_HAS(box_text("%s%s", end.out, end.err), cases[i].part);
    }
}

/* ---- Nothing is run ---- */

static void explain_runs_nothing(void)
{
    struct drive_end end = drive_cli(LIST("explain", "--", "./payload", "create", "new"));

    CHECK_INT(0, end.status);
    CHECK_HAS(end.out, box.work);
    end = drive_cli(LIST("run", "--dry-run", "--json", "--", "./payload", "create", "new"));
    CHECK_INT(0, end.status);
    json_t *object = json_loads(end.out, 0, NULL);
    CHECK(json_is_object(object));
    json_decref(object);
}

/* ---- Suggested limits ---- */

static bool fits_a_terminal(const char *text)
{
    for (; *text; text += strspn(text, "\n")) {
        size_t len = strcspn(text, "\n");

        if (len > 80)
            return false;
        text += len;
    }
    return true;
}

/* What a command refuses is not offered, and no line is longer than a terminal is wide. */
static void help_fits(void)
{
    static const char *const commands[] = {"explain", "help",   "profile", "rpc",
                                           "run",     "schema", "shell"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct drive_end end = drive_cli(LIST("help", commands[i]));
        CHECK_INT(0, end.status);
        for (const char *line = end.out; *line; line += strcspn(line, "\n") + 1)
            box_check(strcspn(line, "\n") <= 80, __FILE__, __LINE__, "help %s: %.*s", commands[i],
                      (int)strcspn(line, "\n"), line);
    }
    CHECK_HAS(drive_cli(LIST("help", "run")).out, "--json");
    CHECK_LACKS(drive_cli(LIST("help", "shell")).out, "--json");
    CHECK_LACKS(drive_cli(LIST("help", "shell")).out, "--stdin");
}

static void suggestions_are_shown(void)
{
    static const struct {
        const char *args[8];
        int status;
        const char *out;
    } cases[] = {
        {{"profile", "suggest", "make"}, 0, "build: make\n"},
        {{"profile", "suggest", "--", "make", "-j8"}, 0, "--memory"},
        {{"profile", "suggest", "python3.12", "-m", "pytest"}, 0, "test runner: pytest\n"},
        {{"profile", "suggest", "sh", "-c", "npm ci"}, 0, "package manager: npm ci\n"},
        {{"profile", "suggest", "--", "--json"}, 0, "unknown\n"},
        {{"profile", "suggest", "\xff\x1b[31m"}, 0, "'default'"},
        {{"profile", "suggest", "--json", "--", "ls"}, 0, "\"limits\": {"},
        {{"profile", "suggest"}, 2, ""},
        {{"profile", "suggest", "--"}, 2, ""},
        {{"profile", "suggest", "--json"}, 2, ""},
        {{"profile", "suggest", "--none", "make"}, 2, ""},
        {{"profile", "suggest", ""}, 2, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drive_end end = drive_cli(cases[i].args);

        box_check(end.status == cases[i].status && (end.out_len == 0) == (end.status != 0) &&
                      fits_a_terminal(end.out) && !strchr(end.out, '\x1b'),
                  __FILE__, __LINE__, "case %zu: status %d, stdout '%s', stderr '%s'", i,
                  end.status, end.out, end.err);
        CHECK_HAS(end.out, cases[i].out);
    }
}

static json_t *planned_limits(const char *const *args)
{
    struct drive_end end = drive_cli(args);
    json_t *plan = json_loads(end.out, 0, NULL);
    json_t *limits = json_incref(json_object_get(plan, "limits"));

    box_check(end.status == 0 && json_is_object(limits), __FILE__, __LINE__, "status %d: %s",
              end.status, end.err);
    json_decref(plan);
    return limits;
}

/* A suggestion given as a document, and one taken by itself, make the same plan. */
static void suggestions_are_used(void)
{
    struct drive_end end = drive_cli(LIST("profile", "suggest", "--json", "make"));

    box_file("work/make.json", end.out);
    json_t *given = planned_limits(LIST("explain", "--json", "--policy", "make.json", "true"));
    json_t *taken = planned_limits(LIST("explain", "--json", "--limits", "auto", "make"));
    json_t *plain = planned_limits(LIST("explain", "--json", "--limits", "profile", "make"));
    CHECK(json_equal(given, taken));
    CHECK(!json_equal(plain, taken));
    json_decref(given);
    json_decref(taken);
    json_decref(plain);

    end = drive_cli(LIST("explain", "--limits", "auto", "--timeout", "7s", "make"));
    CHECK_INT(0, end.status);
    CHECK_HAS(end.out, "build (make)");
    CHECK_HAS(end.out, "timeout    7s");
    end = drive_cli(LIST("explain", "--limits", "auto", "-p", "basic", "no-such-command"));
    CHECK_HAS(end.out, "timeout    1m");
}

/* Whoever misses what was undone is told, three times at most. */
static void what_was_undone_is_said(void)
{
    struct drive_end end = drive_cli(
        LIST("run", "--protect", "a", "--", "./payload", "create", "a", ",", "exit", "3"));

    CHECK_INT(3, end.status);
    CHECK_TEXT(box_text("hutch: removed '%s/a': it is protected (filesystem.protect)\n", box.work),
               end.err);
    end = drive_cli(LIST("run", "--protect", "a", "--protect", "b", "--protect", "c", "--protect",
                         "d", "--", "./payload", "create", "a", ",", "create", "b", ",", "create",
                         "c", ",", "create", "d"));
    CHECK_HAS(end.err, box_text("hutch: removed '%s/", box.work));
    CHECK_LINE(end.err, "hutch: removed 4 protected paths in all");
    CHECK_TEXT(
        "",
        drive_cli(LIST("run", "--json", "--protect", "a", "--", "./payload", "create", "a")).err);
    CHECK_TEXT("", drive_cli(LIST("run", "--protect", "a", "--", "./payload", "ids")).err);
}

static void usage_is_one_line_at_the_end(void)
{
    struct drive_end end = drive_cli(
        LIST("run", "--usage", "--", "./payload", "spam", "26", "2", ",", "exit", "7"));

    CHECK_INT(7, end.status);
    box_check(strncmp(end.err, "abcdefghijklmnopqrstuvwxyzcpu ", 30) == 0, __FILE__, __LINE__,
              "stderr: %s", end.err);
    CHECK_HAS(end.err, "s  mem ");
    CHECK_HAS(end.err, "  wall ");
    CHECK(strchr(end.err, '\n') == end.err + end.err_len - 1);
    /* Nothing ran, so nothing was used. */
    end = drive_cli(LIST("run", "--usage", "--", "./none"));
    CHECK_INT(127, end.status);
    CHECK_LACKS(end.err, "wall");
    end = drive_cli(LIST("run", "--limits", "none", "--", "./payload", "ids"));
    CHECK_INT(125, end.status);
    CHECK_HAS(end.err, "--limits");
}

int main(void)
{
    static const struct box_test tests[] = {
        {"status is the command's", status_is_the_commands},
        {"bad input is refused", bad_input_is_refused},
        {"a filter of one's own is read", a_filter_of_ones_own_is_read},
        {"streams pass through", streams_pass_through},
        {"output goes to any kind of file", output_goes_to_any_kind_of_file},
        {"receiver that goes away", receiver_that_goes_away},
        {"JSON has it all", json_has_it_all},
        {"JSON of other ends", json_of_other_ends},
        {"events are lines of JSON", events_are_lines_of_json},
        {"signals reach the command", signals_reach_the_command},
        {"a stop is the command's too", a_stop_is_the_commands_too},
        {"insisting ends a deaf command", insisting_ends_a_deaf_command},
        {"nohup is respected", nohup_is_respected},
        {"killed at any moment", killed_at_any_moment},
        {"killed when all is up", killed_when_all_is_up},
        {"closed streams", closed_streams},
        {"closed stdout is no other file", closed_stdout_is_no_other_file},
        {"JSON that cannot be written", json_that_cannot_be_written},
        {"terminal has the size of ours", terminal_has_the_size_of_ours},
        {"a shell says where one is", a_shell_says_where_one_is},
        {"a shell has the time it is given", a_shell_has_the_time_it_is_given},
        {"a shell wants a terminal", a_shell_wants_a_terminal},
        {"resizing gets through", resizing_gets_through},
        {"keys get through", keys_get_through},
        {"terminal is not given unasked", terminal_is_not_given_unasked},
        {"the first process has no terminal", first_process_has_no_terminal},
        {"explain runs nothing", explain_runs_nothing},
        {"help fits", help_fits},
        {"suggestions are shown", suggestions_are_shown},
        {"suggestions are used", suggestions_are_used},
        {"what was undone is said", what_was_undone_is_said},
        {"usage is one line at the end", usage_is_one_line_at_the_end},
        {NULL, NULL},
    };

    return box_main(tests);
}
