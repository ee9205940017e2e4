/* SPDX-License-Identifier: Apache-2.0 */
#include "work/match.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "work/text.h"

static uint32_t take(const char **at)
{
    return text_take(at, *at + strnlen(*at, 4));
}

static bool in_named_class(const char *name, size_t len, uint32_t c)
{
    static const struct {
        const char *name;
        int (*is)(int);
    } classes[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
        {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
        {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
    };

    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
            return c < 0x80 && classes[i].is((int)c);
    return false;
}

/* "[:name:]" at *at, which moves past it. */
static bool take_named_class(const char **at, uint32_t c, bool *found)
{
    const char *end = strstr(*at + 2, ":]");

    if ((*at)[0] != '[' || (*at)[1] != ':' || !end)
        return false;
    *found |= in_named_class(*at + 2, (size_t)(end - *at) - 2, c);
    *at = end + 2;
    return true;
}

static uint32_t take_member(const char **at)
{
    if ((*at)[0] == '\\' && (*at)[1])
        ++*at;
    return take(at);
}

/* The class that begins after '[' at *at: whether c is in it. False and *at as it was if it never ends. */
static bool take_class(const char **at, uint32_t c, bool *found)
{
    const char *p = *at;
    bool negated = *p == '!' || *p == '^';
    bool is_in = false;

    p += negated;
    for (bool first = true; first || *p != ']'; first = false) {
        if (!*p)
            return false;
        if (p[0] == '[' && p[1] == ':' && take_named_class(&p, c, &is_in))
            continue;
        uint32_t low = take_member(&p), high = low;
        if (p[0] == '-' && p[1] && p[1] != ']') {
            p++;
            high = take_member(&p);
        }
        is_in |= low <= c && c <= high;
    }
    *at = p + 1;
    *found = is_in != negated;
    return true;
}

/* One character of the name against what is at *pattern (no star), which moves past it. */
static bool match_one(const char **pattern, uint32_t c)
{
    const char *at = *pattern + 1;
    bool found;

    switch (**pattern) {
    case '\0': return false;
    case '?': *pattern = at; return true;
    case '[':
        if (take_class(&at, c, &found)) {
            *pattern = at;
            return found;
        }
        break;
    case '\\':
        if (*at)
            *pattern = at;
        break;
    default: break;
    }
    return take(pattern) == c;
}

bool match_name(const char *pattern, const char *name, bool hidden)
{
    const char *star = NULL;     /* behind the last one */
    const char *star_end = NULL; /* the name from where that one ends at present */

    if (name[0] == '.' && !hidden && pattern[pattern[0] == '\\'] != '.')
        return false;
    while (*name || *pattern == '*') {
        if (*pattern == '*') {
            star = ++pattern;
            star_end = name;
            continue;
        }
        const char *next = name;
        if (match_one(&pattern, take(&next))) {
            name = next;
            continue;
        }
        /* The last star takes one character more. Earlier ones never need to: it can take all that they could. */
        if (!star)
            return false;
        take(&star_end);
        name = star_end;
        pattern = star;
    }
    return !*pattern;
}
