/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/str.h"
#include "filter/filter.h"
#include "filter/profile.h"

int filter_read_json(const char *text, size_t len, const char *source, struct arena *arena,
                     struct filter *ret, struct hutch_error *err)
{
    struct profile profile;

    int r = profile_read(text, len, source, arena, &profile, err);
    return r < 0 ? r : profile_compile(&profile, source, arena, ret, err);
}

/* A byte more than is allowed is read, so that too long a file is noticed. */
static int read_whole(int fd, char *text, size_t *ret_len)
{
    size_t len = 0;

    while (len <= FILTER_FILE_MAX) {
        ssize_t n = read(fd, text + len, FILTER_FILE_MAX + 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    *ret_len = len;
    return 0;
}

int filter_from_file(const char *path, struct arena *arena, struct filter *ret,
                     struct hutch_error *err)
{
    struct stat info;
    size_t len = 0;
    /* Not blocking: it may turn out to be a pipe that nobody writes to. */
    fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return err_sys(err, -errno, path, "cannot open the seccomp profile");
    if (fstat(fd, &info) < 0)
        return err_sys(err, -errno, path, "cannot read the seccomp profile");
    if (!S_ISREG(info.st_mode))
        return err_set(err, HUTCH_EPOLICY, path, "is not a regular file");
    str_auto char *text = malloc(FILTER_FILE_MAX + 1);
    if (!text)
        return err_oom(err);
    int r = read_whole(fd, text, &len);
    if (r < 0)
        return err_sys(err, r, path, "cannot read the seccomp profile");
    return filter_read_json(text, len, path, arena, ret, err);
}
