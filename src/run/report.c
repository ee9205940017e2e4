/* SPDX-License-Identifier: Apache-2.0 */
/* From what was seen of a run to its result. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "run/result.h"
#include "run/state.h"

static double ms_of(struct timeval tv)
{
    return (double)tv.tv_sec * 1e3 + (double)tv.tv_usec / 1e3;
}

static int fill_output(struct hutch_run *run, struct hutch_result *result)
{
    for (int i = 0; i < 2; i++) {
        size_t len;
        if (capture_is_empty(&run->capture[i]))
            continue; /* as it is */
        result->truncated = result->truncated || capture_truncated(&run->capture[i]);
        char *data = capture_take(&run->capture[i], &len);
        if (!data)
            return -ENOMEM;
        result_give_output(result, i + 1, data, len);
    }
    result->output_errno = run->output[0].error ? run->output[0].error : run->output[1].error;
    result->stdout_bytes = run->output[0].bytes;
    result->stderr_bytes = run->output[1].bytes;
    return 0;
}

static void fill_end(const struct hutch_run *run, struct hutch_result *result)
{
    result->reason = run->ending;
    if (run->exec_errno) {
        result->reason = HUTCH_SETUP;
        result->exit_code = run->exec_errno == ENOENT ? 127 : 126;
        result->error = run->error;
    } else {
        result->exit_code = run->exit.signal ? -1 : run->exit.code;
        result->signal = run->exit.signal;
        if (result->reason == HUTCH_EXITED && result->signal)
            result->reason = HUTCH_SIGNALED;
    }
    result->status = result_status(result);
    if (run->started_ns)
        result->duration_ms = (double)(run->ended_ns - run->started_ns) / 1e6;
}

/* The larger of what was measured and what the kernel told at the end, which leaves some out. */
static double larger_ms(uint64_t measured_us, struct timeval told)
{
    double measured = measured_us == SANDBOX_UNKNOWN ? 0 : (double)measured_us / 1e3;

    return measured > ms_of(told) ? measured : ms_of(told);
}

/* Of a sandbox that lasts, others use time as well. What its command was not told of was looked at. */
static void fill_cpu(const struct hutch_run *run, struct hutch_result *result)
{
    const struct monitor *monitor = &run->monitor;
    const struct rusage *told = &run->exit.usage;

    if (run->box->plan->lasting) {
        double own_ms = (double)monitor->own_cpu_us / 1e3;
        result->system_ms = ms_of(told->ru_stime);
        result->user_ms = ms_of(told->ru_utime);
        if (own_ms > result->user_ms + result->system_ms)
            result->user_ms = own_ms - result->system_ms;
        return;
    }
    result->user_ms = larger_ms(monitor->usage.user_us, told->ru_utime);
    result->system_ms = larger_ms(monitor->usage.system_us, told->ru_stime);
}

/* In bytes; from the blocks that the kernel told of where nobody has measured. */
static uint64_t since(uint64_t now, uint64_t before, long blocks)
{
    return now == SANDBOX_UNKNOWN ? (uint64_t)blocks * 512 : monitor_since(now, before);
}

static void fill_usage(const struct hutch_run *run, struct hutch_result *result)
{
    const struct sandbox_usage *usage = &run->monitor.usage;
    const struct sandbox_usage *base = &run->monitor.base;
    const struct rusage *told = &run->exit.usage;
    uint64_t largest = (uint64_t)told->ru_maxrss * 1024;

    fill_cpu(run, result);
    uint64_t peak = monitor_peak_memory(&run->monitor);
    result->peak_memory_bytes = peak < largest ? largest : peak;
    if (result->peak_memory_bytes == 0 && run->started_ns)
        result->peak_memory_bytes =
            HUTCH_UNKNOWN; /* over before it was looked at, and less than our copy */
    result->peak_processes = monitor_peak_processes(&run->monitor);
    if (result->peak_processes == 0 && run->started_ns)
        result->peak_processes = 1; /* over before it was looked at */
    result->read_bytes = since(usage->read_bytes, base->read_bytes, told->ru_inblock);
    result->written_bytes = since(usage->written_bytes, base->written_bytes, told->ru_oublock);
    /* Others write to the disk as well: what was not confirmed is at most what the run has written. */
    uint64_t grown = monitor_since(run->box->disk.bytes, run->monitor.base_disk_bytes);
    uint64_t dirtied = (uint64_t)told->ru_oublock *
                       512; /* a group counts what has reached the device */
    if (run->ending != HUTCH_DISK && grown > dirtied)
        grown = dirtied;
    result->disk_bytes = usage->disk_bytes == SANDBOX_UNKNOWN ? HUTCH_UNKNOWN
                                                              : usage->disk_bytes + grown;
}

static int fill_limits(const struct hutch_run *run, struct hutch_result *result)
{
    struct plan_limit_row rows[PLAN_LIMIT_ROWS];
    struct hutch_limit *limits = arena_alloc(result_arena(result),
                                             sizeof *limits * (PLAN_LIMIT_ROWS + 1));
    size_t count = 0;

    plan_limit_rows(run->box->plan, rows);
    for (size_t i = 0; limits && i < PLAN_LIMIT_ROWS; i++)
        if (rows[i].means != MEANS_NONE)
            limits[count++] = (struct hutch_limit){rows[i].name, rows[i].max, rows[i].host};
    result->limits = limits;
    return limits ? 0 : -ENOMEM;
}

static int fill_violations(const struct hutch_run *run, struct hutch_result *result)
{
    struct arena *arena = result_arena(result);
    struct hutch_violation *copy = arena_alloc(arena, (run->violation_count + 1) * sizeof *copy);

    for (size_t i = 0; copy && i < run->violation_count; i++) {
        copy[i] = run->violations[i];
        copy[i].detail = arena_strdup(arena, run->violations[i].detail);
        copy[i].command = arena_strdup(arena, run->violations[i].command);
    }
    result->violations = copy;
    result->violation_count = run->violation_count;
    result->violation_total = run->violation_total;
    return arena_failed(arena) ? -ENOMEM : 0;
}

int run_report(struct hutch_run *run, struct hutch_result **ret, struct hutch_error *err)
{
    struct hutch_result *result = result_new(run->owner);
    if (!result)
        return err_oom(err);

    struct hutch_step *steps = arena_alloc(result_arena(result), sizeof run->box->setup);
    result->sandbox = arena_strdup(result_arena(result), run->box->plan->id);
    if (fill_output(run, result) < 0 || !steps || !result->sandbox) {
        result_free(result);
        return err_oom(err);
    }
    memcpy(steps, run->box->setup, sizeof run->box->setup);
    result->setup = steps;
    result->setup_total_ms = run->box->setup_total_ms;
    result->run = run->id;
    result->enforced = run->box->backend->enforced(run->box->plan, result_arena(result));
    if (fill_violations(run, result) < 0 || fill_limits(run, result) < 0 || !result->enforced) {
        result_free(result);
        return err_oom(err);
    }
    fill_end(run, result);
    fill_usage(run, result);
    *ret = result;
    return 0;
}
