/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"
#include "base/str.h"

/* Strongest first. */
static const struct backend *const backends[] = {
    &backend_native,
};

int backend_choose(const struct plan *plan, const struct backend **ret, struct hutch_error *err)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        r = backends[i]->check(plan, err);
        if (r == 0) {
            *ret = backends[i];
            return 0;
        }
    }
    return r;
}

const char *backend_blamed_fact(const struct hutch_error *error)
{
    const char *fact = NULL;

    for (size_t i = 0; !fact && i < ARRAY_LEN(backends); i++)
        fact = backends[i]->blamed_fact(error);
    return fact;
}
