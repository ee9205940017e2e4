/* SPDX-License-Identifier: Apache-2.0 */
/* From struct stat to struct hutch_file_entry. */
#pragma once

#include <sys/stat.h>

#include "work/work.h"

/* `path` must already live as long as *ret. The name is what follows `from` bytes of it. */
void entry_fill(const char *path, size_t from, const struct stat *st, struct hutch_file_entry *ret);

/* What `name` in `dir` is; of a link that leads somewhere, with `follow`, that. `text` is its path. */
int entry_look(const struct work *work, int dir, const char *name, const char *text, bool follow,
               struct stat *ret);
