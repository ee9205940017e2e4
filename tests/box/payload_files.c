/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that try something with files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "payload.h"

/* "read P: ok FIRST-LINE" */
static void do_read(char **args)
{
    char text[256];
    int fd = open(args[0], O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (len < 0) {
        say_result("read", args[0], -1);
    } else {
        text[len] = '\0';
        text[strcspn(text, "\n")] = '\0';
        printf("read %s: ok %s\n", args[0], text);
    }
    if (fd >= 0)
        close(fd);
}

static int not_a_dot(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* "list P: ok NAME NAME ..." */
static void do_list(char **args)
{
    struct dirent **names;
    int count = scandir(args[0], &names, not_a_dot, alphasort);

    if (count < 0) {
        say_result("list", args[0], -1);
        return;
    }
    printf("list %s: ok", args[0]);
    for (int i = 0; i < count; i++) {
        printf(" %s", names[i]->d_name);
        free(names[i]);
    }
    free(names);
    printf("\n");
}

static void put(const char *verb, const char *path, int flags, const char *text)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);

    say_result(verb, path, fd < 0 ? -1 : (long)write(fd, text, strlen(text)));
    if (fd >= 0)
        close(fd);
}

static void do_write(char **args)
{
    put("write", args[0], O_WRONLY | O_APPEND, "x");
}

static void do_create(char **args)
{
    put("create", args[0], O_WRONLY | O_CREAT | O_EXCL, "made inside\n");
}

static void do_truncate(char **args)
{
    say_result("truncate", args[0], truncate(args[0], 0));
}

static void do_mkdir(char **args)
{
    say_result("mkdir", args[0], mkdir(args[0], 0755));
}

static void do_rename(char **args)
{
    say_result("rename", args[0], rename(args[0], args[1]));
}

static void do_unlink(char **args)
{
    say_result("unlink", args[0], unlink(args[0]));
}

static void do_rmdir(char **args)
{
    say_result("rmdir", args[0], rmdir(args[0]));
}

static void do_chmod(char **args)
{
    say_result("chmod", args[0], chmod(args[0], 0755));
}

static void do_link(char **args)
{
    say_result("link", args[0], link(args[0], args[1]));
}

static void do_symlink(char **args)
{
    say_result("symlink", args[1], symlink(args[0], args[1]));
}

static void do_mknod(char **args)
{
    say_result("mknod", args[0], mknod(args[0], S_IFCHR | 0666, makedev(1, 3)));
}

static void do_mount(char **args)
{
    say_result("mount", args[0], mount("tmpfs", args[0], "tmpfs", 0, NULL));
}

static void do_umount(char **args)
{
    say_result("umount", args[0], umount2(args[0], MNT_DETACH));
}

static void do_remount(char **args)
{
    say_result("remount", args[0], mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND, NULL));
}

/* "stat P: ok UID GID MODE" */
static void do_stat(char **args)
{
    struct stat st;

    if (lstat(args[0], &st) < 0)
        say_result("stat", args[0], -1);
    else
        printf("stat %s: ok %u %u %o\n", args[0], st.st_uid, st.st_gid, st.st_mode & 07777U);
}

static void do_cwd(char **args)
{
    char path[4096];

    (void)args;
    printf("cwd %s\n", getcwd(path, sizeof path) ? path : verbs_error(errno));
}

const struct verb file_verbs[] = {
    {"chmod", 1, do_chmod},
    {"create", 1, do_create},
    {"cwd", 0, do_cwd},
    {"link", 2, do_link},
    {"list", 1, do_list},
    {"mkdir", 1, do_mkdir},
    {"mknod", 1, do_mknod},
    {"mount", 1, do_mount},
    {"read", 1, do_read},
    {"remount", 1, do_remount},
    {"rename", 2, do_rename},
    {"rmdir", 1, do_rmdir},
    {"stat", 1, do_stat},
    {"symlink", 2, do_symlink},
    {"truncate", 1, do_truncate},
    {"umount", 1, do_umount},
    {"unlink", 1, do_unlink},
    {"write", 1, do_write},
    {NULL, 0, NULL},
};
