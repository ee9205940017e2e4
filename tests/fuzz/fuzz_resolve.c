/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a path or a pattern of a policy, in a small tree full of links. The first byte says
 * where it was said, where it starts and what it is. What is found must be where its name says, and
 * nothing may stay open.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/resolve.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FROM_FLAG = 1, IS_PATTERN = 2, IN_TREE = 4, IN_HOME = 8 };

static char root[] = "/tmp/hutch-fuzz-XXXXXX";
static int root_fd = -1;

static void require(bool truth)
{
    if (!truth)
        abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    return remove(path);
}

static void remove_tree(void)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const dirs[] = {"cwd", "ws", "ws/a", "ws/a/b", "ws/a/b/c", "ws/.h", "home"};
    static const char *const files[] = {"cwd/x", "ws/a/f.c", "ws/a/b/f.c", "ws/.h/f", "home/[x]"};
    static const char *const links[][2] = {
        {"a", "ws/l"},     {"../home", "ws/a/h"}, {"loop", "ws/loop"}, {"none", "ws/gone"},
        {"/", "ws/slash"}, {"..", "ws/a/up"},     {"l/b", "ws/chain"}, {"/proc/self", "ws/self"},
    };

    (void)argc;
    (void)argv;
    require(mkdtemp(root) && atexit(remove_tree) == 0);
    root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        require(mkdirat(root_fd, dirs[i], 0755) == 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        require(mknodat(root_fd, files[i], S_IFREG | 0644, 0) == 0);
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        require(symlinkat(links[i][0], root_fd, links[i][1]) == 0);
    return 0;
}

/* One line, nothing that acts on a terminal. */
static void check_error(const struct hutch_error *err, int r)
{
    char copy[sizeof(err->msg)];

    require(r < 0 && err->code == r && err->msg[0] && str_eq(err->where, "--hide"));
    require(str_eq(str_printable(err->msg, copy, sizeof(copy)), err->msg));
}

static void check_name(struct arena *arena, const char *path)
{
    const char *plain = path_normalize(arena, "/", path);

    require(path[0] == '/' && plain && str_eq(plain, path));
}

/* The name leads to the same file without a single link on the way. */
static void check_found(struct arena *arena, const struct resolved *found)
{
    const uint64_t no_symlinks = 0x04;
    const uint64_t how[3] = {O_PATH | O_CLOEXEC, 0, no_symlinks};
    const int sys_openat2 = 437;
    struct stat st;

    require(found->fd >= 0 && !found->denied);
    check_name(arena, found->path);
    if (path_is_within(found->path, "/proc"))
        return; /* what is there changes as we look */
    fd_auto int fd = (int)syscall(sys_openat2, AT_FDCWD, found->path, how, sizeof(how));
    require(fd >= 0 && fstat(fd, &st) == 0);
    require(st.st_dev == found->st.st_dev && st.st_ino == found->st.st_ino);
    require(fstat(found->fd, &st) == 0 && st.st_ino == found->st.st_ino);
}

static int check_path(void *arg, const struct policy_item *item, struct hutch_error *err)
{
    const struct resolver *resolver = arg;
    struct resolved found;
    const char *place;
    int r = resolve_path(resolver, item, &found, err);

    if (r < 0) {
        check_error(err, r);
        return 0;
    }
    if (found.exists) {
        check_found(resolver->arena, &found);
        fd_close(&found.fd);
        return 0;
    }
    require(found.fd == -1);
    r = resolve_missing(resolver, item, &place, err);
    if (r < 0)
        check_error(err, r);
    else
        check_name(resolver->arena, place);
    return 0;
}

/* A pattern's match has a name below the place where the pattern starts; it exists or is a link. */
static int check_match(void *arg, const struct policy_item *match, struct hutch_error *err)
{
    struct stat st;

    require(match->text[0] == '/' && path_is_within(match->text, root));
    require(lstat(match->text, &st) == 0);
    return check_path(arg, match, err);
}

/* Patterns that leave the tree would walk the whole host. */
static bool stays_in_tree(const char *text)
{
    return text[0] != '/' && !strstr(text, "..") && !strstr(text, "slash") &&
           !strstr(text, "self") && !strstr(text, "up");
}

/* The descriptor that would be given out next: a leak makes it a higher one. */
static int next_fd(void)
{
    fd_auto int fd = open("/", O_PATH | O_CLOEXEC);

    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hutch_error err = {0};
    struct arena arena;
    unsigned how = size ? data[0] : 0;
    int before = next_fd();

    arena_init(&arena);
    str_auto char *text = strndup(size ? (const char *)data + 1 : "", size ? size - 1 : 0);
    struct policy_item item = {.text = text, .origin = "--hide", .from_flag = how & FROM_FLAG};
    bool pattern = (how & IS_PATTERN) && path_is_glob(text) && stays_in_tree(text);

    if (how & IN_TREE)
        item.text = arena_printf(&arena, "%s/%s", root, text);
    else if (how & IN_HOME)
        item.text = arena_printf(&arena, "~/%s", text);
    struct resolver resolver = {
        .arena = &arena,
        .home = arena_printf(&arena, "%s/home", root),
        .cwd = {.fd = openat(root_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC)},
        .workspace = {.fd = openat(root_fd, "ws", O_PATH | O_DIRECTORY | O_CLOEXEC)},
        .repo = {.fd = -1},
    };
    if (pattern) {
        int r = resolve_glob(&resolver, &item, check_match, &resolver, &err);
        if (r < 0)
            check_error(&err, r);
    } else {
        check_path(&resolver, &item, &err);
    }
    resolver_clear(&resolver);
    arena_clear(&arena);
    require(next_fd() == before);
    return 0;
}
