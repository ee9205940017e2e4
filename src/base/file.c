/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

int file_read_all(int fd, size_t most, char **ret, size_t *ret_len)
{
    str_auto char *data = malloc(most + 1);
    size_t len = 0;

    if (!data)
        return -ENOMEM;
    while (len <= most) {
        ssize_t n = read(fd, data + len, most + 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    *ret_len = len;
    *ret = data;
    data = NULL;
    return 0;
}
