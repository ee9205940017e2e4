/* SPDX-License-Identifier: Apache-2.0 */
/* Every call on files in every layout, with a workspace on disk and in memory. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hutch.h>

#include "calls.h"

/* One in each line; they are freed. */
static const char *names_of(struct hutch_file_entries *entries)
{
    const char *names = "";

    for (size_t i = 0; i < entries->count; i++)
        names = box_text("%s%s\n", names, entries->items[i].name);
    hutch_file_free(entries);
    return names;
}

static void check_list(struct hutch_sandbox *sandbox)
{
    struct hutch_file_entries *entries = NULL;

    OK(hutch_file_list(sandbox, NULL, NULL, &entries, &err));
    CHECK_TEXT(sh(sandbox, "LC_ALL=C ls -A"), names_of(entries));
}

/* There and back, under a name relative to where commands start and under its whole path. */
static void check_both_ways(struct hutch_sandbox *sandbox)
{
    const char *cwd = cwd_of(sandbox);
    const char *slash = cwd[1] ? "/" : "";

    CHECK_TEXT("ok", call_write(sandbox, "sub/by call", "written by a call\n"));
    CHECK_TEXT("written by a call\n", sh(sandbox, "cat 'sub/by call'"));
    CHECK_TEXT("written by a call\n", sh(sandbox, box_text("cat '%s%ssub/by call'", cwd, slash)));
    CHECK_TEXT("", sh(sandbox, "echo more >>'sub/by call'"));
    CHECK_TEXT("written by a call\nmore\n",
               call_read(sandbox, box_text("%s%ssub/by call", cwd, slash)));

    CHECK_TEXT("", sh(sandbox, "echo by a command >'sub/by\ncommand'; mkdir -m 700 sub/closed; "
                               "echo x >sub/closed/x"));
    CHECK_TEXT("by a command\n", call_read(sandbox, "sub/by\ncommand"));
    CHECK_TEXT("x\n", call_read(sandbox, "sub/closed/x"));
    CHECK_TEXT("ok", call_write(sandbox, "sub/closed/y", "y"));

    /* The same owner, inside. */
    CHECK_TEXT(sh(sandbox, "stat -c '%u %g' 'sub/by\ncommand'"),
               sh(sandbox, "stat -c '%u %g' 'sub/by call'"));
    CHECK_TEXT("644\n", sh(sandbox, "stat -c %a 'sub/by call'"));
    check_list(sandbox);

    CHECK_TEXT("", sh(sandbox, "echo of a command >/tmp/c"));
    CHECK_TEXT("of a command\n", call_read(sandbox, "/tmp/c"));
    CHECK_TEXT("ok", call_write(sandbox, "/tmp/d/e", "of a call"));
    CHECK_TEXT("of a call", sh(sandbox, "cat /tmp/d/e"));
    CHECK_TEXT("denied", call_write(sandbox, "/usr/hutch-test", "x"));
    CHECK_TEXT("denied", call_write(sandbox, "/etc/hutch-test", "x"));
    CHECK_TEXT("ok", call_delete(sandbox, "sub"));
    CHECK_TEXT("gone\n", sh(sandbox, "test -e sub || echo gone"));
    CHECK_TEXT("ok", call_write(sandbox, "kept", "x"));
}

/* Those that check_both_ways() does not make, on what a command has made. */
static void check_each_call(struct hutch_sandbox *sandbox)
{
    static const struct hutch_file_source source = {.path = "each/up", .data = "up\n", .len = 3};
    struct hutch_file_transfers *transfers = NULL;
    struct hutch_file_matches *matches = NULL;
    struct hutch_file_entries *entries = NULL;
    struct hutch_file_entry *entry = NULL;

    CHECK_TEXT("", sh(sandbox, "mkdir each; echo one two >each/file; ln -s file each/link"));
    OK(hutch_file_stat(sandbox, "each/link", NULL, &entry, &err));
    CHECK_TEXT("symlink", hutch_file_type_name(entry->type));
    hutch_file_free(entry);
    OK(hutch_file_edit(sandbox, "each/link", "two", "three", NULL, NULL, &err));
    CHECK_TEXT("one three\n", sh(sandbox, "cat each/file"));

    OK(hutch_file_upload(sandbox, &source, 1, &transfers, &err));
    CHECK_INT(0, transfers->items[0].error.code);
    hutch_file_free(transfers);
    CHECK_TEXT("up\n", sh(sandbox, "cat each/up"));
    OK(hutch_file_download(sandbox, LIST("each/file", "each/none"), 2, NULL, &transfers, &err));
    CHECK_TEXT("one three\n", transfers->items[0].data);
    CHECK_INT(HUTCH_ENOTFOUND, transfers->items[1].error.code);
    hutch_file_free(transfers);

    OK(hutch_file_glob(sandbox, "each", "*", NULL, &entries, &err));
    CHECK_TEXT("file\nlink\nup\n", names_of(entries));
    OK(hutch_file_grep(sandbox, "each", "three", NULL, &matches, &err));
    REQUIRE(matches->count == 1);
    CHECK_TEXT("one three", matches->items[0].text);
    CHECK_HAS(matches->items[0].path, "each/file");
    hutch_file_free(matches);
    CHECK_TEXT("ok", call_delete(sandbox, "each"));
}

static void calls_and_commands_see_the_same_files(void)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct stat st, dir;
        struct hutch_sandbox *sandbox = drive_open(LIST("--layout", layouts[i]));
        check_both_ways(sandbox);
        check_each_call(sandbox);
        hutch_sandbox_close(sandbox);
        /* On the host it is the workspace owner's. */
        REQUIRE(stat("kept", &st) == 0 && stat(".", &dir) == 0);
        CHECK_INT(dir.st_uid, st.st_uid);
        REQUIRE(unlink("kept") == 0);

        sandbox = drive_open(LIST("--layout", layouts[i], "-w", "tmpfs"));
        check_both_ways(sandbox);
        check_each_call(sandbox);
        hutch_sandbox_close(sandbox);
        CHECK(access("kept", F_OK) < 0);
    }
    drive_expect_mount_points();
}

static void rules_hold_in_every_layout(void)
{
    static const char *const paths[] = {"f", "hidden", "hid/f", "protected", "prot/f", "prot/new"};

    box_dir("work/hid");
    box_dir("work/prot");
    for (size_t i = 0; i < COUNT(paths) - 1; i++)
        box_file(box_text("work/%s", paths[i]), "text\n");
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("--layout", layouts[i], "--hide", "hidden",
                                                        "--hide", "hid", "--protect", "protected",
                                                        "--protect", "prot"));
        for (size_t k = 0; k < COUNT(paths); k++)
            compare_rights(sandbox, paths[k]);
        CHECK_TEXT("<denied>", call_read(sandbox, "hidden"));
        CHECK_TEXT("<denied>", call_read(sandbox, "hid/f"));
        CHECK_TEXT("text\n", call_read(sandbox, "protected"));
        CHECK_TEXT("denied", call_write(sandbox, "protected", "x"));
        CHECK_TEXT("state", call_delete(sandbox, "prot"));
        hutch_sandbox_close(sandbox);
    }
    drive_expect_mount_points();
}

int main(void)
{
    static const struct box_test tests[] = {
        {"calls and commands see the same files", calls_and_commands_see_the_same_files},
        {"rules hold in every layout", rules_hold_in_every_layout},
        {NULL, NULL},
    };

    return box_main(tests);
}
