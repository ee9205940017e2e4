/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names for the rows of rule_groups, separated by spaces. */
#pragma once

extern const char calls_files[];
extern const char calls_memory[];
extern const char calls_processes[];
extern const char calls_signals[];
extern const char calls_ipc[];
