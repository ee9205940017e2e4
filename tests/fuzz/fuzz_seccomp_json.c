/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a seccomp profile. What is taken must be a program that the kernel would take. */
#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "filter/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_error(const struct hutch_error *err)
{
    char copy[sizeof(err->msg)];

    require(err->code < 0 && err->msg[0]);
    /* One line, nothing that acts on a terminal. */
    require(str_eq(str_printable(err->msg, copy, sizeof(copy)), err->msg));
    require(str_eq(str_printable(err->where, copy, sizeof(copy)), err->where));
}

static void check_program(const struct filter *filter)
{
    require(filter->len > 0);
    for (size_t i = 0; i < filter->len; i++) {
        const struct sock_filter *insn = &filter->code[i];
        size_t left = filter->len - i - 1;

        if (insn->code == (BPF_JMP | BPF_JA))
            require(insn->k < left);
        else if (BPF_CLASS(insn->code) == BPF_JMP)
            require(insn->jt < left && insn->jf < left);
        require(left > 0 || BPF_CLASS(insn->code) == BPF_RET);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = {0};
    struct filter filter = {0};
    struct arena arena;

    arena_init(&arena);
    if (filter_read_json((const char *)data, size, "fuzz", &arena, &filter, &err) == 0)
        check_program(&filter);
    else
        check_error(&err);
    arena_clear(&arena);
    return 0;
}
