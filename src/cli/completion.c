/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions for three shells. The fixed parts are written out; names, flags and values come from
 * the tables. After the options of `run` and `explain` the words are those of another command, and
 * its completion takes over.
 */
#include "cli/docgen.h"

#include <stdio.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"

enum kind {
    KIND_NONE,    /* takes no value */
    KIND_WORDS,   /* one of option->values */
    KIND_PROFILE, /* the name of a profile */
    KIND_DIR,
    KIND_FILE,
    KIND_TEXT, /* something that cannot be completed */
};

static enum kind kind_of(const struct hutch_option *option)
{
    if (!option->argument)
        return KIND_NONE;
    if (option->values)
        return KIND_WORDS;
    if (str_eq(option->flag, "--profile"))
        return KIND_PROFILE;
    if (strstr(option->argument, "FILE") || str_eq(option->argument, "P") ||
        str_eq(option->argument, "PATH"))
        return KIND_FILE;
    return str_starts(option->argument, "DIR") ? KIND_DIR : KIND_TEXT;
}

static void put_words(const char *values)
{
    for (; *values; values++)
        putchar(*values == '|' ? ' ' : *values);
}

static void put_command_names(const char *before)
{
    for (const struct cli_command *row = cli_commands; row->name; row++)
        printf("%s%s", row == cli_commands ? "" : before, row->name);
}

/* Names of the commands that take a policy, with `between` between them. */
static void put_policy_commands(const char *between)
{
    const char *before = "";

    for (const struct cli_command *row = cli_commands; row->name; row++) {
        if (!row->takes_policy)
            continue;
        printf("%s%s", before, row->name);
        before = between;
    }
}

/* Text inside single quotes; `special` are further characters to put a backslash before. */
static void put_quoted(const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else if (strchr(special, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

/* ---- bash ---------------------------------------------------------------------------------- */

static const char bash_head[] =
    "# bash completion of hutch(1), made by 'hutch help --format bash'\n"
    "\n"
    "_hutch_profiles() {\n"
    "    hutch profile list 2>/dev/null | while read -r name _; do echo \"$name\"; done\n"
    "}\n"
    "\n"
    "# The words of the command that is to run, from word number $1 on.\n"
    "_hutch_inner() {\n"
    "    if declare -F _comp_command_offset >/dev/null; then\n"
    "        _comp_command_offset \"$1\"\n"
    "    elif declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"$1\"\n"
    "    elif (($1 == COMP_CWORD)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
    "    else\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "    fi\n"
    "}\n"
    "\n"
    "_hutch_words() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_hutch_paths() {\n"
    "    compopt -o filenames\n"
    "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n";

static const char bash_walk[] =
    "\n"
    "# Options up to the first word that is none; '--flag=value' arrives as three words.\n"
    "_hutch_options() {\n"
    "    local i=2 flag\n"
    "    while ((i < COMP_CWORD)); do\n"
    "        flag=${COMP_WORDS[i]}\n"
    "        if [[ $flag == -- ]]; then\n"
    "            _hutch_inner $((i + 1))\n"
    "            return\n"
    "        elif [[ $flag != -* ]]; then\n"
    "            _hutch_inner \"$i\"\n"
    "            return\n"
    "        elif _hutch_takes_value \"$flag\"; then\n"
    "            i=$((i + 1))\n"
    "            if [[ ${COMP_WORDS[i]} == = ]] && ((i < COMP_CWORD)); then\n"
    "                i=$((i + 1))\n"
    "            fi\n"
    "            if ((i == COMP_CWORD)); then\n"
    "                [[ $cur == = ]] && cur=\n"
    "                _hutch_value \"$flag\"\n"
    "                return\n"
    "            fi\n"
    "        fi\n"
    "        i=$((i + 1))\n"
    "    done\n"
    "    if [[ $cur == -* ]]; then\n"
    "        _hutch_words \"$_hutch_flags\"\n"
    "    else\n"
    "        _hutch_inner \"$COMP_CWORD\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "_hutch_suggest() {\n"
    "    local i=3\n"
    "    [[ ${COMP_WORDS[i]} == --json ]] && ((i < COMP_CWORD)) && i=$((i + 1))\n"
    "    [[ ${COMP_WORDS[i]} == -- ]] && ((i < COMP_CWORD)) && i=$((i + 1))\n"
    "    if ((i == COMP_CWORD && i == 3)) && [[ $cur == -* ]]; then\n"
    "        _hutch_words '--json --'\n"
    "    else\n"
    "        _hutch_inner \"$i\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "_hutch() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _hutch_words \"$_hutch_commands --help --version\"\n"
    "        return\n"
    "    fi\n"
    "    case ${COMP_WORDS[1]} in\n";

static const char bash_tail[] =
    ") _hutch_options ;;\n"
    "    doctor) ((COMP_CWORD == 2)) && _hutch_words --json ;;\n"
    "    help) ((COMP_CWORD == 2)) && _hutch_words \"$_hutch_commands\" ;;\n"
    "    profile)\n"
    "        if ((COMP_CWORD == 2)); then\n"
    "            _hutch_words 'list show suggest'\n"
    "        elif [[ ${COMP_WORDS[2]} == show ]]; then\n"
    "            _hutch_words \"$(_hutch_profiles)\"\n"
    "        elif [[ ${COMP_WORDS[2]} == list ]]; then\n"
    "            _hutch_words --json\n"
    "        elif [[ ${COMP_WORDS[2]} == suggest ]]; then\n"
    "            _hutch_suggest\n"
    "        fi\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "complete -F _hutch hutch\n";

static void bash_pattern(const struct hutch_option *option)
{
    if (option->short_flag)
        printf("%s | ", option->short_flag);
    printf("%s", option->flag);
}

static void bash_value(const struct hutch_option *option)
{
    enum kind kind = kind_of(option);

    if (kind == KIND_NONE || kind == KIND_TEXT)
        return;
    printf("    ");
    bash_pattern(option);
    printf(") ");
    if (kind == KIND_WORDS) {
        printf("_hutch_words '");
        put_words(option->values);
        printf("' ;;\n");
    } else if (kind == KIND_PROFILE) {
        printf("_hutch_words \"$(_hutch_profiles)\" ;;\n");
    } else {
        printf("_hutch_paths %s ;;\n", kind == KIND_DIR ? "-d" : "-f");
    }
}

static void bash_flags(void)
{
    const struct hutch_option *option;

    printf("_hutch_flags='");
    for (size_t i = 0; (option = options_at(i)); i++) {
        printf("%s%s", i ? " " : "", option->flag);
        if (option->short_flag)
            printf(" %s", option->short_flag);
    }
    printf("'\n_hutch_commands='");
    put_command_names(" ");
    printf("'\n\n");
}

int completion_bash(struct hutch_error *err)
{
    const struct hutch_option *option;
    const char *before = "    ";

    fputs(bash_head, stdout);
    bash_flags();
    printf("_hutch_takes_value() {\n    case $1 in\n");
    for (size_t i = 0; (option = options_at(i)); i++) {
        if (!option->argument)
            continue;
        printf("%s", before);
        bash_pattern(option);
        before = " | \\\n        ";
    }
    printf(") return 0 ;;\n    esac\n    return 1\n}\n\n");
    printf("_hutch_value() {\n    case $1 in\n");
    for (size_t i = 0; (option = options_at(i)); i++)
        bash_value(option);
    printf("    esac\n}\n");
    fputs(bash_walk, stdout);
    printf("    ");
    put_policy_commands(" | ");
    fputs(bash_tail, stdout);
    return 0;
}

/* ---- zsh ----------------------------------------------------------------------------------- */

static const char zsh_profiles[] =
    "#compdef hutch\n"
    "# zsh completion of hutch(1), made by 'hutch help --format zsh'\n"
    "\n"
    "_hutch_profiles() {\n"
    "    local -a names\n"
    "    names=(${${(f)\"$(_call_program profiles hutch profile list 2>/dev/null)\"}%% *})\n"
    "    compadd -a names\n"
    "}\n"
    "\n";

static const char zsh_walk[] = "    if ((CURRENT == 2)); then\n"
                               "        _describe -t commands command commands\n"
                               "        return\n"
                               "    fi\n"
                               "    local command=$words[2]\n"
                               "    shift words\n"
                               "    ((CURRENT--))\n"
                               "    case $command in\n"
                               "    (doctor) compadd -- --json ;;\n"
                               "    (help) _describe -t commands command commands ;;\n"
                               "    (profile)\n"
                               "        if ((CURRENT == 2)); then\n"
                               "            compadd list show suggest\n"
                               "        elif [[ $words[2] == show ]]; then\n"
                               "            _hutch_profiles\n"
                               "        elif [[ $words[2] == list ]]; then\n"
                               "            compadd -- --json\n"
                               "        elif [[ $words[2] == suggest ]]; then\n"
                               "            shift words\n"
                               "            ((CURRENT--))\n"
                               "            _arguments -S -A '-*' '--json[print a policy]' \\\n"
                               "                '(-):command:_command_names -e' "
                               "'*::argument:_normal'\n"
                               "        fi\n"
                               "        ;;\n";

static const char zsh_tail[] = ")\n"
                               "        _arguments -s -S -A '-*' $options \\\n"
                               "            '(-):command:_command_names -e' '*::argument:_normal'\n"
                               "        ;;\n"
                               "    esac\n"
                               "}\n"
                               "\n"
                               "_hutch \"$@\"\n";

static void zsh_value(const struct hutch_option *option)
{
    enum kind kind = kind_of(option);

    if (kind == KIND_NONE)
        return;
    putchar(':');
    put_quoted(option->argument, ":\\");
    putchar(':');
    if (kind == KIND_WORDS) {
        putchar('(');
        put_words(option->values);
        putchar(')');
    } else if (kind == KIND_PROFILE) {
        printf("_hutch_profiles");
    } else if (kind == KIND_DIR) {
        printf("_files -/");
    } else if (kind == KIND_FILE) {
        printf("_files");
    }
}

/* `joint` says how the value may follow: "=" after a long flag, "+" after a short one. */
static void zsh_option(const struct hutch_option *option, const char *flag, const char *joint)
{
    printf("        '*%s%s[", flag, option->argument ? joint : "");
    put_quoted(option->help, "[]\\");
    putchar(']');
    zsh_value(option);
    printf("'\n");
}

int completion_zsh(struct hutch_error *err)
{
    const struct hutch_option *option;

    fputs(zsh_profiles, stdout);
    printf("_hutch() {\n    local -a commands options\n    commands=(\n");
    for (const struct cli_command *row = cli_commands; row->name; row++) {
        printf("        '%s:", row->name);
        put_quoted(row->summary, ":\\");
        printf("'\n");
    }
    printf("    )\n    options=(\n");
    for (size_t i = 0; (option = options_at(i)); i++) {
        zsh_option(option, option->flag, "=");
        if (option->short_flag)
            zsh_option(option, option->short_flag, "+");
    }
    printf("    )\n");
    fputs(zsh_walk, stdout);
    printf("    (");
    put_policy_commands("|");
    fputs(zsh_tail, stdout);
    return 0;
}

/* ---- fish ---------------------------------------------------------------------------------- */

static const char fish_head[] =
    "# fish completion of hutch(1), made by 'hutch help --format fish'\n"
    "\n"
    "function __hutch_profiles\n"
    "    hutch profile list 2>/dev/null | string replace -r '^(\\S+)\\s+' '$1\\t'\n"
    "end\n"
    "\n"
    "complete -c hutch -f\n"
    "complete -c hutch -n __fish_use_subcommand -l help -d 'print help'\n"
    "complete -c hutch -n __fish_use_subcommand -l version -d 'print the version'\n";

static void fish_option(const struct hutch_option *option)
{
    enum kind kind = kind_of(option);

    printf("complete -c hutch -n '__fish_seen_subcommand_from ");
    put_policy_commands(" ");
    printf("' -l %s", option->flag + strlen("--"));
    if (option->short_flag)
        printf(" -s %s", option->short_flag + 1);
    if (kind == KIND_WORDS) {
        printf(" -x -a '");
        put_words(option->values);
        putchar('\'');
    } else if (kind == KIND_PROFILE) {
        printf(" -x -a '(__hutch_profiles)'");
    } else if (kind == KIND_DIR) {
        printf(" -x -a '(__fish_complete_directories)'");
    } else if (kind == KIND_FILE) {
        printf(" -r -F");
    } else if (kind == KIND_TEXT) {
        printf(" -x");
    }
    printf(" -d '");
    put_quoted(option->help, "\\");
    printf("'\n");
}

int completion_fish(struct hutch_error *err)
{
    const struct hutch_option *option;

    fputs(fish_head, stdout);
    for (const struct cli_command *row = cli_commands; row->name; row++) {
        printf("complete -c hutch -n __fish_use_subcommand -a %s -d '", row->name);
        put_quoted(row->summary, "\\");
        printf("'\n");
    }
    for (size_t i = 0; (option = options_at(i)); i++)
        fish_option(option);
    printf("complete -c hutch -n '__fish_seen_subcommand_from ");
    put_policy_commands(" ");
    printf("' -a '(__fish_complete_subcommand --fcs-skip=2)'\n"
           "complete -c hutch -n '__fish_seen_subcommand_from help' -a '");
    put_command_names(" ");
    printf("'\n"
           "complete -c hutch -n '__fish_seen_subcommand_from profile' -a 'list show suggest'\n"
           "complete -c hutch -n '__fish_seen_subcommand_from show' -a '(__hutch_profiles)'\n"
           "complete -c hutch -n '__fish_seen_subcommand_from doctor list suggest' -l json\n"
           "complete -c hutch -n '__fish_seen_subcommand_from suggest' "
           "-a '(__fish_complete_subcommand --fcs-skip=3)'\n");
    return 0;
}
