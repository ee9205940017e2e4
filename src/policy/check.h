/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a text can be what a field wants: syntax only, nothing is looked up. Each returns NULL
 * when it can, else why not, as the end of a sentence ("is not a host: ..."). Any thread.
 */
#pragma once

const char *check_text(const char *text); /* anything but nothing */
const char *check_path(const char *text); /* relative, ~ and globs are fine: the plan resolves */
const char *check_host(const char *text); /* "name", "*.name", "1.2.3.4", "[::1]"; maybe :port */
const char *check_hostname(const char *text); /* of the sandbox */
const char *check_require(const char *text);  /* "userns", "landlock>=4" */
const char *check_variable(const char *text); /* the name of an environment variable */
const char *check_inherit(const char *text);  /* the same, or a prefix: "LC_*" */

/* The same for JSON Schema, as far as a pattern can say it: never narrower than the check. */
#define PATTERN_LABEL "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
#define PATTERN_NAME PATTERN_LABEL "([.]" PATTERN_LABEL ")*"
#define PATTERN_HOST "^(([*][.])?" PATTERN_NAME "|\\[[0-9A-Fa-f:.]+\\])(:[1-9][0-9]*)?$"
#define PATTERN_HOSTNAME "^" PATTERN_NAME "$"
#define PATTERN_REQUIRE "^[a-z][a-z0-9_]*(>=[1-9][0-9]*)?$"
#define PATTERN_VARIABLE "^[^=*]+$"
#define PATTERN_INHERIT "^([^=*]+[*]?|[*])$"
