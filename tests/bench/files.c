/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on the files of a sandbox: a file of 4 KiB in a workspace on the disk, read, written, edited. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { READ, WRITE, EDIT, CASES };
enum { FILE_BYTES = 4096 };

static const char *const names[CASES] = {"read", "write", "edit"};
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

static void measure(const struct bench *bench)
{
    struct hutch_sandbox *sandbox = open_sandbox(bench->empty);
    size_t count = bench->iterations * 10;
    char text[FILE_BYTES];

    memset(text, 'x', sizeof text);
    for (size_t i = 63; i < sizeof text; i += 64)
        text[i] = '\n';
    memcpy(text, "first word", strlen("first word"));
    call(sandbox, WRITE, text, 0);
    for (int which = 0; which < CASES; which++) {
        double begin = now_us();
        for (size_t n = 0; n < count; n++) {
            check_stop();
            call(sandbox, which, text, n);
        }
        per_second[which] = (double)count * 1e6 / (now_us() - begin);
    }
    hutch_file_delete(sandbox, path, NULL, NULL);
    hutch_sandbox_close(sandbox);
}

static void print_text(void)
{
    printf("%-34s %8s\n", "files of 4 KiB", "a second");
    for (int i = 0; i < CASES; i++)
        printf("  %-32s %8.0f\n", names[i], per_second[i]);
}

static void print_json(void)
{
    printf("\"files_per_s\": {");
    for (int i = 0; i < CASES; i++)
        printf("%s\"%s\": %.0f", i ? ", " : "", names[i], per_second[i]);
    putchar('}');
}

const struct subject subject_files = {"files", measure, print_text, NULL, print_json};
