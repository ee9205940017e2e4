/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One name against one component of a pattern. Our own: fnmatch() depends on the locale, differs
 * between libcs, and takes exponential time in some. Any thread.
 */
#pragma once

#include <stdbool.h>

/*
 * "*", "?", classes in brackets and "\". A character is one of UTF-8, or a byte that is not. Unless
 * `hidden`, a dot at the start of the name is matched by a dot only. Time: length times length.
 */
bool match_name(const char *pattern, const char *name, bool hidden);
