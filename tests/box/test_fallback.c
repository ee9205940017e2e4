/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that lack a system call, or refuse it: a filter in front of hutch answers in the kernel's
 * place. What hutch does without the call must come out the same; what it cannot do it must say.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mounts.h"
#include "refuse.h"

static const struct refusals no_clone3 = {{{K_SYS_clone3, 0, ENOSYS}}};
static const struct refusals no_setattr = {{{K_SYS_mount_setattr, 0, ENOSYS}}};
static const struct refusals neither = {
    {{K_SYS_clone3, 0, ENOSYS}, {K_SYS_mount_setattr, 0, ENOSYS}}};
static const struct refusals no_userns = {
    {{K_SYS_clone3, 0, ENOSYS}, {SYS_clone, CLONE_NEWUSER, EPERM}}};

/* The filter itself must work, or the rest proves nothing. */
static void filter_refuses(void)
{
    static const struct refusals no_getcwd = {{{SYS_getcwd, 0, ENOSYS}}};
    struct drive_end end = refusing_cli(&no_getcwd, LIST("run", "--", "./payload", "cwd"));

    CHECK_TEXT("cwd ENOSYS\n", end.out);
    CHECK_HAS(drive_cli(LIST("run", "--", "./payload", "cwd")).out, box.work);
}

/* What the sandbox looks like, with and without the calls. */
static void compare(const struct refusals *refusals, const char *const *args)
{
    struct drive_end want = drive_cli(args);
    struct drive_end got = refusing_cli(refusals, args);

    CHECK_INT(0, want.status);
    box_check(got.status == 0, __FILE__, __LINE__, "%s: status %d: %s", args[2], got.status,
              got.err);
    if (got.status || want.status)
        return;
    struct mounts a = mounts_parse(want.out);
    struct mounts b = mounts_parse(got.out);
    CHECK(a.count > 5);
    CHECK_TEXT(mounts_summary(&a), mounts_summary(&b));
}

static const char *const layouts[] = {"host", "minimal", "root"};

static void without_clone3(void)
{
    box_expect_any("work"); /* the root layout's mount points */
    for (size_t i = 0; i < 3; i++)
        compare(&no_clone3, LIST("run", "--layout", layouts[i], "--", "./payload", "mounts"));
}

/*
 * A root caller's directories need id maps, which need the call; so root's workspace is in memory
 * here, and its home is not its own. See the next test.
 */
static void without_mount_setattr(void)
{
    const char *payload = box_text("%s/payload", box.work);

    box_expect_any("work");
    for (size_t i = 0; i < 3; i++) {
        if (!box.root) {
            compare(&neither, LIST("run", "--layout", layouts[i], "--hide", "payload2", "--read",
                                   box.out, "--", "./payload", "mounts"));
            continue;
        }
        setenv("HOME", "/", 1);
        if (i == 0) /* the other layouts would need the payload to be granted */
            compare(&neither,
                    LIST("run", "--layout", layouts[i], "-w", "tmpfs", "--", payload, "mounts"));
        else
            compare(&neither, LIST("run", "--layout", layouts[i], "-w", "tmpfs", "--", "cat",
                                   "/proc/self/mountinfo"));
    }
}

static void rules_hold_without_mount_setattr(void)
{
    if (box.root) {
        struct drive_end end = refusing_cli(&no_setattr, LIST("run", "--", "./payload", "ids"));
        CHECK_INT(125, end.status);
        CHECK_HAS(end.err, "cannot map ids");
        box_skip("a sandbox of root needs mount_setattr, and says so");
    }
    box_dir("work/d");
    box_file("work/d/f", "text\n");
    box_file("work/secret", "text\n");
    box_file("out/f", "text\n");
    struct drive_end end = refusing_cli(
        &neither, LIST("run", "--protect", "d", "--hide", "secret", "--", "./payload", "write",
                       "d/f", ",", "read", "d/f", ",", "read", "secret", ",", "write", "../out/f",
                       ",", "create", "/usr/new", ",", "create", "new", ",", "create", "/dev/new"));
    CHECK_TEXT("write d/f: EROFS\nread d/f: ok text\nread secret: EACCES\nwrite ../out/f: EROFS\n"
               "create /usr/new: EROFS\ncreate new: ok\ncreate /dev/new: EROFS\n",
               end.out);
    box_expect("work/new");
}

static void refused_namespaces_are_explained(void)
{
    struct drive_end end = refusing_cli(&no_userns,
                                        LIST("run", "--", "./payload", "create", "new"));

    CHECK_INT(125, end.status);
    CHECK_TEXT("", end.out);
    CHECK_HAS(end.err, "namespace");
    const char *newline = strchr(end.err, '\n');
    CHECK(newline && !newline[1]);
    end = refusing_cli(&no_userns, LIST("run", "-w", "tmpfs", "--layout", "minimal", "--", "true"));
    CHECK_INT(125, end.status);
    CHECK_HAS(end.err, "user namespaces; look at"); /* the hint */
}

int main(void)
{
    static const struct box_test tests[] = {
        {"filter refuses", filter_refuses},
        {"without clone3", without_clone3},
        {"without mount_setattr", without_mount_setattr},
        {"rules hold without mount_setattr", rules_hold_without_mount_setattr},
        {"refused namespaces are explained", refused_namespaces_are_explained},
        {NULL, NULL},
    };

    return box_main(tests);
}
