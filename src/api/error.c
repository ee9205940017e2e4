/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <hutch.h>

/* Of a caller's mistake: errno says what it was about. */
static const char *mistake(int sys_errno)
{
    switch (sys_errno) {
    case EEXIST: return "exists";
    case EISDIR:
    case ENOTEMPTY: return "is_directory";
    case ENOTDIR: return "not_directory";
    case EFBIG: return "too_large";
    default: return "invalid";
    }
}

const char *hutch_error_word(const struct hutch_error *error)
{
    switch (error ? error->code : HUTCH_OK) {
    case HUTCH_OK: return NULL;
    case HUTCH_EINVALID: return mistake(error->sys_errno);
    case HUTCH_EPOLICY: return "invalid";
    case HUTCH_EUNSUPPORTED: return "unsupported";
    case HUTCH_EDENIED: return "denied";
    case HUTCH_ENOTFOUND: return "not_found";
    case HUTCH_EBUSY:
    case HUTCH_ESTATE: return "state";
    default: return "system";
    }
}
