/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seccomp profile, as OCI runtimes, Docker and Podman write it → struct profile. Strict where they
 * are not: a key, action, operator or flag that is not known is an error. Names of calls are the
 * exception, as everywhere: files list those of all architectures and kernels.
 */
#include "filter/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "filter/calls.h"
#include "filter/reader.h"

#if defined(__x86_64__)
#define OUR_ARCH "SCMP_ARCH_X86_64"
#define OUR_GOARCH "amd64"
#else
#define OUR_ARCH "SCMP_ARCH_AARCH64"
#define OUR_GOARCH "arm64"
#endif

/* ---- Actions ---- */

struct action {
    uint32_t action; /* without the error number */
    uint32_t error;
};

static int read_action(struct reader *reader, json_t *value, void *arg)
{
    static const char *const words[] = {
        "SCMP_ACT_ALLOW",        "SCMP_ACT_ERRNO",
        "SCMP_ACT_KILL",         "SCMP_ACT_KILL_THREAD",
        "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRAP",
        "SCMP_ACT_LOG",          "SCMP_ACT_TRACE",
        "SCMP_ACT_NOTIFY",       NULL,
    };
    static const uint32_t actions[] = {
        SCMP_ACT_ALLOW,        SCMP_ACT_ERRNO(0), SCMP_ACT_KILL_THREAD, SCMP_ACT_KILL_THREAD,
        SCMP_ACT_KILL_PROCESS, SCMP_ACT_TRAP,     SCMP_ACT_LOG,
    };
    struct action *action = arg;
    size_t i = 0;

    int r = reader_word(reader, value, "action", words, &i);
    if (r < 0)
        return r;
    if (i >= ARRAY_LEN(actions))
        return reader_refuse(reader,
                             "needs a tracer or listener of the file's own, which hutch has not");
    action->action = actions[i];
    return 0;
}

static int read_errno_ret(struct reader *reader, json_t *value, void *arg)
{
    uint64_t error = 0;
    int r = reader_number(reader, value, 4095, &error);

    if (r == 0)
        ((struct action *)arg)->error = (uint32_t)error;
    return r;
}

/* Podman's form, which wins over the number. */
static int read_errno_name(struct reader *reader, json_t *value, void *arg)
{
    static const char *const words[] = {"EPERM",      "ENOSYS",  "EACCES",       "EINVAL",
                                        "ENOENT",     "EAGAIN",  "EBUSY",        "ENODEV",
                                        "EOPNOTSUPP", "ENOTSUP", "EAFNOSUPPORT", NULL};
    static const uint32_t errors[] = {EPERM, ENOSYS, EACCES,     EINVAL,     ENOENT,      EAGAIN,
                                      EBUSY, ENODEV, EOPNOTSUPP, EOPNOTSUPP, EAFNOSUPPORT};
    size_t i = 0;
    int r = reader_word(reader, value, "error", words, &i);

    if (r == 0)
        ((struct action *)arg)->error = errors[i];
    return r;
}

static uint32_t whole_action(const struct action *action)
{
    return action->action == SCMP_ACT_ERRNO(0) ? SCMP_ACT_ERRNO(action->error) : action->action;
}

/* ---- Conditions on when an entry counts ---- */

struct conditions {
    bool excludes; /* else includes */
    bool named;    /* an architecture list was there */
    bool arch;     /* and this one is in it */
    bool any_caps;
    bool kernel; /* minKernel was there */
    bool kernel_is_new;
};

static int read_arch_name(struct reader *reader, json_t *value, void *arg)
{
    struct conditions *conditions = arg;
    const char *name = "";
    int r = reader_string(reader, value, &name);

    conditions->named = true;
    conditions->arch |= str_eq(name, OUR_GOARCH);
    return r;
}

static int read_arches(struct reader *reader, json_t *value, void *arg)
{
    return reader_array(reader, value, read_arch_name, arg);
}

static int read_cap(struct reader *reader, json_t *value, void *arg)
{
    struct conditions *conditions = arg;
    const char *name = "";
    int r = reader_string(reader, value, &name);

    if (r < 0)
        return r;
    if (!str_starts(name, "CAP_"))
        return reader_refuse(reader, "is not the name of a capability");
    conditions->any_caps = true;
    return 0;
}

static int read_caps(struct reader *reader, json_t *value, void *arg)
{
    return reader_array(reader, value, read_cap, arg);
}

/* "6.1" at the start of `text`; returns what comes after, or NULL. */
static const char *parse_version(const char *text, unsigned long ret[2])
{
    for (int i = 0; i < 2; i++) {
        char *end;

        if (*text < '0' || *text > '9')
            return NULL;
        ret[i] = strtoul(text, &end, 10);
        text = end;
        if (i == 0 && *text++ != '.')
            return NULL;
    }
    return text;
}

static int read_min_kernel(struct reader *reader, json_t *value, void *arg)
{
    struct conditions *conditions = arg;
    struct utsname host;
    unsigned long want[2], have[2];
    const char *text = "";

    int r = reader_string(reader, value, &text);
    if (r < 0)
        return r;
    const char *rest = parse_version(text, want);
    if (!rest || *rest)
        return reader_refuse(reader, "must be a version such as \"4.8\"");
    if (uname(&host) < 0 || !parse_version(host.release, have))
        return reader_refuse(reader, "cannot be compared: this kernel's version is not readable");
    conditions->kernel = true;
    conditions->kernel_is_new = have[0] > want[0] || (have[0] == want[0] && have[1] >= want[1]);
    return 0;
}

static const struct reader_member condition_members[] = {
    {"arches", read_arches}, {"caps", read_caps}, {"minKernel", read_min_kernel}, {0}};

/* Commands hold no capability at all. */
static bool counts(const struct conditions *c)
{
    if (c->excludes)
        return !(c->named && c->arch) && !(c->kernel && c->kernel_is_new);
    return !(c->named && !c->arch) && !c->any_caps && !(c->kernel && !c->kernel_is_new);
}

/* ---- Entries of "syscalls" ---- */

#define ARGS_MAX 6

struct entry {
    struct action action;
    bool has_action;
    bool skipped;
    json_t *names;
    char names_pointer[READER_PLACE_MAX];
    struct scmp_arg_cmp args[ARGS_MAX];
    unsigned arg_count;
};

static int read_entry_action(struct reader *reader, json_t *value, void *arg)
{
    struct entry *entry = arg;

    entry->has_action = true;
    return read_action(reader, value, &entry->action);
}

static int read_entry_errno(struct reader *reader, json_t *value, void *arg)
{
    return read_errno_ret(reader, value, &((struct entry *)arg)->action);
}

static int read_entry_errno_name(struct reader *reader, json_t *value, void *arg)
{
    return read_errno_name(reader, value, &((struct entry *)arg)->action);
}

static int read_conditions(struct reader *reader, json_t *value, struct entry *entry, bool excludes)
{
    struct conditions conditions = {.excludes = excludes};
    int r = reader_object(reader, value, condition_members, &conditions);

    if (r == 0 && !counts(&conditions))
        entry->skipped = true;
    return r;
}

static int read_includes(struct reader *reader, json_t *value, void *arg)
{
    return read_conditions(reader, value, arg, false);
}

static int read_excludes(struct reader *reader, json_t *value, void *arg)
{
    return read_conditions(reader, value, arg, true);
}

/* Old files have "name". */
static int read_names(struct reader *reader, json_t *value, void *arg)
{
    struct entry *entry = arg;

    if (!json_is_string(value) && !json_is_array(value))
        return reader_refuse(reader, "must be the names of calls");
    if (entry->names)
        return reader_refuse(reader, "'name' and 'names' exclude each other");
    entry->names = value;
    memcpy(entry->names_pointer, reader->pointer, sizeof(entry->names_pointer));
    return 0;
}

static int read_arg_index(struct reader *reader, json_t *value, void *arg)
{
    uint64_t index = 0;
    int r = reader_number(reader, value, 5, &index);

    if (r == 0)
        ((struct scmp_arg_cmp *)arg)->arg = (unsigned)index;
    return r;
}

static int read_arg_value(struct reader *reader, json_t *value, void *arg)
{
    return reader_number(reader, value, UINT64_MAX, &((struct scmp_arg_cmp *)arg)->datum_a);
}

static int read_arg_value_two(struct reader *reader, json_t *value, void *arg)
{
    return reader_number(reader, value, UINT64_MAX, &((struct scmp_arg_cmp *)arg)->datum_b);
}

static int read_arg_op(struct reader *reader, json_t *value, void *arg)
{
    static const char *const words[] = {
        "SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE",        "SCMP_CMP_EQ",
        "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ", NULL,
    };
    static const enum scmp_compare ops[] = {
        SCMP_CMP_NE, SCMP_CMP_LT, SCMP_CMP_LE,        SCMP_CMP_EQ,
        SCMP_CMP_GE, SCMP_CMP_GT, SCMP_CMP_MASKED_EQ,
    };
    size_t i = 0;
    int r = reader_word(reader, value, "operator", words, &i);

    if (r == 0)
        ((struct scmp_arg_cmp *)arg)->op = ops[i];
    return r;
}

static int read_arg(struct reader *reader, json_t *value, void *arg)
{
    static const struct reader_member members[] = {{"index", read_arg_index},
                                                   {"value", read_arg_value},
                                                   {"valueTwo", read_arg_value_two},
                                                   {"op", read_arg_op},
                                                   {0}};
    struct entry *entry = arg;

    if (entry->arg_count == ARGS_MAX)
        return reader_refuse(reader, "is one condition too many: a call has six arguments");
    struct scmp_arg_cmp *cmp = &entry->args[entry->arg_count++];
    int r = reader_object(reader, value, members, cmp);
    if (r == 0 && cmp->op == 0)
        return reader_refuse(reader, "has no 'op'");
    return r;
}

static int read_args(struct reader *reader, json_t *value, void *arg)
{
    return reader_array(reader, value, read_arg, arg);
}

/* ---- From entries to rules ---- */

static int add_rule(struct reader *reader, const struct entry *entry, int nr, unsigned first,
                    unsigned count)
{
    struct profile *profile = reader->profile;
    struct scmp_arg_cmp *args = NULL;

    profile->rules = arena_grow(reader->arena, profile->rules, profile->rule_count,
                                &profile->rule_cap, sizeof(*profile->rules));
    if (count)
        args = arena_alloc(reader->arena, count * sizeof(*args));
    if (arena_failed(reader->arena))
        return err_oom(reader->err);
    if (args)
        memcpy(args, &entry->args[first], count * sizeof(*args));
    profile->rules[profile->rule_count++] = (struct profile_rule){
        .nr = nr,
        .action = whole_action(&entry->action),
        .args = args,
        .arg_count = count,
    };
    return 0;
}

/* Conditions must all hold; but two on one argument are alternatives, in Docker and runc alike. */
static int add_rules(struct reader *reader, const struct entry *entry, int nr)
{
    unsigned seen = 0;
    bool twice = false;
    int r = 0;

    for (unsigned i = 0; i < entry->arg_count; i++) {
        twice |= seen >> entry->args[i].arg & 1;
        seen |= 1U << entry->args[i].arg;
    }
    if (!twice)
        return add_rule(reader, entry, nr, 0, entry->arg_count);
    for (unsigned i = 0; i < entry->arg_count && r == 0; i++)
        r = add_rule(reader, entry, nr, i, 1);
    return r;
}

static int read_name(struct reader *reader, json_t *value, void *arg)
{
    struct entry *entry = arg;
    struct profile *profile = reader->profile;

    if (!json_is_string(value) || !*json_string_value(value))
        return reader_refuse(reader, "must be the name of a call");
    int nr = filter_call_number(FILTER_ARCH, json_string_value(value));
    if (nr < 0) {
        profile->ignored++;
        return 0;
    }
    if (nr > profile->newest)
        profile->newest = nr;
    /* libseccomp refuses rules that say what is so by default. */
    if (entry->skipped || whole_action(&entry->action) == profile->default_action)
        return 0;
    return add_rules(reader, entry, nr);
}

static int read_entry(struct reader *reader, json_t *value, void *arg)
{
    static const struct reader_member members[] = {
        {"name", read_names},
        {"names", read_names},
        {"action", read_entry_action},
        {"errnoRet", read_entry_errno},
        {"errno", read_entry_errno_name},
        {"args", read_args},
        {"includes", read_includes},
        {"excludes", read_excludes},
        {"comment", NULL},
        {0},
    };
    struct entry entry = {.action = {.error = EPERM}};

    int r = reader_object(reader, value, members, &entry);
    if (r < 0)
        return r;
    if (!entry.names)
        return reader_refuse(reader, "has no 'names'");
    if (!entry.has_action)
        return reader_refuse(reader, "has no 'action'");
    memcpy(reader->pointer, entry.names_pointer, sizeof(reader->pointer));
    if (json_is_array(entry.names))
        return reader_array(reader, entry.names, read_name, &entry);
    return read_name(reader, entry.names, &entry);
}

/* ---- The document ---- */

struct document {
    struct action action;
    bool has_action;
    bool has_arches;
    bool our_arch;
};

static int read_default_action(struct reader *reader, json_t *value, void *arg)
{
    struct document *document = arg;

    document->has_action = true;
    return read_action(reader, value, &document->action);
}

static int read_default_errno(struct reader *reader, json_t *value, void *arg)
{
    return read_errno_ret(reader, value, &((struct document *)arg)->action);
}

static int read_default_errno_name(struct reader *reader, json_t *value, void *arg)
{
    return read_errno_name(reader, value, &((struct document *)arg)->action);
}

static int read_arch(struct reader *reader, json_t *value, void *arg)
{
    static const char *const words[] = {
        OUR_ARCH,
        "SCMP_ARCH_X86",
        "SCMP_ARCH_X86_64",
        "SCMP_ARCH_X32",
        "SCMP_ARCH_ARM",
        "SCMP_ARCH_AARCH64",
        "SCMP_ARCH_MIPS",
        "SCMP_ARCH_MIPS64",
        "SCMP_ARCH_MIPS64N32",
        "SCMP_ARCH_MIPSEL",
        "SCMP_ARCH_MIPSEL64",
        "SCMP_ARCH_MIPSEL64N32",
        "SCMP_ARCH_PPC",
        "SCMP_ARCH_PPC64",
        "SCMP_ARCH_PPC64LE",
        "SCMP_ARCH_S390",
        "SCMP_ARCH_S390X",
        "SCMP_ARCH_PARISC",
        "SCMP_ARCH_PARISC64",
        "SCMP_ARCH_RISCV64",
        "SCMP_ARCH_LOONGARCH64",
        "SCMP_ARCH_M68K",
        "SCMP_ARCH_SH",
        "SCMP_ARCH_SHEB",
        NULL,
    };
    struct document *document = arg;
    size_t i = 0;
    int r = reader_word(reader, value, "architecture", words, &i);

    if (r == 0 && i == 0)
        document->our_arch = true;
    return r;
}

/* The file is for these. Ours must be among them; others have nothing to run here (see floor). */
static int read_architectures(struct reader *reader, json_t *value, void *arg)
{
    struct document *document = arg;

    document->has_arches = true;
    int r = reader_array(reader, value, read_arch, document);
    if (r == 0 && json_array_size(value) > 0 && !document->our_arch)
        return reader_refuse(reader, "has not " OUR_ARCH ", which this machine is");
    return r;
}

static int read_sub_arches(struct reader *reader, json_t *value, void *arg)
{
    return reader_array(reader, value, read_arch, arg);
}

static int read_arch_map_row(struct reader *reader, json_t *value, void *arg)
{
    static const struct reader_member members[] = {
        {"architecture", read_arch}, {"subArchitectures", read_sub_arches}, {0}};

    return reader_object(reader, value, members, arg);
}

static int read_arch_map(struct reader *reader, json_t *value, void *arg)
{
    if (((struct document *)arg)->has_arches)
        return reader_refuse(reader, "'architectures' and 'archMap' exclude each other");
    return reader_array(reader, value, read_arch_map_row, arg);
}

/* All of them can be left out: TSYNC has one thread to act on, the rest are not needed to be safe. */
static int read_flag(struct reader *reader, json_t *value, void *arg)
{
    static const char *const words[] = {
        "SECCOMP_FILTER_FLAG_TSYNC",
        "SECCOMP_FILTER_FLAG_LOG",
        "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
        NULL,
    };
    size_t ignored = 0;

    return reader_word(reader, value, "flag", words, &ignored);
}

static int read_flags(struct reader *reader, json_t *value, void *arg)
{
    return reader_array(reader, value, read_flag, arg);
}

static int read_listener(struct reader *reader, json_t *value, void *arg)
{
    return reader_refuse(reader, "a listener of the file's own is not supported");
}

/* Entries are compared with the default, so they come last. */
static int read_all_entries(struct reader *reader, json_t *value, void *arg)
{
    reader->profile->default_action = whole_action(&((struct document *)arg)->action);
    return reader_array(reader, value, read_entry, NULL);
}

int profile_read(const char *text, size_t len, const char *source, struct arena *arena,
                 struct profile *ret, struct hutch_error *err)
{
    static const struct reader_member members[] = {
        {"defaultAction", read_default_action},
        {"defaultErrnoRet", read_default_errno},
        {"defaultErrno", read_default_errno_name},
        {"architectures", read_architectures},
        {"archMap", read_arch_map},
        {"flags", read_flags},
        {"listenerPath", read_listener},
        {"listenerMetadata", read_listener},
        {"syscalls", read_all_entries},
        {0},
    };
    struct document document = {.action = {.error = EPERM}};
    struct reader reader = {.profile = ret, .arena = arena, .source = source, .err = err};
    json_auto_ref json_t *root = NULL;

    *ret = (struct profile){.newest = -1};
    int r = json_parse_object(text, len, FILTER_FILE_MAX, source, &root, err);
    if (r == 0)
        r = reader_object(&reader, root, members, &document);
    if (r == 0 && !document.has_action)
        r = reader_refuse(&reader, "has no 'defaultAction'");
    ret->default_action = whole_action(&document.action);
    return r;
}
