/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flip A B TARGET: exchange the directory A and the symbolic link B to TARGET, over and over, until
 * killed. What somebody has removed is made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    for (;;)
        if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) < 0 &&
            ((mkdir(argv[1], 0700) < 0 && errno != EEXIST) ||
             (symlink(argv[3], argv[2]) < 0 && errno != EEXIST)))
            return 1;
}
