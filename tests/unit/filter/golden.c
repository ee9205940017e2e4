/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "bpf.h"
#include "filter/calls.h"
#include "probes.h"

const char *golden_verdict(uint32_t verdict, char out[32])
{
    static const struct {
        uint32_t verdict;
        const char *name;
    } names[] = {
        {SECCOMP_RET_ALLOW, "allow"},
        {SECCOMP_RET_USER_NOTIF, "notify"},
        {SECCOMP_RET_ERRNO | EPERM, "EPERM"},
        {SECCOMP_RET_ERRNO | EBUSY, "EBUSY"},
        {SECCOMP_RET_ERRNO | ENOSYS, "ENOSYS"},
        {SECCOMP_RET_ERRNO | EPROTONOSUPPORT, "EPROTONOSUPPORT"},
        {SECCOMP_RET_ERRNO | EAFNOSUPPORT, "EAFNOSUPPORT"},
    };

    snprintf(out, 32, "0x%08x", verdict);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].verdict == verdict)
            snprintf(out, 32, "%s", names[i].name);
    }
    return out;
}

/* The verdict when every argument is `arg`. */
static uint32_t verdict_of(const struct filter *filter, uint32_t arch, int nr, uint64_t arg)
{
    struct seccomp_data data = {.nr = nr, .arch = arch};

    for (size_t i = 0; i < ARRAY_LEN(data.args); i++)
        data.args[i] = arg;
    return bpf_run(filter->code, &data, NULL);
}

/* "allow", or what it is for arguments 0, all bits, and the high halves only, when that differs. */
static void describe(const struct filter *filter, uint32_t arch, int nr, char out[128])
{
    static const uint64_t args[] = {0, UINT64_MAX, UINT64_MAX << 32};
    static const char *const names[] = {"", "ones", "high"};
    uint32_t zero = verdict_of(filter, arch, nr, 0);
    char word[32];
    size_t used = 0;

    for (size_t i = 0; i < ARRAY_LEN(args); i++) {
        uint32_t verdict = verdict_of(filter, arch, nr, args[i]);

        golden_verdict(verdict, word);
        if (i == 0)
            used += (size_t)snprintf(out + used, 128 - used, "%s", word);
        else if (verdict != zero)
            used += (size_t)snprintf(out + used, 128 - used, " %s=%s", names[i], word);
    }
}

static bool has_probes(const char *name)
{
    for (size_t i = 0; i < probe_count; i++) {
        if (str_eq(probes[i].call, name))
            return true;
    }
    return false;
}

static void print_probes(struct buf *out, const struct filter *filter, uint32_t arch, int nr,
                         const char *name, bool refused_only)
{
    for (size_t i = 0; i < probe_count; i++) {
        struct seccomp_data data = {.nr = nr, .arch = arch};
        char word[32];

        if (!str_eq(probes[i].call, name))
            continue;
        memcpy(data.args, probes[i].args, sizeof(data.args));
        golden_verdict(bpf_run(filter->code, &data, NULL), word);
        if (!refused_only || !str_eq(word, "allow"))
            buf_printf(out, "      %-30s %s\n", probes[i].what, word);
    }
}

void golden_table(struct buf *out, const struct filter *filter, uint32_t arch, bool refused_only)
{
    char shown[128] = "";
    int hole = -1; /* first of the numbers without a name that are all alike */

    for (int nr = 0; nr <= GOLDEN_LAST + 1; nr++) {
        char name[FILTER_NAME_MAX];
        char now[128] = "";
        bool known = nr <= GOLDEN_LAST && filter_call_name(arch, nr, name);

        if (nr <= GOLDEN_LAST)
            describe(filter, arch, nr, now);
        if (hole >= 0 && (known || !str_eq(now, shown))) {
            if (!refused_only || !str_eq(shown, "allow"))
                buf_printf(out, "%3d-%-3d (no call)                   %s\n", hole, nr - 1, shown);
            hole = -1;
        }
        if (known) {
            if (!refused_only || !str_eq(now, "allow") || has_probes(name))
                buf_printf(out, "%3d %-32s %s\n", nr, name, now);
            print_probes(out, filter, arch, nr, name, refused_only);
        } else if (hole < 0) {
            hole = nr;
        }
        memcpy(shown, now, sizeof(shown));
    }
}
