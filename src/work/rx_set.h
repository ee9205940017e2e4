/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of characters in expressions. */
#pragma once

#include "work/rx.h"

/* What is between brackets; *at is behind "[" and moves behind "]". Returns why not, or NULL. */
const char *rx_set_parse(struct rx *rx, const char **at, const char *end, struct rx_set *set);

/* The class of "\d", "\W" and so on. False when the letter means none. */
bool rx_set_add_escape(struct rx *rx, struct rx_set *set, char letter);

/* The character that "\" and what is at *at stand for; false for letters and digits that mean nothing. */
bool rx_take_escaped(const char **at, const char *end, uint32_t *ret);

/* Finish the set and give it a number. False when out of memory. */
bool rx_set_add(struct rx *rx, struct rx_set *set, uint32_t *ret);

bool rx_set_has(const struct rx_set *set, uint32_t c);
