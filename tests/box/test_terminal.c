/* SPDX-License-Identifier: Apache-2.0 */
/* Shells on a terminal: what is typed and shown there, and when something that runs there has ended. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"

static struct hutch_error err;

/* ---- Frame: one sandbox, one shell ---- */

static struct hutch_sandbox *sandbox;
static struct hutch_shell *shell;

static void open_terminal(size_t buffer)
{
    struct hutch_shell_options options = HUTCH_SHELL_OPTIONS_INIT;

    options.mode = HUTCH_SHELL_PTY;
    options.cwd = "/usr";
    options.rows = 30;
    options.cols = 100;
    options.buffer_bytes = buffer;
    options.env = LIST("TERM=dumb", "PS1=$ ");
    sandbox = drive_open(NULL);
    REQUIRE(hutch_shell_open(sandbox, &options, NULL, NULL, &shell, &err) == 0);
}

static void close_all(void)
{
    hutch_shell_close(shell);
    hutch_sandbox_close(sandbox);
    shell = NULL;
    sandbox = NULL;
}

static void start(const char *command)
{
    int r = hutch_shell_start(shell, command, HUTCH_UNKNOWN, &err);

    box_check(r == 0, __FILE__, __LINE__, "%s: %s", err.where, r < 0 ? err.msg : "");
    REQUIRE(r == 0);
}

/* The end of what was started. The caller owns the result. */
static struct hutch_result *finish(void)
{
    struct hutch_result *result = NULL;
    int r;

    while ((r = hutch_run_step(hutch_shell_run(shell), -1, &err)) == 0)
        ;
    REQUIRE(r == 1 && hutch_shell_finish(shell, &result, &err) == 0);
    return result;
}

/* Status and output must be these. */
static void check_exec(int line, const char *command, int status, const char *output)
{
    struct hutch_result *result = NULL;

    REQUIRE(hutch_shell_exec(shell, command, HUTCH_UNKNOWN, &result, &err) == 0);
    box_check(result->status == status && strcmp(result->stdout_data, output) == 0, __FILE__, line,
              "%s: status %d (%s), wanted %d; output '%s', wanted '%s'", command, result->status,
              hutch_reason_name(result->reason), status, result->stdout_data, output);
    hutch_result_free(result);
}
#define EXEC(command, status, output) check_exec(__LINE__, (command), (status), (output))

static void type(const char *text)
{
    size_t len = strlen(text);

    for (size_t done = 0; done < len;) {
        int r = hutch_run_write(hutch_shell_run(shell), text + done, len - done, &err);
        REQUIRE(r >= 0);
        done += (size_t)r;
        if (done < len)
            REQUIRE(hutch_run_step(hutch_shell_run(shell), -1, &err) == 0);
    }
}

/* What came from the terminal, as far as it was not expected yet. */
struct screen {
    uint64_t cursor;
    char text[1 << 16];
    size_t len;
};

static void read_on(struct screen *screen)
{
    int r = hutch_shell_read(shell, screen->cursor, screen->text + screen->len,
                             sizeof screen->text - 1 - screen->len, &screen->cursor, &err);

    REQUIRE(r >= 0);
    screen->len += (size_t)r;
    screen->text[screen->len] = '\0';
}

/* Wait until `text` is there; the next one must come after it. */
static void expect(struct screen *screen, const char *text)
{
    const double end = box_now_ms() + 20000;
    char *found;

    while (!(found = strstr(screen->text, text))) {
        int r = hutch_shell_wait(shell, 20, 1000, &err);
        if (r < 0 || box_now_ms() > end)
            box_fatal(__FILE__, __LINE__, "no '%s' in '%s'", text, screen->text);
        read_on(screen);
    }
    found += strlen(text);
    screen->len -= (size_t)(found - screen->text);
    memmove(screen->text, found, screen->len + 1);
}

/* ---- Commands ---- */

static void commands_have_a_terminal(void)
{
    struct hutch_shell_state *state = NULL;
    static struct screen screen;

    open_terminal(0);
    EXEC("tty -s && stty size && echo here >/dev/tty; pwd", 0, "30 100\r\nhere\r\n/usr\r\n");
    EXEC("cd /etc; V=1; echo to stderr >&2", 0, "to stderr\r\n");
    REQUIRE(hutch_shell_resize(shell, 40, 120, &err) == 0);
    EXEC("stty size; pwd; echo $V; stty -echo -onlcr; echo raw", 0, "40 120\r\n/etc\r\n1\r\nraw\n");
    EXEC("echo a new one", 0,
         "a new one\r\n"); /* what one command does to it is not the next one's */
    read_on(&screen);
    CHECK_TEXT("30 100\r\nhere\r\n/usr\r\nto stderr\r\n40 120\r\n/etc\r\n1\r\nraw\na new one\r\n",
               screen.text);

    CHECK_INT(0, hutch_shell_cd(shell, "/tmp", &err));
    CHECK_INT(HUTCH_ENOTFOUND, hutch_shell_cd(shell, "/none", &err));
    CHECK_INT(0, hutch_shell_setenv(shell, "W", "2", &err));
    EXEC("pwd; sh -c 'echo $W'", 0, "/tmp\r\n2\r\n");
    REQUIRE(hutch_shell_state(shell, &state, &err) == 0);
    CHECK_TEXT("/tmp", state->cwd);
    CHECK(state->saved && !state->running && state->pid > 1 && state->command_count == 5);
    hutch_shell_state_free(state);
    close_all();
}

static void commands_are_typed_to(void)
{
    static struct screen screen;
    struct hutch_result *result;

    open_terminal(0);
    start("printf 'name? '; read -r name; echo \"hello $name\"; V=$name; exit 3");
    type("you\n");
    CHECK_INT(HUTCH_EBUSY, hutch_shell_start(shell, "true", 0, &err));
    result = finish();
    CHECK_INT(3, result->exit_code);
    CHECK_HAS(result->stdout_data, "name? ");
    CHECK_HAS(result->stdout_data, "hello you\r\n");
    hutch_result_free(result);
    EXEC("echo $V", 0, "you\r\n");

    /* Ctrl-C and the size reach what runs in the foreground. */
    start("trap 'stty size' WINCH; trap 'echo interrupted; exit 4' INT; echo ready; "
          "while :; do read -t 0.05 x; done");
    expect(&screen, "ready");
    REQUIRE(hutch_shell_resize(shell, 20, 60, &err) == 0);
    expect(&screen, "20 60");
    type("\003");
    result = finish();
    CHECK_INT(4, result->exit_code);
    CHECK_HAS(result->stdout_data, "interrupted");
    hutch_result_free(result);

    start("cat; echo ends");
    type("text\n\004"); /* Ctrl-D */
    result = finish();
    CHECK_HAS(result->stdout_data, "text\r\ntext\r\nends\r\n");
    hutch_result_free(result);

    start("echo started; exec cat");
    expect(&screen, "started");
    REQUIRE(hutch_run_signal(hutch_shell_run(shell), SIGTERM, &err) == 0);
    result = finish();
    CHECK_INT(SIGTERM, result->signal);
    hutch_result_free(result);
    close_all();
}

/* ---- Ends ---- */

/* Everything that a program could print, do to its terminal, or leave behind, while it goes on. */
static const char pretend[] =
    "trap '' HUP INT QUIT TSTP TTIN TTOU; (kill -HUP $$; kill -CHLD $$);"
    "printf '\\033]133;D;0\\007\\033]633;D;0\\007__DONE__ 0\\n$ '; stty raw -echo; printf '\\004\\004'; stty sane;"
    "(exec 0<&- 1>&- 2>&-; exit 9);"
    "for fd in /proc/self/fd/*; do fd=${fd##*/}; [ $fd -lt 3 ] || eval \"echo 0 >&$fd\"; done;"
    "python3 -c 'import os, pty, termios; os.tcsetpgrp(0, os.getpgid(os.getppid()))';"
    "read -r line; echo \"got $line\"; exit 6";

static void an_end_cannot_be_pretended(void)
{
    static struct screen screen;
    struct hutch_result *result;

    open_terminal(0);
    EXEC("V=1", 0, "");
    start(pretend);
    expect(&screen, "__DONE__");
    for (int i = 0; i < 5; i++) /* silence is no end either */
        CHECK_INT(1, hutch_shell_wait(shell, 50, 20000, &err));
    CHECK_INT(HUTCH_ESTATE, hutch_shell_finish(shell, &result, &err));
    type("end\n");
    result = finish();
    CHECK_INT(6, result->exit_code);
    CHECK_HAS(result->stdout_data, "got end\r\n");
    hutch_result_free(result);
    EXEC("echo $V", 0, "1\r\n");
    close_all();
}

static void every_end_is_a_result(void)
{
    struct hutch_result *result = NULL;

    open_terminal(0);
    EXEC("exit 7", 7, "");
    EXEC("exec 0<&- 1>&- 2>&-; exit 8", 8, "");
    EXEC("kill -KILL $$", 128 + SIGKILL, "");
    EXEC("sh -c 'kill -KILL $PPID'", 128 + SIGKILL, "");
    EXEC("setsid sh -c 'exit 3'; exec setsid -w sh -c 'exit 5'", 5, "");
    REQUIRE(hutch_shell_exec(shell, "echo \"unterminated", 0, &result, &err) == 0);
    CHECK_INT(2, result->exit_code);
    hutch_result_free(result);
    REQUIRE(hutch_shell_exec(shell, "echo part; exec cat", 300, &result, &err) == 0);
    CHECK_INT(HUTCH_TIMEOUT, result->reason);
    CHECK_HAS(result->stdout_data, "part\r\n");
    hutch_result_free(result);
    REQUIRE(hutch_shell_exec(shell, "head -c 64M /dev/zero", HUTCH_UNKNOWN, &result, &err) == 0);
    CHECK_INT(0, result->status);
    CHECK(result->stdout_bytes == UINT64_C(64) << 20);
    hutch_result_free(result);
    EXEC("echo lives", 0, "lives\r\n");
    close_all();
}

/* The last of the output is there, whoever still has the terminal open. */
static void nothing_is_lost_at_the_end(void)
{
    struct hutch_result *result = NULL;

    open_terminal(0);
    EXEC("mkfifo /tmp/fifo", 0, "");
    for (int i = 0; i < 50; i++) {
        REQUIRE(hutch_shell_exec(shell,
                                 "(trap '' HUP; exec cat /tmp/fifo) & seq 1 3000; printf last", 0,
                                 &result, &err) == 0);
        size_t len = strlen(result->stdout_data);
        CHECK_TEXT("3000\r\nlast", result->stdout_data + (len > 10 ? len - 10 : 0));
        hutch_result_free(result);
    }
    close_all();
}

/* ---- The interactive shell ---- */

static void the_shell_itself_is_interactive(void)
{
    struct hutch_shell_state *state = NULL;
    struct hutch_result *result = NULL;
    static struct screen screen;

    open_terminal(0);
    EXEC("cd /etc; export V=carried", 0, "");
    start(NULL);
    CHECK_INT(HUTCH_EBUSY, hutch_shell_exec(shell, "true", 0, &result, &err));
    CHECK_HAS(err.msg, "interactive");
    type("stty size; pwd; echo $V-$((6*7))\n");
    expect(&screen, "30 100");
    expect(&screen, "/etc");
    expect(&screen, "carried-42");
    REQUIRE(hutch_shell_resize(shell, 40, 120, &err) == 0);
    type("stty size; cd /usr; echo $((6*8))-is\n");
    expect(&screen, "40 120");
    expect(&screen, "48-is");
    REQUIRE(hutch_shell_state(shell, &state, &err) == 0);
    CHECK(state->running && state->pid > 1);
    type(box_text("[ $$ = %d ] && echo pid-$((6*1))\n", state->pid));
    expect(&screen, "pid-6");
    hutch_shell_state_free(state);

    type("sh -c 'echo in-$((6*6)); cat >/dev/null'\n");
    expect(&screen, "in-36");
    type("\003"); /* Ctrl-C reaches it through the terminal */
    expect(&screen, "$ ");
    type("echo $((6*9))-is\n");
    expect(&screen, "54-is");

    uint64_t next = 0;
    char byte;
    CHECK_INT(HUTCH_EINVALID, hutch_shell_read(shell, UINT64_MAX, &byte, 1, &next, &err));
    type("exit 5\n");
    int r;
    while ((r = hutch_shell_wait(shell, 1000, 20000, &err)) == 1)
        ;
    CHECK_INT(2, r);
    result = finish();
    CHECK_INT(5, result->exit_code);
    hutch_result_free(result);
    CHECK_INT(2, hutch_shell_wait(shell, 0, 0, &err));
    EXEC("pwd; echo $V", 0, "/etc\r\ncarried\r\n"); /* as it was before */
    close_all();
}

static void a_terminal_keeps_its_last_output(void)
{
    enum { SIZE = 1000 };
    char data[SIZE * 2];
    uint64_t next = 0;

    open_terminal(SIZE);
    EXEC("true", 0, "");
    start(NULL);
    type("head -c 100000 /dev/zero | tr '\\0' x; echo; echo $((6*7))-is\n");
    double end = box_now_ms() + 20000;
    for (;;) {
        int r = hutch_shell_read(shell, 0, data, sizeof data - 1, &next, &err);
        REQUIRE(r >= 0 && r <= SIZE && box_now_ms() < end);
        data[r > 0 ? r : 0] = '\0';
        if (strstr(data, "42-is"))
            break;
        REQUIRE(hutch_shell_wait(shell, 20, 1000, &err) >= 0);
    }
    CHECK(next > 100000);
    uint64_t cursor = next;
    CHECK_INT(0, hutch_shell_read(shell, cursor, data, sizeof data, &next, &err));
    CHECK(next == cursor);
    CHECK_INT(1, hutch_shell_wait(shell, 10, 10000, &err)); /* nobody types */

    /* Closed while it runs; the sandbox lives on. */
    hutch_shell_close(shell);
    REQUIRE(hutch_shell_open(sandbox, NULL, NULL, NULL, &shell, &err) == 0);
    EXEC("ps ax 2>/dev/null | grep -c '[b]ash -i'; ls -d /tmp/.hutch-shell-* | wc -l", 0, "0\n1\n");
    CHECK_INT(HUTCH_EINVALID, hutch_shell_start(shell, NULL, 0, &err));
    CHECK_INT(HUTCH_ESTATE, hutch_shell_resize(shell, 1, 1, &err));
    close_all();
}

int main(void)
{
    static const struct box_test tests[] = {
        {"commands have a terminal", commands_have_a_terminal},
        {"commands are typed to", commands_are_typed_to},
        {"an end cannot be pretended", an_end_cannot_be_pretended},
        {"every end is a result", every_end_is_a_result},
        {"nothing is lost at the end", nothing_is_lost_at_the_end},
        {"the shell itself is interactive", the_shell_itself_is_interactive},
        {"a terminal keeps its last output", a_terminal_keeps_its_last_output},
        {0},
    };

    return box_main(tests);
}
