/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shipped filters of every architecture, on any host, against tables that people have read. After
 * a change of the rules: HUTCH_GOLDEN=write meson test -C BUILD filter/shipped, then read the diff.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "filter/tables.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>

#include "base/str.h"
#include "bpf.h"
#include "filter/calls.h"
#include "golden.h"
#include "probes.h"

#define X32_BIT 0x40000000
#define ENOSYS_VERDICT (SECCOMP_RET_ERRNO | ENOSYS)
#define TABLE_MAX ((size_t)1 << 20)

static const struct {
    const char *name;
    uint32_t arch;
    const struct filter_shipped *filters;
    const struct filter_notified *notified;
} arches[] = {
    {"x86_64", AUDIT_ARCH_X86_64, filter_shipped_x86_64, filter_notified_x86_64},
    {"arm64", AUDIT_ARCH_AARCH64, filter_shipped_aarch64, filter_notified_aarch64},
};

static const struct filter *find(size_t arch, const char *name)
{
    for (const struct filter_shipped *row = arches[arch].filters; row->name; row++) {
        if (str_eq(row->name, name))
            return &row->filter;
    }
    fail_msg("%s has no filter '%s'", arches[arch].name, name);
    return NULL;
}

static uint32_t verdict(const struct filter *filter, uint32_t arch, int nr, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = nr, .arch = arch};

    if (args)
        memcpy(data.args, args, sizeof(data.args));
    return bpf_run(filter->code, &data, NULL);
}

static void every_filter_is_a_program_the_kernel_takes(void **state)
{
    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        for (const struct filter_shipped *row = arches[a].filters; row->name; row++)
            assert_true(bpf_is_valid(row->filter.code, row->filter.len));
    }
    assert_non_null(filter_shipped("default"));
    assert_non_null(filter_shipped("strict"));
    assert_non_null(filter_shipped("init"));
    assert_non_null(filter_shipped("floor"));
    assert_non_null(filter_shipped("no-unix"));
    assert_non_null(filter_shipped("pinned"));
    assert_null(filter_shipped("Default"));
    assert_null(filter_shipped(""));
}

/* Loading costs what the kernel's walk over all numbers costs, so the tree must stay shallow. */
static void trees_are_shallow(void **state)
{
    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        const struct filter *filter = find(a, "default");
        size_t steps = 0;
        int kept = 0;

        for (int nr = 0; nr <= FILTER_CALL_LAST; nr++) {
            struct seccomp_data data = {.nr = nr, .arch = arches[a].arch};
            size_t taken;

            bpf_run(filter->code, &data, &taken);
            steps += taken;
            kept += bpf_is_const_allow(filter->code, arches[a].arch, nr);
        }
        print_message("# %s default: %u instructions, %.1f steps a call, %d always allowed\n",
                      arches[a].name, filter->len, (double)steps / (FILTER_CALL_LAST + 1), kept);
        assert_true(steps < 11 * FILTER_CALL_LAST);
        assert_true(filter->len < 256);
        assert_true(kept > 230);
    }
}

/* ---- Golden tables ---- */

static void read_golden(const char *path, struct buf *out)
{
    char text[4096];
    size_t n;
    FILE *file = fopen(path, "r");

    if (!file)
        fail_msg("cannot open %s: run with HUTCH_GOLDEN=write", path);
    while ((n = fread(text, 1, sizeof(text), file)) > 0)
        buf_add(out, text, n);
    fclose(file);
}

static void write_golden(const char *path, const struct buf *table)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(table->data, 1, table->len, file), table->len);
    assert_int_equal(fclose(file), 0);
}

/* The first line that differs, for the message. */
static void compare(const char *path, const char *want, const char *got)
{
    while (*want && *got) {
        size_t want_len = strcspn(want, "\n");
        size_t got_len = strcspn(got, "\n");

        if (want_len != got_len || memcmp(want, got, want_len) != 0)
            fail_msg("%s\n  has  %.*s\n  made %.*s", path, (int)want_len, want, (int)got_len, got);
        want += want_len + (want[want_len] == '\n');
        got += got_len + (got[got_len] == '\n');
    }
    if (*want || *got)
        fail_msg("%s: one has more lines", path);
}

static void tables_are_as_they_were_reviewed(void **state)
{
    /* Of the last two, which allow what they do not refuse, the tables have what they refuse. */
    static const char *const names[] = {"default", "strict", "floor", "init"};
    const char *mode = getenv("HUTCH_GOLDEN");

    for (size_t i = 0; i < ARRAY_LEN(arches) * ARRAY_LEN(names); i++) {
        size_t a = i / ARRAY_LEN(names);
        const char *name = names[i % ARRAY_LEN(names)];
        buf_auto struct buf made;
        buf_auto struct buf kept;
        char path[4096];

        buf_init(&made, TABLE_MAX);
        buf_init(&kept, TABLE_MAX);
        snprintf(path, sizeof(path), "%s/golden-%s-%s.txt", GOLDEN_DIR, arches[a].name, name);
        golden_table(&made, find(a, name), arches[a].arch, i % ARRAY_LEN(names) >= 2);
        assert_false(made.failed);
        if (mode && str_eq(mode, "write")) {
            write_golden(path, &made);
            continue;
        }
        read_golden(path, &kept);
        compare(path, kept.data, made.data);
    }
}

/* ---- Rules that hold for every filter, whatever the tables say ---- */

static void foreign_abis_have_no_calls(void **state)
{
    static const uint32_t all[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_I386,  AUDIT_ARCH_AARCH64,
                                   AUDIT_ARCH_ARM,    AUDIT_ARCH_ARMEB, 0,
                                   UINT32_MAX};

    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        for (const struct filter_shipped *row = arches[a].filters; row->name; row++) {
            for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                for (int nr = -2; nr <= GOLDEN_LAST && all[i] != arches[a].arch; nr++)
                    assert_int_equal(verdict(&row->filter, all[i], nr, NULL), ENOSYS_VERDICT);
            }
        }
    }
}

/* x32 is the native architecture with a bit in the number; `no-unix` and `pinned` leave it to what is
 * below. */
static void numbers_out_of_range_have_no_calls(void **state)
{
    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        for (const struct filter_shipped *row = arches[a].filters; row->name; row++) {
            uint32_t arch = arches[a].arch;

            if (str_eq(row->name, "no-unix") || str_eq(row->name, "pinned"))
                continue;
            for (int nr = 0; nr <= GOLDEN_LAST; nr++)
                assert_int_equal(verdict(&row->filter, arch, nr | X32_BIT, NULL), ENOSYS_VERDICT);
            for (int nr = FILTER_CALL_LAST + 1; nr <= 4096; nr++)
                assert_int_equal(verdict(&row->filter, arch, nr, NULL), ENOSYS_VERDICT);
            assert_int_equal(verdict(&row->filter, arch, -1, NULL), ENOSYS_VERDICT);
            assert_int_equal(verdict(&row->filter, arch, INT32_MIN, NULL), ENOSYS_VERDICT);
        }
    }
}

/* Stricter comes first, as in the kernel. */
static bool is_refused(uint32_t value)
{
    return value != SECCOMP_RET_ALLOW;
}

/*
 * Every number, with every probe's arguments: strict allows nothing that default refuses; what floor
 * or init refuse, default refuses; and where default notifies they never answer with an error,
 * which would be stricter and keep the listener from hearing of it.
 */
static void check_order(size_t a, int nr, const uint64_t args[6])
{
    uint32_t arch = arches[a].arch;
    uint32_t normal = verdict(find(a, "default"), arch, nr, args);
    uint32_t strict = verdict(find(a, "strict"), arch, nr, args);
    uint32_t floor = verdict(find(a, "floor"), arch, nr, args);
    uint32_t init = verdict(find(a, "init"), arch, nr, args);

    if ((is_refused(normal) && !is_refused(strict)) || (is_refused(floor) && !is_refused(normal)) ||
        (is_refused(init) && !is_refused(floor)))
        fail_msg("%s: call %d is looser where it must be tighter", arches[a].name, nr);
    if (normal == SECCOMP_RET_USER_NOTIF) {
        assert_true(floor == SECCOMP_RET_ALLOW || floor == SECCOMP_RET_USER_NOTIF);
        assert_true(init == SECCOMP_RET_ALLOW || init == SECCOMP_RET_USER_NOTIF);
    }
}

static void filters_stack_in_order(void **state)
{
    static const uint64_t edges[][6] = {
        {0}, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};

    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        for (int nr = -1; nr <= GOLDEN_LAST; nr++) {
            for (size_t i = 0; i < probe_count; i++)
                check_order(a, nr, probes[i].args);
            check_order(a, nr, edges[0]);
            check_order(a, nr, edges[1]);
        }
    }
}

/* The kernel drops high halves of int arguments: setting them must not change a verdict. */
static void high_halves_change_nothing(void **state)
{
    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        int unshare = filter_call_number(arches[a].arch, "unshare");   /* takes a whole long */
        int prlimit = filter_call_number(arches[a].arch, "prlimit64"); /* pointers from 2 on */

        for (const struct filter_shipped *row = arches[a].filters; row->name; row++) {
            for (size_t i = 0; i < probe_count * 6; i++) {
                const struct probe *probe = &probes[i / 6];
                int nr = filter_call_number(arches[a].arch, probe->call);
                uint64_t args[6];

                if (nr < 0 || nr == unshare || (nr == prlimit && i % 6 >= 2))
                    continue;
                memcpy(args, probe->args, sizeof(args));
                args[i % 6] |= UINT64_C(0xdeadbeef) << 32;
                assert_int_equal(verdict(&row->filter, arches[a].arch, nr, args),
                                 verdict(&row->filter, arches[a].arch, nr, probe->args));
            }
        }
    }
}

/* Families and protocols by allow-list: all of them, not only those that have a probe. */
static void socket_families(void **state)
{
    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        int nr = filter_call_number(arches[a].arch, "socket");

        for (uint64_t family = 0; family < 64; family++) {
            bool ours = family == 1 || family == 2 || family == 10 || family == 16;

            for (uint64_t type = 0; type < 16; type++) {
                for (uint64_t protocol = 0; protocol < 300; protocol++) {
                    uint64_t args[6] = {family, type, protocol};
                    bool allowed = !is_refused(
                        verdict(find(a, "default"), arches[a].arch, nr, args));
                    bool inet = family == 2 || family == 10;

                    assert_true(!allowed || ours);
                    assert_true(!allowed || family != 1 || type == 1 || type == 5);
                    assert_true(!allowed || family != 16 || protocol == 0);
                    assert_true(!allowed || !inet || type == 1 || type == 2);
                    assert_true(!allowed || !inet || protocol == 0 || protocol == 6 ||
                                protocol == 17 || protocol == 1 || protocol == 58);
                    if (family == 1)
                        assert_true(
                            is_refused(verdict(find(a, "no-unix"), arches[a].arch, nr, args)));
                }
            }
        }
    }
}

static bool can_notify(size_t a, int nr)
{
    static const char *const names[] = {"default", "strict"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct filter *filter = find(a, names[i]);

        if (verdict(filter, arches[a].arch, nr, NULL) == SECCOMP_RET_USER_NOTIF)
            return true;
        for (size_t p = 0; p < probe_count; p++) {
            if (verdict(filter, arches[a].arch, nr, probes[p].args) == SECCOMP_RET_USER_NOTIF)
                return true;
        }
    }
    return false;
}

static void every_notified_call_has_a_hint(void **state)
{
    for (size_t a = 0; a < ARRAY_LEN(arches); a++) {
        const struct filter_notified *row = arches[a].notified;

        for (int nr = 0; nr <= GOLDEN_LAST; nr++) {
            char name[FILTER_NAME_MAX];

            if (!can_notify(a, nr))
                continue;
            assert_true(filter_call_name(arches[a].arch, nr, name));
            assert_int_equal(row->nr, nr);
            assert_string_equal(row->name, name);
            assert_true(strlen(row->hint) > 10);
            row++;
        }
        assert_null(row->name);
    }
    assert_string_equal(filter_notified_find(filter_call_number(FILTER_ARCH, "mount"))->name,
                        "mount");
    assert_null(filter_notified_find(filter_call_number(FILTER_ARCH, "read")));
    assert_null(filter_notified_find(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_filter_is_a_program_the_kernel_takes),
        cmocka_unit_test(trees_are_shallow),
        cmocka_unit_test(tables_are_as_they_were_reviewed),
        cmocka_unit_test(foreign_abis_have_no_calls),
        cmocka_unit_test(numbers_out_of_range_have_no_calls),
        cmocka_unit_test(filters_stack_in_order),
        cmocka_unit_test(high_halves_change_nothing),
        cmocka_unit_test(socket_families),
        cmocka_unit_test(every_notified_call_has_a_hint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
