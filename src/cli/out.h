/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything the command line says. Messages go to stderr as one line that starts with "hutch:";
 * answers go to stdout, and out_finish() tells whether they arrived. Text that others chose (paths,
 * names, file contents) never reaches a terminal with control characters in it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <hutch.h>

/* Whether to colour what goes to `stream`: a terminal, and no NO_COLOR. */
bool out_colour(FILE *stream);

/* One message on stderr, made safe to print. */
void out_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* An error on stderr: "hutch: MESSAGE: REASON (at WHERE)". Returns the exit status for it. */
int out_error(const struct hutch_error *err);

/* Lines of text on stdout, each made safe to print. Adds the last newline when it is missing. */
void out_text(const char *text);

/* A document on stdout: byte for byte to a file or pipe, as out_text() to a terminal. */
void out_document(const char *text);

/* There was no stdout when the program started: nothing can arrive. */
void out_closed(void);

/* Flush stdout, on which something was written. Returns `status`, or `failed` (and says why) when not everything was written. */
int out_finish(int status, int failed);
