/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/suggest.h"
#include "cli/cli.h"

/* More than the library takes, so that its own message about size is the one people see. */
enum { POLICY_FILE_MAX = 16 << 20 };

#define NO_TARGET SIZE_MAX

/* Options that are no policy settings. `key` holds the section of help they belong to. */
struct own_option {
    struct hutch_option row;
    size_t target; /* in struct options: const char * when it takes an argument, else bool */
};

#define OWN(flag, short_flag, argument, section, variable, help)                                   \
    {                                                                                              \
        flag, short_flag, argument, section, variable, NULL, help                                  \
    }
#define OWN_WORDS(flag, argument, section, values, help)                                           \
    {                                                                                              \
        flag, NULL, argument, section, NULL, values, help                                          \
    }

static const struct own_option own_options[] = {
    {OWN("--profile", "-p", "NAME", "start", "HUTCH_PROFILE",
         "start from this profile instead of 'default'"),
     offsetof(struct options, profile)},
    {OWN("--policy", NULL, "FILE", "start", NULL, "merge this JSON policy over it; - is stdin"),
     NO_TARGET},
    {OWN_WORDS("--limits", "WHOSE", "start", "profile|auto",
               "those of the profile, or those suggested for the command"),
     offsetof(struct options, limits)},
    {OWN("--cwd", NULL, "DIR", "command", NULL,
         "working directory inside (default: the workspace)"),
     offsetof(struct options, cwd)},
    {OWN("--stdin", NULL, "FILE", "command", NULL, "read input from this file"),
     offsetof(struct options, stdin_path)},
    {OWN("--tty", "-t", NULL, "command", NULL, "give the command a terminal"),
     offsetof(struct options, tty)},
    {OWN("--json", NULL, NULL, "command", NULL, "capture output, print the result as JSON"),
     offsetof(struct options, json)},
    {OWN("--events", NULL, "FILE", "command", NULL, "append events as JSON lines; - is stderr"),
     offsetof(struct options, events_path)},
    {OWN("--usage", NULL, NULL, "command", NULL, "say on stderr at the end what was used"),
     offsetof(struct options, usage)},
    {OWN("--dry-run", NULL, NULL, "command", NULL, "print the plan, run nothing"),
     offsetof(struct options, dry_run)},
    {OWN("--help", "-h", NULL, "command", NULL, "print this help"), offsetof(struct options, help)},
};

enum { OWN_FIRST = 3 }; /* this many own options come before those of the policy */

static const struct {
    const char *key, *title;
} sections[] = {
    {"start", "Where the policy starts"},
    {"isolation", "Isolation"},
    {"filesystem", "Files"},
    {"network", "Network"},
    {"environment", "Environment"},
    {"limits", "Limits"},
    {"syscalls", "System calls"},
    {"identity", "Identity"},
    {"guard", "Guard"},
    {"command", "The command"},
};

const struct hutch_option *options_at(size_t index)
{
    size_t count;
    const struct hutch_option *rows = hutch_options(&count);

    if (index < OWN_FIRST)
        return &own_options[index].row;
    if (index - OWN_FIRST < count)
        return &rows[index - OWN_FIRST];
    index -= count;
    return index < ARRAY_LEN(own_options) ? &own_options[index].row : NULL;
}

const char *options_section(const struct hutch_option *option)
{
    size_t len = strcspn(option->key, ".");

    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        if (strlen(sections[i].key) == len && strncmp(sections[i].key, option->key, len) == 0)
            return sections[i].title;
    }
    return "Other";
}

/* One option as it was given. */
struct given {
    const struct hutch_option *option;
    const char *value; /* NULL when it takes none */
};

enum { FEW = 16 };

struct parser {
    const struct cli_command *command;
    char **next; /* the first word not looked at yet */
    struct given *given;
    size_t count;
    size_t cap;
    struct given few[FEW];
    struct arena arena; /* owns `given` when there are more than these */
};

static const struct hutch_option *find_long(const char *word, size_t len)
{
    const struct hutch_option *row;

    for (size_t i = 0; (row = options_at(i)); i++) {
        if (strlen(row->flag) == len && strncmp(row->flag, word, len) == 0)
            return row;
    }
    return NULL;
}

static const struct hutch_option *find_short(char letter)
{
    const struct hutch_option *row;

    for (size_t i = 0; (row = options_at(i)); i++) {
        if (row->short_flag && row->short_flag[1] == letter)
            return row;
    }
    return NULL;
}

static int unknown_flag(const struct parser *parser, const char *flag, struct hutch_error *err)
{
    const struct hutch_option *row;
    const char *name = parser->command->name;
    struct suggest suggest;

    suggest_init(&suggest, flag);
    for (size_t i = 0; (row = options_at(i)); i++)
        suggest_offer(&suggest, row->flag);

    const char *nearest = suggest_best(&suggest);
    if (nearest)
        return err_set(err, HUTCH_EINVALID, NULL,
                       "unknown flag '%s' (did you mean '%s'?); see 'hutch help %s'", flag, nearest,
                       name);
    return err_set(err, HUTCH_EINVALID, NULL, "unknown flag '%s'; see 'hutch help %s'", flag, name);
}

/* Record an option; its value is `attached`, or the next word when it needs one. */
static int take(struct parser *parser, const struct hutch_option *option, const char *attached,
                struct hutch_error *err)
{
    if (option->argument && !attached)
        attached = *parser->next ? *parser->next++ : NULL;
    if (option->argument && !attached)
        return err_set(err, HUTCH_EINVALID, option->flag, "this flag needs a value: %s",
                       option->argument);
    if (!option->argument && attached)
        return err_set(err, HUTCH_EINVALID, option->flag, "this flag takes no value, got '%s'",
                       attached);

    struct given *given = arena_grow(&parser->arena, parser->given, parser->count, &parser->cap,
                                     sizeof *given);
    if (!given)
        return err_oom(err);
    parser->given = given;
    given[parser->count++] = (struct given){option, attached};
    return 0;
}

static int take_long(struct parser *parser, const char *word, struct hutch_error *err)
{
    size_t len = strcspn(word, "=");
    const struct hutch_option *option = find_long(word, len);

    if (option)
        return take(parser, option, word[len] ? word + len + 1 : NULL, err);

    const char *flag = arena_strndup(&parser->arena, word, len);
    return flag ? unknown_flag(parser, flag, err) : err_oom(err);
}

/* "-t", "-wDIR", "-w DIR", and several letters in one word as long as they take no value. */
static int take_short(struct parser *parser, const char *word, struct hutch_error *err)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct hutch_option *option = find_short(*letter);

        if (!option)
            return unknown_flag(parser, word, err);
        if (option->argument)
            return take(parser, option, letter[1] ? letter + 1 : NULL, err);

        int r = take(parser, option, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int parse_words(struct parser *parser, struct hutch_error *err)
{
    while (*parser->next) {
        const char *word = *parser->next;

        if (word[0] != '-' || word[1] == '\0')
            return 0;
        parser->next++;
        if (str_eq(word, "--"))
            return 0;

        int r = word[1] == '-' ? take_long(parser, word, err) : take_short(parser, word, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static const struct own_option *own_of(const struct hutch_option *option)
{
    for (size_t i = 0; i < ARRAY_LEN(own_options); i++) {
        if (&own_options[i].row == option)
            return &own_options[i];
    }
    return NULL;
}

static void set_own(struct options *options, const struct given *given)
{
    const struct own_option *own = own_of(given->option);

    if (!own || own->target == NO_TARGET)
        return;

    void *target = (char *)options + own->target;
    if (given->value)
        *(const char **)target = given->value;
    else
        *(bool *)target = true;
}

static int read_all(int fd, const char *path, struct buf *buf, struct hutch_error *err)
{
    char chunk[16384];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, -errno, "--policy", "cannot read '%s'", path);
        buf_add(buf, chunk, (size_t)n);
        if (buf->failed)
            return err_set(err, HUTCH_EPOLICY, "--policy", "'%s' is too large for a policy", path);
    }
    return 0;
}

static int merge_file(struct hutch_policy *policy, const char *path, struct hutch_error *err)
{
    bool is_stdin = str_eq(path, "-");
    fd_auto int file = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    buf_auto struct buf text;

    buf_init(&text, POLICY_FILE_MAX);
    if (!is_stdin && file < 0)
        return err_sys(err, -errno, "--policy", "cannot open '%s'", path);

    int r = read_all(is_stdin ? STDIN_FILENO : file, path, &text, err);
    if (r < 0)
        return r;
    return hutch_policy_merge(policy, text.len ? text.data : "", text.len, path, err);
}

static int merge_files(struct hutch_policy *policy, const struct parser *parser,
                       struct hutch_error *err)
{
    bool stdin_read = false;

    for (size_t i = 0; i < parser->count; i++) {
        const struct given *given = &parser->given[i];

        if (!str_eq(given->option->flag, "--policy"))
            continue;
        if (str_eq(given->value, "-")) {
            if (stdin_read)
                return err_set(err, HUTCH_EINVALID, "--policy", "stdin can be read only once");
            stdin_read = true;
        }

        int r = merge_file(policy, given->value, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* NULL when the variable says nothing: unset and empty are the same. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int set_variables(struct hutch_policy *policy, struct hutch_error *err)
{
    size_t count;
    const struct hutch_option *rows = hutch_options(&count);

    for (size_t i = 0; i < count; i++) {
        const char *value = rows[i].variable ? variable(rows[i].variable) : NULL;
        if (!value)
            continue;

        int r = hutch_policy_set(policy, rows[i].flag, value, rows[i].variable, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int set_flags(struct hutch_policy *policy, const struct parser *parser,
                     struct hutch_error *err)
{
    for (size_t i = 0; i < parser->count; i++) {
        const struct given *given = &parser->given[i];
        if (own_of(given->option))
            continue;

        int r = hutch_policy_set(policy, given->option->flag, given->value, NULL, err);
        if (r < 0)
            return r;
    }
    return 0;
}

bool options_limits_auto(const struct options *options)
{
    return options->limits && str_eq(options->limits, "auto");
}

static int check_limits(const struct options *options, struct hutch_error *err)
{
    if (!options->limits || options_limits_auto(options) || str_eq(options->limits, "profile"))
        return 0;
    return err_set(err, HUTCH_EINVALID, "--limits", "'%s' is not one of profile|auto",
                   options->limits);
}

/* A profile's limits on time are meant for programs, not for somebody who thinks. */
static int lift_time_limits(struct hutch_policy *policy, struct hutch_error *err)
{
    int r = hutch_policy_set(policy, "--timeout", "unlimited", NULL, err);

    return r < 0 ? r : hutch_policy_set(policy, "--cpu-time", "unlimited", NULL, err);
}

/* `said_by` is what named the profile, for errors about its name. */
static int merge_profile(const char *profile, const char *said_by, struct hutch_policy **ret,
                         struct hutch_error *err)
{
    const char *name = profile ? profile : variable("HUTCH_PROFILE");
    int r = hutch_policy_new(name, ret, err);

    if (r < 0 && str_eq(err->where, "profile"))
        snprintf(err->where, sizeof err->where, "%s", profile ? said_by : "HUTCH_PROFILE");
    return r;
}

static int new_policy(const char *profile, const char *said_by, const char *const *argv,
                      bool interactive, struct hutch_policy **ret, struct hutch_error *err)
{
    struct hutch_policy *policy = NULL;

    int r = merge_profile(profile, said_by, &policy, err);
    if (r == 0 && interactive)
        r = lift_time_limits(policy, err);
    if (r == 0 && argv && *argv)
        r = hutch_policy_suggest(policy, argv, err);
    if (r == 0)
        r = set_variables(policy, err);
    if (r < 0)
        hutch_policy_free(policy);
    else
        *ret = policy;
    return r;
}

int options_new_policy(const char *profile, const char *const *argv, struct hutch_policy **ret,
                       struct hutch_error *err)
{
    return new_policy(profile, "profile", argv, false, ret, err);
}

static int make_policy(struct options *options, const struct parser *parser,
                       struct hutch_error *err)
{
    const char *const *argv = options_limits_auto(options) ? options->argv : NULL;

    int r = new_policy(options->profile, "--profile", argv, parser->command->interactive,
                       &options->policy, err);
    if (r == 0)
        r = merge_files(options->policy, parser, err);
    if (r == 0)
        r = set_flags(options->policy, parser, err);
    return r;
}

/* Whether a caller whose words could not all be parsed seems to expect JSON. */
static bool wants_json(char **words)
{
    for (; *words && !str_eq(*words, "--"); words++) {
        if (str_eq(*words, "--json"))
            return true;
    }
    return false;
}

static int parse(struct parser *parser, struct options *options, struct hutch_error *err)
{
    int r = parse_words(parser, err);

    for (size_t i = 0; i < parser->count; i++)
        set_own(options, &parser->given[i]);
    if (r < 0) {
        options->json |= wants_json(parser->next);
        return r;
    }
    if (options->help)
        return 0;
    if (!*parser->next && !parser->command->interactive)
        return err_set(err, HUTCH_EINVALID, NULL, "no command given; see 'hutch help %s'",
                       parser->command->name);
    options->argv = (const char *const *)parser->next;
    r = check_limits(options, err);
    return r < 0 ? r : make_policy(options, parser, err);
}

int options_parse(const struct cli_command *command, char **args, struct options *ret,
                  struct hutch_error *err)
{
    struct parser parser = {.command = command, .next = args, .cap = FEW};

    *ret = (struct options){0};
    parser.given = parser.few;
    arena_init(&parser.arena);
    int r = parse(&parser, ret, err);
    arena_clear(&parser.arena);
    return r;
}

void options_clear(struct options *options)
{
    hutch_policy_free(options->policy);
    options->policy = NULL;
}
