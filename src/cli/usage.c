/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/usage.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/num.h"

/* As exact as it is of use: 0.31s, 1.2s, 59.9s, 5m12s, 2h05m. */
static void put_time(struct buf *out, double ms)
{
    double seconds = ms > 0 ? ms / 1000 : 0;
    uint64_t whole = seconds < 1e15 ? (uint64_t)(seconds + 0.5) : 0;

    if (seconds < 0.995)
        buf_printf(out, "%.2fs", seconds);
    else if (seconds < 59.95)
        buf_printf(out, "%.1fs", seconds);
    else if (whole < 3600)
        buf_printf(out, "%" PRIu64 "m%02" PRIu64 "s", whole / 60, whole % 60);
    else
        buf_printf(out, "%" PRIu64 "h%02" PRIu64 "m", whole / 3600, whole % 3600 / 60);
}

/* How many units of 1024 to the power of `unit`, to the nearest. */
static uint64_t round_to(uint64_t bytes, unsigned unit)
{
    return unit == 0 ? bytes : ((bytes >> (10 * unit - 1)) + 1) >> 1;
}

/* Two digits, or all before the point: 900B, 1.5K, 42M, 1023M. */
static void put_size(struct buf *out, uint64_t bytes)
{
    static const char units[] = "BKMGTPE";
    unsigned unit = 0;

    while (round_to(bytes, unit) >= 1024)
        unit++;
    uint64_t tenths = (uint64_t)((double)bytes * 10 / (double)(UINT64_C(1) << 10 * unit) + 0.5);
    if (tenths < 100 && tenths % 10 != 0)
        buf_printf(out, "%" PRIu64 ".%" PRIu64 "%c", tenths / 10, tenths % 10, units[unit]);
    else
        buf_printf(out, "%" PRIu64 "%c", round_to(bytes, unit), units[unit]);
}

/* "mem 42M/1G" */
static void put_bytes(struct buf *out, const char *name, uint64_t bytes, uint64_t limit)
{
    char text[NUM_TEXT_MAX];

    buf_printf(out, "  %s ", name);
    put_size(out, bytes);
    if (limit != USAGE_NONE)
        buf_printf(out, "/%s", num_format_size(limit, text));
}

void usage_put(struct buf *out, const struct usage *usage)
{
    buf_puts(out, "cpu ");
    put_time(out, usage->cpu_ms);
    if (usage->memory_bytes != USAGE_NONE)
        put_bytes(out, "mem", usage->memory_bytes, usage->memory_limit);
    if (usage->processes != USAGE_NONE)
        buf_printf(out, "  procs %" PRIu64, usage->processes);
    if (usage->processes != USAGE_NONE && usage->process_limit != USAGE_NONE)
        buf_printf(out, "/%" PRIu64, usage->process_limit);
    if (usage->disk_bytes != USAGE_NONE && usage->disk_bytes > 0)
        put_bytes(out, "disk", usage->disk_bytes, usage->disk_limit);
    buf_puts(out, "  wall ");
    put_time(out, usage->wall_ms);
}
