/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths inside, from text to descriptors. Text is only put together here; where it leads is for the
 * kernel to say. All return -errno.
 */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

#include "work/work.h"

/*
 * `path` (NULL: ".") as absolute text: without "//", "." and slashes at the end. ".." stays: what it
 * leads to, only the kernel knows.
 */
int work_path_text(const struct work *work, const char *path, char out[PATH_MAX]);

/* `dir` and `below` ("" for `dir` itself) as one text. */
int work_path_below(const char *dir, const char *below, char out[PATH_MAX]);

/* Open what a text leads to. Without O_PATH or O_DIRECTORY this might wait for ever: see file.h. */
int work_path_open(const struct work *work, const char *text, uint64_t flags);

/* A name in a directory. The name points into the text it was made from. */
struct work_spot {
    int dir; /* O_PATH */
    const char *name;
};
#define WORK_SPOT_INIT                                                                             \
    {                                                                                              \
        .dir = -1                                                                                  \
    }
void work_spot_clear(struct work_spot *spot);
#define work_spot_auto __attribute__((cleanup(work_spot_clear)))

/* Where the last name of `text` is. -EISDIR when it has none ("/", "a/.."). */
int work_spot_open(const struct work *work, const char *text, struct work_spot *ret);

/* The same, after following links at the end: what is written to is there. Changes `text`. */
int work_spot_follow(const struct work *work, char text[PATH_MAX], struct work_spot *ret);

/* Make the directories above the last name that are missing. */
int work_path_make_parents(const struct work *work, const char *text);

/*
 * Whether something is mounted on `name` in `dir`, as `dir` sees it: 1, 0 or -errno. To be asked before
 * a name is removed or replaced. For commands the kernel refuses that, but it only knows mounts of the
 * caller's own namespace: for us it would do it, and take the mount away from the sandbox, and with it
 * what the policy hides or protects. Those inside cannot change what is a mount point.
 */
int work_is_mount(int dir, const char *name);
