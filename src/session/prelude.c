/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for the shell code below:
 *  - One line: every string ends a command with ';' or a word that needs none.
 *  - The user's functions and aliases are there while it runs. All of it is parsed before aliases
 *    come back, and what users like to redefine (cd) is called with `builtin` or `command`.
 *  - It must do under every option: -C (hence ">|"), -e, -f, -u, -x, posix.
 *  - '~' stands for the directory of the state, '#' for the number of this command.
 */
#include "session/prelude.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

/*
 * Which slot to restore from, and which to save to. Numbers that are none compare as neither. Both are
 * kept among the arguments while the state comes back, in which they have other values.
 */
#define CHOOSE                                                                                     \
    "__hutch_a=0; __hutch_b=0; __hutch_to=a; __hutch_from=;"                                       \
    "[ -f ~/a.ok ] && read -r __hutch_a <~/a.ok; [ -f ~/b.ok ] && read -r __hutch_b <~/b.ok;"      \
    "[ \"${__hutch_a:=0}\" -gt 0 ] && __hutch_from=a && __hutch_to=b;"                             \
    "[ \"${__hutch_b:=0}\" -gt \"$__hutch_a\" ] && __hutch_from=b && __hutch_to=a;"                \
    "unset __hutch_a __hutch_b;"
#define KEEP_CHOICE "set -- \"$__hutch_from\" \"$__hutch_to\" \"$@\";"
#define TAKE_CHOICE "__hutch_from=$1; __hutch_to=$2; shift 2;"

/*
 * Empty the slot's .ok. Without the directory, which the command may have removed, make it again; what
 * is in the place of a file and is none (a FIFO would keep us waiting) goes. `command :` and not `:`,
 * whose failed redirection would end the shell.
 */
#define SAVE_BEGIN                                                                                 \
    "trap '' XFSZ;"                                                                                \
    "for __hutch_n in ~/\"$__hutch_to\"  ~/\"$__hutch_to\".ok ~/\"$__hutch_to\".opts"              \
    " ~/\"$__hutch_to\".names ~/\"$__hutch_to\".env; do [ ! -e \"$__hutch_n\" ] ||"                \
    " [ -f \"$__hutch_n\" ] || command -p rm -rf \"$__hutch_n\" || command :; done;"               \
    "command : >|~/\"$__hutch_to\".ok ||"                                                          \
    " { command -p mkdir -p -m 700 ~ && command : >|~/\"$__hutch_to\".ok; } ||"                    \
    " return \"$1\";"

/* The number of the command, when all that went before it is there. */
#define SAVE_END "printf '%s\\n' # >|~/\"$__hutch_to\".ok;"

/*
 * Say that the state came back and the command begins. In place and of one width: where there was room
 * for the first, there is for all, and a full disk is not taken for a state that cannot be restored.
 */
#define BEGIN "{ printf '%s\\n' # 1<>~/began; } 2>/dev/null;"

/*
 * A state of more than 8 MiB is not saved: every later command would have to read it. Beyond the
 * limit the kernel refuses to write, instead of sending SIGXFSZ. Afterwards the limit is what it may be.
 */
#define SAVE_LIMIT_BASH "ulimit -S -f 8192;"
#define SAVE_LIMIT_SH "ulimit -S -f 16384;"

/*
 * Variables that the sandbox gives to every command are unset first: the state has those which
 * the command before had, and as it had them.
 */
static const char bash_restore[] =
    "{ " CHOOSE KEEP_CHOICE "__hutch_x=; __hutch_set=; if [ \"$1\" ]; then "
    " while IFS= read -r -d '' __hutch_n; do unset -v \"${__hutch_n%%=*}\"; done"
    "  </proc/$$/environ;"
    " builtin set +o ${SHELLOPTS//:/ +o }; builtin shopt -u ${BASHOPTS//:/ };"
    " builtin source ~/\"$1\";"
    " else shopt -s expand_aliases; fi;" TAKE_CHOICE
    "unset BASH_EXECUTION_STRING __hutch_done; } >/dev/null 2>&1;";

static const char bash_save[] =
    "__hutch_save() {"
    /* A process that a signal ends between its fork and its program has our trap still. */
    " if [[ ${__hutch_done-} || ${BASHPID-$$} != \"$$\" ]]; then return \"$1\"; fi; __hutch_done=1;"
    " builtin trap - DEBUG ERR RETURN;"
    " __hutch_x=${-//[!xv]/}; __hutch_x=${__hutch_x:+set -$__hutch_x; };"
    " builtin set +txv;" SAVE_BEGIN " __hutch_set=${SHELLOPTS:+-o ${SHELLOPTS//:/ -o }};"
    " builtin set +eu +o posix;" SAVE_LIMIT_BASH " builtin unset __hutch_c;"
    " { builtin printf 'umask ' && builtin umask &&"
    "  builtin printf '%s\\n' \"${BASHOPTS:+shopt -s ${BASHOPTS//:/ }}\" &&"
    /* Functions before aliases, which would be expanded in them once more. */
    "  builtin declare -f && builtin declare -Fx && builtin declare -Fr && builtin declare -p &&"
    "  builtin printf 'builtin cd -- %q && declare OLDPWD=%q || builtin cd -P .\\n'"
    "   \"$PWD\" \"${OLDPWD-}\" && builtin alias -p; } >|~/\"$__hutch_to\" &&"
    " builtin compgen -e >|~/\"$__hutch_to\".names &&"
    " builtin mapfile -t __hutch_n <~/\"$__hutch_to\".names &&"
    " { for __hutch_i in \"${!__hutch_n[@]}\"; do __hutch_e=${__hutch_n[__hutch_i]};"
    "   __hutch_n[__hutch_i]=$__hutch_e=${!__hutch_e-}; done;"
    "  builtin printf '%s\\0' $'#\\n'\"$$\" \"$PWD\" \"${__hutch_n[@]}\"; }"
    "  >|~/\"$__hutch_to\".env &&" SAVE_END " ulimit -S -f hard; builtin return \"$1\"; };";

static const char bash_run[] = "builtin trap '{ __hutch_save 0; } >/dev/null 2>&1' EXIT;" BEGIN
                               "builtin eval \"builtin set +o posix $__hutch_set\" 2>/dev/null;"
                               "builtin eval \"$__hutch_x$__hutch_c\";"
                               "{ __hutch_save \"$?\"; } 2>/dev/null";

static const char sh_restore[] =
    "{ " CHOOSE KEEP_CHOICE "__hutch_x=; if [ \"$1\" ]; then export -p >|~/\"$2\".names;"
    " while read -r __hutch_o __hutch_n; do __hutch_n=${__hutch_n%%=*};"
    "  case $__hutch_o$__hutch_n in *[!A-Za-z0-9_]* | export);;"
    "  export*) unset \"$__hutch_n\";; esac; done <~/\"$2\".names;"
    " . ~/\"$1\"; __hutch_o=${OLDPWD-};"
    " if command cd -- \"${PWD:-/}\"; then OLDPWD=$__hutch_o; else PWD=$(command pwd -P); fi;"
    " fi;" TAKE_CHOICE "unset __hutch_done __hutch_o; } >/dev/null 2>&1;";

static const char sh_save[] =
    "__hutch_save() {"
    " if [ \"${__hutch_done-}\" ]; then return \"$1\"; fi; __hutch_done=1;"
    " case $- in *x*v* | *v*x*) __hutch_x='set -xv; ';; *x*) __hutch_x='set -x; ';;"
    "  *v*) __hutch_x='set -v; ';; *) __hutch_x=;; esac;"
    " set +xv;" SAVE_BEGIN
    "set +o >|~/\"$__hutch_to\".opts || return \"$1\"; set +eu;" SAVE_LIMIT_SH " unset __hutch_c;"
    " alias >|~/\"$__hutch_to\".names;"
    " { printf 'umask ' && umask && set && export -p && readonly -p &&"
    "   while IFS= read -r __hutch_n; do case $__hutch_n in *=\\'*\\')"
    "    printf 'alias %s\\n' \"$__hutch_n\" || break;; esac; done; }"
    "  <~/\"$__hutch_to\".names >|~/\"$__hutch_to\" &&"
    " { printf '#\\n%s\\0%s\\0' \"$$\" \"$PWD\" && command -p cat /proc/self/environ; }"
    "  >|~/\"$__hutch_to\".env &&" SAVE_END " return \"$1\"; };";

static const char sh_run[] =
    "trap '{ __hutch_save 0; } >/dev/null 2>&1' EXIT;" BEGIN
    "[ ! -f ~/\"$__hutch_from\".opts ] || . ~/\"$__hutch_from\".opts >/dev/null 2>&1;"
    "eval \"$__hutch_x$__hutch_c\";"
    "{ __hutch_save \"$?\"; } 2>/dev/null";

/* Add a text with its '~' and '#' replaced. */
static void add(struct buf *out, const char *text, const char *dir, uint64_t generation)
{
    while (*text) {
        size_t plain = strcspn(text, "~#");

        buf_add(out, text, plain);
        text += plain;
        if (*text == '~')
            buf_puts(out, dir);
        else if (*text == '#')
            buf_printf(out, "%020" PRIu64, generation);
        text += *text != '\0';
    }
}

void prelude_probe(struct buf *out, const char *dir)
{
    add(out,
        "command -p mkdir -m 700 ~ && printf '%s\\n' # >|~/began && printf '%s' \"${BASH_VERSION:+bash}\"",
        dir, 0);
}

void prelude_command(struct buf *out, enum prelude_dialect dialect, const char *dir,
                     uint64_t generation, unsigned parts)
{
    bool bash = dialect == PRELUDE_BASH;

    add(out, bash ? bash_restore : sh_restore, dir, generation);
    buf_puts(out, "__hutch_c=");
    for (unsigned i = 1; i <= parts; i++)
        buf_printf(out, "${%u}", i);
    buf_puts(out, "; set --;");
    add(out, bash ? bash_save : sh_save, dir, generation);
    add(out, bash ? bash_run : sh_run, dir, generation);
}

void prelude_interactive(struct buf *out, enum prelude_dialect dialect, const char *dir,
                         uint64_t generation)
{
    add(out, dialect == PRELUDE_BASH ? bash_restore : sh_restore, dir, generation);
    add(out, BEGIN "command printf '%s\\n' \"$$\" >|~/pid; command exec \"$1\" -i", dir,
        generation);
}
