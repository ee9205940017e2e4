/* SPDX-License-Identifier: Apache-2.0 */
/* The three layouts: what is there, what can be changed, and what the host keeps of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive.h"
#include "mounts.h"

static const char *const layouts[] = {"host", "minimal", "root"};

#define LAYOUTS (sizeof layouts / sizeof *layouts)

/* What the root layout leaves in the workspace: its mount points, empty directories. */
static void expect_mount_points(void)
{
    static const char *const always[] = {".cache", "dev", "etc", "proc", "tmp"};
    static const char *const system[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
    struct stat st;

    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        box_expect(box_text("work/%s", always[i]));
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (stat(box_text("/%s", system[i]), &st) == 0)
            box_expect(box_text("work/%s", system[i]));
}

static void check_mount_flags(const char *layout, const char *text)
{
    static const char *const nodes[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                        "/dev/urandom", "/dev/tty",  "/dev/pts"};
    struct mounts mounts = mounts_parse(text);

    CHECK(mounts.count > 5);
    for (size_t i = 0; i < mounts.count; i++) {
        const struct mount *mount = &mounts.items[i];
        bool node = false;
        for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
            node = node || strcmp(mount->path, nodes[k]) == 0;
        box_check(mount_has(mount, "nosuid"), __FILE__, __LINE__, "%s: %s is not nosuid: %s",
                  layout, mount->path, mount->options);
        box_check(node || mount_has(mount, "nodev"), __FILE__, __LINE__, "%s: %s is not nodev: %s",
                  layout, mount->path, mount->options);
    }
}

static void every_mount_is_nosuid_and_nodev(void)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        check_mount_flags(layouts[i], drive_out(LIST("--layout", layouts[i]), PAYLOAD("mounts")));
    expect_mount_points();
}

/* Everything that is not read-only, by name. */
static void only_these_mounts_are_writable(void)
{
    static const char common[] = "/dev/full /dev/null /dev/pts /dev/random /dev/shm /dev/tty "
                                 "/dev/urandom /dev/zero /tmp";
    const char *want[LAYOUTS] = {
        box_text("%s %s", common, box.work),
        box_text("%s /workspace", common),
        box_text("/ /.cache %s", common),
    };

    for (size_t i = 0; i < LAYOUTS; i++) {
        const char *text = drive_out(LIST("--layout", layouts[i]), PAYLOAD("mounts"));
        struct mounts mounts = mounts_parse(text);
        CHECK_TEXT(want[i], mounts_writable(&mounts));
    }
    expect_mount_points();
}

static void dev_is_exactly_this(void)
{
    static const char want[] = "/dev/fd -> /proc/self/fd\n"
                               "/dev/full c 1:7\n"
                               "/dev/null c 1:3\n"
                               "/dev/ptmx -> pts/ptmx\n"
                               "/dev/pts d 755\n"
                               "/dev/random c 1:8\n"
                               "/dev/shm d 1777\n"
                               "/dev/stderr -> /proc/self/fd/2\n"
                               "/dev/stdin -> /proc/self/fd/0\n"
                               "/dev/stdout -> /proc/self/fd/1\n"
                               "/dev/tty c 5:0\n"
                               "/dev/urandom c 1:9\n"
                               "/dev/zero c 1:5\n"
                               "/dev/pts/ptmx c 5:2\n";

    for (size_t i = 0; i < LAYOUTS; i++)
        CHECK_TEXT(want, drive_out(LIST("--layout", layouts[i]), PAYLOAD("dev")));
    expect_mount_points();
}

static void devices_work_and_none_can_be_added(void)
{
    const char *out = drive_out(NULL, PAYLOAD("write", "/dev/null", ",", "read", "/dev/zero", ",",
                                              "write", "/dev/full", ",", "create", "/dev/new", ",",
                                              "unlink", "/dev/null", ",", "create", "/dev/shm/new",
                                              ",", "mknod", "node", ",", "mknod", "/tmp/node", ",",
                                              "read", "/dev/urandom"));

    CHECK_LINE(out, "write /dev/null: ok");
    CHECK_HAS(out, "read /dev/zero: ok");
    CHECK_LINE(out, "write /dev/full: ENOSPC");
    CHECK_LINE(out, "create /dev/new: EROFS");
    CHECK_LACKS(out, "unlink /dev/null: ok");
    CHECK_LINE(out, "create /dev/shm/new: ok");
    CHECK_LINE(out, "mknod node: EPERM");
    CHECK_LINE(out, "mknod /tmp/node: EPERM");
    CHECK_HAS(out, "read /dev/urandom: ok");
}

static void proc_shows_own_processes_only(void)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        /* The second process made the network, and is gone. */
        CHECK_TEXT("process 1\nprocess 2\nself 2 parent 1\n",
                   drive_out(LIST("--layout", layouts[i]), PAYLOAD("procs")));
    expect_mount_points();
}

static void tmp_is_private_and_empty(void)
{
    const char *name = box_text("/tmp/%s-inside", box.id);

    for (size_t i = 0; i < LAYOUTS; i++) {
        const char *out = drive_out(LIST("--layout", layouts[i]),
                                    PAYLOAD("list", "/tmp", ",", "create", name, ",", "read", name,
                                            ",", "create", box_text("/dev/shm/%s-inside", box.id)));
        CHECK_LINE(out, "list /tmp: ok");
        CHECK_LINE(out, box_text("create %s: ok", name));
        CHECK_LINE(out, box_text("read %s: ok made inside", name));
        CHECK(access(name, F_OK) != 0);
    }
    expect_mount_points();
}

static void host_layout_is_the_host_read_only(void)
{
    box_file("out/file", "of the host\n");
    const char *out = drive_out(NULL, PAYLOAD("read", "../out/file", ",", "write", "../out/file",
                                              ",", "create", "../out/new", ",", "create", "/new",
                                              ",", "mkdir", "/usr/new", ",", "cwd", ",", "create",
                                              "new", ",", "read", "new", ",", "list", "/usr"));

    CHECK_LINE(out, "read ../out/file: ok of the host");
    CHECK_LINE(out, "write ../out/file: EROFS");
    CHECK_LINE(out, "create ../out/new: EROFS");
    CHECK_LINE(out, "create /new: EROFS");
    CHECK_LINE(out, "mkdir /usr/new: EROFS");
    CHECK_LINE(out, box_text("cwd %s", box.work));
    CHECK_LINE(out, "create new: ok");
    CHECK_LINE(out, "read new: ok made inside");
    CHECK_HAS(out, "list /usr: ok bin");
    CHECK_TEXT("made inside\n", box_read("new"));
    CHECK_TEXT("of the host\n", box_read("../out/file"));
    box_expect("work/new");
}

static void minimal_layout_has_little(void)
{
    box_file("out/file", "of the host\n");
    const char *out = drive_out(
        LIST("--layout", "minimal"),
        PAYLOAD("list", "/", ",", "cwd", ",", "create", "new", ",", "create", "/new", ",", "mkdir",
                "/usr/new", ",", "create", "/etc/new", ",", "read", "/etc/shadow", ",", "list",
                box.out, ",", "list", "/home", ",", "list", "/root", ",", "read", "/etc/passwd"));

    CHECK_HAS(out, "list /: ok bin dev etc lib");
    CHECK_HAS(out, " sbin tmp usr var workspace\n");
    CHECK_LINE(out, "cwd /workspace");
    CHECK_LINE(out, "create new: ok");
    CHECK_LINE(out, "create /new: EROFS");
    CHECK_LINE(out, "mkdir /usr/new: EROFS");
    CHECK_LINE(out, "create /etc/new: EROFS");
    CHECK_LINE(out, "read /etc/shadow: ENOENT");
    CHECK_LINE(out, box_text("list %s: ENOENT", box.out));
    CHECK_LINE(out, "list /home: ENOENT");
    CHECK_LINE(out, "list /root: ENOENT");
    CHECK_HAS(out, "read /etc/passwd: ok user:x:1000:1000:");
    CHECK_TEXT("made inside\n", box_read("new"));
    box_expect("work/new");
}

static void root_layout_has_the_workspace_at_its_root(void)
{
    box_file("work/file", "of the workspace\n");
    for (int round = 0; round < 2; round++) { /* the second finds the mount points of the first */
        const char *out = drive_out(
            LIST("--layout", "root"),
            PAYLOAD("cwd", ",", "read", "/file", ",", "create", "/new", ",", "mkdir", "/usr/new",
                    ",", "create", "/etc/new", ",", "read", "/etc/shadow", ",", "list", box.out,
                    ",", "create", "/.cache/new", ",", "read", "/etc/passwd", ",", "unlink", "/new",
                    ",", "rename", "/usr", "/gone", ",", "rmdir", "/tmp"));
        CHECK_LINE(out, "cwd /");
        CHECK_LINE(out, "read /file: ok of the workspace");
        CHECK_LINE(out, "create /new: ok");
        CHECK_LINE(out, "mkdir /usr/new: EROFS");
        CHECK_LINE(out, "create /etc/new: EROFS");
        CHECK_LINE(out, "read /etc/shadow: ENOENT");
        CHECK_LINE(out, box_text("list %s: ENOENT", box.out));
        CHECK_LINE(out, "create /.cache/new: ok");
        CHECK_HAS(out, "read /etc/passwd: ok user:x:1000:1000:");
        CHECK_LINE(out, "unlink /new: ok");
        CHECK_LINE(out, "rename /usr: EBUSY");
        CHECK_LINE(out, "rmdir /tmp: EBUSY");
    }
    expect_mount_points();
}

/* What the workspace's last user planted where mount points go must not lead out of it. */
static void root_layout_refuses_planted_links(void)
{
    static const char *const names[] = {"usr", "etc", "tmp", "dev", "proc", ".cache", "lib"};

    box_dir("out/victim");
    box_expect_any("work");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        REQUIRE(rmdir(names[i]) == 0 || access(names[i], F_OK) != 0);
        REQUIRE(symlink(box_text("%s/victim", box.out), names[i]) == 0);
        const char *why = drive_refused(LIST("--layout", "root"), PAYLOAD("ids"));
        CHECK_HAS(why, box_text("'/%s'", names[i]));
        REQUIRE(unlink(names[i]) == 0);
    }
    CHECK(rmdir("../out/victim") == 0); /* only works on an empty one */
    box_expect_gone("out/victim");
    drive_out(LIST("--layout", "root"), PAYLOAD("ids"));
}

static void root_layout_refuses_planted_files(void)
{
    box_expect_any("work");
    box_file("work/etc", "mine\n");
    CHECK_HAS(drive_refused(LIST("--layout", "root"), PAYLOAD("ids")), "'/etc'");
    CHECK_TEXT("mine\n", box_read("etc"));
    REQUIRE(unlink("etc") == 0);
    box_expect_gone("work/etc");
    drive_out(LIST("--layout", "root"), PAYLOAD("ids"));
}

static void workspace_in_memory_is_gone_afterwards(void)
{
    static const char *const places[LAYOUTS] = {"/tmp/workspace", "/workspace", "/"};
    const char *payload = box_text("%s/payload", box.work);

    for (size_t i = 0; i < LAYOUTS; i++) {
        const char *out = drive_out(LIST("--layout", layouts[i], "-w", "tmpfs", "--read", box.work),
                                    LIST(payload, "cwd", ",", "create", "new", ",", "read", "new",
                                         ",", "create", "/usr/new"));
        CHECK_LINE(out, box_text("cwd %s", places[i]));
        CHECK_LINE(out, "create new: ok");
        CHECK_LINE(out, "read new: ok made inside");
        CHECK_LINE(out, "create /usr/new: EROFS");
    }
}

static void repo_is_read_only(void)
{
    static const char *const places[LAYOUTS] = {NULL, "/repo", "/repo"};

    box_file("out/code", "of the repo\n");
    for (size_t i = 0; i < LAYOUTS; i++) {
        const char *dir = places[i] ? places[i] : box.out;
        const char *out = drive_out(LIST("--layout", layouts[i], "--repo", box.out),
                                    PAYLOAD("read", box_text("%s/code", dir), ",", "write",
                                            box_text("%s/code", dir), ",", "create",
                                            box_text("%s/new", dir)));
        CHECK_LINE(out, box_text("read %s/code: ok of the repo", dir));
        CHECK_LINE(out, box_text("write %s/code: EROFS", dir));
        CHECK_LINE(out, box_text("create %s/new: EROFS", dir));
    }
    expect_mount_points();
    box_expect("work/repo");
}

static void workspace_under_tmp_is_there(void)
{
    char *dir = box_text("/tmp/%s-work", box.id);
    char *other = box_text("/tmp/%s-other", box.id);

    REQUIRE(mkdir(dir, 0755) == 0 && mkdir(other, 0755) == 0);
    REQUIRE(link("payload", box_text("%s/payload", dir)) == 0 ||
            symlink(box_text("%s/payload", box.work), box_text("%s/payload", dir)) == 0);
    const char *out = drive_out(LIST("-w", dir),
                                PAYLOAD("cwd", ",", "list", "/tmp", ",", "create", "new", ",",
                                        "list", other, ",", "create", "/tmp/private"));

    CHECK_LINE(out, box_text("cwd %s", dir));
    CHECK_LINE(out, box_text("list /tmp: ok %s-work", box.id));
    CHECK_LINE(out, "create new: ok");
    CHECK_LINE(out, box_text("list %s: ENOENT", other));
    CHECK_LINE(out, "create /tmp/private: ok");
    CHECK(access("/tmp/private", F_OK) != 0);
    CHECK_TEXT("made inside\n", box_read(box_text("%s/new", dir)));
    unlink(box_text("%s/new", dir));
    unlink(box_text("%s/payload", dir));
    CHECK(rmdir(dir) == 0 && rmdir(other) == 0);
}

static void odd_names_of_a_workspace_work(void)
{
    static const char *const names[] = {"with space", "tab\tand\nline", "back\\slash",
                                        "-dash",      "\xc3\xa4\xff",   "*"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        box_dir(box_text("out/%s", names[i]));
        const char *dir = box_text("%s/%s", box.out, names[i]);
        const char *out = drive_out(LIST("-w", dir),
                                    LIST(box_text("%s/payload", box.work), "create", "new"));
        CHECK_LINE(out, "create new: ok");
        CHECK_TEXT("made inside\n", box_read(box_text("%s/new", dir)));
        box_expect(box_text("out/%s/new", names[i]));
    }
}

static void mounting_is_refused_inside(void)
{
    const char *out = drive_out(NULL, PAYLOAD("mount", "/tmp", ",", "umount", "/tmp", ",",
                                              "remount", "/", ",", "create", "/tmp/still-works"));

    CHECK_LINE(out, "mount /tmp: EPERM");
    CHECK_LINE(out, "umount /tmp: EPERM");
    CHECK_LINE(out, "remount /: EPERM");
    CHECK_LINE(out, "create /tmp/still-works: ok");
}

/* A directory that only root can search leads to the workspace, and to nothing else. */
static void closed_parent_of_a_workspace_shows_nothing_else(void)
{
    if (!box.root)
        box_skip("only root can name a workspace in a directory closed to itself");
    box_dir("out/closed");
    box_dir("out/closed/work");
    box_file("out/closed/secret", "secret\n");
    REQUIRE(chmod("../out/closed", 0700) == 0);
    const char *dir = box_text("%s/closed", box.out);
    const char *out = drive_out(LIST("-w", box_text("%s/work", dir)),
                                LIST(box_text("%s/payload", box.work), "cwd", ",", "create", "new",
                                     ",", "read", "../secret", ",", "list", dir, ",", "create",
                                     "../new"));

    CHECK_LINE(out, box_text("cwd %s/work", dir));
    CHECK_LINE(out, "create new: ok");
    CHECK_LINE(out, "read ../secret: ENOENT");
    CHECK_LINE(out, box_text("list %s: ok work", dir));
    CHECK_LINE(out, "create ../new: EROFS");
    box_expect("out/closed/work/new");
}

int main(void)
{
    static const struct box_test tests[] = {
        {"every mount is nosuid and nodev", every_mount_is_nosuid_and_nodev},
        {"only these mounts are writable", only_these_mounts_are_writable},
        {"/dev is exactly this", dev_is_exactly_this},
        {"devices work and none can be added", devices_work_and_none_can_be_added},
        {"/proc shows own processes only", proc_shows_own_processes_only},
        {"/tmp is private and empty", tmp_is_private_and_empty},
        {"host layout is the host, read-only", host_layout_is_the_host_read_only},
        {"minimal layout has little", minimal_layout_has_little},
        {"root layout has the workspace at its root", root_layout_has_the_workspace_at_its_root},
        {"root layout refuses planted links", root_layout_refuses_planted_links},
        {"root layout refuses planted files", root_layout_refuses_planted_files},
        {"workspace in memory is gone afterwards", workspace_in_memory_is_gone_afterwards},
        {"repo is read-only", repo_is_read_only},
        {"workspace under /tmp is there", workspace_under_tmp_is_there},
        {"odd names of a workspace work", odd_names_of_a_workspace_work},
        {"mounting is refused inside", mounting_is_refused_inside},
        {"closed parent of a workspace shows nothing else",
         closed_parent_of_a_workspace_shows_nothing_else},
        {NULL, NULL},
    };

    return box_main(tests);
}
