/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a number of each kind. What is read must be written so that it reads the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef const char *parse_fn(const char *text, uint64_t *ret);
typedef const char *format_fn(uint64_t number, char out[NUM_TEXT_MAX]);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check(parse_fn *parse, format_fn *format, const char *text)
{
    char out[NUM_TEXT_MAX];
    uint64_t number = 0;
    uint64_t again = 0;

    if (parse(text, &number))
        return;
    require(number > 0);
    require(number <= INT64_MAX || number == NUM_NO_LIMIT);
    if (!format)
        return;
    require(parse(format(number, out), &again) == NULL);
    require(again == number);
    require(strlen(out) <= strlen(text)); /* no spelling is shorter */
}

/* Every number there is comes back from its own text, not only those that were written. */
static void check_number(parse_fn *parse, format_fn *format, uint64_t number)
{
    char out[NUM_TEXT_MAX];
    uint64_t again = 0;

    require(parse(format(number, out), &again) == NULL);
    require(again == number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str_auto char *text = strndup((const char *)data, size);
    uint64_t number = 0;

    check(num_parse_size, num_format_size, text);
    check(num_parse_duration, NULL, text);
    check(num_parse_count, NULL, text);
    check(num_parse_cpus, num_format_cpus, text);

    memcpy(&number, data, size < sizeof(number) ? size : sizeof(number));
    number &= INT64_MAX;
    if (number == 0)
        return 0;
    check_number(num_parse_size, num_format_size, number);
    check_number(num_parse_duration, num_format_duration, number);
    check_number(num_parse_cpus, num_format_cpus, number % 1000000000 + 1);
    return 0;
}
