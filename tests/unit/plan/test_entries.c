/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/passes.h"

#include "steps.h"

/* A plan with nothing in it but entries that a test makes up. */
static struct plan *plan;
static struct plan_entries entries;

static int setup(void **state)
{
    plan = plan_new();
    entries = (struct plan_entries){0};
    return plan ? 0 : -1;
}

static int teardown(void **state)
{
    plan_free(plan);
    plan = NULL;
    return 0;
}

static int renew(void)
{
    return teardown(NULL) || setup(NULL);
}

/* Every bind holds a descriptor, so that a test sees who closes it. */
static void add(struct plan_mount mount)
{
    mount.source_fd = mount.kind == MOUNT_BIND ? open("/dev/null", O_PATH | O_CLOEXEC) : -1;
    plan_entry_add(plan, &entries, mount);
}

static struct plan_mount bind_dir(const char *target, enum mount_why why, bool writable)
{
    return (struct plan_mount){.kind = MOUNT_BIND,
                               .why = why,
                               .target = target,
                               .source = target,
                               .directory = true,
                               .writable = writable};
}

static struct plan_mount mask(const char *target, bool directory)
{
    return (struct plan_mount){
        .kind = MOUNT_MASK, .why = WHY_HIDE, .target = target, .directory = directory};
}

static struct plan_mount tmpfs(const char *target, bool writable)
{
    return (struct plan_mount){.kind = MOUNT_TMPFS, .target = target, .writable = writable};
}

static void the_stronger_rule_wins_at_one_path(void **state)
{
    /* Weakest first. A pin has its own test. */
    static const enum mount_why order[] = {WHY_LAYOUT, WHY_HOME,    WHY_READ,
                                           WHY_WRITE,  WHY_PROTECT, WHY_HIDE};
    static const struct {
        enum mount_why a, b;
    } equals[] = {{WHY_LAYOUT, WHY_DEVICE}, {WHY_READ, WHY_REPO}, {WHY_WRITE, WHY_WORKSPACE}};

    for (size_t a = 0; a < ARRAY_LEN(order); a++) {
        for (size_t b = 0; b < ARRAY_LEN(order); b++) {
            int before = open_fds();
            enum mount_why want = order[a > b ? a : b];

            add(bind_dir("/x", order[a], false));
            add(bind_dir("/x", order[b], false));
            assert_int_equal(plan_entry_covering(&entries, "/x/y")->mount.why, want);
            assert_int_equal(plan_pass_mounts(plan, &entries, NULL), 0);
            assert_int_equal(plan->mount_count, 1);
            assert_int_equal(plan->mounts[0].why, want);
            assert_int_equal(open_fds(), before + 1);
            assert_int_equal(renew(), 0);
            assert_int_equal(open_fds(), before);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(equals); i++) {
        add(bind_dir("/x", equals[i].a, false));
        add(bind_dir("/x", equals[i].b, false));
        assert_int_equal(entries.items[0].precedence, entries.items[1].precedence);
        assert_int_equal(plan_pass_mounts(plan, &entries, NULL), 0);
        assert_int_equal(plan->mount_count, 1);
        assert_int_equal(renew(), 0);
    }
}

static void the_deepest_entry_covers(void **state)
{
    static const struct {
        const char *path, *want; /* NULL: nothing covers it */
    } cases[] = {
        {"/", "/"},
        {"/etc", "/"},
        {"/home", "/home"},
        {"/home/me", "/home"},
        {"/homer", "/"},
        {"/home/ws", "/home/ws"},
        {"/home/ws/x/y", "/home/ws"},
        {"/run/link", "/"},
        {"/home/wsx", "/home"},
    };

    assert_null(plan_entry_covering(&entries, "/"));
    add(bind_dir("/", WHY_LAYOUT, false));
    add(bind_dir("/home/ws", WHY_WORKSPACE, true));
    add(bind_dir("/home", WHY_HOME, false));
    /* These make no file system of their own. */
    add((struct plan_mount){.kind = MOUNT_LINK, .target = "/run/link", .source = "/x"});
    add((struct plan_mount){.kind = MOUNT_DIR, .target = "/etc"});
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(plan_entry_covering(&entries, cases[i].path)->mount.target,
                            cases[i].want);
}

static void an_entry_without_a_target_is_not_kept(void **state)
{
    int before = open_fds();
    struct plan_mount mount = bind_dir(NULL, WHY_READ, false);

    mount.source_fd = open("/dev/null", O_PATH | O_CLOEXEC);
    assert_null(plan_entry_add(plan, &entries, mount));
    assert_int_equal(entries.count, 0);
    assert_int_equal(open_fds(), before);
}

static void parents_come_before_children(void **state)
{
    static const char *const sorted[] = {"/",    "/a",   "/a/b", "/a/b/c", "/a/b-c",
                                         "/a b", "/a-b", "/a.c", "/aa",    "/\xc3\xa4"};
    const size_t count = ARRAY_LEN(sorted);

    /* From every start, forwards and backwards. */
    for (size_t start = 0; start < count; start++) {
        for (size_t step = 1; step < count; step += count - 2) {
            for (size_t i = 0; i < count; i++)
                add(bind_dir(sorted[(start + i * step) % count], WHY_READ, false));
            assert_int_equal(plan_pass_mounts(plan, &entries, NULL), 0);
            assert_int_equal(plan->mount_count, count);
            for (size_t i = 0; i < count; i++)
                assert_string_equal(plan->mounts[i].target, sorted[i]);
            assert_int_equal(renew(), 0);
        }
    }
}

struct golden {
    const char *name;
    struct plan_mount entries[8];
    const char *want;
};

static void steps_are_made_where_they_are_needed(void **state)
{
    const struct golden cases[] = {
        {
            "the host has it all",
            {bind_dir("/home/me/ws", WHY_WORKSPACE, true), bind_dir("/", WHY_LAYOUT, false)},
            "bind / layout\n"
            "bind+ /home/me/ws workspace\n",
        },
        {
            "an empty root needs places, once each, and a seal",
            {
                tmpfs("/", false),
                bind_dir("/usr", WHY_LAYOUT, false),
                {.kind = MOUNT_BIND, .target = "/etc/hosts", .source = "/etc/hosts"},
                {.kind = MOUNT_BIND, .target = "/etc/passwd", .source = "/etc/passwd"},
                {.kind = MOUNT_LINK, .target = "/var/tmp", .source = "/tmp"},
                tmpfs("/tmp", true),
                bind_dir("/home/me/ws", WHY_WORKSPACE, true),
            },
            "tmpfs / layout\n"
            "directory /etc layout\n"
            "file /etc/hosts layout\n"
            "bind /etc/hosts layout\n"
            "file /etc/passwd layout\n"
            "bind /etc/passwd layout\n"
            "directory /home layout\n"
            "directory /home/me layout\n"
            "directory /home/me/ws layout\n"
            "bind+ /home/me/ws workspace\n"
            "directory /tmp layout\n"
            "tmpfs+ /tmp layout\n"
            "directory /usr layout\n"
            "bind /usr layout\n"
            "directory /var layout\n"
            "link /var/tmp layout\n"
            "seal / layout\n",
        },
        {
            "a tmpfs on the host: only what is on it is made",
            {
                bind_dir("/", WHY_LAYOUT, false),
                tmpfs("/tmp", true),
                bind_dir("/tmp/a/ws", WHY_WORKSPACE, true),
                bind_dir("/tmp/a/ws/lib", WHY_PROTECT, false),
            },
            "bind / layout\n"
            "tmpfs+ /tmp layout\n"
            "directory /tmp/a layout\n"
            "directory /tmp/a/ws layout\n"
            "bind+ /tmp/a/ws workspace\n"
            "bind /tmp/a/ws/lib protect\n",
        },
        {
            "seals come last, inner ones too",
            {tmpfs("/", false), tmpfs("/etc", false), tmpfs("/run", true),
             bind_dir("/zoo", WHY_READ, false)},
            "tmpfs / layout\n"
            "directory /etc layout\n"
            "tmpfs /etc layout\n"
            "directory /run layout\n"
            "tmpfs+ /run layout\n"
            "directory /zoo layout\n"
            "bind /zoo read\n"
            "seal / layout\n"
            "seal /etc layout\n",
        },
        {
            "a directory of the layout's own is made once",
            {tmpfs("/", false),
             {.kind = MOUNT_DIR, .target = "/run"},
             bind_dir("/run/x", WHY_READ, false)},
            "tmpfs / layout\n"
            "directory /run layout\n"
            "directory /run/x layout\n"
            "bind /run/x read\n"
            "seal / layout\n",
        },
        {
            "a link gives way to what is granted below its name",
            {tmpfs("/", false),
             {.kind = MOUNT_LINK, .target = "/var/tmp", .source = "/tmp"},
             bind_dir("/var/tmp/ws", WHY_WRITE, true)},
            "tmpfs / layout\n"
            "directory /var layout\n"
            "directory /var/tmp layout\n"
            "directory /var/tmp/ws layout\n"
            "bind+ /var/tmp/ws write\n"
            "seal / layout\n",
        },
        {
            "nothing is made in a directory of the host",
            {tmpfs("/", false),
             {.kind = MOUNT_DIR, .target = "/etc"},
             {.kind = MOUNT_FILE, .target = "/etc/passwd", .content = "x"},
             {.kind = MOUNT_LINK, .target = "/etc/localtime", .source = "/usr/x"},
             {.kind = MOUNT_LINK, .target = "/var/tmp", .source = "/tmp"},
             bind_dir("/etc", WHY_READ, false),
             bind_dir("/var", WHY_WRITE, true)},
            "tmpfs / layout\n"
            "directory /etc layout\n"
            "bind /etc read\n"
            "directory /var layout\n"
            "bind+ /var write\n"
            "seal / layout\n",
        },
        {
            "files of our own",
            {tmpfs("/", false),
             {.kind = MOUNT_DIR, .target = "/etc"},
             {.kind = MOUNT_FILE, .target = "/etc/passwd", .content = "x"},
             {.kind = MOUNT_BIND, .target = "/etc/ssl", .source = "/etc/ssl", .directory = true}},
            "tmpfs / layout\n"
            "directory /etc layout\n"
            "file /etc/passwd layout\n"
            "directory /etc/ssl layout\n"
            "bind /etc/ssl layout\n"
            "seal / layout\n",
        },
        {
            "hidden",
            {bind_dir("/", WHY_LAYOUT, false), mask("/h", true), mask("/f", false)},
            "bind / layout\n"
            "mask /f hide\n"
            "mask /h hide\n",
        },
        {
            "what is hidden already is not hidden again",
            {bind_dir("/", WHY_LAYOUT, false), mask("/h/x", true), mask("/h", true),
             mask("/h/x/y", false), mask("/hh", true)},
            "bind / layout\n"
            "mask /h hide\n"
            "mask /hh hide\n",
        },
        {
            "hidden, with a grant below: passable",
            {bind_dir("/", WHY_LAYOUT, false), mask("/h", true), mask("/h/a/ws/s", true),
             bind_dir("/h/a/ws", WHY_WRITE, true)},
            "bind / layout\n"
            "tmpfs /h hide\n"
            "directory /h/a layout\n"
            "directory /h/a/ws layout\n"
            "bind+ /h/a/ws write\n"
            "mask /h/a/ws/s hide\n"
            "seal /h hide\n",
        },
        {
            "empty, and with a grant below: a tmpfs that everybody may list",
            {bind_dir("/", WHY_LAYOUT, false),
             {.kind = MOUNT_EMPTY, .target = "/a", .directory = true},
             {.kind = MOUNT_EMPTY, .target = "/run", .directory = true},
             {.kind = MOUNT_BIND,
              .why = WHY_READ,
              .target = "/run/x/sock",
              .source = "/run/x/sock"}},
            "bind / layout\n"
            "empty /a layout\n"
            "tmpfs /run layout\n"
            "directory /run/x layout\n"
            "file /run/x/sock layout\n"
            "bind /run/x/sock read\n"
            "seal /run layout\n",
        },
        {
            "a mask of the layout's gives way to any rule, and goes with what it was to cover",
            {bind_dir("/", WHY_LAYOUT, false),
             {.kind = MOUNT_MASK, .why = WHY_MASK, .target = "/sys/a", .directory = true},
             {.kind = MOUNT_MASK, .why = WHY_MASK, .target = "/sys/b", .directory = true},
             {.kind = MOUNT_MASK, .why = WHY_MASK, .target = "/sys/b/c", .directory = true},
             bind_dir("/sys/a", WHY_READ, false)},
            "bind / layout\n"
            "bind /sys/a read\n"
            "mask /sys/b masked\n",
        },
        {
            "a link is pinned as a directory is",
            {bind_dir("/ws", WHY_WORKSPACE, true),
             {.kind = MOUNT_BIND,
              .why = WHY_PIN,
              .target = "/ws/link",
              .source = "/ws/link",
              .writable = true},
             {.kind = MOUNT_BIND,
              .why = WHY_PIN,
              .target = "/ws/p/link",
              .source = "/ws/p/link",
              .writable = true},
             bind_dir("/ws/p", WHY_PROTECT, false)},
            "bind+ /ws workspace\n"
            "bind+ /ws/link pinned\n"
            "bind /ws/p protect\n",
        },
        {
            "a file that is hidden has nothing below it",
            {bind_dir("/", WHY_LAYOUT, false), mask("/h", false),
             bind_dir("/h-x", WHY_READ, false)},
            "bind / layout\n"
            "mask /h hide\n"
            "bind /h-x read\n",
        },
        {
            "a pin is as writable as its place",
            {bind_dir("/", WHY_LAYOUT, false), bind_dir("/ws", WHY_WORKSPACE, true),
             bind_dir("/ws/a", WHY_PIN, true), bind_dir("/ws/a/b", WHY_PIN, true),
             bind_dir("/ws/a/b/c", WHY_PROTECT, false)},
            "bind / layout\n"
            "bind+ /ws workspace\n"
            "bind+ /ws/a pinned\n"
            "bind+ /ws/a/b pinned\n"
            "bind /ws/a/b/c protect\n",
        },
        {
            "a pin does not open what is protected",
            {bind_dir("/ws", WHY_WORKSPACE, true), bind_dir("/ws/a", WHY_PIN, true),
             bind_dir("/ws/a/b", WHY_PIN, true), bind_dir("/ws/a/b/c", WHY_PROTECT, false),
             bind_dir("/ws/a", WHY_PROTECT, false)},
            "bind+ /ws workspace\n"
            "bind /ws/a protect\n"
            "bind /ws/a/b/c protect\n",
        },
        {
            "nor what is hidden",
            {bind_dir("/ws", WHY_WORKSPACE, true), bind_dir("/ws/a", WHY_PIN, true),
             bind_dir("/ws/a/b", WHY_PIN, true), mask("/ws/a", true)},
            "bind+ /ws workspace\n"
            "mask /ws/a hide\n",
        },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int before = open_fds();

        for (const struct plan_mount *mount = cases[i].entries; mount->target; mount++)
            add(*mount);
        assert_int_equal(plan_pass_mounts(plan, &entries, NULL), 0);
        if (!str_eq(steps(plan, "/", true), cases[i].want))
            fail_msg("%s:\n%s", cases[i].name, steps(plan, "/", true));
        assert_int_equal(renew(), 0);
        assert_int_equal(open_fds(), before);
    }
}

static const struct plan_mount *step_at(enum mount_kind kind, const char *target)
{
    for (size_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].kind == kind && str_eq(plan->mounts[i].target, target))
            return &plan->mounts[i];
    fail_msg("no %s at '%s'", plan_kind_name(kind), target);
    return NULL;
}

static void modes_of_what_is_made(void **state)
{
    add(tmpfs("/", false));
    add((struct plan_mount){.kind = MOUNT_TMPFS, .why = WHY_DEVICE, .target = "/dev"});
    add((struct plan_mount){
        .kind = MOUNT_BIND, .why = WHY_DEVICE, .target = "/dev/null", .device = true});
    add(bind_dir("/home", WHY_READ, false));
    add(mask("/home/me", true));
    add(bind_dir("/home/me/a/ws", WHY_WRITE, true));
    assert_int_equal(plan_pass_mounts(plan, &entries, NULL), 0);
    assert_int_equal(step_at(MOUNT_DIR, "/home")->mode, 0755);
    assert_int_equal(step_at(MOUNT_TMPFS, "/home/me")->mode, 0111);
    assert_int_equal(step_at(MOUNT_DIR, "/home/me/a")->mode, 0111);
    assert_int_equal(step_at(MOUNT_FILE, "/dev/null")->why, WHY_DEVICE);
    assert_int_equal(step_at(MOUNT_DIR, "/dev")->why, WHY_LAYOUT);
}

static void a_workspace_that_is_the_root_gets_mount_points(void **state)
{
    add(bind_dir("/", WHY_WORKSPACE, true));
    add((struct plan_mount){.kind = MOUNT_PROC, .target = "/proc"});
    add(bind_dir("/usr/lib", WHY_LAYOUT, false));
    add((struct plan_mount){.kind = MOUNT_BIND, .why = WHY_PROTECT, .target = "/file"});
    assert_int_equal(plan_pass_mounts(plan, &entries, NULL), 0);
    assert_string_equal(steps(plan, "/", true), "bind+ / workspace\n"
                                                "file /file layout\n"
                                                "bind /file protect\n"
                                                "directory /proc layout\n"
                                                "proc /proc layout\n"
                                                "directory /usr layout\n"
                                                "directory /usr/lib layout\n"
                                                "bind /usr/lib layout\n");
    assert_true(step_at(MOUNT_DIR, "/proc")->on_host);
    assert_true(step_at(MOUNT_DIR, "/usr")->on_host);
}

static void modes_of_what_was_empty(void **state)
{
    add(bind_dir("/", WHY_LAYOUT, false));
    add((struct plan_mount){.kind = MOUNT_EMPTY, .target = "/run", .directory = true});
    add(bind_dir("/run/x", WHY_READ, false));
    assert_int_equal(plan_pass_mounts(plan, &entries, NULL), 0);
    assert_int_equal(step_at(MOUNT_TMPFS, "/run")->mode, 0755);
    assert_int_equal(step_at(MOUNT_DIR, "/run/x")->mode, 0755);
}

/* An id map opens all of a directory, so it is not for what everybody may read already. */
static void who_needs_an_id_map(void **state)
{
    static const struct {
        mode_t mode;
        bool writable, want;
    } cases[] = {
        {S_IFDIR | 0755, false, false},  {S_IFDIR | 0755, true, true},
        {S_IFDIR | 0705, false, false},  {S_IFDIR | 0700, false, true},
        {S_IFDIR | 0750, false, true},   {S_IFDIR | 0751, false, true},
        {S_IFDIR | 0754, false, true},   {S_IFDIR | 0700, true, true},
        {S_IFDIR | 01777, true, true},   {S_IFREG | 0644, false, false},
        {S_IFREG | 0640, false, true},   {S_IFREG | 0711, false, true},
        {S_IFREG | 0600, false, true},   {S_IFREG | 0644, true, true},
        {S_IFSOCK | 0666, false, false}, {S_IFSOCK | 0660, false, true},
        {S_IFLNK | 0777, true, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
        const struct stat st = {.st_mode = cases[i / 2].mode};
        plan->identity.privileged = i % 2;
        bool want = i % 2 && cases[i / 2].want;

        if (plan_needs_idmap(plan, "/usr/x", &st, cases[i / 2].writable) != want)
            fail_msg("row %zu, %s", i / 2, i % 2 ? "root" : "a user");
    }
}

/* Where everybody may read, but cannot get to. */
static void a_closed_way_needs_an_id_map(void **state)
{
    static const char *const tree[] = {"a/", "a/b/", "a/b/f", NULL};
    static const struct {
        const char *path;
        mode_t mode; /* of @/a */
        bool want;
    } cases[] = {
        {"@/a/b/f", 0755, false}, {"@/a/b/f", 0711, false}, {"@/a/b", 0700, true},
        {"@/a/b/f", 0700, true},  {"@/a/b/f", 0754, true},  {"@/a", 0700, false},
        {"@/gone/x", 0755, true}, {"/", 0755, false},
    };
    const struct stat st = {.st_mode = S_IFDIR | 0755};

    scratch_make(tree);
    for (size_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
        plan->identity.privileged = i % 2;
        bool want = i % 2 && cases[i / 2].want;

        assert_int_equal(chmod(at("@/a"), cases[i / 2].mode), 0);
        if (plan_needs_idmap(plan, at(cases[i / 2].path), &st, false) != want)
            fail_msg("row %zu, %s", i / 2, i % 2 ? "root" : "a user");
    }
    assert_int_equal(chmod(at("@/a"), 0755), 0);
    assert_int_equal(scratch_remove(state), 0);
}

#define ENTRIES_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENTRIES_TEST(the_stronger_rule_wins_at_one_path),
        ENTRIES_TEST(the_deepest_entry_covers),
        ENTRIES_TEST(an_entry_without_a_target_is_not_kept),
        ENTRIES_TEST(parents_come_before_children),
        ENTRIES_TEST(steps_are_made_where_they_are_needed),
        ENTRIES_TEST(modes_of_what_is_made),
        ENTRIES_TEST(modes_of_what_was_empty),
        ENTRIES_TEST(who_needs_an_id_map),
        ENTRIES_TEST(a_closed_way_needs_an_id_map),
        ENTRIES_TEST(a_workspace_that_is_the_root_gets_mount_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
