/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/calls.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

/*
 * libseccomp knows the old calls. From FIRST_COMMON on every architecture uses the same numbers, and
 * distributions have libraries older than their kernels, so those are here: a filter is then the
 * same whatever library it was made with.
 */
#define FIRST_COMMON 424

static const char *const common_calls[] = {
    "pidfd_send_signal",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "pidfd_open",
    "clone3",
    "close_range",
    "openat2",
    "pidfd_getfd",
    "faccessat2",
    "process_madvise",
    "epoll_pwait2",
    "mount_setattr",
    "quotactl_fd",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "memfd_secret",
    "process_mrelease",
    "futex_waitv",
    "set_mempolicy_home_node",
    "cachestat",
    "fchmodat2",
    "map_shadow_stack",
    "futex_wake",
    "futex_wait",
    "futex_requeue",
    "statmount",
    "listmount",
    "lsm_get_self_attr",
    "lsm_set_self_attr",
    "lsm_list_modules",
    "mseal",
    "setxattrat",
    "getxattrat",
    "listxattrat",
    "removexattrat",
    "open_tree_attr",
    "file_getattr",
    "file_setattr",
    "listns",
};

_Static_assert(FIRST_COMMON + ARRAY_LEN(common_calls) == FILTER_CALL_LAST + 1, "one name each");

/* Newer than libseccomp, in the range where each architecture has its own numbers. */
static const struct {
    uint32_t arch;
    int nr;
    const char *name;
} odd_calls[] = {
    {AUDIT_ARCH_X86_64, 335, "uretprobe"},
    {AUDIT_ARCH_X86_64, 336, "uprobe"},
};

int filter_call_number(uint32_t arch, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(common_calls); i++) {
        if (str_eq(common_calls[i], name))
            return (int)i + FIRST_COMMON;
    }
    for (size_t i = 0; i < ARRAY_LEN(odd_calls); i++) {
        if (odd_calls[i].arch == arch && str_eq(odd_calls[i].name, name))
            return odd_calls[i].nr;
    }
    int nr = seccomp_syscall_resolve_name_arch(arch, name);
    return nr < 0 || nr >= FIRST_COMMON ? -1 : nr; /* negative: only other architectures have it */
}

bool filter_call_name(uint32_t arch, int nr, char ret[FILTER_NAME_MAX])
{
    const char *name = NULL;
    str_auto char *old = NULL;

    if (nr < 0 || nr > FILTER_CALL_LAST)
        return false;
    if (nr >= FIRST_COMMON)
        name = common_calls[nr - FIRST_COMMON];
    for (size_t i = 0; i < ARRAY_LEN(odd_calls); i++) {
        if (odd_calls[i].arch == arch && odd_calls[i].nr == nr)
            name = odd_calls[i].name;
    }
    if (!name) {
        old = seccomp_syscall_resolve_num_arch(arch, nr);
        name = old;
    }
    if (name)
        snprintf(ret, FILTER_NAME_MAX, "%s", name);
    return name != NULL;
}
