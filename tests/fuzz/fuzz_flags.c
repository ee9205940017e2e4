/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of "FLAG VALUE" as flags. What is taken must come back the same from its own JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

/* "#" and a byte stand for one of the options, so that names need not be guessed. */
static const char *flag_of(const char *word)
{
    size_t count;
    const struct hutch_option *rows = policy_options(&count);

    if (word[0] == '#' && word[1] >= '0')
        return rows[(size_t)(word[1] - '0') % count].flag;
    return word;
}

static int apply_line(struct policy *policy, char *line)
{
    char *space = strchr(line, ' ');
    struct hutch_error err = {0};
    char copy[sizeof(err.msg)];

    if (space)
        *space = '\0';
    int r = policy_set_flag(policy, flag_of(line), space ? space + 1 : NULL, NULL, &err);
    require(r == err.code);
    require(r == 0 || str_eq(str_printable(err.msg, copy, sizeof(copy)), err.msg));
    return r;
}

static void check_round_trip(const struct policy *policy)
{
    struct hutch_error err;
    struct policy again;
    str_auto char *text = NULL;
    str_auto char *text_again = NULL;

    if (policy_to_json(policy, &text, &err) < 0)
        return; /* a name that is not UTF-8 */
    policy_init(&again);
    require(policy_merge_json(&again, text, strlen(text), "again", &err) == 0);
    require(policy_to_json(&again, &text_again, &err) == 0);
    require(str_eq(text, text_again));
    policy_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str_auto char *text = strndup((const char *)data, size);
    char *rest = text;
    char *line;
    struct policy policy;
    int r = 0;

    policy_init(&policy);
    while (r == 0 && (line = strsep(&rest, "\n")))
        r = apply_line(&policy, line);
    if (r == 0)
        check_round_trip(&policy);
    policy_clear(&policy);
    return 0;
}
