/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/out.h"

enum {
    HELP_WIDTH = 80,
    COMMAND_COLUMN = 11, /* where the text beside a command begins */
    OPTION_COLUMN = 30,  /* where the text beside an option begins */
    VALUES_MAX = 32,     /* more than this of "a|b|c" does not help anyone */
};

static void heading(FILE *stream, const char *text)
{
    bool colour = out_colour(stream);

    fprintf(stream, "%s%s:%s\n", colour ? "\033[1m" : "", text, colour ? "\033[0m" : "");
}

void help_overview(FILE *stream)
{
    fputs("hutch runs code you do not trust, on your own machine.\n\n", stream);
    heading(stream, "Usage");
    fputs("  hutch COMMAND [OPTIONS] [ARG...]\n  hutch --version\n\n", stream);
    heading(stream, "Commands");
    for (const struct cli_command *row = cli_commands; row->name; row++)
        fprintf(stream, "  %-*s%s\n", COMMAND_COLUMN - 2, row->name, row->summary);
    fputc('\n', stream);
    heading(stream, "Examples");
    fputs("  hutch run -- make test           the current directory is writable,\n"
          "                                   the rest read-only, no network\n"
          "  hutch run -w tmpfs -- sh         nothing it writes is kept\n"
          "  hutch explain -- make test       what would be done, without doing it\n\n"
          "'hutch help COMMAND' says more about one command.\n",
          stream);
}

void help_wrapped(const char *text, int at)
{
    int column = at;

    while (*text) {
        int len = (int)strcspn(text, " ");

        if (column > at && column + 1 + len > HELP_WIDTH) {
            printf("\n%*s", at, "");
            column = at;
        } else if (column > at) {
            putchar(' ');
            column++;
        }
        printf("%.*s", len, text);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void put_option(const struct hutch_option *option)
{
    const char *short_flag = option->short_flag ? option->short_flag : "";
    const char *argument = option->argument ? option->argument : "";

    if (option->values && strlen(option->values) <= VALUES_MAX)
        argument = option->values;
    int used = printf("  %2s%c %s%s%s", short_flag, *short_flag ? ',' : ' ', option->flag,
                      *argument ? " " : "", argument);

    if (used > OPTION_COLUMN - 2) {
        putchar('\n');
        used = 0;
    }
    printf("%*s", OPTION_COLUMN - used, "");
    help_wrapped(option->help, OPTION_COLUMN);
}

/* What a command for people refuses (cmd_shell.c). */
static bool is_for_programs(const struct hutch_option *option)
{
    return str_eq(option->flag, "--json") || str_eq(option->flag, "--stdin");
}

static void put_options(const struct cli_command *command)
{
    const struct hutch_option *option;
    const char *section = "";

    for (size_t i = 0; (option = options_at(i)); i++) {
        if (command->interactive && is_for_programs(option))
            continue;
        const char *next = options_section(option);

        if (!str_eq(section, next))
            heading(stdout, next);
        section = next;
        put_option(option);
    }
}

void help_command(const struct cli_command *command)
{
    help_wrapped(command->summary, printf("hutch %s: ", command->name));
    putchar('\n');
    heading(stdout, "Usage");
    help_wrapped(command->usage, printf("  hutch "));
    if (command->details)
        printf("\n%s\n", command->details);
    if (command->takes_policy) {
        putchar('\n');
        put_options(command);
    }
}
