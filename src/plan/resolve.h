/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a path as written to a place on this host: `~`, relative paths, symbolic links and
 * "/var/run"-like links end here. The answer is a descriptor and the name the kernel gives it, so
 * the two cannot disagree.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include <hutch.h>

#include "base/arena.h"
#include "policy/policy.h"

/* A directory that relative paths start at. */
struct resolve_base {
    int fd;           /* -1: there is none */
    const char *name; /* canonical; NULL until it was needed */
    const char *what; /* for messages */
};

/* What the last walk found out, canonical; NULL before the first. Paths of one directory come one after another. */
struct resolve_walked {
    const char *directory; /* it ended here */
    const char *missing;   /* before this, which is not there */
};

struct resolver {
    struct arena *arena;
    const char *home;              /* what ~ stands for; NULL when the caller has none */
    struct resolve_base cwd;       /* for paths of flags, workspace and repo */
    struct resolve_base workspace; /* for paths of documents; none: it is in memory */
    struct resolve_base repo;      /* for those that are hidden or protected, too */
    struct resolve_walked walked;
};

/* A symbolic link on the way to a path. */
struct resolved_link {
    const char *path; /* its own name, canonical */
    const struct resolved_link *next;
};

struct resolved {
    bool exists;
    bool denied;      /* does not exist, as far as the caller's rights can tell */
    bool direct;      /* there is no link on the way */
    const char *path; /* canonical; NULL when missing */
    int fd;           /* O_PATH, -1 when missing. The caller's. */
    struct stat st;
    const struct resolved_link *links; /* on the way, from resolve_existing(); NULL: none */
};

/* The directory `~` stands for, from HOME or else /etc/passwd; NULL when there is none. */
const char *resolve_home(struct arena *arena);

/* Open the caller's directory. -1 starts: resolver_clear() closes. */
int resolver_init(struct resolver *resolver, struct arena *arena, struct hutch_error *err);
void resolver_clear(struct resolver *resolver);

/* Fill in the name of a base that is there. */
int resolve_base_name(const struct resolver *resolver, struct resolve_base *base,
                      const char *origin, struct hutch_error *err);

/*
 * Resolve one path of a policy. A path that does not exist, or that the caller has no right to look
 * at, is not an error here: ret->exists and ret->denied say so. A loop of links is.
 */
int resolve_path(const struct resolver *resolver, const struct policy_item *item,
                 struct resolved *ret, struct hutch_error *err);

/* The same for a path that must be there, with the links on the way. */
int resolve_existing(struct resolver *resolver, const struct policy_item *item,
                     struct resolved *ret, struct hutch_error *err);

/* Where a missing path would be: the deepest directory that exists, canonical, plus the rest. */
int resolve_missing(const struct resolver *resolver, const struct policy_item *item,
                    const char **ret, struct hutch_error *err);

/*
 * Where a path starts, canonical, and what is left of it, as written: links and ".." are still in
 * it. "/" for an absolute one.
 */
int resolve_start(struct resolver *resolver, const struct policy_item *item, const char **ret_start,
                  const char **ret_rest, struct hutch_error *err);

/* Where a walk ended. */
struct resolved_walk {
    const char *directory; /* canonical: the deepest one that exists */
    const char *rest;      /* what is left of the path; empty when it is that directory */
    int error;             /* why the next component could not be passed; 0: it is no directory */
};

/*
 * Walk a path and call fn for every symbolic link on the way, by its canonical name; a negative
 * return stops.
 */
typedef int resolve_link_fn(void *arg, const char *path, struct hutch_error *err);
int resolve_walk(struct resolver *resolver, const struct policy_item *item, resolve_link_fn *fn,
                 void *arg, struct resolved_walk *ret, struct hutch_error *err);

/* Fill in found->links of a path that is there. Refused when they do not lead to found->path. */
int resolve_links(struct resolver *resolver, const struct policy_item *item, struct resolved *found,
                  struct hutch_error *err);

/*
 * Resolve a pattern with *, ?, [ or **: calls fn for each match, at most RESOLVE_MATCHES_MAX, in no
 * special order. `**` walks the tree; it never follows symbolic links.
 */
#define RESOLVE_MATCHES_MAX 4096
typedef int resolve_match_fn(void *arg, const struct policy_item *match, struct hutch_error *err);
int resolve_glob(const struct resolver *resolver, const struct policy_item *item,
                 resolve_match_fn *fn, void *arg, struct hutch_error *err);
