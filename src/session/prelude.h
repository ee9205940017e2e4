/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shell in the sandbox is told to do: restore the state, run one command, save the state.
 *
 * Theory of operation
 *
 * Every command of a lasting shell is a shell process of its own, so its end cannot be forged by what it
 * prints. What makes the shell last are files in a directory of the sandbox's own /tmp, in two slots, `a`
 * and `b`:
 *
 *     a         shell code that restores variables, functions, aliases, umask, working directory
 *     a.opts    the same for the options of `set`, which must come last; bash has them in a variable
 *     a.env     for the engine: number, pid, working directory, environment (saved.h)
 *     a.ok      the number of the command that saved it; written last
 *     began     the number of the last command that got as far as to run
 *
 * A command restores from the slot with the higher number and saves to the other one. Emptying its .ok
 * comes first: whatever stops a save half way (a kill, a full disk, `exec`) leaves the slot that was
 * good. A state that its shell cannot take back (some variables are better not read-only) ends the
 * shell before its command begins; `began` shows it, and the engine removes that .ok. The state is the
 * sandbox's own data: it is only ever evaluated there, and the engine reads nothing of it but .env,
 * with bounds (saved.h).
 *
 * Nothing here makes a system call.
 */
#pragma once

#include <stdint.h>

struct buf;

enum prelude_dialect {
    PRELUDE_SH,   /* POSIX: cannot tell its functions */
    PRELUDE_BASH, /* under whatever name */
};

/*
 * Each adds a program for `sh -c`. `dir` is the directory of the state: absolute, and of characters that
 * need no quoting.
 */

/* More than any of them needs. */
#define PRELUDE_MAX (64 << 10)

/* Make the directory; say on stdout whether the shell is bash. */
void prelude_probe(struct buf *out, const char *dir);

/*
 * Run the command that is in arguments 1 to `parts`, as number `generation` (not 0). The program is one
 * line, and so the command's first line has the number 1 in messages.
 */
void prelude_command(struct buf *out, enum prelude_dialect dialect, const char *dir,
                     uint64_t generation, unsigned parts);

/*
 * Become the interactive shell of argument 1, as number `generation`, with what exec keeps of the state:
 * directory, umask, exported variables. Its pid goes to the file `pid`. It saves nothing.
 */
void prelude_interactive(struct buf *out, enum prelude_dialect dialect, const char *dir,
                         uint64_t generation);
