/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/check.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

#define NO_HOST "is not a host: use name, *.name, 1.2.3.4 or [::1], each maybe with :port"
#define NO_PORT "has no valid port: use 1 to 65535"
#define NO_HOSTNAME "is not a host name: use letters, digits, '-' and '.', at most 63"
#define NO_REQUIRE "is not a requirement: use a word such as 'seccomp', or 'landlock>=4'"

/* DNS allows 253 in all and 63 for a label; the kernel's own host name has 64 with its NUL. */
enum { NAME_MOST = 253, LABEL_MOST = 63, HOSTNAME_MOST = 63 };

/* Not isalnum() and the like: those depend on the locale of the program around the library. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t span_digits(const char *text)
{
    return strspn(text, "0123456789");
}

const char *check_text(const char *text)
{
    return text[0] ? NULL : "is empty";
}

const char *check_path(const char *text)
{
    if (!text[0])
        return "is not a path: it is empty";
    return strlen(text) < PATH_MAX ? NULL : "is not a path: it is longer than the kernel takes";
}

/* RFC 1123: labels of letters, digits and inner hyphens, joined by dots. */
static bool is_name(const char *name, size_t len)
{
    size_t start = 0;

    for (size_t i = 0; i <= len; i++) {
        if (i < len && (is_alnum(name[i]) || name[i] == '-'))
            continue;
        if (i < len && name[i] != '.')
            return false;
        if (i == start || i - start > LABEL_MOST || name[start] == '-' || name[i - 1] == '-')
            return false;
        start = i + 1;
    }
    return true;
}

/*
 * Whether resolvers would read the name as an IPv4 address in one of its old spellings (127.1,
 * 0x7f000001): then it must be one in the plain spelling, or the entry allows what nobody sees.
 */
static bool ends_in_number(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *label = dot ? dot + 1 : name;

    if (label[span_digits(label)] == '\0')
        return true;
    return label[0] == '0' && (label[1] == 'x' || label[1] == 'X') &&
           label[2 + strspn(label + 2, "0123456789abcdefABCDEF")] == '\0';
}

static bool is_host(const char *text, size_t len)
{
    char name[NAME_MOST + 1];
    struct in6_addr address;
    bool wildcard = str_starts(text, "*.");

    if (text[0] == '[') {
        if (len < 3 || len - 2 >= INET6_ADDRSTRLEN || text[len - 1] != ']')
            return false;
        memcpy(name, text + 1, len - 2);
        name[len - 2] = '\0';
        return inet_pton(AF_INET6, name, &address) == 1;
    }
    if (wildcard) {
        text += 2;
        len -= 2;
    }
    if (len > NAME_MOST || !is_name(text, len))
        return false;
    memcpy(name, text, len);
    name[len] = '\0';
    if (ends_in_number(name))
        return !wildcard && inet_pton(AF_INET, name, &address) == 1;
    return true;
}

static bool is_port(const char *text)
{
    size_t digits = span_digits(text);
    unsigned number = 0;

    if (digits == 0 || digits > 5 || text[digits] || text[0] == '0')
        return false;
    for (; *text; text++)
        number = number * 10 + (unsigned)(*text - '0');
    return number <= 65535;
}

const char *check_host(const char *text)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = strchr(end ? end : text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);

    if (!is_host(text, len))
        return NO_HOST;
    return !colon || is_port(colon + 1) ? NULL : NO_PORT;
}

const char *check_hostname(const char *text)
{
    size_t len = strlen(text);

    return len <= HOSTNAME_MOST && is_name(text, len) ? NULL : NO_HOSTNAME;
}

const char *check_require(const char *text)
{
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    const char *rest = text + word;

    if (word == 0 || text[0] < 'a' || text[0] > 'z')
        return NO_REQUIRE;
    if (!*rest)
        return NULL;
    if (!str_starts(rest, ">=") || rest[2] == '0')
        return NO_REQUIRE;
    size_t digits = span_digits(rest + 2);
    return digits >= 1 && digits <= 9 && !rest[2 + digits] ? NULL : NO_REQUIRE;
}

/*
 * The kernel takes any name; '=' would split it elsewhere. '*' is refused because somebody who
 * writes AWS_* where no prefix is understood would believe that it worked.
 */
const char *check_variable(const char *text)
{
    if (!text[0])
        return "is not the name of a variable: it is empty";
    if (strchr(text, '='))
        return "is not the name of a variable: it contains '='";
    if (strchr(text, '*'))
        return "is not the name of a variable: '*' works only for those to inherit";
    return NULL;
}

const char *check_inherit(const char *text)
{
    const char *star = strchr(text, '*');

    if (star && star[1])
        return "is not the name of a variable: '*' can only be its last character";
    if (star && !strchr(text, '='))
        return NULL;
    return check_variable(text);
}
