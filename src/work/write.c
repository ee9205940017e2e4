/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/arena.h"
#include "base/err.h"
#include "work/call.h"
#include "work/path.h"
#include "work/replace.h"

static int write_path(const struct call *call, struct replace *replace)
{
    work_spot_auto struct work_spot spot = WORK_SPOT_INIT;
    char text[PATH_MAX];
    int r = work_path_below(call->path, "", text);

    if (r == 0)
        r = work_spot_follow(call->work, text, &spot);
    if (r == -ENOENT) {
        r = work_path_make_parents(call->work, call->path);
        if (r == 0)
            r = work_path_below(call->path, "", text);
        if (r == 0)
            r = work_spot_follow(call->work, text, &spot);
    }
    if (r < 0)
        return r;
    replace->spot = &spot;
    r = replace_file(replace);
    replace->spot = NULL;
    return r;
}

int work_write(const struct work *work, const char *path, const void *data, size_t len,
               const struct hutch_file_write_options *options, struct arena *arena,
               struct hutch_file_written *ret, struct hutch_error *err)
{
    struct replace replace = {
        .data = data, .len = len, .mode = options->mode, .exclusive = options->exclusive};
    struct call call;

    if (options->mode & ~(mode_t)0777)
        return err_set(err, HUTCH_EINVALID, "mode", "the mode %o has other bits than 0777",
                       (unsigned)options->mode);
    int r = call_begin(&call, work, "write", path, err);
    if (r < 0)
        return r;
    /* Before anything is changed: afterwards there would be nothing to say but that it is done. */
    const char *shown = arena_strdup(arena, call.path);
    r = call_end(&call, shown ? write_path(&call, &replace) : -ENOMEM);
    if (r == 0)
        *ret = (struct hutch_file_written){
            .path = shown, .size = len, .created = replace.created, .in_place = replace.in_place};
    return r;
}
