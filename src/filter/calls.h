/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and numbers of system calls. `arch` is an AUDIT_ARCH_ value, of x86_64 or arm64. Also built
 * into the generator of the shipped filters. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define FILTER_ARCH 0xc000003eU
#elif defined(__aarch64__)
#define FILTER_ARCH 0xc00000b7U
#else
#error "there are no system call filters for this architecture"
#endif

/* The newest call that is known; every number above it belongs to a kernel yet to come. */
#define FILTER_CALL_LAST 470

#define FILTER_NAME_MAX 48

/* -1 when the architecture has no call of this name. */
int filter_call_number(uint32_t arch, const char *name);

/* Whether there is a call of this number; its name goes to *ret. */
bool filter_call_name(uint32_t arch, int nr, char ret[FILTER_NAME_MAX]);
