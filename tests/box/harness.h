/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame around box tests: each test in a process and scratch directory of its own, results as
 * TAP. After each test the frame looks for what must not be left: descriptors, children, mounts,
 * files on the host. A test that takes too long is killed and has failed.
 *
 * Tests say what they need with the functions here and in drive.h; what those return lives until
 * the test ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Under AddressSanitizer all takes longer and more memory. clang says so by another name. */
#if defined(__SANITIZE_ADDRESS__)
#define BOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BOX_SANITIZED 1
#endif
#endif

struct box_test {
    const char *name;
    void (*fn)(void);
};

/* Where the test is. All directories are absolute and canonical. */
struct box {
    const char *id;      /* a name that nothing else on this host has */
    const char *dir;     /* the scratch directory; holds `work`, `home` and `out` */
    const char *work;    /* the workspace and working directory, with a copy of `payload` in it */
    const char *home;    /* HOME */
    const char *out;     /* a directory outside of both */
    const char *hutch;   /* the command under test */
    const char *payload; /* the program to run inside */
    bool root;           /* the test runs as root */
};
extern struct box box;

/* Run all tests of a program; `tests` ends with a row without a name. Returns its exit status. */
int box_main(const struct box_test *tests);

/* ---- Saying how it went. A failed check fails the test, which goes on; the rest end it. ---- */

void box_check(bool ok, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void box_fatal(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void box_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void box_check_int(long long want, long long got, const char *what, const char *file, int line);
void box_check_text(const char *want, const char *got, const char *what, const char *file,
                    int line);
/* `part` is in `text`, as a whole line when `line_only`; or is not, when not `wanted`. */
void box_check_part(const char *text, const char *part, bool line_only, bool wanted,
                    const char *file, int line);

#define CHECK(cond) box_check((cond), __FILE__, __LINE__, "%s", #cond)
#define CHECK_INT(want, got) box_check_int((want), (got), #got, __FILE__, __LINE__)
#define CHECK_TEXT(want, got) box_check_text((want), (got), #got, __FILE__, __LINE__)
#define CHECK_HAS(text, part) box_check_part((text), (part), false, true, __FILE__, __LINE__)
#define CHECK_LACKS(text, part) box_check_part((text), (part), false, false, __FILE__, __LINE__)
#define CHECK_LINE(text, part) box_check_part((text), (part), true, true, __FILE__, __LINE__)
#define CHECK_NO_LINE(text, part) box_check_part((text), (part), true, false, __FILE__, __LINE__)
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond))                                                                               \
            box_fatal(__FILE__, __LINE__, "%s", #cond);                                            \
    } while (0)

/* ---- Memory and text ---- */

/* Keep a pointer from malloc() until the test ends; returns it. */
void *box_keep(void *memory);
char *box_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* All of a file as text, up to the first NUL. It must be there. */
char *box_read(const char *path);

/* ---- The host's files. Paths are relative to the scratch directory. ---- */

/*
 * Make a file or directory, and expect it to be there at the end. Anybody may write to it: when a
 * sandbox cannot, then not because of its mode.
 */
void box_file(const char *path, const char *text);
void box_dir(const char *path);
void box_symlink(const char *target, const char *path);
/* Expect something that the sandbox has made, or no longer what it has removed. */
void box_expect(const char *path);
void box_expect_gone(const char *path);
/* Do not look at what is in this directory. */
void box_expect_any(const char *path);

/* ---- Waiting, without sleeping longer than needed ---- */

/* Call `fn` until it is true or a generous deadline has passed; whether it became true. */
bool box_eventually(bool (*fn)(void *arg), void *arg);
/* Wait until this process has no children any more; whether that came to be. */
bool box_reap_all(void);

/* The child of `parent` that has this name: "hutch-init", say. -1: there is none, or this kernel lists no children. */
pid_t box_child(pid_t parent, const char *name);
double box_now_ms(void);
