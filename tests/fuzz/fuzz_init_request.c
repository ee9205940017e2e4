/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init reads from its socket. The first byte says how many descriptors came along, the rest is
 * the packet; with `in_memfd` the text is what follows the request instead of being part of it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/native/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

/* A string that ends within the text, right where the one before it ended. */
static void check_string(const char *string, const char **at, const char *end)
{
    require(string == *at && string < end);
    *at = string + strnlen(string, (size_t)(end - string)) + 1;
    require(*at <= end);
}

static void check_strings(const struct proto_request *request, const struct request_strings *got,
                          const char *text)
{
    const char *end = text + request->text_len;
    const char *at = text;

    check_string(got->cwd, &at, end);
    for (uint32_t i = 0; i < request->argc; i++)
        check_string(got->argv[i], &at, end);
    require(got->argv[request->argc] == NULL);
    for (uint32_t i = 0; i < request->envc; i++)
        check_string(got->envp[i], &at, end);
    require(got->envp[request->envc] == NULL);
    require(at == end && request->argc > 0);
}

/* In memory of exactly its size, so that a step too far is seen. */
static void unpack(const struct proto_request *request, const uint8_t *bytes)
{
    struct request_strings got = {0};
    char *text = malloc(request->text_len);
    char **slots = calloc(request_slot_count(request), sizeof *slots);

    require(text && slots);
    memcpy(text, bytes, request->text_len);
    if (request_unpack(request, text, slots, &got) == 0) {
        check_strings(request, &got, text);
        got.argv[-1] = text; /* the free slot is there */
    } else {
        require(!got.cwd && !got.argv && !got.envp);
    }
    free(slots);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proto_request request;

    if (size < 1 + sizeof request)
        return 0;
    size_t fd_count = data[0];
    memcpy(&request, data + 1, sizeof request);
    const uint8_t *text = data + 1 + sizeof request;
    size_t text_len = size - 1 - sizeof request;

    /* What is in a memfd is as long as the engine says, or init dies on reading it. */
    size_t len = sizeof request + (request.in_memfd ? 0 : text_len);
    if (request_check_exec(&request, len, fd_count) < 0)
        return 0;
    require(fd_count <= 4 + PROTO_JOINS_MAX && (request.in_memfd || request.text_len == text_len));
    if (request.text_len <= text_len)
        unpack(&request, text);
    return 0;
}
