/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's classic BPF, as far as it may be used for seccomp. For tests; any host. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the kernel would take the program: known instructions, no jump out, ends in a return. */
bool bpf_is_valid(const struct sock_filter *code, size_t len);

/* The verdict of a valid program. *ret_steps, unless NULL, is how many instructions it took. */
uint32_t bpf_run(const struct sock_filter *code, const struct seccomp_data *data,
                 size_t *ret_steps);

/*
 * Whether the kernel can remember that a call is always allowed: the program gets to it without
 * looking at an argument (kernel/seccomp.c, seccomp_is_const_allow).
 */
bool bpf_is_const_allow(const struct sock_filter *code, uint32_t arch, int nr);
