/* SPDX-License-Identifier: Apache-2.0 */
#include "refuse.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP_IF(what, value, yes, no) BPF_JUMP(BPF_JMP | (what) | BPF_K, (value), (yes), (no))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))

void refuse_calls(void *arg)
{
    const struct refusals *refusals = arg;
    struct sock_filter filter[64];
    unsigned short len = 0;

    for (const struct refusal *item = refusals->items; item->error; item++) {
        const struct sock_filter part[] = {
            LOAD(nr),
            JUMP_IF(BPF_JEQ, item->number, 0, item->flag ? 3 : 1),
            LOAD(args[0]), /* the low half, on little-endian machines */
            JUMP_IF(BPF_JSET, item->flag, 0, 1),
            ANSWER(SECCOMP_RET_ERRNO | (unsigned)item->error),
        };
        for (size_t i = 0; i < sizeof part / sizeof *part; i++)
            if (item->flag || (i != 2 && i != 3))
                filter[len++] = part[i];
    }
    filter[len++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = len, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        _exit(94);
}

struct drive_end refusing_cli(const struct refusals *refusals, const char *const *args)
{
    struct refusals copy = *refusals;
    struct drive_child child = drive_start(args, refuse_calls, &copy);

    return drive_finish(&child, NULL, 0);
}
