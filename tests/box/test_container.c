/* SPDX-License-Identifier: Apache-2.0 */
/* The command in a container, whose first process waits for the children it started and no others. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"

enum { CONTAINER_LACKING = 77 };

static bool write_map(const char *path, unsigned id)
{
    FILE *file = fopen(path, "we");
    bool ok = file && fprintf(file, "%u %u 1", id, id) > 0;

    return file && fclose(file) == 0 && ok;
}

/* As root without a user namespace; others need one to make the rest, and stay who they are in it. */
static bool leave_for_container(void)
{
    const unsigned uid = geteuid();
    const unsigned gid = getegid();

    if (unshare(CLONE_NEWPID | CLONE_NEWNS | (box.root ? 0 : CLONE_NEWUSER)) < 0)
        return false;
    if (box.root)
        return true;
    FILE *setgroups_file = fopen("/proc/self/setgroups", "we");
    bool denied = setgroups_file && fputs("deny", setgroups_file) >= 0;
    return setgroups_file && fclose(setgroups_file) == 0 && denied &&
           write_map("/proc/self/uid_map", uid) && write_map("/proc/self/gid_map", gid);
}

static int be_first_process(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0)
        return CONTAINER_LACKING;
    for (int i = 0; i < 3; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            execl(box.hutch, "hutch", "run", "--", "./payload", "exit", "7", NULL);
            _exit(1);
        }
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            return 1;
    }
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 2;
}

static int in_container(void)
{
    int status = -1;
    pid_t outer = fork();

    if (outer == 0) {
        if (!leave_for_container())
            _exit(CONTAINER_LACKING);
        pid_t first = fork();
        if (first == 0)
            _exit(be_first_process());
        _exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    return waitpid(outer, &status, 0) == outer && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nothing_is_left_to_its_first_process(void)
{
    int status = in_container();

    if (status == CONTAINER_LACKING)
        box_skip("this host gives no pid namespace with a /proc of its own");
    CHECK_INT(0, status);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"nothing is left to its first process", nothing_is_left_to_its_first_process},
        {NULL, NULL},
    };

    return box_main(tests);
}
