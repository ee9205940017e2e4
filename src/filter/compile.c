/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libseccomp compiles what a user wrote, so that a profile means here what it means to container
 * engines, down to the odd cases. As in runc, calls newer than any that the file names get ENOSYS
 * instead of its default: a file cannot have an opinion on what came after it, and libc goes on
 * with an older call.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/fd.h"
#include "filter/calls.h"
#include "filter/profile.h"

static void context_free(scmp_filter_ctx *context)
{
    if (*context)
        seccomp_release(*context);
}

static const char source_step[] = "cannot make a filter of it";

static int add_rules(scmp_filter_ctx context, const struct profile *profile)
{
    for (size_t i = 0; i < profile->rule_count; i++) {
        const struct profile_rule *rule = &profile->rules[i];
        int r = seccomp_rule_add_array(context, rule->action, rule->nr, rule->arg_count,
                                       rule->args);

        if (r < 0 && r != -EEXIST)
            return r;
    }
    return 0;
}

static bool is_permissive(uint32_t action)
{
    return action == SCMP_ACT_ALLOW || action == SCMP_ACT_LOG;
}

/* The instructions before libseccomp's: newer calls. Those of other ABIs are left to the rest. */
static size_t make_head(const struct profile *profile, struct sock_filter head[5])
{
    const struct sock_filter newer[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)profile->newest, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };

    if (profile->newest < 0 || is_permissive(profile->default_action))
        return 0;
    memcpy(head, newer, sizeof(newer));
    return sizeof(newer) / sizeof(newer[0]);
}

/* libseccomp writes a program to a descriptor only. */
static int export_code(scmp_filter_ctx context, const struct profile *profile, struct arena *arena,
                       struct filter *ret)
{
    struct sock_filter head[5];
    size_t head_len = make_head(profile, head);
    fd_auto int fd = memfd_create("filter", MFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    int r = seccomp_export_bpf(context, fd);
    if (r < 0)
        return r;
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0)
        return -errno;
    size_t len = (size_t)size / sizeof(struct sock_filter);
    if (len + head_len > BPF_MAXINSNS)
        return -E2BIG;
    struct sock_filter *code = arena_alloc(arena, (len + head_len) * sizeof(*code));
    if (!code)
        return -ENOMEM;
    memcpy(code, head, head_len * sizeof(*code));
    if (pread(fd, code + head_len, (size_t)size, 0) != size)
        return -EIO;
    ret->code = code;
    ret->len = (unsigned short)(len + head_len);
    return 0;
}

int profile_compile(const struct profile *profile, const char *source, struct arena *arena,
                    struct filter *ret, struct hutch_error *err)
{
    struct filter made = {0};
    __attribute__((cleanup(context_free)))
    scmp_filter_ctx context = seccomp_init(profile->default_action);

    if (!context)
        return err_oom(err);
    /* A binary tree: the kernel walks a filter for every call when it is loaded. */
    int r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (r == 0)
        r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    if (r == 0)
        r = add_rules(context, profile);
    if (r == 0)
        r = export_code(context, profile, arena, &made);
    if (r == -E2BIG)
        return err_set(err, HUTCH_EPOLICY, source, "more than %d instructions: too many rules",
                       BPF_MAXINSNS);
    if (r < 0)
        return err_sys(err, r, source, "%s", source_step);
    made.ignored = (unsigned short)(profile->ignored < 0xffff ? profile->ignored : 0xffff);
    *ret = made;
    return 0;
}
