/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdio.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t str_utf8_len(const char *data, size_t len)
{
    const unsigned char *p = (const unsigned char *)data;

    if (len == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2) /* a continuation byte, or overlong */
        return 0;
    if (p[0] < 0xe0)
        return len >= 2 && is_continuation(p[1]) ? 2 : 0;
    if (p[0] < 0xf0) {
        if (len < 3 || !is_continuation(p[1]) || !is_continuation(p[2]))
            return 0;
        if ((p[0] == 0xe0 && p[1] < 0xa0) ||
            (p[0] == 0xed && p[1] >= 0xa0)) /* overlong, surrogate */
            return 0;
        return 3;
    }
    if (p[0] > 0xf4 || len < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) ||
        !is_continuation(p[3]))
        return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90)) /* overlong, > U+10FFFF */
        return 0;
    return 4;
}

bool str_is_utf8(const char *data, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = str_utf8_len(data + i, len - i);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

/*
 * Characters that do something instead of showing something: C0 and C1 controls, line and paragraph
 * separators, and the marks that turn the reading direction (they make one text look like another).
 */
static bool acts(const char *character, size_t len)
{
    const unsigned char *p = (const unsigned char *)character;

    if (len == 1)
        return p[0] < 0x20 || p[0] == 0x7f;
    if (len == 2)
        return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c);
    if (len == 3 && p[0] == 0xe2 && p[1] == 0x80)
        return p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae);
    if (len == 3 && p[0] == 0xe2 && p[1] == 0x81)
        return p[2] >= 0xa6 && p[2] <= 0xa9;
    return false;
}

const char *str_printable(const char *text, char *out, size_t size)
{
    static const char dots[] = "...";
    size_t len = strlen(text);
    size_t used = 0;
    size_t cut = 0; /* the last place with room for the dots */

    for (size_t i = 0; i < len && size > 0;) {
        size_t take = str_utf8_len(text + i, len - i);
        char escape[sizeof("\\xNN")];
        const char *piece = text + i;
        size_t piece_len = take;

        if (take == 0 || acts(text + i, take)) {
            take = 1;
            snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)text[i]);
            piece = escape;
            piece_len = sizeof(escape) - 1;
        }
        if (used + sizeof(dots) <= size)
            cut = used;
        if (used + piece_len >= size) {
            used = cut;
            if (size >= sizeof(dots)) {
                memcpy(out + used, dots, sizeof(dots) - 1);
                used += sizeof(dots) - 1;
            }
            break;
        }
        memcpy(out + used, piece, piece_len);
        used += piece_len;
        i += take;
    }
    if (size > 0)
        out[used] = '\0';
    return out;
}

size_t str_utf8_begun(const char *data, size_t len)
{
    for (size_t n = 1; n <= 3 && n <= len; n++) {
        unsigned char c = (unsigned char)data[len - n];
        size_t whole = c > 0xf4 || c < 0xc2 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

        if (c >= 0x80 && c < 0xc0)
            continue; /* its middle; look further back for the beginning */
        return whole > n ? n : 0;
    }
    return 0;
}
