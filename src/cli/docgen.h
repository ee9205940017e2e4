/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of commands, options and policy keys in the forms other programs read: parts of the
 * man pages (scdoc), completions, plain lists. The build runs these, so nothing is written twice.
 */
#pragma once

#include <hutch.h>

/* Print one of them on stdout. An unknown format is HUTCH_EINVALID. */
int docgen_print(const char *format, struct hutch_error *err);

/* Text in which scdoc sees no markup, on stdout. */
void docgen_escaped(const char *text);

/* completion.c */
int completion_bash(struct hutch_error *err);
int completion_zsh(struct hutch_error *err);
int completion_fish(struct hutch_error *err);
