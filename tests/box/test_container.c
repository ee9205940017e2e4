/* SPDX-License-Identifier: Apache-2.0 */
/* The command in a container, whose first process waits for the children it started and no others. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/pidns.h"
#include "drive.h"

enum { CONTAINER_LACKING = 77 };

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
        if (!pidns_unshare())
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
