/* SPDX-License-Identifier: Apache-2.0 */
#include "work/entry.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "work/file.h"
#include "work/path.h"

void entry_fill(const char *path, size_t from, const struct stat *st, struct hutch_file_entry *ret)
{
    *ret = (struct hutch_file_entry){
        .name = path + from,
        .path = path,
        .type = work_file_type(st->st_mode),
        .size = st->st_size < 0 ? 0 : (uint64_t)st->st_size,
        .modified_ns = work_file_modified_ns(st),
        .mode = st->st_mode & 07777,
    };
}

int entry_look(const struct work *work, int dir, const char *name, const char *text, bool follow,
               struct stat *ret)
{
    struct stat st, target;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    *ret = st;
    if (!follow || !S_ISLNK(st.st_mode))
        return 0;
    /* By its whole path: seen from its directory alone, ".." and "/" would mean something else. */
    fd_auto int fd = work_path_open(work, text, O_PATH);
    if (fd >= 0 && fstat(fd, &target) == 0)
        *ret = target;
    return 0;
}
