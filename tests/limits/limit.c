/* SPDX-License-Identifier: Apache-2.0 */
#include "limit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUPERVISOR_KB 10240.0
#define ANSWER_MS 100.0
#define ARGS_MAX 64
#define KEPT_MAX 256
#define CGROUP_ROOT "/sys/fs/cgroup"

/* ---- Where we are ---- */

double limit_slow(void)
{
    const char *text = getenv("LIMITS_SLOW");
    double slow = text ? strtod(text, NULL) : 1;

    return slow >= 1 ? slow : 1;
}

void limit_note(const char *fmt, ...)
{
    va_list args;

    printf("# ");
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

const char *limit_tier(void)
{
    struct limit_run run = limit_run(LIST("--memory", "64M"), BOMB("exit", "0"));

    REQUIRE(run.status == 0);
    return limit_enforced(&run, "cgroup");
}

bool limit_by_systemd(void)
{
    return getenv("LIMITS_BY_SYSTEMD") != NULL;
}

static struct {
    const char *name;
    const char **paths;
    size_t count;
    size_t max;
} search;

static int look_at_cgroup(const char *path, const struct stat *st, int type, struct FTW *at)
{
    size_t len = strlen(search.name);
    const char *name = path + at->base;
    bool found = strncmp(name, search.name, len) == 0 &&
                 (!name[len] || strcmp(name + len, ".scope") == 0);

    (void)st;
    if (type == FTW_D && found && search.count < search.max)
        search.paths[search.count++] = box_text("%s", path);
    return 0;
}

size_t limit_cgroups(const char *name, const char **ret, size_t max)
{
    search.name = name;
    search.paths = ret;
    search.count = 0;
    search.max = max;
    /* Others come and go meanwhile: an error ends the walk early, which no test is about. */
    nftw(CGROUP_ROOT, look_at_cgroup, 16, FTW_PHYS);
    return search.count;
}

/* ---- Running ---- */

static void append(const char **args, size_t *count, const char *const *list)
{
    for (; list && *list; list++) {
        REQUIRE(*count < ARGS_MAX - 1);
        args[(*count)++] = *list;
    }
}

static struct limit_run start(const char *const *flags, const char *const *argv, bool events)
{
    static int number;
    const char *args[ARGS_MAX] = {"run"};
    size_t count = 1;
    struct limit_run run = {0};

    append(args, &count, flags);
    append(args, &count, LIST("--json"));
    if (events) {
        run.events_path = box_text("%s/events-%d", box.out, ++number);
        box_expect(box_text("out/events-%d", number));
        append(args, &count, LIST("--events", run.events_path));
    }
    append(args, &count, LIST("--"));
    append(args, &count, argv);
    run.ms = -box_now_ms();
    run.child = drive_start(args, NULL, NULL);
    return run;
}

struct limit_run limit_start(const char *const *flags, const char *const *argv)
{
    return start(flags, argv, true);
}

/* The most so far; a process that has ended tells nothing any more. */
static void look_at_memory(struct limit_run *run)
{
    char text[4096];
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/status", (int)run->child.pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (len <= 0)
        return;
    text[len] = '\0';
    const char *line = strstr(text, "VmHWM:");
    double kb = line ? strtod(line + strlen("VmHWM:"), NULL) : 0;
    run->hwm_kb = kb > run->hwm_kb ? kb : run->hwm_kb;
}

struct text {
    char *data;
    size_t len;
};

static bool take(int *fd, struct text *text)
{
    text->data = realloc(text->data, text->len + 65537);
    REQUIRE(text->data);
    ssize_t len = read(*fd, text->data + text->len, 65536);
    text->len += len > 0 ? (size_t)len : 0;
    text->data[text->len] = '\0';
    if (len > 0 || (len < 0 && errno == EINTR))
        return true;
    close(*fd);
    *fd = -1;
    return false;
}

/* Read all that hutch prints, and look at its memory now and then. */
static void listen_to(struct limit_run *run)
{
    struct text texts[2] = {{0}, {0}};

    look_at_memory(run); /* with its input it may end */
    close(run->child.in);
    while (run->child.out >= 0 || run->child.err >= 0) {
        struct pollfd fds[] = {{.fd = run->child.out, .events = POLLIN},
                               {.fd = run->child.err, .events = POLLIN}};
        REQUIRE(poll(fds, 2, 20) >= 0);
        look_at_memory(run);
        if (fds[0].revents)
            take(&run->child.out, &texts[0]);
        if (fds[1].revents)
            take(&run->child.err, &texts[1]);
    }
    run->out = box_keep(texts[0].data);
    run->err = box_keep(texts[1].data);
}

/* Until the test ends: a leak is only what nobody points to. */
static json_t *keep_json(json_t *json)
{
    static json_t *kept[KEPT_MAX];
    static size_t count;

    REQUIRE(count < KEPT_MAX);
    return kept[count++] = json;
}

static json_t *parse_events(const char *path)
{
    json_t *events = keep_json(json_array());
    char *save = NULL;

    for (char *line = strtok_r(box_read(path), "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        json_t *event = json_loads(line, 0, NULL);
        box_check(event != NULL, __FILE__, __LINE__, "no event: %s", line);
        json_array_append_new(events, event);
    }
    return events;
}

void limit_finish(struct limit_run *run)
{
    listen_to(run);
    run->status = drive_wait(run->child.pid, NULL);
    run->ms += box_now_ms();
    run->result = keep_json(json_loads(run->out, 0, NULL));
    run->events = run->events_path ? parse_events(run->events_path) : NULL;
}

struct limit_run limit_run(const char *const *flags, const char *const *argv)
{
    struct limit_run run = limit_start(flags, argv);

    limit_finish(&run);
    return run;
}

struct limit_run limit_run_quietly(const char *const *flags, const char *const *argv)
{
    struct limit_run run = start(flags, argv, false);

    limit_finish(&run);
    return run;
}

/* Little of everything, for as long as the other one takes to come to its limit. */
struct limit_run limit_run_beside(const char *const *flags, const char *const *argv)
{
    const char *ms = box_text("%.0f", 200 * limit_slow());
    const char *args[ARGS_MAX] = {"-w", box_text("%s/beside", box.dir)};
    size_t count = 2;

    /* A workspace of its own: what is added to a directory is everybody's who may write there. */
    box_dir("beside");
    REQUIRE(drive_shell("cp payload ../beside/") == 0);
    box_expect("beside/payload");
    append(args, &count, flags);
    /* The processors are everybody's: it may take longer beside one that spins. */
    append(args, &count, LIST("--timeout", "60s"));
    struct limit_run sibling = limit_start(
        args, BOMB("forks", "3", ",", "memory", "4M", ",", "fill", "/tmp/x", "1M", ",", "spin",
                   "50", ",", "sleep", ms, ",", "forks", "1", ",", "memory", "1M"));
    struct limit_run run = limit_run(flags, argv);

    limit_finish(&sibling);
    box_check(sibling.status == 0 && strcmp(limit_reason(&sibling), "exited") == 0, __FILE__,
              __LINE__, "a sandbox beside it was harmed, reason %s, status %d:\n%s%s",
              limit_reason(&sibling), sibling.status, sibling.out, sibling.err);
    CHECK_INT(0, limit_events(&sibling, "limit.exceeded", NULL));
    return run;
}

const char *limit_refused(const char *const *flags)
{
    const char *args[ARGS_MAX] = {"run"};
    size_t count = 1;

    append(args, &count, flags);
    append(args, &count, LIST("--", "./payload", "fill", "ran", "1"));
    struct drive_end end = drive_cli(args);
    CHECK_INT(125, end.status);
    CHECK_TEXT("", end.out);
    return end.err;
}

/* ---- Looking ---- */

const char *limit_reason(const struct limit_run *run)
{
    const char *reason = json_string_value(json_object_get(run->result, "reason"));

    return reason ? reason : "";
}

double limit_usage(const struct limit_run *run, const char *name)
{
    const json_t *value = json_object_get(json_object_get(run->result, "usage"), name);

    return json_is_number(value) ? json_number_value(value) : -1;
}

const char *limit_enforced(const struct limit_run *run, const char *name)
{
    const json_t *value = json_object_get(json_object_get(run->result, "enforced"), name);
    const char *text = json_string_value(value);

    if (text)
        return text;
    return json_is_true(value) ? "true" : json_is_false(value) ? "false" : "";
}

const char *limit_stdout(const struct limit_run *run)
{
    const char *out = json_string_value(json_object_get(run->result, "stdout"));

    return out ? out : "";
}

/* The rest of the line that begins with `verb`, or NULL. */
static const char *said(const struct limit_run *run, const char *verb)
{
    const char *out = limit_stdout(run);
    size_t len = strlen(verb);

    for (const char *p = out; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
        if (strncmp(p, verb, len) == 0 && p[len] == ' ')
            return p + len + 1;
    return NULL;
}

double limit_said(const struct limit_run *run, const char *verb)
{
    const char *text = said(run, verb);

    return text ? strtod(text, NULL) : -1;
}

const char *limit_said_error(const struct limit_run *run, const char *verb)
{
    const char *text = said(run, verb);
    const char *error = text ? strchr(text, ' ') : NULL;

    return error ? box_text("%.*s", (int)strcspn(error + 1, "\n"), error + 1) : "";
}

static const json_t *find_event(const struct limit_run *run, const char *type, const char *limit,
                                int *ret_count)
{
    const json_t *first = NULL;
    size_t i;
    json_t *event;

    *ret_count = 0;
    json_array_foreach(run->events, i, event)
    {
        const char *its_type = json_string_value(json_object_get(event, "type"));
        const char *its_limit = json_string_value(json_object_get(event, "limit"));
        if (!its_type || strcmp(its_type, type) != 0 ||
            (limit && (!its_limit || strcmp(its_limit, limit) != 0)))
            continue;
        if (!first)
            first = event;
        (*ret_count)++;
    }
    return first;
}

int limit_events(const struct limit_run *run, const char *type, const char *limit)
{
    int count;

    find_event(run, type, limit, &count);
    return count;
}

double limit_event_time(const struct limit_run *run, const char *type, const char *limit)
{
    int count;
    const json_t *event = find_event(run, type, limit, &count);

    return event ? json_number_value(json_object_get(event, "time")) : -1;
}

/* ---- Checking ---- */

void limit_check_end(const struct limit_run *run, const char *reason, int status, const char *file,
                     int line)
{
    box_check(strcmp(limit_reason(run), reason) == 0 && run->status == status, file, line,
              "ended with reason '%s', status %d; wanted '%s', %d:\n%s%s", limit_reason(run),
              run->status, reason, status, run->out, run->err);
}

void limit_check_near(double want, double got, double more, const char *what, const char *file,
                      int line)
{
    box_check(got >= 0.9 * want && got <= 1.1 * want + more, file, line,
              "%s is %.1f, wanted about %.1f", what, got, want);
}

void limit_check_bound(double got, double bound, bool most, const char *what, const char *file,
                       int line)
{
    box_check(most ? got <= bound : got >= bound, file, line, "%s is %.1f, wanted %s %.1f", what,
              got, most ? "at most" : "at least", bound);
}

void limit_check_exceeded(const struct limit_run *run, const char *limit)
{
    double at = limit_event_time(run, "limit.exceeded", limit);
    double end = limit_event_time(run, "run.exited", NULL);

    /* None when it went from little to too much at once. */
    CHECK_MOST(1, limit_events(run, "limit.warning", limit));
    box_check(limit_events(run, "limit.exceeded", NULL) == 1 && at >= 0, __FILE__, __LINE__,
              "%d events limit.exceeded, wanted one, about %s",
              limit_events(run, "limit.exceeded", NULL), limit);
    CHECK_LEAST(limit_event_time(run, "limit.warning", limit), at);
    limit_note("%s: over %.0f ms after the limit was seen", limit, end - at);
    CHECK_MOST(ANSWER_MS * limit_slow(), end - at);
}

static bool has_no_group(void *name)
{
    const char *group;

    return limit_cgroups(name, &group, 1) == 0;
}

void limit_check_clean(const struct limit_run *run)
{
    const char *sandbox = json_string_value(json_object_get(run->result, "sandbox"));

    CHECK(sandbox != NULL);
    /* A moment after the end: nobody waits for that. */
    if (sandbox && !box_eventually(has_no_group, box_text("hutch-%s", sandbox)))
        box_check(false, __FILE__, __LINE__, "a group of sandbox %s is left", sandbox);
    limit_note("the supervisor had at most %.0f KiB, the run took %.0f ms", run->hwm_kb, run->ms);
    if (run->ms > 100) /* there was time to look */
        CHECK_LEAST(1, run->hwm_kb);
    CHECK_MOST(SUPERVISOR_KB, run->hwm_kb);
}
