/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on the files of a sandbox: a file of 4 KiB in a workspace on the disk, read, written, edited. What
 * a new file costs the disk is in the row of a plain program that replaces its file as writing does.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ, WRITE, EDIT, REPLACE, CASES };
enum { FILE_BYTES = 4096 };

static const char *const names[CASES] = {"read", "write", "edit", "replace"};
static const char path[] = "bench.txt";

static double per_second[CASES];

static void call(struct hutch_sandbox *sandbox, int which, const char *text, size_t n)
{
    static const char *const words[] = {"first word", "other word"};
    struct hutch_file_content *content = NULL;
    struct hutch_error err;
    int r = 0;

    if (which == READ)
        r = hutch_file_read(sandbox, path, NULL, &content, &err);
    else if (which == WRITE)
        r = hutch_file_write(sandbox, path, text, FILE_BYTES, NULL, NULL, &err);
    else
        r = hutch_file_edit(sandbox, path, words[n % 2], words[(n + 1) % 2], NULL, NULL, &err);
    if (r < 0)
        die("cannot %s a file of a sandbox: %s", names[which], err.msg);
    if (which == READ && content->len != FILE_BYTES)
        die("a file of a sandbox has %zu bytes, not %d", content->len, FILE_BYTES);
    hutch_file_free(content);
}

/* Without a sandbox. */
static void replace(const char *dir, const char *text)
{
    int dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dirfd, "new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, FILE_BYTES) != FILE_BYTES ||
        renameat(dirfd, "new", dirfd, "plain.txt") < 0)
        die("cannot replace a file in '%s': %s", dir, strerror(errno));
    close(fd);
    close(dirfd);
}

static void measure(const struct bench *bench)
{
    size_t count = bench->iterations * 10;
    char text[FILE_BYTES];
    char dir[PATH_MAX];

    make_dir(dir, bench->root, "files");
    struct hutch_sandbox *sandbox = open_sandbox(dir);
    memset(text, 'x', sizeof text);
    for (size_t i = 63; i < sizeof text; i += 64)
        text[i] = '\n';
    memcpy(text, "first word", strlen("first word"));
    call(sandbox, WRITE, text, 0);
    for (int which = 0; which < CASES; which++) {
        double begin = now_us();
        for (size_t n = 0; n < count; n++) {
            check_stop();
            if (which == REPLACE)
                replace(dir, text);
            else
                call(sandbox, which, text, n);
        }
        per_second[which] = (double)count * 1e6 / (now_us() - begin);
    }
    close_sandbox();
}

static void print_text(void)
{
    printf("%-34s %8s\n", "files of 4 KiB", "a second");
    for (int i = 0; i < CASES; i++)
        printf("  %s%-*s %8.0f\n", names[i], (int)(32 - strlen(names[i])),
               i == REPLACE ? ", plain program" : "", per_second[i]);
}

static void print_json(void)
{
    printf("\"files_per_s\": {");
    for (int i = 0; i < CASES; i++)
        printf("%s\"%s\": %.0f", i ? ", " : "", names[i], per_second[i]);
    putchar('}');
}

const struct subject subject_files = {"files", measure, print_text, NULL, print_json};
