/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail closed: every system call of the set-up fails once, in turn. hutch must then end with 125
 * and say which step it was; nothing has run and nothing is left. A few failures may be survived
 * (the table in calls.c says which and why): then the sandbox must be exactly what it is otherwise,
 * which the command in it (state.c) finds out.
 *
 * Later, while the command runs, a failure may end the run or not; nothing may hang or be left.
 *
 * test_fault [--all]: with --all each call fails with every errno that makes sense, else with one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "trace.h"

#define ARGS_MAX 32
#define STATUS_FAILED 125
#define COMPLAINTS_MAX 12
#define LATE_MAX 3  /* of each call after the set-up, unless all are wanted */
#define SAMPLE 6    /* of each call in other sandboxes than the first, unless all are wanted */
#define HANGS_MAX 2 /* each takes its time; then the rest of its kind is left out */
#define TRIES_MAX 20

/* One kind of sandbox. */
struct scenario {
    const char *name;
    const char *flags[12]; /* `hutch run` with these */
    bool makes_dirs;       /* mount points stay in the workspace */
    bool thorough;         /* every call, and also what comes after the set-up */
};

static const struct scenario scenarios[] = {
    {"host layout",
     {"--read", "../read", "--hide", "../hide", "--protect", "keep", "--protect", "missing"},
     .thorough = true},
    {"minimal layout on a terminal", {"--layout", "minimal", "--repo", "../read", "--tty"}},
    {"root layout", {"--layout", "root", "--net", "host"}, .makes_dirs = true},
};

static struct {
    const char *hutch;
    char dir[64]; /* scratch */
    char work[80];
    char begin[96];
    char *mounts; /* the host's, as they were */
    bool all;
    int count; /* of TAP lines */
    bool failed;
    unsigned complaints;
    unsigned hangs; /* of this TAP line, too */
    unsigned runs;
} test;

/* What one run came to. */
struct outcome {
    struct trace_end end;
    bool ran; /* the command left its mark */
    char *err;
    json_t *json; /* NULL: not a JSON object */
};

/* ---- TAP ---- */

static void result(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void result(bool ok, const char *fmt, ...)
{
    va_list args;

    printf("%sok %d - ", ok ? "" : "not ", ++test.count);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    test.failed = test.failed || !ok;
    test.complaints = 0;
    test.hangs = 0;
}

/* Say what is wrong; always false. Not more often than anybody would read. */
static bool wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool wrong(const char *fmt, ...)
{
    va_list args;

    if (++test.complaints > COMPLAINTS_MAX)
        return false;
    printf("# ");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    return false;
}

static _Noreturn void bail_out(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- Running ---- */

/* All of a file; the caller frees it. */
static char *read_all(int fd)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fdopen(fd, "r");

    if (!file)
        bail_out("cannot read");
    rewind(file);
    ssize_t len = getdelim(&text, &size, '\0', file);
    fclose(file);
    if (!text)
        bail_out("out of memory");
    if (len < 0)
        text[0] = '\0'; /* an empty file */
    return text;
}

static void fill_argv(const struct scenario *scenario, const char **argv)
{
    static const char *const paths[] = {"keep", "../read", "../read/file", "../hide", NULL};
    size_t n = 0;

    argv[n++] = test.hutch;
    argv[n++] = "run";
    argv[n++] = "--json";
    argv[n++] = "--policy";
    argv[n++] = test.begin;
    for (size_t i = 0; scenario->flags[i]; i++)
        argv[n++] = scenario->flags[i];
    argv[n++] = "--";
    argv[n++] = "./state";
    argv[n++] = scenario->thorough ? "missing" : "";
    for (size_t i = 0; paths[i]; i++)
        argv[n++] = paths[i];
    argv[n] = NULL;
}

static struct outcome run(const struct scenario *scenario, struct trace_log *log,
                          const struct trace_fault *fault)
{
    const char *argv[ARGS_MAX];
    struct outcome outcome = {0};
    int out = memfd_create("out", MFD_CLOEXEC);
    int err = memfd_create("err", MFD_CLOEXEC);

    fill_argv(scenario, argv);
    const struct trace_run how = {
        .argv = (char *const *)argv, .begin = test.begin, .out = out, .err = err};
    if (out < 0 || err < 0 || trace_run(&how, log, fault, &outcome.end) < 0)
        bail_out("cannot run hutch");
    char *text = read_all(out);
    outcome.err = read_all(err);
    outcome.json = json_loads(text, 0, NULL);
    outcome.ran = unlink("ran") == 0;
    free(text);
    return outcome;
}

static void outcome_clear(struct outcome *outcome)
{
    json_decref(outcome->json);
    free(outcome->err);
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* ---- What must hold ---- */

static bool nothing_left(const struct scenario *scenario, bool ran)
{
    struct dirent *entry;
    bool ok = true;
    char *mounts = read_all(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    DIR *dir = opendir(".");

    if (!dir)
        bail_out("cannot look at the workspace");
    if (strcmp(mounts, test.mounts) != 0)
        ok = wrong("the host's mounts have changed");
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        bool ours = name[0] == '.' || strcmp(name, "state") == 0 || strcmp(name, "keep") == 0;
        /* The command itself, ended on its way. */
        bool tried = strcmp(name, "missing") == 0 || strcmp(name, "fault-test") == 0;
        if (tried && ran)
            remove(name);
        /* Mount points in a workspace that is the root are made, empty, and stay. */
        if (ours || (tried && ran) ||
            (scenario->makes_dirs && entry->d_type == DT_DIR && rmdir(name) == 0))
            continue;
        ok = wrong("left in the workspace: %s", name);
        remove(name);
    }
    closedir(dir);
    free(mounts);
    return ok;
}

/* hutch ended with 125 and says why. */
static bool refused(const struct outcome *outcome, int status)
{
    const json_t *error = json_object_get(outcome->json, "error");

    if (outcome->end.status != status)
        return wrong("status %d, stderr: %s", outcome->end.status, outcome->err);
    if (strcmp(text_at(outcome->json, "reason"), "setup") != 0)
        return wrong("reason '%s', stderr: %s", text_at(outcome->json, "reason"), outcome->err);
    if (!text_at(error, "code")[0] || !text_at(error, "where")[0] || !text_at(error, "message")[0])
        return wrong("the error does not say where: '%s', '%s', '%s'", text_at(error, "code"),
                     text_at(error, "where"), text_at(error, "message"));
    return true;
}

static void show_difference(const char *want, const char *got)
{
    while (*want && *want == *got)
        want++, got++;
    wrong("the sandbox is another one: '%.*s' instead of '%.*s'", (int)strcspn(got, "\n"), got,
          (int)strcspn(want, "\n"), want);
}

/* The command ran in a sandbox that is just like `model`. */
static bool confined(const struct outcome *model, const struct outcome *outcome)
{
    const char *want = text_at(model->json, "stdout");
    const char *got = text_at(outcome->json, "stdout");

    if (outcome->end.status != 0 || !outcome->ran)
        return wrong("status %d, stderr: %s", outcome->end.status, outcome->err);
    if (strcmp(want, got) != 0) {
        show_difference(want, got);
        return false;
    }
    if (!json_equal(json_object_get(model->json, "enforced"),
                    json_object_get(outcome->json, "enforced")))
        return wrong("something else was enforced");
    return true;
}

/* Limits that a control group could not be had for: the result says by what means they are kept. */
static bool lacks_cgroup(const struct outcome *model, const struct outcome *outcome)
{
    const json_t *enforced = json_object_get(outcome->json, "enforced");

    return outcome->end.status == 0 && outcome->ran &&
           strcmp(text_at(model->json, "stdout"), text_at(outcome->json, "stdout")) == 0 &&
           (strcmp(text_at(enforced, "memory"), "sampled") == 0 ||
            strcmp(text_at(enforced, "cpu_time"), "sampled") == 0);
}

/* The one lock that a host may lack: then the result says so. */
static bool lacks_landlock(const struct outcome *outcome)
{
    return outcome->end.status == 0 && outcome->ran &&
           json_is_false(json_object_get(json_object_get(outcome->json, "enforced"), "landlock"));
}

static bool ended_well(const struct scenario *scenario, const struct outcome *outcome)
{
    bool ok = nothing_left(scenario, outcome->ran && outcome->end.status);

    test.hangs += outcome->end.hung;
    if (outcome->end.hung)
        ok = wrong("it hung");
    if (outcome->end.left)
        ok = wrong("a process outlived hutch");
    return ok;
}

static bool judge_setup(const struct trace_fault *fault, const struct outcome *model,
                        const struct outcome *outcome)
{
    bool is_exec = strcmp(call_info(fault->call.nr)->name, "execve") == 0;
    int status = !is_exec ? STATUS_FAILED : fault->error == ENOENT ? 127 : 126;

    if (!outcome->end.reached)
        return wrong("the call was never made");
    if (outcome->end.status == 0 && !call_tolerated(&fault->call, fault->error))
        return wrong("the run went on as if nothing had happened");
    if (outcome->end.status == 0)
        return lacks_landlock(outcome) || lacks_cgroup(model, outcome) || confined(model, outcome);
    if (outcome->ran || outcome->end.executed)
        return wrong("the command has run; status %d", outcome->end.status);
    return refused(outcome, status);
}

/* The command may have run already, or part of the way. */
static bool judge_late(const struct trace_fault *fault, const struct outcome *model,
                       const struct outcome *outcome)
{
    /* A result that cannot be made, or written down: there is only stderr left to say so. */
    bool writes = fault->call.nr == SYS_write || fault->call.nr == SYS_writev;
    if (fault->call.role == ROLE_ENGINE && (writes || !outcome->json) && outcome->end.status != 0)
        return (outcome->end.status == STATUS_FAILED && outcome->err[0]) ||
               wrong("status %d, stderr: %s", outcome->end.status, outcome->err);
    return outcome->end.status == 0 ? confined(model, outcome) : refused(outcome, STATUS_FAILED);
}

/*
 * Some calls are made only when init is slower than the process beside it, or the engine: such a run is tried
 * again.
 */
static struct outcome run_until_reached(const struct scenario *scenario,
                                        const struct trace_fault *fault)
{
    struct outcome outcome = run(scenario, NULL, fault);

    for (int i = 1; i < TRIES_MAX && !outcome.end.reached && outcome.end.status == 0; i++) {
        outcome_clear(&outcome);
        outcome = run(scenario, NULL, fault);
    }
    return outcome;
}

static bool judge(const struct scenario *scenario, const struct outcome *model,
                  const struct trace_fault *fault)
{
    struct outcome outcome = fault->call.late ? run(scenario, NULL, fault)
                                              : run_until_reached(scenario, fault);
    bool ok = ended_well(scenario, &outcome);

    if (ok && fault->call.late)
        ok = judge_late(fault, model, &outcome);
    else if (ok)
        ok = judge_setup(fault, model, &outcome);
    if (!ok)
        wrong("... when call %u of %s by the %s%s failed with %s", fault->call.nth,
              call_info(fault->call.nr)->name, role_name(fault->call.role),
              fault->call.late ? ", late," : "", strerrorname_np(fault->error));
    outcome_clear(&outcome);
    return ok;
}

/* ---- Tests ---- */

static bool is_same_kind(const struct trace_call *a, const struct trace_call *b)
{
    return a->role == b->role && a->nr == b->nr && a->late == b->late;
}

/* Whether the n-th of `count` calls of a kind is tried, when `most` are: evenly spread. */
static bool is_sampled(size_t n, size_t count, size_t most)
{
    return count <= most || n * most / count != (n + 1) * most / count;
}

/* One line for all calls of one kind by one role. */
static void fail_calls(const struct scenario *scenario, const struct outcome *model,
                       const struct trace_log *log, struct trace_call kind)
{
    const struct call_info *info = call_info(kind.nr);
    size_t count = 0;
    size_t n = 0;
    unsigned runs = 0;
    bool ok = true;

    for (size_t i = 0; i < log->count; i++)
        count += is_same_kind(&log->calls[i], &kind);
    size_t most = kind.late ? LATE_MAX : scenario->thorough ? count : SAMPLE;
    for (size_t i = 0; i < log->count && test.hangs < HANGS_MAX; i++) {
        struct trace_fault fault = {.call = log->calls[i], .after = info->after};
        if (!is_same_kind(&fault.call, &kind) || call_exempt(&kind) ||
            !(is_sampled(n++, count, most) || test.all))
            continue;
        for (int e = 0; e < (test.all ? CALL_ERRORS_MAX : 1) && info->errors[e]; e++) {
            fault.error = info->errors[e];
            ok = judge(scenario, model, &fault) && ok;
            runs++;
        }
    }
    test.runs += runs;
    if (runs)
        result(ok, "%s: %s%s, %s (%u)", scenario->name, role_name(kind.role),
               kind.late ? ", late" : "", info->name, runs);
}

static bool is_first(const struct trace_log *log, size_t index)
{
    const struct trace_call *call = &log->calls[index];

    for (size_t i = 0; i < index; i++)
        if (is_same_kind(&log->calls[i], call))
            return false;
    return true;
}

/* A kernel, or a filter of a container around us, that lacks a call altogether. */
static void lack_call(const struct scenario *scenario, const struct outcome *model, long nr)
{
    const struct trace_fault fault = {.call = {.role = ROLE_ANY, .nr = nr}, .error = ENOSYS};
    struct outcome outcome = run(scenario, NULL, &fault);
    bool ok = ended_well(scenario, &outcome);

    if (ok && outcome.end.status == 0)
        ok = lacks_landlock(&outcome) || lacks_cgroup(model, &outcome) || confined(model, &outcome);
    else if (ok)
        ok = !outcome.ran ? refused(&outcome, STATUS_FAILED) : wrong("the command has run");
    result(ok, "%s: without %s it %s", scenario->name, call_info(nr)->name,
           outcome.end.status == 0 ? "works as well" : "refuses to run");
    outcome_clear(&outcome);
}

static bool is_first_of_all(const struct trace_log *log, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (log->calls[i].nr == log->calls[index].nr)
            return false;
    return true;
}

/* Calls that kernels got only in this century's twenties, and those that filters like to refuse. */
static bool may_be_lacking(const struct trace_call *call)
{
    return call->nr >= 424 && !call->late;
}

/* Whether init was ready before it was told of a command: it says so then, with one call more. */
static bool was_told_late(const struct trace_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->calls[i].role == ROLE_INIT && log->calls[i].nr == SYS_sendmsg &&
            !log->calls[i].late)
            return true;
    return false;
}

static struct outcome run_model(const struct scenario *scenario, struct trace_log *log)
{
    struct outcome model = run(scenario, log, NULL);

    for (int i = 1; i < TRIES_MAX && was_told_late(log); i++) {
        trace_log_clear(log);
        outcome_clear(&model);
        model = run(scenario, log, NULL);
    }
    return model;
}

/* Who is not seen to make calls has none that could fail. */
static bool everybody_seen(const struct trace_log *log)
{
    static const enum trace_role roles[] = {ROLE_ENGINE, ROLE_INIT, ROLE_COMMAND};
    bool seen[ROLE_COUNT] = {false};
    bool ok = true;

    for (size_t i = 0; i < log->count; i++)
        seen[log->calls[i].role] = seen[log->calls[i].role] || !log->calls[i].late;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (!seen[roles[i]])
            ok = wrong("no call of the %s was seen", role_name(roles[i]));
    return ok;
}

static void test_scenario(const struct scenario *scenario)
{
    struct trace_log log = {0};
    struct outcome model = run_model(scenario, &log);
    struct outcome again = run(scenario, NULL, NULL);

    bool ok = ended_well(scenario, &model) && confined(&model, &model) && confined(&model, &again);
    result(ok, "%s: runs, and twice the same", scenario->name);
    result(everybody_seen(&log), "%s: engine, init and command are seen", scenario->name);
    for (size_t i = 0; ok && i < log.count; i++) {
        if (is_first(&log, i) && (scenario->thorough || !log.calls[i].late))
            fail_calls(scenario, &model, &log, log.calls[i]);
        if (is_first_of_all(&log, i) && may_be_lacking(&log.calls[i]))
            lack_call(scenario, &model, log.calls[i].nr);
    }
    outcome_clear(&model);
    outcome_clear(&again);
    trace_log_clear(&log);
}

/* A test that cannot fail is no test: a weaker sandbox must be seen as one. */
static void test_control(void)
{
    static const struct scenario strict = {.name = "strict"};
    static const struct {
        const char *name;
        struct scenario scenario;
    } weaker[] = {
        {"the host's network", {.flags = {"--net", "host"}}},
        {"one more path to write to", {.flags = {"--write", "../read"}}},
        {"one more variable", {.flags = {"--env", "HUTCH_TEST=1"}}},
        {"a higher limit", {.flags = {"--file-size", "unlimited"}}},
    };
    struct outcome model = run(&strict, NULL, NULL);

    for (size_t i = 0; i < sizeof weaker / sizeof *weaker; i++) {
        struct outcome other = run(&weaker[i].scenario, NULL, NULL);
        result(strcmp(text_at(model.json, "stdout"), text_at(other.json, "stdout")) != 0,
               "control: %s would be noticed", weaker[i].name);
        outcome_clear(&other);
    }
    outcome_clear(&model);
}

/* ---- The scratch directory ---- */

static void copy_file(const char *from, const char *to)
{
    char chunk[65536];
    ssize_t len;
    int src = open(from, O_RDONLY | O_CLOEXEC);
    int dst = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

    while ((len = read(src, chunk, sizeof chunk)) > 0)
        if (write(dst, chunk, (size_t)len) != len)
            bail_out(to);
    if (len < 0 || fchmod(dst, 0755) < 0)
        bail_out(from);
    close(src);
    close(dst);
}

static void make_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        bail_out(path);
    close(fd);
}

static void make_scratch(const char *payload)
{
    strcpy(test.dir, "/var/tmp/hutch-fault-XXXXXX");
    if (!mkdtemp(test.dir) || chmod(test.dir, 0755) < 0 || chdir(test.dir) < 0)
        bail_out("cannot make a scratch directory");
    if (mkdir("work", 0755) < 0 || mkdir("read", 0755) < 0 || mkdir("hide", 0755) < 0)
        bail_out("cannot make directories");
    snprintf(test.work, sizeof test.work, "%s/work", test.dir);
    snprintf(test.begin, sizeof test.begin, "%s/begin.json", test.dir);
    make_file(test.begin, "{}\n");
    make_file("read/file", "read\n");
    make_file("hide/file", "secret\n");
    make_file("work/keep", "keep\n");
    copy_file(payload, "work/state");
    if (chdir("work") < 0 || setenv("HOME", test.dir, 1) < 0)
        bail_out("cannot enter the workspace");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static const char *need_env(const char *name)
{
    const char *path = getenv(name);
    char *real = path ? realpath(path, NULL) : NULL;

    if (!real)
        bail_out(name);
    return real;
}

int main(int argc, char **argv)
{
    test.all = argc > 1 && strcmp(argv[1], "--all") == 0;
    test.hutch = need_env("HUTCH");
    make_scratch(need_env("HUTCH_PAYLOAD"));
    test.mounts = read_all(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    test_control();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        test_scenario(&scenarios[i]);
    if (chdir("/") < 0 || nftw(test.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0)
        result(false, "the scratch directory can be removed");
    printf("# %u runs with a fault\n1..%d\n", test.runs, test.count);
    return test.failed ? 1 : 0;
}
