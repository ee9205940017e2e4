/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/coredump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "sys/sysctl.h"

/* Not that reading went wrong, but that this process is not shown the setting. */
static bool is_out_of_sight(int r)
{
    return r == -ENOENT || r == -EACCES || r == -EPERM || r == -ENODATA;
}

/* A kernel that is built without core dumps has all settings but this one. */
static bool has_other_settings(void)
{
    char start[2];

    return sys_sysctl_read("kernel/ostype", start, sizeof start) == 0;
}

static bool is_before_sockets(void)
{
    struct utsname kernel;
    char *end;

    if (uname(&kernel) < 0)
        return false;
    unsigned long major = strtoul(kernel.release, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > 0 && (major < 6 || (major == 6 && minor < 16));
}

/*
 * The version decides only where there is nothing else to go by: kernels are given features of later ones, and
 * before 6.16 an '@' is a file name that nobody chooses.
 */
int sys_coredump_to_socket(void)
{
    char start[2];
    int r = sys_sysctl_read("kernel/core_pattern", start, sizeof start);

    if (r == 0)
        return start[0] == '@';
    if (r == -ENOENT && has_other_settings())
        return 0;
    return is_out_of_sight(r) && is_before_sockets() ? 0 : r;
}
