/* SPDX-License-Identifier: Apache-2.0 */
#include "work/text.h"

#include <string.h>

#include "base/str.h"

#define NOT_UTF8 0x200000U

uint32_t text_take(const char **at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)*at;

    if (bytes[0] < 0x80) {
        ++*at;
        return bytes[0];
    }
    size_t len = str_utf8_len(*at, (size_t)(end - *at));
    uint32_t value = len ? bytes[0] & (0xffU >> (len + 1)) : NOT_UTF8 | bytes[0];

    for (size_t i = 1; i < len; i++)
        value = value << 6 | (bytes[i] & 0x3fU);
    *at += len ? len : 1;
    return value;
}

/* How long a character is that begins with this byte. */
static size_t announced(unsigned char first)
{
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

size_t text_whole(const char *data, size_t len)
{
    size_t start = len;

    while (start > 0 && len - start < 3 && ((unsigned char)data[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0 || announced((unsigned char)data[start - 1]) <= len - start + 1)
        return len;
    return start - 1;
}

static size_t probe(size_t len)
{
    return len < TEXT_PROBE_BYTES ? len : TEXT_PROBE_BYTES;
}

bool text_is_bytes(const char *data, size_t len)
{
    return !memchr(data, '\0', probe(len));
}

bool text_is_text(const char *data, size_t len)
{
    size_t part = probe(len);

    return text_is_bytes(data, len) &&
           str_is_utf8(data, part < len ? text_whole(data, part) : part);
}
