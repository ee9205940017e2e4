/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <hutch.h>

#include "base/str.h"
#include "cli/help.h"
#include "cli/out.h"

/* Where the words of a row begin. */
enum {
    NAME_COLUMN = 8,
    VALUE_COLUMN = 19,
    REASON_COLUMN = 30,
};

/* ---- For people ---- */

static const char *colour_of(enum hutch_host_state state)
{
    switch (state) {
    case HUTCH_HOST_OK: return "\033[32m";
    case HUTCH_HOST_WEAKER: return "\033[33m";
    case HUTCH_HOST_MISSING: return "\033[31m";
    default: return "";
    }
}

/* A state, in `width` columns. */
static void put_state(enum hutch_host_state state, int width)
{
    bool colour = out_colour(stdout);

    printf("%s%-*s%s", colour ? colour_of(state) : "", width, hutch_host_state_name(state),
           colour ? "\033[0m" : "");
}

/* Text that may have somebody's path in it, from column `at` on. */
static void put_text(const char *text, int at)
{
    char safe[1024];

    help_wrapped(str_printable(text, safe, sizeof safe), at);
}

static const char *value_word(const char *value)
{
    if (!value)
        return "?";
    return str_eq(value, "true") ? "yes" : str_eq(value, "false") ? "no" : value;
}

/* What helps with several facts is said with the first of them. */
static bool is_said_before(const struct hutch_host *host, const struct hutch_host_fact *fact)
{
    for (const struct hutch_host_fact *const *other = host->facts; *other != fact; other++)
        if ((*other)->help && str_eq((*other)->help, fact->help))
            return true;
    return false;
}

static void print_fact(const struct hutch_host *host, const struct hutch_host_fact *fact)
{
    put_state(fact->state, NAME_COLUMN);
    printf("%-*s", VALUE_COLUMN - NAME_COLUMN, fact->name);
    if (!fact->reason) {
        puts(value_word(fact->value));
        return;
    }
    printf("%-*s", REASON_COLUMN - VALUE_COLUMN, value_word(fact->value));
    put_text(fact->reason, REASON_COLUMN);
    if (fact->help && !is_said_before(host, fact))
        put_text(fact->help, printf("%*s", REASON_COLUMN, "help: "));
}

static size_t count_facts(const struct hutch_host *host, enum hutch_host_state state)
{
    size_t count = 0;

    for (const struct hutch_host_fact *const *fact = host->facts; *fact; fact++)
        count += (*fact)->state == state;
    return count;
}

/* Whether the row of a fact has the error as its reason. */
static bool is_blamed(const struct hutch_host *host)
{
    for (const struct hutch_host_fact *const *fact = host->facts; *fact; fact++)
        if ((*fact)->reason && str_eq((*fact)->reason, host->error.msg))
            return true;
    return false;
}

static void print_verdict(const struct hutch_host *host)
{
    size_t missing = count_facts(host, HUTCH_HOST_MISSING);
    size_t weaker = count_facts(host, HUTCH_HOST_WEAKER);

    printf("hutch %s, Linux %s, %s\n", hutch_version(), host->kernel, host->machine);
    if (!host->ok && is_blamed(host))
        puts("No sandbox can be run here.");
    else if (!host->ok)
        put_text(host->error.msg, printf("No sandbox can be run here: "));
    else if (missing + weaker == 0)
        puts("Sandboxes run here, and nothing is missing.");
    else
        printf("Sandboxes run here. Missing: %zu, weaker than elsewhere: %zu.\n", missing, weaker);
    putchar('\n');
}

static void print_host(const struct hutch_host *host)
{
    print_verdict(host);
    for (const struct hutch_host_fact *const *fact = host->facts; *fact; fact++)
        print_fact(host, *fact);
}

/* ---- For programs ---- */

static int print_json(const struct hutch_host *host, struct hutch_error *err)
{
    str_auto char *text = NULL;

    int r = hutch_host_to_json(host, &text, err);
    if (r == 0)
        out_document(text);
    return r;
}

int cmd_doctor(const struct cli_command *self, char **args)
{
    bool json = args[0] && str_eq(args[0], "--json");
    struct hutch_host *host;
    struct hutch_error err;

    if (args[0] && (str_eq(args[0], "--help") || str_eq(args[0], "-h"))) {
        help_command(self);
        return out_finish(0, CLI_FAILED);
    }
    if (args[0] && (!json || args[1])) {
        out_line("usage: hutch %s", self->usage);
        return CLI_USAGE;
    }
    int r = hutch_doctor(&host, &err);
    if (r < 0)
        return out_error(&err);
    int status = host->ok ? 0 : CLI_FAILED;
    if (json)
        r = print_json(host, &err);
    else
        print_host(host);
    hutch_host_free(host);
    return r < 0 ? out_error(&err) : out_finish(status, CLI_FAILED);
}
