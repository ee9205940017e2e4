/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/policy.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

/* A home with installed profiles of its own, gone after each test. */
static char home[64];

static void path_of(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s/hutch/profiles/%s", home, name);
}

static int setup(void **state)
{
    char path[200];

    snprintf(home, sizeof(home), "/tmp/hutch-profile-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    setenv("XDG_CONFIG_HOME", home, 1);
    snprintf(path, sizeof(path), "%s/hutch", home);
    if (mkdir(path, 0700) < 0)
        return -1;
    path_of("", path, sizeof(path));
    return mkdir(path, 0700);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static int teardown(void **state)
{
    return nftw(home, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void install(const char *name, const char *text)
{
    char path[300];

    path_of(name, path, sizeof(path));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* What merging the profile says, "" when it works. */
static const char *merge(const char *name, struct policy *policy, struct hutch_error *err)
{
    *err = (struct hutch_error){0};
    policy_init(policy);
    int r = policy_merge_profile(policy, name, err);
    assert_int_equal(r, err->code);
    if (r < 0)
        policy_clear(policy);
    return err->msg;
}

/* What the default profile hides and protects, and so every shipped profile. */
static const char *const hidden[] = {
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.config/gcloud",
    "~/.oci",
    "~/.terraform.d",
    "~/.vault-token",
    "~/.kube",
    "~/.docker",
    "~/.config/containers/auth.json",
    "~/.config/rclone",
    "~/.netrc",
    "~/.npmrc",
    "~/.yarnrc.yml",
    "~/.pypirc",
    "~/.config/pip/pip.conf",
    "~/.m2/settings.xml",
    "~/.gem/credentials",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.config/gh",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.local/share/keyrings",
    "~/.local/share/kwalletd",
    "~/.password-store",
    "~/.config/op",
    "~/.pgpass",
    "~/.claude/.credentials.json",
    "~/.codex/auth.json",
    "~/.mozilla",
    "~/snap/firefox/common/.mozilla",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.config/BraveSoftware",
    "~/.config/microsoft-edge",
    "~/.bash_history",
    "~/.zsh_history",
    "~/.local/share/fish/fish_history",
    "~/.python_history",
    "~/.node_repl_history",
    "~/.psql_history",
    "~/.mysql_history",
    ".env",
    ".env.local",
};
static const char *const protected[] = {
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/modules",
    ".git/worktrees",
    "HEAD",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".gitconfig",
    ".envrc",
    ".vscode",
    ".idea",
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".aider.conf.yml",
    ".mcp.json",
    "~/.bashrc",
    "~/.bash_profile",
    "~/.bash_login",
    "~/.profile",
    "~/.zshrc",
    "~/.zshenv",
    "~/.zprofile",
    "~/.zlogin",
    "~/.vimrc",
    "~/.gitconfig",
    "~/.claude/settings.json",
    "~/.codex/config.toml",
    "~/.cursor/mcp.json",
    "~/.config/git",
    "~/.config/fish",
    "~/.config/nvim",
};

static void assert_items(const struct policy_value *value, const char *const *want, size_t count)
{
    for (size_t i = 0; i < value->count && i < count; i++)
        assert_string_equal(value->items[i].text, want[i]);
    assert_int_equal(value->count, count);
}

static void shipped_profiles_say_what_the_contract_says(void **state)
{
    static const struct {
        const char *name;
        uint64_t timeout_s;
        enum policy_layout layout;
        enum policy_net net;
        const char *workspace;
        uint64_t output;
        const char *syscalls;
    } cases[] = {
        {"default", 120, LAYOUT_HOST, NET_NONE, ".", 1 << 20, "default"},
        {"basic", 60, LAYOUT_HOST, NET_NONE, ".", 1 << 20, "default"},
        {"strict", 10, LAYOUT_MINIMAL, NET_NONE, "tmpfs", 1 << 20, "strict"},
        {"dev", 300, LAYOUT_HOST, NET_HOST, ".", 1 << 20, "default"},
        {"build", 300, LAYOUT_HOST, NET_NONE, ".", 1 << 20, "default"},
        {"test", 600, LAYOUT_HOST, NET_NONE, ".", 1 << 20, "default"},
        {"repo", 30, LAYOUT_MINIMAL, NET_NONE, "tmpfs", 32 << 10, "default"},
        {"root", 120, LAYOUT_ROOT, NET_NONE, ".", 1 << 20, "default"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err;
        struct policy policy;
        const struct policy_value *v = policy.values;

        assert_string_equal(merge(cases[i].name, &policy, &err), "");
        assert_int_equal(v[POLICY_TIMEOUT].number, cases[i].timeout_s * 1000);
        assert_int_equal(v[POLICY_LAYOUT].number, cases[i].layout);
        assert_int_equal(v[POLICY_NET].number, cases[i].net);
        assert_string_equal(v[POLICY_WORKSPACE].text, cases[i].workspace);
        assert_int_equal(v[POLICY_OUTPUT].number, cases[i].output);
        assert_int_equal(v[POLICY_OPEN_FILES].number, 1024);
        assert_int_equal(v[POLICY_FILE_SIZE].number, 1 << 30);
        assert_items(&v[POLICY_HIDE], hidden, ARRAY_LEN(hidden));
        assert_items(&v[POLICY_PROTECT], protected, ARRAY_LEN(protected));
        assert_string_equal(v[POLICY_SYSCALLS].text, cases[i].syscalls);
        assert_string_equal(v[POLICY_NET_UNIX].text, "private");
        assert_int_equal(v[POLICY_NET_UNIX].count, 0);
        assert_int_equal(v[POLICY_ENV_INHERIT].count, 12);
        policy_clear(&policy);
    }
}

static void shipped_profiles_have_the_limits_of_the_contract(void **state)
{
    static const struct {
        const char *name;
        const char *cpu_time;
        const char *cpus;
        const char *memory;
        const char *disk;
        const char *processes;
    } cases[] = {
        {"default", "60s", "2", "1G", "1G", "256"}, {"basic", "30s", "2", "256M", "1G", "10"},
        {"strict", "5s", "1", "64M", "32M", "1"},   {"dev", "10m", "2", "1G", "4G", "256"},
        {"build", "20m", "4", "2G", "4G", "512"},   {"test", "40m", "4", "1G", "2G", "512"},
        {"repo", "60s", "2", "1G", "256M", "256"},  {"root", "60s", "2", "1G", "1G", "256"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hutch_error err;
        struct policy policy;
        const struct policy_value *v = policy.values;
        uint64_t cpu_time;
        uint64_t cpus;
        uint64_t memory;
        uint64_t disk;
        uint64_t processes;

        assert_string_equal(merge(cases[i].name, &policy, &err), "");
        assert_null(num_parse_duration(cases[i].cpu_time, &cpu_time));
        assert_null(num_parse_cpus(cases[i].cpus, &cpus));
        assert_null(num_parse_size(cases[i].memory, &memory));
        assert_null(num_parse_size(cases[i].disk, &disk));
        assert_null(num_parse_count(cases[i].processes, &processes));
        assert_int_equal(v[POLICY_CPU_TIME].number, cpu_time);
        assert_int_equal(v[POLICY_CPUS].number, cpus);
        assert_int_equal(v[POLICY_MEMORY].number, memory);
        assert_int_equal(v[POLICY_DISK].number, disk);
        assert_int_equal(v[POLICY_PROCESSES].number, processes);
        policy_clear(&policy);
    }
}

static void names_that_are_refused(void **state)
{
    static const char *const bad[] = {"",   "..", "../default", "a/b", "A",
                                      "-a", "_a", "a.json",     "a b", "\033[2J"};
    struct hutch_error err;
    struct policy policy;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        merge(bad[i], &policy, &err);
        assert_int_equal(err.code, HUTCH_EPOLICY);
        assert_non_null(strstr(err.msg, "is not the name of a profile"));
        assert_null(strchr(err.msg, '\033'));
    }
    assert_string_equal(merge("strickt", &policy, &err),
                        "there is no profile 'strickt' (did you mean 'strict'?)");
    assert_string_equal(merge("zzzzzzz", &policy, &err),
                        "there is no profile 'zzzzzzz'; see 'hutch profile list'");
    assert_int_equal(err.code, HUTCH_EPOLICY);
}

static void installed_profiles_are_found(void **state)
{
    struct hutch_error err;
    struct policy policy;
    char where[300];

    install("mine.json", "{\"extends\":\"strict\",\"limits\":{\"timeout\":\"7s\"}}");
    assert_string_equal(merge("mine", &policy, &err), "");
    assert_int_equal(policy.values[POLICY_TIMEOUT].number, 7000);
    assert_int_equal(policy.values[POLICY_LAYOUT].number, LAYOUT_MINIMAL);
    policy_clear(&policy);

    install("broken.json", "{\"limits\":{\"timeout\":\"7 s\"}}");
    merge("broken", &policy, &err);
    assert_int_equal(err.code, HUTCH_EPOLICY);
    path_of("broken.json", where, sizeof(where));
    assert_true(str_starts(err.where, "/limits/timeout in "));
    assert_non_null(strstr(err.where, where));
}

static void values_know_that_a_profile_gave_them(void **state)
{
    static const char json[] = "{\"extends\":\"mine\",\"limits\":{\"memory\":\"2G\"}}";
    struct hutch_error err;
    struct policy policy;

    install("mine.json", "{\"extends\":\"strict\",\"limits\":{\"memory\":\"1G\",\"cpus\":3},"
                         "\"environment\":{\"set\":{\"A\":\"1\"}}}");
    assert_string_equal(merge("mine", &policy, &err), "");
    assert_true(policy.values[POLICY_TIMEOUT].from_profile);
    assert_true(policy.values[POLICY_MEMORY].from_profile);
    assert_true(policy.values[POLICY_ENV_SET].from_profile);
    policy_clear(&policy);

    policy_init(&policy);
    assert_int_equal(policy_merge_json(&policy, json, strlen(json), "a in profile b", &err), 0);
    assert_false(policy.values[POLICY_MEMORY].from_profile);
    assert_true(policy.values[POLICY_CPUS].from_profile);
    assert_int_equal(policy_set_flag(&policy, "--cpus", "1", NULL, &err), 0);
    assert_false(policy.values[POLICY_CPUS].from_profile);
    policy_clear(&policy);
}

static void shipped_names_cannot_be_shadowed(void **state)
{
    struct hutch_error err;
    struct policy policy;
    str_auto char *text = NULL;

    install("strict.json", "{\"network\":{\"mode\":\"host\"}}");
    assert_string_equal(merge("strict", &policy, &err), "");
    assert_int_equal(policy.values[POLICY_NET].number, NET_NONE);
    policy_clear(&policy);
    assert_int_equal(profile_text("strict", &text, &err), 0);
    assert_null(strstr(text, "host\""));
}

static void circles_are_refused(void **state)
{
    struct hutch_error err;
    struct policy policy;
    static const char document[] = "{\"extends\":\"a\"}";

    install("a.json", "{\"extends\":\"b\"}");
    install("b.json", "{\"extends\":\"a\"}");
    install("self.json", "{\"extends\":\"self\"}");
    assert_string_equal(merge("a", &policy, &err), "extends goes in a circle: a -> b -> a");
    assert_int_equal(err.code, HUTCH_EPOLICY);
    assert_true(str_starts(err.where, "/extends in "));
    assert_string_equal(merge("self", &policy, &err), "extends goes in a circle: self -> self");
    policy_init(&policy);
    assert_int_equal(policy_merge_json(&policy, document, strlen(document), "p.json", &err),
                     HUTCH_EPOLICY);
    assert_string_equal(err.msg, "extends goes in a circle: a -> b -> a");
    policy_clear(&policy);
}

static void long_chains_are_refused(void **state)
{
    struct hutch_error err;
    struct policy policy;

    for (int i = 0; i < 20; i++) {
        char name[32];
        char text[64];

        snprintf(name, sizeof(name), "p%d.json", i);
        snprintf(text, sizeof(text), "{\"extends\":\"p%d\"}", i + 1);
        install(name, text);
    }
    install("p20.json", "{}");
    assert_true(str_starts(merge("p0", &policy, &err), "extends goes deeper than 8: p0 -> p1"));
    assert_string_equal(merge("p15", &policy, &err), "");
    policy_clear(&policy);
}

static void odd_files_do_not_hang_or_pass(void **state)
{
    struct hutch_error err;
    struct policy policy;
    char path[300];
    str_auto char *big = malloc((1 << 20) + 2);

    path_of("pipe.json", path, sizeof(path));
    assert_int_equal(mkfifo(path, 0600), 0);
    merge("pipe", &policy, &err);
    assert_int_equal(err.code, HUTCH_EPOLICY);
    assert_non_null(strstr(err.msg, "is not a file"));

    path_of("dir.json", path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    merge("dir", &policy, &err);
    assert_int_equal(err.code, HUTCH_EPOLICY);

    memset(big, ' ', (1 << 20) + 1);
    big[(1 << 20) + 1] = '\0';
    install("big.json", big);
    merge("big", &policy, &err);
    assert_non_null(strstr(err.msg, "too many"));
}

static const struct hutch_profile *find(const struct hutch_profile *rows, size_t count,
                                        const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(rows[i].name, name))
            return &rows[i];
    }
    return NULL;
}

static void list_has_all_in_order(void **state)
{
    struct hutch_profile *rows = NULL;
    size_t count = 0;
    struct hutch_error err;

    install("mine.json", "{\"description\":\"my own\"}");
    install("broken.json", "{");
    install("strict.json", "{\"description\":\"shadow\"}");
    install("not-json.txt", "{}");
    install(".json", "{}");
    install("Upper.json", "{}");
    assert_int_equal(profile_list(&rows, &count, &err), 0);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
    assert_string_equal(find(rows, count, "mine")->description, "my own");
    assert_non_null(strstr(find(rows, count, "mine")->path, "/hutch/profiles/mine.json"));
    assert_string_equal(find(rows, count, "broken")->description, "");
    assert_null(find(rows, count, "strict")->path);
    assert_string_not_equal(find(rows, count, "strict")->description, "shadow");
    assert_null(find(rows, count, "Upper"));
    assert_non_null(find(rows, count, "default"));
    free(rows);
}

static void every_shipped_profile_merges_and_describes_itself(void **state)
{
    struct hutch_profile *rows = NULL;
    size_t count = 0;
    struct hutch_error err;

    assert_int_equal(profile_list(&rows, &count, &err), 0);
    assert_true(count >= 8);
    for (size_t i = 0; i < count; i++) {
        struct policy policy;

        if (rows[i].path)
            continue; /* installed on this host: not ours to judge */
        assert_string_equal(merge(rows[i].name, &policy, &err), "");
        assert_string_not_equal(rows[i].description, "");
        policy_clear(&policy);
    }
    free(rows);
}

static void assert_same_value(const char *profile, const char *key, const struct policy_value *a,
                              const struct policy_value *b)
{
    bool same = a->set == b->set && a->number == b->number && a->count == b->count &&
                str_eq(a->text ? a->text : "", b->text ? b->text : "") &&
                str_eq(a->origin ? a->origin : "", b->origin ? b->origin : "");

    for (size_t i = 0; same && i < a->count; i++)
        same = str_eq(a->items[i].text, b->items[i].text) &&
               str_eq(a->items[i].origin, b->items[i].origin) &&
               a->items[i].from_flag == b->items[i].from_flag;
    if (!same)
        fail_msg("%s: '%s' is not the same, or not from the same place", profile, key);
}

/* A start reads the settings that the build made of the JSON; both must say the same. */
static void settings_are_what_the_text_says(void **state)
{
    struct hutch_profile *rows = NULL;
    size_t count = 0;
    struct hutch_error err;

    assert_int_equal(profile_list(&rows, &count, &err), 0);
    for (size_t i = 0; i < count; i++) {
        struct policy flat;
        struct policy read;
        char label[64];
        str_auto char *text = NULL;
        str_auto char *flat_json = NULL;
        str_auto char *read_json = NULL;

        if (rows[i].path)
            continue; /* installed on this host: always read */
        assert_string_equal(merge(rows[i].name, &flat, &err), "");
        assert_int_equal(profile_text(rows[i].name, &text, &err), 0);
        snprintf(label, sizeof(label), "profile %s", rows[i].name);
        policy_init(&read);
        if (policy_merge_json(&read, text, strlen(text), label, &err) < 0)
            fail_msg("%s: at '%s': %s", label, err.where, err.msg);
        assert_int_equal(policy_to_json(&flat, &flat_json, &err), 0);
        assert_int_equal(policy_to_json(&read, &read_json, &err), 0);
        assert_string_equal(flat_json, read_json);
        for (size_t id = 0; id < POLICY_FIELD_COUNT; id++)
            assert_same_value(label, policy_fields[id].key, &flat.values[id], &read.values[id]);
        policy_clear(&flat);
        policy_clear(&read);
    }
    free(rows);
}

static void text_is_as_written(void **state)
{
    struct hutch_error err;
    str_auto char *text = NULL;
    char *missing = NULL;

    install("mine.json", "{ \"description\" : \"x\" }\n");
    assert_int_equal(profile_text("mine", &text, &err), 0);
    assert_string_equal(text, "{ \"description\" : \"x\" }\n");
    assert_int_equal(profile_text("missing", &missing, &err), HUTCH_ENOTFOUND);
    assert_null(missing);
}

static void relative_homes_are_ignored(void **state)
{
    struct hutch_error err;
    struct policy policy;

    install("mine.json", "{}");
    assert_int_equal(chdir(home), 0);
    setenv("XDG_CONFIG_HOME", ".", 1);
    setenv("HOME", "relative", 1);
    assert_true(str_starts(merge("mine", &policy, &err), "there is no profile 'mine'"));
    assert_int_equal(chdir("/"), 0);
}

int main(void)
{
#define PROFILE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        PROFILE_TEST(shipped_profiles_say_what_the_contract_says),
        PROFILE_TEST(shipped_profiles_have_the_limits_of_the_contract),
        PROFILE_TEST(names_that_are_refused),
        PROFILE_TEST(installed_profiles_are_found),
        PROFILE_TEST(values_know_that_a_profile_gave_them),
        PROFILE_TEST(shipped_names_cannot_be_shadowed),
        PROFILE_TEST(circles_are_refused),
        PROFILE_TEST(long_chains_are_refused),
        PROFILE_TEST(odd_files_do_not_hang_or_pass),
        PROFILE_TEST(list_has_all_in_order),
        PROFILE_TEST(every_shipped_profile_merges_and_describes_itself),
        PROFILE_TEST(settings_are_what_the_text_says),
        PROFILE_TEST(text_is_as_written),
        PROFILE_TEST(relative_homes_are_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
