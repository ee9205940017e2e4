/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of every command that takes a policy: those of the command line itself, and one for
 * each row of hutch_options(). Parsing stops at the first word that is not an option.
 *
 * What wins, from weakest to strongest: the profile (the last --profile, else HUTCH_PROFILE, else
 * "default"; its limits on time not for a person), what --limits auto suggests, the environment variables, each --policy document in
 * order, the flags in order.
 */
#pragma once

#include <stdbool.h>

#include <hutch.h>

struct cli_command;

struct options {
    struct hutch_policy *policy; /* everything merged */
    const char *const *argv;     /* the command and its arguments, ends with NULL; may be empty */
    const char *profile;         /* NULL: HUTCH_PROFILE or "default" */
    const char *limits;          /* "auto": those suggested for the command. NULL: "profile" */
    const char *cwd;             /* NULL: the workspace */
    const char *stdin_path;
    const char *events_path; /* "-" is stderr */
    bool tty;
    bool json;
    bool dry_run;
    bool usage; /* say at the end what was used */
    bool help;  /* help was asked for: nothing else is checked or set */
};

/*
 * Parse `args`, the words after the command's name, and make the policy. The strings of *ret are
 * borrowed from `args`; clear it with options_clear(), also after a failure. After a failure
 * ret->json still tells whether the caller expects JSON.
 */
int options_parse(const struct cli_command *command, char **args, struct options *ret,
                  struct hutch_error *err);
void options_clear(struct options *options);

/*
 * The policy that documents and flags are put on top of: `profile` (NULL: HUTCH_PROFILE or "default"),
 * limits suggested for `argv` unless that is NULL, the environment variables. On success the caller
 * owns *ret.
 */
int options_new_policy(const char *profile, const char *const *argv, struct hutch_policy **ret,
                       struct hutch_error *err);

/* Whether the limits are those suggested for the command. */
bool options_limits_auto(const struct options *options);

#define options_auto __attribute__((cleanup(options_clear)))

/* Option number `index` in the order help shows them; NULL after the last. */
const struct hutch_option *options_at(size_t index);

/* The heading under which help shows an option: "Limits". */
const char *options_section(const struct hutch_option *option);
