/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/privilege.h"

#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/raw.h"
#include "sys/ret.h"

#define K_KEYCTL_JOIN_SESSION_KEYRING 1

int sys_drop_bounding(void)
{
    long r = SYS_RAW(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (r < 0)
        return (int)r;

    /* The kernel says EINVAL for the first capability it does not know: that is the end. */
    for (unsigned long cap = 0; cap < 64; cap++) {
        r = SYS_RAW(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
        if (r == -EINVAL && cap > CAP_AUDIT_READ)
            break;
        if (r < 0)
            return (int)r;
    }
    return 0;
}

int sys_drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};

    return ret_errno(syscall(SYS_capset, &header, none));
}

int sys_no_new_privs(void)
{
    return ret_errno(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

int sys_undumpable(void)
{
    return ret_errno(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

int sys_keyring_leave(void)
{
    int r = ret_errno(syscall(SYS_keyctl, K_KEYCTL_JOIN_SESSION_KEYRING, NULL));

    return r == -ENOSYS || r > 0 ? 0 : r;
}
