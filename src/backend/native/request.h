/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the engine's requests, on init's side: bytes in, checked pointers or -EPROTO out. Nothing
 * here makes a system call or allocates.
 */
#pragma once

#include <stddef.h>

#include "backend/native/proto.h"

/* Whether an EXEC of `len` bytes that came with `fd_count` descriptors agrees with itself. */
int request_check_exec(const struct proto_request *request, size_t len, size_t fd_count);

/* How many pointers request_unpack() needs. Only after request_check_exec(). */
size_t request_slot_count(const struct proto_request *request);

/* The strings of an EXEC; pointers into its text and its slots. */
struct request_strings {
    const char *cwd;
    char **argv; /* with one free slot before argv[0], for scripts */
    char **envp;
};

/*
 * Find the strings in `text`, of request->text_len bytes. Only after request_check_exec().
 * On failure *ret is untouched.
 */
int request_unpack(const struct proto_request *request, char *text, char **slots,
                   struct request_strings *ret);
