/* SPDX-License-Identifier: Apache-2.0 */
/* read, write, hide and protect: what wins, what holds, and that the host never notices. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive.h"

/* A tree inside the workspace and the same outside: d/, d/e/, and a file in each directory. */
static void make_trees(void)
{
    static const char *const roots[] = {"work", "out"};

    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        box_file(box_text("%s/f", roots[i]), "text\n");
        box_dir(box_text("%s/d", roots[i]));
        box_file(box_text("%s/d/f", roots[i]), "text\n");
        box_dir(box_text("%s/d/e", roots[i]));
        box_file(box_text("%s/d/e/f", roots[i]), "text\n");
    }
}

/* "rw", "r-" or "--": what a run with these flags can do with a file. */
static const char *rights(const char *const *flags, const char *path)
{
    const char *out = drive_out(flags, PAYLOAD("read", path, ",", "write", path));
    bool readable = strstr(out, box_text("read %s: ok", path));
    bool writable = strstr(out, box_text("write %s: ok", path));

    return readable ? (writable ? "rw" : "r-") : (writable ? "-w" : "--");
}

/* In the table below, "w/..." is in the workspace and "o/..." outside of it. */
static const char *real_name(const char *path)
{
    if (path && path[0] == 'o' && (path[1] == '/' || !path[1]))
        return box_text("../out%s", path + 1);
    return path && path[0] == 'w' && path[1] == '/' ? path + 2 : path;
}

/* The most specific path wins; at one path, hide over protect over write over read. */
static void overlaps(void)
{
    static const struct {
        const char *flags[9];
        const char *path;
        const char *want;
    } cases[] = {
        {{NULL}, "w/f", "rw"},
        {{NULL}, "o/f", "r-"},
        {{"--write", "o"}, "o/d/e/f", "rw"},
        {{"--write", "o/f"}, "o/f", "rw"},
        {{"--write", "o/f"}, "o/d/f", "r-"},
        {{"--read", "w/d"}, "w/d/f", "r-"},
        {{"--read", "w/d"}, "w/f", "rw"},
        {{"--read", "w/f"}, "w/f", "r-"},
        /* deeper wins, whatever it is */
        {{"--write", "o", "--read", "o/d"}, "o/d/f", "r-"},
        {{"--write", "o", "--read", "o/d"}, "o/f", "rw"},
        {{"--write", "o/d", "--read", "o"}, "o/d/f", "rw"},
        {{"--write", "o/d", "--read", "o"}, "o/f", "r-"},
        {{"--read", "w/d", "--write", "w/d/e"}, "w/d/e/f", "rw"},
        {{"--read", "w/d", "--write", "w/d/e"}, "w/d/f", "r-"},
        {{"--protect", "w/d", "--write", "w/d/e"}, "w/d/e/f", "rw"},
        {{"--protect", "w/d", "--write", "w/d/e"}, "w/d/f", "r-"},
        {{"--hide", "o", "--write", "o/d"}, "o/d/f", "rw"},
        {{"--hide", "o", "--write", "o/d"}, "o/f", "--"},
        {{"--hide", "o", "--read", "o/d/e"}, "o/d/e/f", "r-"},
        {{"--hide", "o", "--read", "o/d/e"}, "o/d/f", "--"},
        {{"--hide", "w/d", "--write", "w/d/e/f"}, "w/d/e/f", "rw"},
        {{"--hide", "w/d", "--write", "w/d/e/f"}, "w/d/f", "--"},
        {{"--write", "o", "--hide", "o/d", "--read", "o/d/e"}, "o/d/e/f", "r-"},
        {{"--protect", "w/d", "--hide", "w/d/e"}, "w/d/e/f", "--"},
        {{"--protect", "w/d", "--hide", "w/d/e"}, "w/d/f", "r-"},
        {{"--hide", "w/d", "--protect", "w/d/e"}, "w/d/f", "--"},
        /* the same path */
        {{"--read", "o/d", "--write", "o/d"}, "o/d/f", "rw"},
        {{"--write", "o/d", "--read", "o/d"}, "o/d/f", "rw"},
        {{"--write", "o/d", "--protect", "o/d"}, "o/d/f", "r-"},
        {{"--protect", "o/d", "--write", "o/d"}, "o/d/f", "r-"},
        {{"--hide", "o/d", "--write", "o/d"}, "o/d/f", "--"},
        {{"--write", "o/d", "--hide", "o/d"}, "o/d/f", "--"},
        {{"--hide", "w/d", "--protect", "w/d"}, "w/d/f", "--"},
        {{"--protect", "w/d", "--hide", "w/d"}, "w/d/f", "--"},
        {{"--hide", "o/d", "--read", "o/d"}, "o/d/f", "--"},
        {{"--hide", "w/f"}, "w/f", "--"},
        {{"--protect", "w/f"}, "w/f", "r-"},
    };

    make_trees();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *f = cases[i].flags;
        const char *flags[9] = {NULL};
        for (size_t k = 0; k < 8 && f[k]; k++)
            flags[k] = real_name(f[k]);
        const char *got = rights(flags, real_name(cases[i].path));
        box_check(strcmp(got, cases[i].want) == 0, __FILE__, __LINE__,
                  "%s %s %s %s: %s is '%s', wanted '%s'", f[0] ? f[0] : "no rule", f[1] ? f[1] : "",
                  f[0] && f[2] ? f[2] : "", f[0] && f[2] ? f[3] : "", cases[i].path, got,
                  cases[i].want);
    }
}

static void grants_appear_in_small_layouts(void)
{
    static const char *const layouts[] = {"minimal", "root"};

    make_trees();
    box_expect_any("work"); /* the root layout's mount points */
    for (size_t i = 0; i < 2; i++) {
        const char *f = box_text("%s/f", box.out);
        const char *deep = box_text("%s/d/e/f", box.out);
        const char *layout = layouts[i];
        CHECK_TEXT("--", rights(LIST("--layout", layout), f));
        CHECK_TEXT("r-", rights(LIST("--layout", layout, "--read", box.out), f));
        CHECK_TEXT("rw", rights(LIST("--layout", layout, "--write", box.out), f));
        CHECK_TEXT("rw", rights(LIST("--layout", layout, "--write", deep), deep));
        CHECK_TEXT("--", rights(LIST("--layout", layout, "--write", deep), f));
        CHECK_TEXT("--", rights(LIST("--layout", layout, "--hide", "d"), "d/f"));
        CHECK_TEXT("r-", rights(LIST("--layout", layout, "--protect", "d"), "d/f"));
        CHECK_TEXT("rw", rights(LIST("--layout", layout, "--protect", "d"), "f"));
        CHECK_TEXT("rw", rights(LIST("--layout", layout, "--hide", "d"), "f"));
    }
}

/* A path that is granted twice has two names inside; a rule holds for both. */
static void rules_hold_at_every_place(void)
{
    static const char *const layouts[] = {"minimal", "root"};
    const char *own = box_text("%s/d/f", box.work);

    make_trees();
    box_expect_any("work");
    for (size_t i = 0; i < 2; i++) {
        const char *layout = layouts[i];
        CHECK_TEXT("r-", rights(LIST("--layout", layout, "--read", box.dir), own));
        CHECK_TEXT("rw", rights(LIST("--layout", layout, "--write", box.dir), own));
        const char *const hide[] = {"--layout", layout, "--read", box.dir, "--hide", "d", NULL};
        CHECK_TEXT("--", rights(hide, own));
        CHECK_TEXT("--", rights(hide, "d/f"));
        const char *const protect[] = {"--layout",  layout, "--write", box.dir,
                                       "--protect", "d/f",  NULL};
        CHECK_TEXT("r-", rights(protect, own));
        CHECK_TEXT("r-", rights(protect, "d/f"));
        const char *const repo[] = {"--layout", layout, "--repo", box.dir, "--hide", "d", NULL};
        CHECK_TEXT("--", rights(repo, "/repo/work/d/f"));
        CHECK_TEXT("r-", rights(repo, "/repo/work/f"));
    }
}

static void links_lead_to_what_they_name(void)
{
    make_trees();
    box_symlink("../out", "work/link");
    box_symlink("out", "olink");
    box_symlink("out/d", "dlink");
    box_symlink("d", "work/inside");
    CHECK_TEXT("r-", rights(NULL, "link/f"));
    CHECK_TEXT("rw", rights(LIST("--write", "../olink"), "link/f"));
    CHECK_TEXT("rw", rights(LIST("--write", "../olink"), "../out/f"));
    CHECK_TEXT("r-", rights(LIST("--read", "inside"), "d/f"));
    CHECK_TEXT("rw", rights(LIST("--read", "d", "--write", "d/e"), "inside/e/f"));
    CHECK_TEXT("--", rights(LIST("--hide", "link"), "../out/f"));
    CHECK_TEXT("--", rights(LIST("--hide", "../dlink/e"), "../out/d/e/f"));
    CHECK_TEXT("--", rights(LIST("--hide", "../dlink/e"), "link/d/e/f"));
    CHECK_TEXT("r-", rights(LIST("--hide", "../dlink/e"), "../out/d/f"));
}

/* One run leaves a link to a key, and the next one grants what it takes for a cache. */
static void links_of_a_sandbox_grant_nothing(void)
{
    static const struct {
        const char *flag, *layout;
    } cases[] = {
        {"--read", "host"}, {"--write", "host"}, {"--write", "minimal"}, {"--read", "root"}};

    box_dir("home/.ssh");
    box_file("home/.ssh/id", "key\n");
    CHECK_LINE(drive_out(NULL, PAYLOAD("symlink", "../home/.ssh/id", "cache", ",", "symlink",
                                       "cache", "again")),
               "symlink cache: ok");
    box_expect("work/cache");
    box_expect("work/again");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const layout = cases[i].layout;
        const char *why = drive_refused(LIST("--layout", layout, cases[i].flag, "cache"),
                                        PAYLOAD("write", "../home/.ssh/id"));
        CHECK_HAS(why, box_text("the link '%s/cache'", box.work));
        CHECK_HAS(why, "/.ssh/id'");
        CHECK_HAS(why, "name the target itself");
        CHECK_HAS(drive_refused(LIST("--layout", layout, cases[i].flag, "again"), PAYLOAD("ids")),
                  "name the target itself");
    }
    CHECK_TEXT("key\n", box_read("../home/.ssh/id"));

    /* Whoever names the key means it. */
    CHECK_TEXT("r-", rights(LIST("--read", "~/.ssh/id"), "../home/.ssh/id"));
}

/* /bin is a link on most hosts, as /var/run is: a rule for one name holds for both. */
static void system_links_are_followed(void)
{
    struct stat st;

    if (lstat("/bin", &st) < 0 || !S_ISLNK(st.st_mode) || access("/usr/bin/env", F_OK) < 0)
        box_skip("/bin is no link here");
    CHECK_TEXT("r-", rights(NULL, "/bin/env"));
    CHECK_TEXT("--", rights(LIST("--hide", "/bin/env"), "/usr/bin/env"));
    CHECK_TEXT("--", rights(LIST("--hide", "/bin/env"), "/bin/env"));
}

static void tilde_is_home(void)
{
    box_file("home/open", "text\n");
    box_file("home/secret", "text\n");
    box_dir("home/.ssh");
    box_file("home/.ssh/id", "key\n");
    box_file("home/.netrc", "key\n");
    CHECK_TEXT("r-", rights(NULL, "../home/open"));
    CHECK_TEXT("r-", rights(NULL, "../home/secret"));
    CHECK_TEXT("--", rights(NULL, "../home/.ssh/id")); /* the default profile says so */
    CHECK_TEXT("--", rights(NULL, "../home/.netrc"));
    CHECK_TEXT("--", rights(LIST("--hide", "~/secret"), "../home/secret"));
    CHECK_TEXT("rw", rights(LIST("--write", "~/open"), "../home/open"));
    CHECK_TEXT("r-", rights(LIST("--write", "~", "--protect", "~/open"), "../home/open"));
    CHECK_TEXT("rw", rights(LIST("--write", "~", "--protect", "~/open"), "../home/secret"));
    CHECK_TEXT("--", rights(LIST("--write", "~"), "../home/.ssh/id"));
}

static void missing_paths(void)
{
    static const char *const flags[] = {"--read", "--write"};

    for (size_t i = 0; i < 2; i++) {
        const char *why = drive_refused(LIST(flags[i], "none"), PAYLOAD("ids"));
        CHECK_HAS(why, "'none' does not exist");
        CHECK_HAS(why, flags[i]);
    }
    /* Nothing is there to hide; what comes to be later is the sandbox's own. */
    const char *out = drive_out(LIST("--hide", "none", "--hide", "no/such/path"),
                                PAYLOAD("read", "none", ",", "create", "none"));
    CHECK_LINE(out, "read none: ENOENT");
    CHECK_LINE(out, "create none: ok");
    box_expect("work/none");

    out = drive_out(LIST("--protect", "../out/new"), PAYLOAD("create", "../out/new"));
    CHECK_LINE(out, "create ../out/new: EROFS");
}

/* Refused, or undone: in neither case is there anything afterwards. */
static void missing_protected_paths_stay_missing(void)
{
    static const char *const paths[] = {"new", "d/new", "d/e/new"};

    make_trees();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct hutch_policy *policy = drive_policy(LIST("--protect", paths[i]));
        struct hutch_command command = HUTCH_COMMAND_INIT;
        struct hutch_result *result = NULL;
        command.argv = PAYLOAD("create", paths[i]);
        int r = hutch_run(policy, &command, &result, NULL);
        CHECK(r == 0 || r == HUTCH_EUNSUPPORTED);
        CHECK(access(paths[i], F_OK) != 0);
        hutch_result_free(result);
        hutch_policy_free(policy);
    }
    CHECK_LINE(drive_out(NULL, PAYLOAD("create", "new")), "create new: ok");
    box_expect("work/new");
}

static void globs(void)
{
    box_file("work/one.key", "text\n");
    box_file("work/two.key", "text\n");
    box_file("work/two.txt", "text\n");
    box_dir("work/a");
    box_file("work/a/one.key", "text\n");
    box_dir("work/a/.git");
    box_file("work/a/.git/.env", "text\n");
    box_file("work/.env", "text\n");
    box_file("work/a/.env", "text\n");

    CHECK_TEXT("--", rights(LIST("--hide", "*.key"), "one.key"));
    CHECK_TEXT("--", rights(LIST("--hide", "*.key"), "two.key"));
    CHECK_TEXT("rw", rights(LIST("--hide", "*.key"), "two.txt"));
    CHECK_TEXT("rw", rights(LIST("--hide", "*.key"), "a/one.key"));
    CHECK_TEXT("--", rights(LIST("--hide", "?/one.[jk]ey"), "a/one.key"));
    CHECK_TEXT("rw", rights(LIST("--hide", "?/one.[jk]ey"), "one.key"));
    CHECK_TEXT("--", rights(LIST("--hide", "**/.env"), ".env"));
    CHECK_TEXT("--", rights(LIST("--hide", "**/.env"), "a/.env"));
    CHECK_TEXT("--", rights(LIST("--hide", "**/.env"), "a/.git/.env"));
    CHECK_TEXT("rw", rights(LIST("--hide", "**/.env"), "a/one.key"));
    CHECK_TEXT("--", rights(LIST("--hide", "a/**"), "a/one.key"));
    CHECK_TEXT("rw", rights(LIST("--hide", "a/**"), "one.key"));
    CHECK_TEXT("r-", rights(LIST("--protect", "*.key"), "one.key"));
    CHECK_TEXT("r-", rights(LIST("--protect", "**/one.key"), "a/one.key"));
    CHECK_TEXT("rw", rights(LIST("--protect", "**/one.key"), "two.key"));
    CHECK_TEXT("rw", rights(LIST("--hide", "*.none", "--protect", "none/**"), "one.key"));
}

static void hidden_directory_gives_nothing_away(void)
{
    make_trees();
    const char *control = drive_out(NULL, PAYLOAD("list", "d", ",", "stat", "d/f"));
    CHECK_LINE(control, "list d: ok e f");
    CHECK_HAS(control, "stat d/f: ok");

    const char *out = drive_out(LIST("--hide", "d"),
                                PAYLOAD("list", "d", ",", "stat", "d/f", ",", "create", "d/new",
                                        ",", "rmdir", "d", ",", "rename", "d", "elsewhere", ",",
                                        "chmod", "d", ",", "list", "d"));
    CHECK_LINE(out, "list d: EACCES");
    CHECK_LINE(out, "stat d/f: EACCES");
    CHECK_LACKS(out, ": ok");
    out = drive_out(LIST("--hide", "d", "--read", "d/e"),
                    PAYLOAD("list", "d", ",", "stat", "d/f", ",", "create", "d/new", ",", "read",
                            "d/e/f", ",", "write", "d/e/f", ",", "list", "d/e"));
    CHECK_LINE(out, "list d: EACCES");
    CHECK_LINE(out, "stat d/f: ENOENT");
    CHECK_LACKS(out, "create d/new: ok");
    CHECK_LINE(out, "read d/e/f: ok text");
    CHECK_LINE(out, "write d/e/f: EROFS");
    CHECK_LINE(out, "list d/e: ok f");
}

static void hidden_file_gives_nothing_away(void)
{
    make_trees();
    const char *out = drive_out(LIST("--hide", "f"),
                                PAYLOAD("read", "f", ",", "write", "f", ",", "truncate", "f", ",",
                                        "unlink", "f", ",", "rename", "f", "g", ",", "chmod", "f",
                                        ",", "link", "f", "g", ",", "rename", "d/f", "f", ",",
                                        "read", "f"));

    CHECK_LINE(out, "read f: EACCES");
    CHECK_LACKS(out, ": ok");
    CHECK_TEXT("text\n", box_read("f"));
}

/* A protected file can be read; nothing else can be done to it, to its name, or to its parents. */
static void protected_file_stays(void)
{
    make_trees();
    box_file("work/d/e/other", "other\n");
    const char *out = drive_out(
        LIST("--protect", "d/e/f"),
        PAYLOAD("read", "d/e/f", ",", "write", "d/e/f", ",", "truncate", "d/e/f", ",", "chmod",
                "d/e/f", ",", "unlink", "d/e/f", ",", "rename", "d/e/f", "d/e/g", ",", "rename",
                "d/e/other", "d/e/f", ",", "rename", "d/e", "d/moved", ",", "rename", "d", "moved",
                ",", "rmdir", "d/e", ",", "link", "d/e/f", "d/e/g"));

    CHECK_LINE(out, "read d/e/f: ok text");
    CHECK_LINE(out, "write d/e/f: EROFS");
    CHECK_LINE(out, "truncate d/e/f: EROFS");
    CHECK_LINE(out, "chmod d/e/f: EROFS");
    CHECK_LINE(out, "unlink d/e/f: EBUSY");
    CHECK_LINE(out, "rename d/e/f: EBUSY");
    CHECK_LINE(out, "rename d/e/other: EBUSY");
    CHECK_LINE(out, "rename d/e: EBUSY");
    CHECK_LINE(out, "rename d: EBUSY");
    CHECK_LACKS(out, "rmdir d/e: ok");
    CHECK_LACKS(out, "link d/e/f: ok");
    CHECK_TEXT("text\n", box_read("d/e/f"));
    CHECK_TEXT("other\n", box_read("d/e/other"));

    /* Around it, life goes on. */
    out = drive_out(LIST("--protect", "d/e/f"),
                    PAYLOAD("write", "d/f", ",", "create", "d/e/new", ",", "rename", "d/e/new",
                            "d/e/moved", ",", "unlink", "d/e/moved", ",", "mkdir", "d/e/x", ",",
                            "rmdir", "d/e/x"));
    CHECK_TEXT("write d/f: ok\ncreate d/e/new: ok\nrename d/e/new: ok\nunlink d/e/moved: ok\n"
               "mkdir d/e/x: ok\nrmdir d/e/x: ok\n",
               out);
}

/* The control: without the rule, every one of these works. */
static void unprotected_file_does_not(void)
{
    make_trees();
    const char *out = drive_out(NULL, PAYLOAD("write", "d/e/f", ",", "truncate", "d/e/f", ",",
                                              "chmod", "d/e/f", ",", "link", "d/e/f", "g", ",",
                                              "rename", "g", "d/e/g", ",", "unlink", "d/e/g", ",",
                                              "rename", "d/e", "moved", ",", "unlink", "moved/f",
                                              ",", "rmdir", "moved", ",", "rename", "d", "moved"));

    CHECK_TEXT("write d/e/f: ok\ntruncate d/e/f: ok\nchmod d/e/f: ok\nlink d/e/f: ok\n"
               "rename g: ok\nunlink d/e/g: ok\nrename d/e: ok\nunlink moved/f: ok\n"
               "rmdir moved: ok\nrename d: ok\n",
               out);
    box_expect_gone("work/d");
    box_expect_gone("work/d/f");
    box_expect_gone("work/d/e");
    box_expect_gone("work/d/e/f");
    box_expect("work/moved");
    box_expect("work/moved/f");
}

static void protected_directory_stays(void)
{
    make_trees();
    const char *out = drive_out(LIST("--protect", "d"),
                                PAYLOAD("list", "d", ",", "create", "d/new", ",", "unlink", "d/f",
                                        ",", "write", "d/e/f", ",", "mkdir", "d/new", ",", "rename",
                                        "d", "moved", ",", "rename", "d/f", "g", ",", "rename", "f",
                                        "d/f", ",", "chmod", "d", ",", "write", "f"));

    CHECK_LINE(out, "list d: ok e f");
    CHECK_LINE(out, "create d/new: EROFS");
    CHECK_LINE(out, "unlink d/f: EROFS");
    CHECK_LINE(out, "write d/e/f: EROFS");
    CHECK_LINE(out, "mkdir d/new: EROFS");
    CHECK_LINE(out, "rename d: EBUSY");
    CHECK_LACKS(out, "rename d/f: ok");
    CHECK_LACKS(out, "rename f: ok");
    CHECK_LINE(out, "chmod d: EROFS");
    CHECK_LINE(out, "write f: ok");
}

static void rules_in_a_document_start_at_the_workspace(void)
{
    static const char json[] = "{\"filesystem\": {\"hide\": [\"f\"], \"protect\": [\"d/f\"]}}";
    struct hutch_policy *policy = drive_policy(LIST("-w", box.work));
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result;

    make_trees();
    REQUIRE(chdir(box.out) == 0); /* where "f" would be another one */
    REQUIRE(hutch_policy_merge(policy, json, sizeof json - 1, "test", NULL) == 0);
    command.argv = PAYLOAD("read", "f", ",", "write", "d/f", ",", "read", "d/f", ",", "read",
                           "../out/f");
    REQUIRE(hutch_run(policy, &command, &result, NULL) == 0);
    CHECK_TEXT("read f: EACCES\nwrite d/f: EROFS\nread d/f: ok text\nread ../out/f: ok text\n",
               result->stdout_data);
    hutch_result_free(result);
    hutch_policy_free(policy);
}

/* The project's secrets, which the default profile hides, wherever the project is seen. */
static void a_project_beside_a_workspace_in_memory_is_hidden(void)
{
    const char *own = box_text("%s/.env", box.work);

    box_file("work/.env", "TOKEN=1");
    CHECK_TEXT(box_text("read %s: EACCES\n", own),
               drive_out(LIST("-w", "tmpfs"), LIST(box_text("%s/payload", box.work), "read", own)));
    CHECK_TEXT("read /repo/.env: EACCES\n",
               drive_out(LIST("--layout", "minimal", "-w", "tmpfs", "--repo", "."),
                         LIST("/repo/payload", "read", "/repo/.env")));
}

static void nonsense_is_refused(void)
{
    static const struct {
        const char *flags[2];
        const char *part;
    } cases[] = {
        {{"--hide", "."}, "cannot be hidden"},    {{"--hide", "/"}, "cannot be hidden"},
        {{"--protect", "."}, "workspace"},        {{"--write", "/"}, "root of the host"},
        {{"--write", "/proc/sys"}, "of its own"}, {{"--write", "/dev/shm"}, "of its own"},
        {{"--read", "/dev/null"}, "neither"},     {{"-w", "/"}, "root of the host"},
        {{"-w", "payload"}, "not a directory"},   {{"-w", "none"}, "does not exist"},
        {{"--repo", "none"}, "does not exist"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = drive_refused(LIST(cases[i].flags[0], cases[i].flags[1]), PAYLOAD("ids"));
        CHECK_HAS(why, cases[i].part);
    }
}

int main(void)
{
    static const struct box_test tests[] = {
        {"overlaps", overlaps},
        {"grants appear in small layouts", grants_appear_in_small_layouts},
        {"rules hold at every place", rules_hold_at_every_place},
        {"links lead to what they name", links_lead_to_what_they_name},
        {"links of a sandbox grant nothing", links_of_a_sandbox_grant_nothing},
        {"system links are followed", system_links_are_followed},
        {"~ is home", tilde_is_home},
        {"missing paths", missing_paths},
        {"missing protected paths stay missing", missing_protected_paths_stay_missing},
        {"globs", globs},
        {"hidden directory gives nothing away", hidden_directory_gives_nothing_away},
        {"hidden file gives nothing away", hidden_file_gives_nothing_away},
        {"protected file stays", protected_file_stays},
        {"unprotected file does not", unprotected_file_does_not},
        {"protected directory stays", protected_directory_stays},
        {"rules in a document start at the workspace", rules_in_a_document_start_at_the_workspace},
        {"a project beside a workspace in memory is hidden",
         a_project_beside_a_workspace_in_memory_is_hidden},
        {"nonsense is refused", nonsense_is_refused},
        {NULL, NULL},
    };

    return box_main(tests);
}
