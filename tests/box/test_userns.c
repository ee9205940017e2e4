/* SPDX-License-Identifier: Apache-2.0 */
/* Root of a user namespace, as in a container without privileges, is the caller. */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/pidns.h"
#include "drive.h"

#define CONTAINER_ROOT 100000

static bool write_maps(pid_t pid, const char *map)
{
    char *uids = box_text("/proc/%d/uid_map", (int)pid);
    char *gids = box_text("/proc/%d/gid_map", (int)pid);

    return pidns_write(uids, map) && pidns_write(gids, map);
}

/* As container engines do it: somebody outside, who may, writes the maps. */
static void be_root_of(const char *map)
{
    int made[2];
    char byte = 0;
    int status = -1;
    pid_t self = getpid();

    REQUIRE(pipe(made) == 0);
    pid_t outside = fork();
    if (outside == 0)
        _exit(read(made[0], &byte, 1) == 1 && write_maps(self, map) ? 0 : 1);
    if (unshare(CLONE_NEWUSER) < 0)
        box_skip("this host gives root no user namespace");
    REQUIRE(write(made[1], &byte, 1) == 1);
    REQUIRE(waitpid(outside, &status, 0) == outside && status == 0);
    close(made[0]);
    close(made[1]);
    REQUIRE(setgroups(0, NULL) == 0 && setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static void need_root(void)
{
    if (!box.root)
        box_skip("only root can map ids other than its own");
}

static void give_to_container(const char *path)
{
    REQUIRE(chown(path, CONTAINER_ROOT, CONTAINER_ROOT) == 0);
}

static void enter_container(const char *map)
{
    need_root();
    give_to_container(box.work);
    give_to_container(box.home);
    be_root_of(map);
}

/* One that anybody can make: the own id, and no other, is root's. */
static void enter_own_namespace(void)
{
    char *uids = box_text("0 %u 1", geteuid());
    char *gids = box_text("0 %u 1", getegid());

    prctl(PR_SET_DUMPABLE, 1);
    if (unshare(CLONE_NEWUSER) < 0 || !pidns_write("/proc/self/uid_map", uids) ||
        !pidns_write("/proc/self/setgroups", "deny") || !pidns_write("/proc/self/gid_map", gids))
        box_skip("this host gives no user namespaces");
}

static void check_workspace(void)
{
    struct stat st;

    CHECK_LINE(drive_out(NULL, PAYLOAD("ids")), "uid 1000 1000 1000");
    CHECK_LINE(drive_out(NULL, PAYLOAD("create", "made")), "create made: ok");
    box_expect("work/made");
    REQUIRE(stat("made", &st) == 0);
    CHECK_INT(0, st.st_uid);
    CHECK_INT(0, st.st_gid);
}

static void root_of_a_container_has_its_workspace(void)
{
    enter_container("0 100000 65536");
    check_workspace();
}

static void root_of_one_id_has_its_workspace(void)
{
    if (box.root)
        enter_container("0 100000 1");
    else
        enter_own_namespace();
    check_workspace();
}

static void layouts_with_a_workspace_in_memory_work(void)
{
    enter_container("0 100000 65536");
    CHECK_INT(0,
              drive_run(LIST("--layout", "minimal", "--workspace", "tmpfs"), LIST("true"))->status);
    CHECK_INT(0, drive_run(LIST("--layout", "root", "--workspace", "tmpfs"), LIST("true"))->status);
}

/* The container's root itself may read what belongs to others there; its sandbox may not. */
static void calls_on_files_have_the_sandboxs_rights(void)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_policy *policy;
    struct hutch_sandbox *sandbox;
    struct hutch_file_content *content;
    struct hutch_error err;
    const char *secret = box_text("%s/secret", box.out);

    need_root();
    box_file("out/secret", "of another");
    REQUIRE(chown(secret, CONTAINER_ROOT + 5, CONTAINER_ROOT + 5) == 0);
    REQUIRE(chmod(secret, 0600) == 0);
    enter_container("0 100000 65536");
    CHECK_TEXT("of another", box_read(secret));

    policy = drive_policy(NULL);
    REQUIRE(hutch_sandbox_open(policy, NULL, NULL, &sandbox, &err) == 0);
    CHECK_INT(HUTCH_EDENIED, hutch_file_read(sandbox, secret, &options, &content, &err));
    CHECK_TEXT("of another", box_read(secret));
    hutch_sandbox_close(sandbox);
    hutch_policy_free(policy);
}

static void root_of_the_host_stays_that(void)
{
    need_root();
    be_root_of("0 0 65536");
    CHECK_HAS(drive_refused(NULL, LIST("true")), "is root of the host, as whom no sandbox runs");
}

int main(void)
{
    static const struct box_test tests[] = {
        {"root of a container has its workspace", root_of_a_container_has_its_workspace},
        {"root of one id has its workspace", root_of_one_id_has_its_workspace},
        {"layouts with a workspace in memory work", layouts_with_a_workspace_in_memory_work},
        {"calls on files have the sandbox's rights", calls_on_files_have_the_sandboxs_rights},
        {"root of the host stays that", root_of_the_host_stays_that},
        {NULL, NULL},
    };

    return box_main(tests);
}
