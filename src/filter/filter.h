/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syscall filters: programs of the kernel's classic BPF for the running architecture, ready to load.
 * The shipped ones were made when hutch was built (tools/gen-filters); only a user's own file is
 * compiled at run time. docs/security/syscalls.md says what they do. Any thread.
 *
 * How they are stacked. The kernel runs every filter of a process and takes the strictest verdict,
 * in which an error is stricter than a notification, and of two notifications the newest:
 *
 *   init                       on PID 1, and so under every command. No listener.
 *   default | strict           on a command, with a listener; or, for a user's own file,
 *   floor, then the user's     floor with a listener, the user's without.
 *   no-unix                    on top of either where the sandbox has no unix sockets;
 *   pinned                     where its processors are its limit: it may not choose others.
 *
 * `init` and `floor` ask for a notification wherever `default` does and never answer with an error
 * there, or nobody would hear of it. A notification that nobody listens to is ENOSYS.
 */
#pragma once

#include <stddef.h>

struct arena;
struct hutch_error;
struct sock_filter;

struct filter {
    const struct sock_filter *code;
    unsigned short len;
    unsigned short ignored; /* names in a user's file that are no calls of this architecture */
};

/* One of the names above; NULL when it is none. */
const struct filter *filter_shipped(const char *name);

/* The most of a file that is read. */
#define FILTER_FILE_MAX ((size_t)1 << 20)

/*
 * A seccomp profile in the format of OCI runtimes and Docker. *ret lives in `arena`. It is safe only
 * on top of `floor`: see there. Errors name the place: "/syscalls/3/args/0/op in FILE".
 */
int filter_from_file(const char *path, struct arena *arena, struct filter *ret,
                     struct hutch_error *err);

/* The same from memory; `source` is what messages call it. */
int filter_read_json(const char *text, size_t len, const char *source, struct arena *arena,
                     struct filter *ret, struct hutch_error *err);
