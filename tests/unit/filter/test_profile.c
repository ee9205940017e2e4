/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "filter/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "bpf.h"
#include "filter/calls.h"

#define FAIL(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))
#define ALLOW SECCOMP_RET_ALLOW

static void documents_that_are_refused(void **state)
{
    static const struct {
        const char *json, *where, *msg;
    } cases[] = {
        {"{}", " in p.json", "has no 'defaultAction'"},
        {"[]", "p.json", "must be a JSON object, not an array"},
        {"{\"defaultAction\":1}", "/defaultAction in p.json", "must be a string, not a number"},
        {"{\"defaultAction\":\"SCMP_ACT_ALOW\"}", "/defaultAction in p.json",
         "unknown action 'SCMP_ACT_ALOW' (did you mean 'SCMP_ACT_ALLOW'?)"},
        {"{\"defaultAction\":\"SCMP_ACT_TRACE\"}", "/defaultAction in p.json",
         "needs a tracer or listener of the file's own, which hutch has not"},
        {"{\"defaultActoin\":\"x\"}", "/defaultActoin in p.json",
         "unknown key 'defaultActoin' (did you mean 'defaultAction'?)"},
        {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":4096}",
         "/defaultErrnoRet in p.json", "is too large a number"},
        {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":-1}",
         "/defaultErrnoRet in p.json", "must be a whole number, not negative"},
        {"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrno\":\"EXYZ\"}",
         "/defaultErrno in p.json", "unknown error 'EXYZ'"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"listenerPath\":\"/x\"}",
         "/listenerPath in p.json", "a listener of the file's own is not supported"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"flags\":[\"SECCOMP_FILTER_FLAG_X\"]}",
         "/flags/0 in p.json", "unknown flag 'SECCOMP_FILTER_FLAG_X'"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"x86_64\"]}",
         "/architectures/0 in p.json", "unknown architecture 'x86_64'"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_MIPS\"],"
         "\"archMap\":[]}",
         "/architectures in p.json",
#if defined(__x86_64__)
         "has not SCMP_ARCH_X86_64, which this machine is"
#else
         "has not SCMP_ARCH_AARCH64, which this machine is"
#endif
        },
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[],\"archMap\":[]}",
         "/archMap in p.json", "'architectures' and 'archMap' exclude each other"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"archMap\":[{\"arch\":\"x\"}]}",
         "/archMap/0/arch in p.json", "unknown key 'arch' (did you mean 'architecture'?)"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":{}}", "/syscalls in p.json",
         "must be an array, not an object"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[1]}", "/syscalls/0 in p.json",
         "must be an object, not a number"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"action\":\"SCMP_ACT_KILL\"}]}",
         "/syscalls/0 in p.json", "has no 'names'"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[]}]}",
         "/syscalls/0 in p.json", "has no 'action'"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":7}]}",
         "/syscalls/0/names in p.json", "must be the names of calls"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\",\"\"],"
         "\"action\":\"SCMP_ACT_KILL\"}]}",
         "/syscalls/0/names/1 in p.json", "must be the name of a call"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"name\":\"read\",\"names\":[],"
         "\"action\":\"SCMP_ACT_KILL\"}]}",
         "/syscalls/0/names in p.json", "'name' and 'names' exclude each other"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_NOTIFY\"}]}",
         "/syscalls/0/action in p.json",
         "needs a tracer or listener of the file's own, which hutch has not"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_KILL\"},{\"names\":[\"read\"],\"action\":\"SCMP_ACT_KILL\","
         "\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"},{\"index\":1,\"op\":\"==\"}]}]}",
         "/syscalls/1/args/1/op in p.json", "unknown operator '=='"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_KILL\",\"args\":[{\"index\":6,\"op\":\"SCMP_CMP_EQ\"}]}]}",
         "/syscalls/0/args/0/index in p.json", "is too large a number"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_KILL\",\"args\":[{\"index\":1,\"value\":-1}]}]}",
         "/syscalls/0/args/0/value in p.json", "must be a whole number, not negative"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_KILL\",\"args\":[{\"index\":1,\"value\":1}]}]}",
         "/syscalls/0/args/0 in p.json", "has no 'op'"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_KILL\",\"includes\":{\"caps\":[\"SYS_ADMIN\"]}}]}",
         "/syscalls/0/includes/caps/0 in p.json", "is not the name of a capability"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_KILL\",\"excludes\":{\"minKernel\":\"4.8-rc1\"}}]}",
         "/syscalls/0/excludes/minKernel in p.json", "must be a version such as \"4.8\""},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],"
         "\"action\":\"SCMP_ACT_KILL\",\"includes\":{\"arch\":[]}}]}",
         "/syscalls/0/includes/arch in p.json", "unknown key 'arch' (did you mean 'arches'?)"},
        {"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"a\\u001b[2J\":1}", "/a\\x1b[2J in p.json",
         "unknown key 'a\\x1b[2J'"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err = {0};
        struct filter filter = {0};
        struct arena arena;

        arena_init(&arena);
        int r = filter_read_json(cases[i].json, strlen(cases[i].json), "p.json", &arena, &filter,
                                 &err);
        if (r != HUTCH_EPOLICY || err.code != r || !str_eq(err.where, cases[i].where) ||
            !str_eq(err.msg, cases[i].msg))
            fail_msg("%s\n%d at '%s': %s", cases[i].json, r, err.where, err.msg);
        assert_null(filter.code);
        arena_clear(&arena);
    }
}

/* ---- What is taken, run ---- */

static struct filter take(struct arena *arena, const char *json)
{
    struct hutch_error err = {0};
    struct filter filter = {0};

    if (filter_read_json(json, strlen(json), "p.json", arena, &filter, &err) < 0)
        fail_msg("%s\nat '%s': %s", json, err.where, err.msg);
    assert_true(bpf_is_valid(filter.code, filter.len));
    return filter;
}

static uint32_t verdict(const struct filter *filter, int nr, uint64_t arg0, uint64_t arg1)
{
    struct seccomp_data data = {.nr = nr, .arch = FILTER_ARCH, .args = {arg0, arg1}};

    return bpf_run(filter->code, &data, NULL);
}

static void actions_and_names(void **state)
{
    struct arena arena;

    arena_init(&arena);
    struct filter filter = take(
        &arena, "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":["
                "{\"names\":[\"read\",\"write\",\"no_such_call\",\"socketcall\"],"
                " \"action\":\"SCMP_ACT_ALLOW\"},"
                "{\"name\":\"getpid\",\"action\":\"SCMP_ACT_LOG\",\"args\":null},"
                "{\"names\":[\"mount\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":22},"
                "{\"names\":[\"umount2\"],\"action\":\"SCMP_ACT_ERRNO\",\"errno\":\"EACCES\","
                " \"errnoRet\":1,\"comment\":\"podman\"},"
                "{\"names\":[\"reboot\"],\"action\":\"SCMP_ACT_KILL_PROCESS\"},"
                "{\"names\":[\"bpf\"],\"action\":\"SCMP_ACT_KILL\"},"
                "{\"names\":[\"swapon\"],\"action\":\"SCMP_ACT_TRAP\"},"
                "{\"names\":[\"cachestat\"],\"action\":\"SCMP_ACT_ALLOW\"},"
                "{\"names\":[\"chdir\"],\"action\":\"SCMP_ACT_ERRNO\"}]}");
    assert_int_equal(filter.ignored, 2);
    assert_int_equal(verdict(&filter, SYS_read, 0, 0), ALLOW);
    assert_int_equal(verdict(&filter, SYS_getpid, 0, 0), SECCOMP_RET_LOG);
    assert_int_equal(verdict(&filter, SYS_mount, 0, 0), FAIL(22));
    assert_int_equal(verdict(&filter, SYS_umount2, 0, 0), FAIL(EACCES));
    assert_int_equal(verdict(&filter, SYS_reboot, 0, 0), SECCOMP_RET_KILL_PROCESS);
    assert_int_equal(verdict(&filter, SYS_bpf, 0, 0), SECCOMP_RET_KILL_THREAD);
    assert_int_equal(verdict(&filter, SYS_swapon, 0, 0), SECCOMP_RET_TRAP);
    assert_int_equal(verdict(&filter, 451, 0, 0), ALLOW); /* newer than libseccomp */
    assert_int_equal(verdict(&filter, SYS_chdir, 0, 0), FAIL(EPERM));
    assert_int_equal(verdict(&filter, SYS_close, 0, 0), FAIL(EPERM));
    /* newer than all that the file names */
    assert_int_equal(verdict(&filter, 452, 0, 0), FAIL(ENOSYS));
    assert_int_equal(verdict(&filter, 5000, 0, 0), FAIL(ENOSYS));
    arena_clear(&arena);
}

static void arguments(void **state)
{
    struct arena arena;

    arena_init(&arena);
    struct filter filter = take(
        &arena, "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,\"syscalls\":["
                "{\"names\":[\"personality\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
                " {\"index\":0,\"value\":8,\"valueTwo\":0,\"op\":\"SCMP_CMP_EQ\"}]},"
                "{\"names\":[\"personality\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
                " {\"index\":0,\"value\":4294967295,\"op\":\"SCMP_CMP_EQ\"}]},"
                "{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
                " {\"index\":0,\"value\":2114060288,\"valueTwo\":0,"
                "  \"op\":\"SCMP_CMP_MASKED_EQ\"}]},"
                /* both */
                "{\"names\":[\"socket\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
                " {\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"},"
                " {\"index\":1,\"value\":2,\"op\":\"SCMP_CMP_NE\"}]},"
                /* either: they are about one argument */
                "{\"names\":[\"dup3\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
                " {\"index\":0,\"value\":3,\"op\":\"SCMP_CMP_LT\"},"
                " {\"index\":0,\"value\":10,\"op\":\"SCMP_CMP_GE\"}]}]}");
    assert_int_equal(verdict(&filter, SYS_personality, 8, 0), ALLOW);
    assert_int_equal(verdict(&filter, SYS_personality, 0xffffffff, 0), ALLOW);
    assert_int_equal(verdict(&filter, SYS_personality, 0, 0), FAIL(ENOSYS));
    assert_int_equal(verdict(&filter, SYS_clone, 17, 0), ALLOW);
    assert_int_equal(verdict(&filter, SYS_clone, 0x10000011, 0), FAIL(ENOSYS));
    assert_int_equal(verdict(&filter, SYS_clone, UINT64_C(0xf0000000011), 0), ALLOW);
    assert_int_equal(verdict(&filter, SYS_socket, 1, 1), ALLOW);
    assert_int_equal(verdict(&filter, SYS_socket, 1, 2), FAIL(ENOSYS));
    assert_int_equal(verdict(&filter, SYS_socket, 2, 1), FAIL(ENOSYS));
    assert_int_equal(verdict(&filter, SYS_dup3, 2, 0), ALLOW);
    assert_int_equal(verdict(&filter, SYS_dup3, 5, 0), FAIL(ENOSYS));
    assert_int_equal(verdict(&filter, SYS_dup3, 10, 0), ALLOW);
    arena_clear(&arena);
}

/* Commands hold no capabilities; the rest depends on the machine. */
static void conditions(void **state)
{
    static const struct {
        const char *key, *value;
        bool counts;
    } cases[] = {
        {"includes", "{}", true},
        {"includes", "null", true},
        {"includes", "{\"caps\":[\"CAP_SYS_ADMIN\"]}", false},
        {"excludes", "{\"caps\":[\"CAP_SYS_ADMIN\"]}", true},
        {"includes", "{\"arches\":[\"amd64\",\"arm64\"]}", true},
        {"excludes", "{\"arches\":[\"amd64\",\"arm64\"]}", false},
        {"includes", "{\"arches\":[\"s390x\"]}", false},
        {"excludes", "{\"arches\":[\"s390x\"]}", true},
        {"includes", "{\"minKernel\":\"4.8\"}", true},
        {"excludes", "{\"minKernel\":\"4.8\"}", false},
        {"includes", "{\"minKernel\":\"999.0\"}", false},
        {"excludes", "{\"minKernel\":\"999.0\"}", true},
        {"includes", "{\"minKernel\":\"4.8\",\"caps\":[\"CAP_BPF\"]}", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena arena;
        char json[512];

        snprintf(json, sizeof(json),
                 "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"read\"],"
                 "\"action\":\"SCMP_ACT_ALLOW\",\"%s\":%s}]}",
                 cases[i].key, cases[i].value);
        arena_init(&arena);
        struct filter filter = take(&arena, json);
        assert_int_equal(verdict(&filter, SYS_read, 0, 0), cases[i].counts ? ALLOW : FAIL(EPERM));
        arena_clear(&arena);
    }
}

/* Whatever a file says about them, and even when it allows everything. */
static void foreign_abis_have_no_calls(void **state)
{
    static const uint32_t arches[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64,
                                      AUDIT_ARCH_AARCH64};
    struct arena arena;

    arena_init(&arena);
    struct filter filter = take(
        &arena, "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"archMap\":["
                "{\"architecture\":\"SCMP_ARCH_X86_64\",\"subArchitectures\":[\"SCMP_ARCH_X86\","
                "\"SCMP_ARCH_X32\"]},{\"architecture\":\"SCMP_ARCH_RISCV64\","
                "\"subArchitectures\":null}],\"flags\":[\"SECCOMP_FILTER_FLAG_LOG\"]}");
    assert_int_equal(verdict(&filter, SYS_mount, 0, 0), ALLOW);
    for (size_t i = 0; i < ARRAY_LEN(arches); i++) {
        struct seccomp_data data = {.nr = 20, .arch = arches[i]};

        if (arches[i] != FILTER_ARCH)
            assert_int_equal(bpf_run(filter.code, &data, NULL), FAIL(ENOSYS));
    }
#if defined(__x86_64__)
    assert_int_equal(verdict(&filter, 0x40000000 | SYS_read, 0, 0), FAIL(ENOSYS));
#endif
    arena_clear(&arena);
}

/* ---- Files ---- */

static void write_file(const char *path, const char *text, off_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    if (size)
        assert_int_equal(truncate(path, size), 0);
}

static int load_file(const char *path, struct hutch_error *err)
{
    struct filter filter;
    struct arena arena;

    arena_init(&arena);
    int r = filter_from_file(path, &arena, &filter, err);
    arena_clear(&arena);
    return r;
}

static void files(void **state)
{
    char dir[] = "/tmp/test-profile-XXXXXX";
    char path[64];
    struct hutch_error err;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/p.json", dir);
    assert_int_equal(load_file(path, &err), HUTCH_ESYSTEM);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_string_equal(err.where, path);
    assert_int_equal(load_file(dir, &err), HUTCH_EPOLICY);
    assert_string_equal(err.msg, "is not a regular file");

    write_file(path, "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}", 0);
    assert_int_equal(load_file(path, &err), 0);
    write_file(path, "", (1 << 20) + 1);
    assert_int_equal(load_file(path, &err), HUTCH_EPOLICY);
    assert_string_equal(err.msg, "1048577 bytes of JSON are too many: at most 1048576");
    unlink(path);

    /* nobody writes to it */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load_file(path, &err), HUTCH_EPOLICY);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_that_are_refused),
        cmocka_unit_test(actions_and_names),
        cmocka_unit_test(arguments),
        cmocka_unit_test(conditions),
        cmocka_unit_test(foreign_abis_have_no_calls),
        cmocka_unit_test(files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
