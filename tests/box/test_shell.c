/* SPDX-License-Identifier: Apache-2.0 */
/* Shells that last: what they remember, and what hostile commands cannot do to them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"

static struct hutch_error err;

/* ---- Frame: one sandbox, one shell ---- */

static struct hutch_sandbox *sandbox;
static struct hutch_shell *shell;

static enum hutch_shell_mode mode; /* of the next one */

static void open_shell(const char *program)
{
    struct hutch_shell_options options = HUTCH_SHELL_OPTIONS_INIT;

    options.mode = mode;
    options.program = program;
    options.env = LIST("GIVEN=yes");
    int r = hutch_shell_open(sandbox, &options, NULL, NULL, &shell, &err);
    box_check(r == 0, __FILE__, __LINE__, "shell: %s: %s", err.where, r < 0 ? err.msg : "");
    REQUIRE(r == 0);
}

static void close_all(void)
{
    hutch_shell_close(shell);
    hutch_sandbox_close(sandbox);
    shell = NULL;
    sandbox = NULL;
}

static struct hutch_result *exec_for(const char *command, uint64_t timeout_ms)
{
    struct hutch_result *result = NULL;
    int r = hutch_shell_exec(shell, command, timeout_ms, &result, &err);

    box_check(r == 0, __FILE__, __LINE__, "%s: %s: %s", command, err.where, r < 0 ? err.msg : "");
    REQUIRE(r == 0);
    return result;
}

/* On a terminal messages come with the output, and lines end as there. */
static bool has_printed(const struct hutch_result *result, const char *output)
{
    if (mode == HUTCH_SHELL_EXEC)
        return strcmp(result->stdout_data, output) == 0;
    char *text = box_keep(strdup(result->stdout_data)), *end = text;
    for (const char *at = text; *at; at++) {
        if (*at != '\r')
            *end++ = *at;
    }
    *end = '\0';
    return strstr(text, output) != NULL;
}

/* Status and output must be these. */
static void check_exec(int line, const char *command, int status, const char *output)
{
    struct hutch_result *result = exec_for(command, 0);

    box_check(result->status == status && has_printed(result, output), __FILE__, line,
              "%s: status %d (%s), wanted %d; stdout '%s', wanted '%s'; stderr '%s'", command,
              result->status, hutch_reason_name(result->reason), status, result->stdout_data,
              output, result->stderr_data);
    hutch_result_free(result);
}
#define EXEC(command, status, output) check_exec(__LINE__, (command), (status), (output))

/* Whether the last command left its state. */
static bool saved(void)
{
    struct hutch_shell_state *state = NULL;

    REQUIRE(hutch_shell_state(shell, &state, &err) == 0);
    bool answer = state->saved;
    hutch_shell_state_free(state);
    return answer;
}

/* Each test for both languages, without a terminal and with one. */
static void in_all(void (*fn)(bool bash))
{
    static const char *const programs[] = {"bash", "sh"};

    for (size_t i = 0; i < 4; i++) {
        mode = i < 2 ? HUTCH_SHELL_EXEC : HUTCH_SHELL_PTY;
        sandbox = drive_open(NULL);
        open_shell(programs[i % 2]);
        fn(i % 2 == 0);
        close_all();
    }
    mode = HUTCH_SHELL_EXEC;
}

/* ---- What is remembered ---- */

static void remembers(bool bash)
{
    EXEC("cd /usr; X=1; export Y='a\nb'; alias say='echo said'; umask 027; set -u", 0, "");
    EXEC("pwd; echo $X; sh -c 'echo \"$Y\"'; say it; umask; echo ${NONE-none}", 0,
         "/usr\n1\na\nb\nsaid it\n0027\nnone\n");
    EXEC("echo $NONE", bash ? 127 : 2, ""); /* set -u */
    EXEC("set +u; cd /; cd - >/dev/null; echo $OLDPWD", 0, "/\n");
    EXEC("echo $OLDPWD; unset X GIVEN; Z='it'\\''s'", 0, "/\n");
    EXEC("echo ${X-none} ${GIVEN-none} $Z", 0, "none none it's\n");
    EXEC("readonly R=1; R=2", bash ? 1 : 2, "");
    EXEC("echo $R; R=3", bash ? 1 : 2, "1\n");
    EXEC("echo still $R", 0, "still 1\n");
    if (!bash)
        return;
    EXEC("f() { echo \"f $1\"; }; a=(1 '2 3'); declare -A m=([k]=v); shopt -s extglob", 0, "");
    EXEC("f x; echo \"${a[1]}\" ${m[k]}; [[ aab == +(a)b ]] && echo glob", 0, "f x\n2 3 v\nglob\n");
    EXEC("export -f f; cd() { builtin cd \"$@\" && echo moved; }; cd /etc", 0, "moved\n");
    EXEC("bash -c 'f inner'; pwd; cd /usr", 0, "f inner\n/etc\nmoved\n");
    EXEC("set -a; W=1", 0, "");
    EXEC("U=2; set +a; sh -c 'echo $W$U'", 0, "12\n");
    EXEC("shopt -s nullglob nocasematch; set +o braceexpand; echo {a,b}", 0, "{a,b}\n");
    EXEC("shopt -q nullglob && echo {c,d} /none*; set -B; shopt -u nullglob nocasematch", 0,
         "{c,d}\n");
    EXEC("echo {e,f} /none*; declare -n ref=V; declare -i num=3; num+=4", 0, "e f /none*\n");
    EXEC("V=named; echo $ref; num+=1; echo $num", 0, "named\n8\n");
    EXEC("export -n Y; set -o pipefail", 0, "");
    EXEC("env | grep -c ^Y=; echo ${#Y}; false | true", 1, "0\n3\n");
}

static void state_is_carried(void)
{
    in_all(remembers);
}

static void tells(bool bash)
{
    struct hutch_shell_state *state = NULL;

    (void)bash;
    REQUIRE(hutch_shell_state(shell, &state, &err) == 0);
    CHECK_TEXT(box.work, state->cwd);
    CHECK(!state->saved && !state->running && state->pid == 0 && !state->env[0]);
    hutch_shell_state_free(state);

    EXEC("mkdir '/tmp/a dir' && cd '/tmp/a dir' && export V='1\n2'; W=3; echo $$ >/tmp/pid", 0, "");
    REQUIRE(hutch_shell_state(shell, &state, &err) == 0);
    CHECK_TEXT("/tmp/a dir", state->cwd);
    CHECK(state->saved && state->pid > 1);
    bool given = false, exported = false, not_exported = false;
    for (size_t i = 0; state->env[i]; i++) {
        given |= strcmp(state->env[i], "GIVEN=yes") == 0;
        exported |= strcmp(state->env[i], "V=1\n2") == 0;
        not_exported |= strncmp(state->env[i], "W=", 2) == 0;
    }
    CHECK(given && exported && !not_exported);
    CHECK(state->command_count == 1 && strstr(state->history[0], "a dir") && !state->history[1]);
    const char *pid = box_text("%d\n", state->pid);
    hutch_shell_state_free(state);
    EXEC("cat /tmp/pid", 0, pid);

    CHECK_INT(0, hutch_shell_cd(shell, "/usr", &err));
    CHECK_INT(HUTCH_ENOTFOUND, hutch_shell_cd(shell, "/none; echo", &err));
    CHECK_HAS(err.msg, "/none; echo");
    CHECK_INT(0, hutch_shell_setenv(shell, "Q", "it's $HOME `x`\n", &err));
    CHECK_INT(0, hutch_shell_setenv(shell, "V", NULL, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_shell_setenv(shell, "A B", "", &err));
    CHECK_INT(HUTCH_EINVALID, hutch_shell_setenv(shell, "A=", "", &err));
    EXEC("pwd; sh -c 'echo \"$Q\"'; echo ${V-none}; readonly Q", 0,
         "/usr\nit's $HOME `x`\n\nnone\n");
    CHECK_INT(HUTCH_EDENIED, hutch_shell_setenv(shell, "Q", "2", &err));
}

static void state_is_told(void)
{
    in_all(tells);
}

/* The state has its place in all of them. */
static void every_layout_has_shells(void)
{
    static const char *const layouts[][4] = {
        {"--layout", "minimal"},
        {"--layout", "root"},
        {"--layout", "minimal", "--workspace", "tmpfs"},
        {"--layout", "host", "--workspace", "tmpfs"},
        {"--layout", "root", "--workspace", "tmpfs"},
    };

    box_expect_any("work"); /* the layout `root` makes directories there */
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *flags[] = {layouts[i][0], layouts[i][1], layouts[i][2], layouts[i][3], NULL};
        sandbox = drive_open(flags);
        open_shell(NULL);
        EXEC("cd /usr; V=1; f() { echo f; }", 0, "");
        EXEC("pwd; echo $V; f", 0, "/usr\n1\nf\n");
        CHECK(saved());
        close_all();
    }
}

/* ---- Ends of every kind ---- */

static void ends(bool bash)
{
    EXEC("cd /usr; V=1", 0, "");

    EXEC("V=2; exit 7", 7, "");
    CHECK(saved());
    EXEC("echo $V; echo \"unterminated", 2, "");
    EXEC("echo $V; (exit 3)", 3, "2\n");
    EXEC("if; then", 2, "");
    EXEC("V=3; exec cat /dev/null", 0, ""); /* its state goes with it */
    CHECK(!saved());
    EXEC("echo $V; V=4; exec 0<&- 1>&- 2>&-", 0, "2\n");
    EXEC("echo $V; set -e; V=5; false; echo not reached", 1, "4\n");
    EXEC("echo $V; case $- in *e*) echo e;; esac; set +e", 0, "5\ne\n");
    EXEC("trap - EXIT; V=6", 0, "");
    EXEC("echo $V; trap 'echo bye' EXIT; V=7", 0, "6\nbye\n");
    EXEC("echo $V; trap 'echo bye' EXIT; V=8; exit 9", 9, "7\nbye\n");
    CHECK(!saved());
    EXEC("echo $V; kill -KILL $$", 128 + SIGKILL, "7\n");
    CHECK(!saved());
    EXEC("echo $V; (trap '' HUP; V=99; exit 1) & wait; V=9; (V=10; exit 4)", 4, "7\n");
    EXEC("echo $V; return 5 2>/dev/null", bash ? 2 : 5, "9\n");
    EXEC("set -n; echo no", 0, "");
    EXEC("echo $V; set -x", 0, "9\n");
    EXEC("set +x; set -f -C; echo *", 0, "*\n");
    EXEC("echo *; set +f +C; V=10; ulimit -f 0", 0, "*\n"); /* nothing can be saved */
    CHECK(!saved());
    EXEC("echo $V; set +f +C", 0, "9\n");
    EXEC("", 0, "");
    EXEC("# only a comment", 0, "");
    EXEC("cat <<E\n$V\nE", 0, "9\n");
    EXEC("IFS=/; PATH=/nowhere", 0, "");
    EXEC("echo \"$IFS$PATH\"; PATH=/usr/bin:/bin; unset IFS", 0, "//nowhere\n");
    EXEC("mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone", 0, "");
    EXEC("pwd", 0, box_text("%s\n", box.work));
}

static void every_end_is_a_result(void)
{
    in_all(ends);
}

static void first_line_is_one(void)
{
    sandbox = drive_open(NULL);
    open_shell(NULL);
    EXEC("X=1", 0, "");
    struct hutch_result *result = exec_for("none-such\n\nother-none", 0);
    CHECK_INT(127, result->status);
    CHECK_HAS(result->stderr_data, "bash: line 1: none-such");
    CHECK_HAS(result->stderr_data, "bash: line 3: other-none");
    hutch_result_free(result);
    close_all();
}

/* What a command leaves running neither holds it up nor saves in its place, also if its terminal goes. */
static void leaves_running(bool bash)
{
    (void)bash;
    EXEC("V=1; cat /dev/zero >/dev/null & V=2", 0, "");
    EXEC("echo $V; trap '' HUP; cat /dev/zero >/dev/null & echo $! >/tmp/pid", 0, "2\n");
    EXEC("kill $(cat /tmp/pid); mkfifo /tmp/go; trap '' HUP;"
         "(read x </tmp/go; V=99; cd /; echo done >/tmp/end; exit 5) & V=3",
         0, "");
    EXEC("echo >/tmp/go; while ! [ -s /tmp/end ]; do :; done; echo $V", 0, "3\n");
    EXEC("echo $V; pwd", 0, box_text("3\n%s\n", box.work));
}

static void background_is_just_that(void)
{
    in_all(leaves_running);
}

/* ---- Attacks on the state ---- */

static void attacks(bool bash)
{
    (void)bash;
    EXEC("V=1; cd /usr", 0, "");
    EXEC("rm -rf /tmp/.hutch-shell-*; V=2", 0, "");
    CHECK(saved());
    EXEC("echo $V; rm -rf /tmp/.hutch-shell-*; exec true", 0, "2\n");
    CHECK(!saved());
    EXEC("echo ${V-none}; pwd; V=3", 0, box_text("none\n%s\n", box.work));

    /* What is no file in the place of files. */
    EXEC(
        "cd /tmp/.hutch-shell-*; rm -f *; mkfifo a a.ok b a.env b.env; mkdir b.ok a.opts; V=4; cd /",
        0, "");
    EXEC("echo $V; V=5", 0, "4\n");
    EXEC("echo $V; V=6", 0, "5\n");
    EXEC("cd /tmp/.hutch-shell-*; rm *; mkfifo a.env; echo 1 >a.ok; : >a; : >a.opts; exec true", 0,
         "");
    CHECK(!saved()); /* and nothing waits for the FIFO */
    EXEC("echo lives; V=7; export PATH=/usr/bin:/bin", 0, "lives\n");
    EXEC("echo $V", 0, "7\n");

    /* Numbers that are none, from the future, and lines that never end. */
    EXEC("cd /tmp/.hutch-shell-*; for f in a.ok b.ok; do echo 'x[$(touch /tmp/pwned)]' >$f; done; "
         "exec true",
         0, "");
    EXEC("test -e /tmp/pwned; echo $? ${V-none}; V=8", 0, "1 none\n");
    EXEC("cd /tmp/.hutch-shell-*; head -c 3000000 /dev/zero | tr '\\0' x >a.env; cp a.env b.env; "
         "exec true",
         0, "");
    CHECK(!saved());
    EXEC("echo $V; V=9", 0, "8\n");

    /* States that cannot be restored cost a command each, and not the shell. */
    EXEC("cd /tmp/.hutch-shell-*; for f in a b; do echo 'exit 6' >$f; done; exec true", 0, "");
    EXEC("echo not run", 6, "");
    EXEC("echo not run", 6, "");
    EXEC("echo ${V-none}; V=9", 0, "none\n");
    EXEC("readonly PWD OLDPWD __hutch_to __hutch_from", 0, "");
    struct hutch_result *result = exec_for("cd /; V=9", 0);
    hutch_result_free(result);
    result = exec_for("V=9", 0);
    hutch_result_free(result);
    EXEC("echo $V", 0, "9\n");

    /* Too much to save, and a disk that is full. */
    EXEC("BIG=$(head -c 9000000 /dev/zero | tr '\\0' x)", 0, "");
    CHECK(!saved());
    EXEC("echo $V ${#BIG}; V=10", 0, "9 0\n");
    EXEC(
        "i=0; while [ $i -lt 200 ]; do echo '__DONE__ 0'; printf '\\033]133;D;0\\007'; i=$((i+1)); "
        "done >/dev/null; echo $V",
        0, "10\n");
}

static void state_cannot_be_turned_on_us(void)
{
    in_all(attacks);
}

static void a_full_disk_keeps_the_last_state(void)
{
    sandbox = drive_open(LIST("--disk", "4M"));
    open_shell(NULL);
    EXEC("V=1", 0, "");
    struct hutch_result *result = exec_for("V=2; cat /dev/zero >/tmp/fill 2>/dev/null; V=3", 0);
    hutch_result_free(result);
    EXEC("echo $V; rm -f /tmp/fill; V=4", 0, "1\n");
    EXEC("echo $V", 0, "4\n");
    close_all();
}

static void timeouts_and_floods(void)
{
    sandbox = drive_open(LIST("--output", "64K"));
    open_shell(NULL);
    EXEC("V=1", 0, "");

    struct hutch_result *result = exec_for("V=2; echo part; cat /dev/zero >/dev/null", 300);
    CHECK_INT(HUTCH_TIMEOUT, result->reason);
    CHECK_TEXT("part\n", result->stdout_data);
    hutch_result_free(result);

    result = exec_for("V=3; trap '' TERM; while :; do :; done", 300);
    CHECK_INT(HUTCH_TIMEOUT, result->reason);
    hutch_result_free(result);

    result = exec_for("V=4; head -c 1G /dev/zero", HUTCH_UNKNOWN);
    CHECK_INT(0, result->status);
    CHECK(result->truncated && result->stdout_bytes == UINT64_C(1) << 30);
    hutch_result_free(result);
    EXEC("echo $V", 0, "4\n");
    close_all();
}

/* A text of so many letters. */
static char *letters(size_t len)
{
    char *text = box_keep(malloc(len + 1));

    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

static void long_commands(void)
{
    enum { LEN = (1 << 20) - 64 };
    struct hutch_result *result;

    sandbox = drive_open(NULL);
    open_shell(NULL);
    EXEC(box_text("V='%s'; echo ${#V}; V=1", letters(LEN)), 0, box_text("%d\n", LEN));
    EXEC("echo $V", 0, "1\n");
    CHECK_INT(HUTCH_EINVALID, hutch_shell_exec(shell, letters(2 << 20), 0, &result, &err));
    EXEC("echo $V", 0, "1\n");
    close_all();
}

/* ---- Several, and a loop of one's own ---- */

static void shells_do_not_meet(void)
{
    struct hutch_shell *other;
    struct hutch_result *result = NULL;

    sandbox = drive_open(NULL);
    open_shell(NULL);
    other = shell;
    open_shell("sh");
    REQUIRE(hutch_shell_exec(other, "V=other; cd /usr", 0, &result, &err) == 0);
    hutch_result_free(result);
    EXEC("echo ${V-none}; V=mine", 0, "none\n");
    REQUIRE(hutch_shell_exec(other, "echo $V $PWD", 0, &result, &err) == 0);
    CHECK_TEXT("other /usr\n", result->stdout_data);
    hutch_result_free(result);
    hutch_shell_close(other);
    EXEC("echo $V; ls -d /tmp/.hutch-shell-* | wc -l", 0, "mine\n1\n");
    close_all();
}

static void one_at_a_time(void)
{
    struct hutch_shell_state *state = NULL;
    struct hutch_result *result = NULL;

    sandbox = drive_open(NULL);
    open_shell(NULL);
    CHECK(!hutch_shell_run(shell));
    CHECK_INT(HUTCH_ESTATE, hutch_shell_finish(shell, &result, &err));
    REQUIRE(hutch_shell_start(shell, "V=1; read -r x </dev/tty; cat /dev/zero >/dev/null", 0,
                              &err) == 0);
    CHECK_INT(HUTCH_EBUSY, hutch_shell_start(shell, "true", 0, &err));
    CHECK_INT(HUTCH_EBUSY, hutch_shell_exec(shell, "true", 0, &result, &err));
    CHECK_INT(HUTCH_EBUSY, hutch_shell_cd(shell, "/", &err));
    CHECK_INT(HUTCH_ESTATE, hutch_shell_finish(shell, &result, &err));
    REQUIRE(hutch_shell_state(shell, &state, &err) == 0);
    CHECK(state->running);
    hutch_shell_state_free(state);

    REQUIRE(hutch_run_cancel(hutch_shell_run(shell), &err) == 0);
    while (hutch_run_step(hutch_shell_run(shell), -1, &err) == 0)
        ;
    REQUIRE(hutch_shell_finish(shell, &result, &err) == 0);
    CHECK_INT(HUTCH_CANCELLED, result->reason);
    hutch_result_free(result);
    EXEC("echo ${V-none}", 0, "none\n");

    /* Closed while something runs. */
    REQUIRE(hutch_shell_start(shell, "cat /dev/zero >/dev/null", 0, &err) == 0);
    close_all();
}

/* A step of a command that cannot even start fails; the shell is there for the next one. */
static void a_run_that_fails_is_given_up(void)
{
    struct hutch_command open_up = HUTCH_COMMAND_INIT;
    struct hutch_sandbox_info info = HUTCH_SANDBOX_INFO_INIT;
    struct hutch_result *result = NULL;
    int r;

    /* In memory: where paths are watched init opens again what was closed to it. */
    sandbox = drive_open(LIST("--workspace", "tmpfs"));
    REQUIRE(hutch_sandbox_info(sandbox, &info, &err) == 0);
    open_shell(NULL);
    EXEC("V=kept; cd /usr; chmod 0 \"$OLDPWD\"", 0, "");
    for (int i = 0; i < 2; i++) {
        REQUIRE(hutch_shell_start(shell, "echo never", 0, &err) == 0);
        while ((r = hutch_run_step(hutch_shell_run(shell), -1, &err)) == 0)
            ;
        CHECK(r < 0);
        CHECK(hutch_shell_finish(shell, &result, &err) < 0 && !result);
        CHECK(!hutch_shell_run(shell));
    }
    CHECK(hutch_shell_exec(shell, "echo never", 0, &result, &err) < 0 && !result);

    open_up.argv = LIST("chmod", "700", info.cwd);
    open_up.cwd = "/";
    REQUIRE(hutch_sandbox_exec(sandbox, &open_up, &result, &err) == 0);
    CHECK_INT(0, result->status);
    hutch_result_free(result);
    EXEC("pwd; echo $V", 0, "/usr\nkept\n");
    close_all();
}

struct seen {
    char text[512];
};

static void see(void *arg, const struct hutch_event *event)
{
    struct seen *seen = arg;
    char *json = NULL;

    if (event->type == HUTCH_EVENT_SHELL_STARTED || event->type == HUTCH_EVENT_SHELL_STOPPED) {
        REQUIRE(hutch_event_to_json(event, &json, NULL) == 0);
        CHECK_HAS(json, event->shell);
        strcat(seen->text, event->type == HUTCH_EVENT_SHELL_STARTED ? "+" : "-");
        free(json);
    }
    if (event->type == HUTCH_EVENT_RUN_STARTED) {
        CHECK(event->shell && !event->argv[3]);
        snprintf(seen->text + strlen(seen->text), 64, "s(%s)", event->argv[2]);
    }
    if (event->type == HUTCH_EVENT_RUN_EXITED) {
        CHECK(event->shell != NULL);
        strcat(seen->text, "x");
    }
}

static void events_and_refusals(void)
{
    struct hutch_shell_options options = HUTCH_SHELL_OPTIONS_INIT;
    struct hutch_result *result = NULL;
    struct seen seen = {{0}};

    sandbox = drive_open(NULL);
    REQUIRE(hutch_shell_open(sandbox, NULL, see, &seen, &shell, &err) == 0);
    EXEC("true", 0, "");
    hutch_shell_close(shell);
    CHECK_TEXT("+s(true)x-", seen.text);

    options.program = "none-such";
    CHECK_INT(HUTCH_ENOTFOUND, hutch_shell_open(sandbox, &options, see, &seen, &shell, &err));
    options.program = "false";
    CHECK(hutch_shell_open(sandbox, &options, see, &seen, &shell, &err) < 0);
    options.program = NULL;
    options.cwd = "/none";
    CHECK_INT(HUTCH_ENOTFOUND, hutch_shell_open(sandbox, &options, see, &seen, &shell, &err));
    options.mode = 7;
    CHECK_INT(HUTCH_EINVALID, hutch_shell_open(sandbox, &options, NULL, NULL, &shell, &err));
    options.size = 0;
    CHECK_INT(HUTCH_EINVALID, hutch_shell_open(sandbox, &options, NULL, NULL, &shell, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_shell_open(NULL, NULL, NULL, NULL, &shell, &err));
    CHECK_INT(HUTCH_EINVALID, hutch_shell_exec(NULL, "x", 0, &result, &err));
    shell = NULL;
    hutch_shell_close(NULL);
    hutch_shell_state_free(NULL);
    close_all();
}

int main(void)
{
    static const struct box_test tests[] = {
        {"state is carried", state_is_carried},
        {"state is told", state_is_told},
        {"every layout has shells", every_layout_has_shells},
        {"background is just that", background_is_just_that},
        {"every end is a result", every_end_is_a_result},
        {"first line is one", first_line_is_one},
        {"state cannot be turned on us", state_cannot_be_turned_on_us},
        {"a full disk keeps the last state", a_full_disk_keeps_the_last_state},
        {"timeouts and floods", timeouts_and_floods},
        {"long commands", long_commands},
        {"shells do not meet", shells_do_not_meet},
        {"one at a time", one_at_a_time},
        {"a run that fails is given up", a_run_that_fails_is_given_up},
        {"events and refusals", events_and_refusals},
        {0},
    };

    return box_main(tests);
}
