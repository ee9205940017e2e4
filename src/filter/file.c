/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
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
    str_auto char *text = NULL;
    int r = file_read_all(fd, FILTER_FILE_MAX, &text, &len);
    if (r < 0)
        return err_sys(err, r, path, "cannot read the seccomp profile");
    return filter_read_json(text, len, path, arena, ret, err);
}
