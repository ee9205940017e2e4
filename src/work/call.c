/* SPDX-License-Identifier: Apache-2.0 */
#include "work/call.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "sys/clock.h"
#include "work/path.h"

/* What callers may want to tell apart is in sys_errno; the code is the coarse answer. */
static int code_of(int error)
{
    switch (error) {
    case ENOENT: return HUTCH_ENOTFOUND;
    case EACCES:
    case EPERM:
    case EROFS: return HUTCH_EDENIED;
    case EAGAIN:
    case EBUSY:
    case ETXTBSY:
    case ETIMEDOUT: return HUTCH_EBUSY;
    case EEXIST:
    case EFBIG:
    case EILSEQ:
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOMSG:
    case ENOTDIR:
    case ENOTEMPTY:
    case ENOTUNIQ: return HUTCH_EINVALID;
    case ENOMEM: return HUTCH_ENOMEM;
    case ENOSYS:
    case EOPNOTSUPP: return HUTCH_EUNSUPPORTED;
    default: return HUTCH_ESYSTEM;
    }
}

/* The error's own text, or a better one where that misleads. */
static const char *reason(int error)
{
    switch (error) {
    case EAGAIN: return "something on its way is being moved all the time";
    case EINVAL: return "it is not a regular file";
    case EFBIG: return "it is too large";
    case EILSEQ: return "it is a binary file";
    case ENOMSG: return "it does not contain the text that is to be replaced";
    case ENOTUNIQ: return "it contains the text that is to be replaced more than once";
    case ENOSYS: return "/proc is not mounted here";
    case ETIMEDOUT: return "it took too long";
    default: return strerror(error);
    }
}

static int fail(const struct call *call, int r, const char *path)
{
    bool about_old = r == -ENOMSG || r == -ENOTUNIQ;
    char shown[256];

    int code = err_set(call->err, code_of(-r), about_old ? "old" : path, "cannot %s '%s': %s",
                       call->verb, str_printable(path, shown, sizeof shown), reason(-r));
    if (call->err)
        call->err->sys_errno = -r;
    return code;
}

int call_begin(struct call *call, const struct work *work, const char *verb, const char *path,
               struct hutch_error *err)
{
    call->work = work;
    call->verb = verb;
    call->err = err;
    int r = work_path_text(work, path, call->path);
    if (r < 0)
        return fail(call, r, path);
    r = rights_take(work, &call->rights);
    if (r < 0)
        return err_sys(err, r, path, "cannot take the rights of uid %d, gid %d", (int)work->fsuid,
                       (int)work->fsgid);
    return 0;
}

int call_end_refused(struct call *call, int r)
{
    int back = rights_give_back(&call->rights);

    if (back < 0)
        return err_sys(call->err, back, call->path, "cannot take back the rights of this thread");
    return r;
}

int call_end(struct call *call, int r)
{
    return call_end_refused(call, r < 0 ? fail(call, r, call->path) : 0);
}

uint64_t call_deadline_ns(uint64_t budget_ms)
{
    uint64_t ns;

    if (__builtin_mul_overflow(budget_ms, UINT64_C(1000000), &ns) ||
        __builtin_add_overflow(ns, sys_clock_ns(CLOCK_MONOTONIC), &ns))
        return UINT64_MAX;
    return ns;
}
