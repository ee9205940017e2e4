/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command is recognized by patterns such as "npm install": the name of the program, then words
 * that must be its first ones, options aside. The pattern with most words wins. A program that runs
 * another (env, timeout, sh -c) is looked through: what it runs counts when that is known, else it
 * counts itself.
 *
 * Names are all that is looked at, and whoever chooses the command chooses its name. So this is
 * advice about fair use: the largest limits of the table are ones a host can bear.
 */
#include "policy/recommend.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/recommend_data.h"
#include "policy/script.h"
#include "policy/set.h"

/* "sudo env nice timeout 5 sh -c ..." is as deep as anybody goes. */
enum { NESTING_MOST = 8 };

enum { LIMITS_MAX = 16 }; /* more than there are */

static const char *next_word(const char *list)
{
    return list + strlen(list) + 1;
}

/* A command whose name is ready to be compared. */
struct command {
    const char *const *argv;
    const char *name; /* without its directory */
    size_t len;
    size_t plain_len; /* without the version: that of "python" in "python3.12" */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "python3.12", "gcc-13": digits and dots at the end, maybe after a hyphen. Never all of it. */
static size_t length_without_version(const char *name, size_t len)
{
    size_t end = len;

    while (end > 0 && (is_digit(name[end - 1]) || (name[end - 1] == '.' && end < len)))
        end--;
    if (end < len && !is_digit(name[end]))
        return len;
    if (end > 0 && end < len && name[end - 1] == '-')
        end--;
    return end > 0 ? end : len;
}

static struct command command_of(const char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash ? slash + 1 : argv[0];
    size_t len = strlen(name);

    return (struct command){
        .argv = argv,
        .name = name,
        .len = len,
        .plain_len = length_without_version(name, len),
    };
}

/* "NAME=value": set for the command, no word of it. */
static bool is_assignment(const char *word)
{
    return word[0] != '-' && word[0] != '=' && strchr(word, '=');
}

static bool ends_with(const char *text, size_t len, const char *end, size_t end_len)
{
    return len > end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* Whether a pattern's first word, of `len` bytes, is this program. "*-gcc" is any that ends so. */
static bool is_program(const struct command *command, const char *word, size_t len)
{
    if (word[0] == '*')
        return ends_with(command->name, command->plain_len, word + 1, len - 1);
    return (len == command->len || len == command->plain_len) &&
           memcmp(command->name, word, len) == 0;
}

static bool takes_value(const struct command *command, const char *option)
{
    for (const char *row = recommend_options; *row; row = next_word(row)) {
        size_t len = strcspn(row, " ");

        if (str_eq(row + len + 1, option) && is_program(command, row, len))
            return true;
    }
    return false;
}

/* Words that are no sub-command: options, "+nightly", "CC=gcc", the 8 of "-j 8". */
static bool is_passed_over(const char *word)
{
    return word[0] == '-' || word[0] == '+' || is_assignment(word) ||
           word[strspn(word, "0123456789")] == '\0';
}

/* The index behind the first word that is no option when that is `want`; 0 when it is another. */
static size_t find_word(const struct command *command, size_t at, const char *want, size_t len)
{
    const char *const *argv = command->argv;

    for (; argv[at]; at++) {
        if (strncmp(argv[at], want, len) == 0 && argv[at][len] == '\0')
            return at + 1;
        if (!is_passed_over(argv[at]))
            return 0;
        if (takes_value(command, argv[at]) && argv[at + 1])
            at++;
    }
    return 0;
}

/* How many words of the command the pattern stands for, with the options between; 0: it does not. */
static size_t match(const struct command *command, const char *pattern)
{
    size_t len = strcspn(pattern, " ");
    size_t used = is_program(command, pattern, len) ? 1 : 0;

    while (used > 0 && pattern[len]) {
        pattern += len + 1;
        len = strcspn(pattern, " ");
        used = find_word(command, used, pattern, len);
    }
    return used;
}

static size_t count_words(const char *pattern)
{
    size_t count = 1;

    while ((pattern = strchr(pattern, ' '))) {
        pattern++;
        count++;
    }
    return count;
}

/* The commands of one kind that say more about the command than *best does. */
static void match_kind(const struct command *command, const struct recommend_kind *kind,
                       struct recommendation *best)
{
    for (const char *row = kind->commands; *row; row = next_word(row)) {
        if (best->command && count_words(row) <= count_words(best->command))
            continue;
        if (match(command, row) > 0)
            *best = (struct recommendation){kind, row};
    }
}

/* What the wrapper runs, behind its own words and options; NULL when the command is no wrapper. */
static const char *const *unwrap(const struct command *command)
{
    const char *const *rest = NULL;
    size_t most = 0;

    for (const char *row = recommend_wrappers; *row; row = next_word(row)) {
        size_t words = count_words(row + 1);
        size_t used = words > most ? match(command, row + 1) : 0;
        if (used == 0)
            continue;

        most = words;
        rest = command->argv + used;
        for (; *rest && ((*rest)[0] == '-' || is_assignment(*rest)); rest++) {
            if (takes_value(command, *rest) && rest[1])
                rest++;
        }
        for (char skip = row[0]; skip > '0' && *rest; skip--)
            rest++;
    }
    return rest;
}

static bool is_shell(const struct command *command)
{
    for (const char *row = recommend_shells; *row; row = next_word(row)) {
        if (is_program(command, row, strlen(row)))
            return true;
    }
    return false;
}

/* The script of "sh -c SCRIPT" and "bash -euo pipefail -c SCRIPT"; NULL when there is none. */
static const char *find_script(const struct command *command)
{
    const char *const *word = command->argv + 1;
    bool is_text = false;

    if (!is_shell(command))
        return NULL;
    for (; *word && ((*word)[0] == '-' || (*word)[0] == '+'); word++) {
        bool one = (*word)[1] == '-';

        is_text = is_text || (!one && strchr(*word, 'c'));
        if (!one && (strchr(*word, 'o') || strchr(*word, 'O')) && word[1])
            word++;
    }
    return is_text ? *word : NULL;
}

static struct recommendation find(const char *const *argv, int depth)
{
    struct recommendation best = {0};
    struct script script;

    while (*argv && is_assignment(*argv))
        argv++;
    if (!*argv)
        return best;
    struct command command = command_of(argv);
    for (size_t i = 0; i < recommend_kind_count; i++)
        match_kind(&command, &recommend_kinds[i], &best);

    const char *const *inner = unwrap(&command);
    const char *text = inner ? NULL : find_script(&command);
    if (text && script_read(&script, text, recommend_preludes))
        inner = script.words;
    if (!inner || depth == NESTING_MOST)
        return best;
    struct recommendation found = find(inner, depth + 1);
    return found.command ? found : best;
}

struct recommendation recommend_find(const char *const *argv)
{
    struct recommendation found = find(argv, 0);

    if (!found.command)
        found.kind = &recommend_kinds[0];
    return found;
}

struct hutch_suggestion *recommend_pack(struct recommendation found)
{
    struct {
        struct hutch_suggestion head;
        struct hutch_suggested_limit limits[LIMITS_MAX + 1];
    } *packed = calloc(1, sizeof(*packed));
    size_t count = 0;

    if (!packed)
        return NULL;
    for (const char *at = found.kind->limits; *at && count < LIMITS_MAX; count++) {
        packed->limits[count].name = at;
        at = next_word(at);
        packed->limits[count].value = at;
        at = next_word(at);
    }
    packed->head = (struct hutch_suggestion){
        .kind = found.kind->kind,
        .reason = found.kind->reason,
        .command = found.command,
        .limits = packed->limits,
    };
    return &packed->head;
}

static enum policy_id limit_id(const char *key)
{
    size_t id = 0;

    while (id < POLICY_FIELD_COUNT &&
           !(policy_fields[id].section && str_eq(policy_fields[id].section, "limits") &&
             str_eq(policy_fields[id].key, key)))
        id++;
    return (enum policy_id)id;
}

int recommend_apply(struct policy *policy, struct recommendation found, struct hutch_error *err)
{
    char origin[sizeof(err->where)];
    const struct set_source source = {.origin = origin};
    int r = 0;

    if (!found.command)
        return 0;
    snprintf(origin, sizeof(origin), "limits suggested for '%s'", found.command);
    for (const char *at = found.kind->limits; *at && r == 0; at = next_word(at)) {
        enum policy_id id = limit_id(at);

        if (id == POLICY_FIELD_COUNT)
            return err_set(err, HUTCH_EINTERNAL, origin, "there is no limit '%s'", at);
        at = next_word(at);
        r = set_text(policy, id, at, &source, err);
    }
    return r;
}
