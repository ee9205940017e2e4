/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <string.h>

#include "base/err.h"

int options_read(const void *given, void *known, size_t known_size, struct hutch_error *err)
{
    size_t size;

    if (!given)
        return 0;
    memcpy(&size, given, sizeof size);
    if (size <= sizeof size)
        return err_set(err, HUTCH_EINVALID, "options",
                       "their size is not set: start from their _INIT");
    memcpy(known, given, size < known_size ? size : known_size);
    return 0;
}
