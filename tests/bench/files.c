/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on the files of a sandbox: a file of 4 KiB in a workspace on the disk, read, written, edited, by
 * calls of the library and by lines to `hutch rpc` and back. What a new file costs the disk is in the row
 * of a plain program that replaces its file as writing does.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ, WRITE, EDIT, RPC_READ, RPC_WRITE, RPC_EDIT, REPLACE, CASES };
enum { FILE_BYTES = 4096 };

static const char *const names[CASES] = {
    "read",
    "write",
    "edit",
    "read over rpc",
    "write over rpc",
    "edit over rpc",
    "replace, plain program",
};
static const char *const keys[CASES] = {
    "read", "write", "edit", "rpc_read", "rpc_write", "rpc_edit", "replace",
};
static const char path[] = "bench.txt";
static const char *const words[] = {"first word", "other word"};

/* Requests of `hutch rpc`; editing takes turns between two. */
static char *read_line, *write_line, *edit_lines[2];

static double per_second[CASES];
static double p50[CASES];
static double p90[CASES];

static void make_lines(const char *text)
{
    read_line = rpc_line("file.read", "{s:s}", "path", path);
    write_line = rpc_line("file.write", "{s:s, s:s%}", "path", path, "content", text,
                          (size_t)FILE_BYTES);
    for (int i = 0; i < 2; i++)
        edit_lines[i] = rpc_line("file.edit", "{s:s, s:s, s:s}", "path", path, "old", words[i],
                                 "new", words[1 - i]);
}

static void free_lines(void)
{
    free(read_line);
    free(write_line);
    free(edit_lines[0]);
    free(edit_lines[1]);
}

static void call(struct hutch_sandbox *sandbox, int which, const char *text, size_t n)
{
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

static void do_once(struct hutch_sandbox *sandbox, int which, const char *dir, const char *text,
                    size_t n)
{
    if (which == REPLACE)
        replace(dir, text);
    else if (which == RPC_READ)
        rpc_call(read_line, "\"size\":4096");
    else if (which == RPC_WRITE)
        rpc_call(write_line, "\"size\":4096");
    else if (which == RPC_EDIT)
        rpc_call(edit_lines[n % 2], "\"occurrences\":1");
    else
        call(sandbox, which, text, n);
}

static void measure(const struct bench *bench)
{
    size_t count = bench->iterations * 10;
    double *us = make_numbers(count);
    char text[FILE_BYTES];
    char dir[PATH_MAX];

    make_dir(dir, bench->root, "files");
    struct hutch_sandbox *sandbox = open_sandbox(dir);
    rpc_open(bench, dir);
    memset(text, 'x', sizeof text);
    for (size_t i = 63; i < sizeof text; i += 64)
        text[i] = '\n';
    memcpy(text, words[0], strlen(words[0]));
    make_lines(text);
    call(sandbox, WRITE, text, 0);
    for (int which = 0; which < CASES; which++) {
        double begin = now_us();
        double last = begin;
        for (size_t n = 0; n < count; n++) {
            check_stop();
            do_once(sandbox, which, dir, text, n);
            double now = now_us();
            us[n] = now - last;
            last = now;
        }
        per_second[which] = (double)count * 1e6 / (last - begin);
        p50[which] = percentile(us, count, 50);
        p90[which] = percentile(us, count, 90);
    }
    free_lines();
    free(us);
    rpc_close();
    close_sandbox();
}

static void print_text(void)
{
    printf("%-34s %8s %8s %8s\n", "files of 4 KiB", "a second", "p50 us", "p90 us");
    for (int i = 0; i < CASES; i++)
        printf("  %-32s %8.0f %8.1f %8.1f\n", names[i], per_second[i], p50[i], p90[i]);
}

static void print_json(void)
{
    printf("\"files_per_s\": {");
    for (int i = 0; i < CASES; i++)
        printf("%s\"%s\": %.0f", i ? ", " : "", keys[i], per_second[i]);
    printf("}, \"files\": {");
    for (int i = 0; i < CASES; i++)
        printf("%s\"%s\": {\"p50_us\": %.1f, \"p90_us\": %.1f}", i ? ", " : "", keys[i], p50[i],
               p90[i]);
    putchar('}');
}

const struct subject subject_files = {"files", measure, print_text, NULL, print_json};
