/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run one command in a sandbox of its own and say what became of it.
 *
 *     run_one COMMAND [ARG...]
 *
 * Three things can go wrong, and they are told apart: hutch could not do its job (a negative return and
 * an error), the command did not end well (a result with a reason), and it tried what it may not
 * (violations in the result). The exit status is that of `hutch run`.
 */
#include <hutch.h>
#include <stdio.h>

enum { HUTCH_FAILED = 125 }; /* as `hutch run` says it */

/* The profile "default", with less time and without a trace on the disk. */
static int make_policy(struct hutch_policy **ret, struct hutch_error *err)
{
    struct hutch_policy *policy;
    int r = hutch_policy_new("default", &policy, err);

    if (r < 0)
        return r;
    r = hutch_policy_set(policy, "--timeout", "10s", NULL, err);
    if (r == 0)
        r = hutch_policy_set(policy, "--workspace", "tmpfs", NULL, err);
    if (r < 0) {
        hutch_policy_free(policy);
        return r;
    }
    *ret = policy;
    return 0;
}

static void print_stream(const char *name, const char *data, size_t len)
{
    if (len == 0)
        return;
    printf("%s:\n", name);
    fwrite(data, 1, len, stdout);
}

static void print_result(const struct hutch_result *result)
{
    printf("reason: %s\n", hutch_reason_name(result->reason));
    if (result->exit_code >= 0)
        printf("exit code: %d\n", result->exit_code);
    if (result->signal != 0)
        printf("signal: %d\n", result->signal);
    if (result->error.code != 0) /* such as a program that is not there */
        printf("error: %s\n", result->error.msg);
    for (size_t i = 0; i < result->violation_count; i++)
        printf("refused: %s %s\n", result->violations[i].name, result->violations[i].detail);
    print_stream("output", result->stdout_data, result->stdout_len);
    print_stream("errors", result->stderr_data, result->stderr_len);
    if (result->truncated)
        puts("(there was more)");
}

int main(int argc, char **argv)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_policy *policy = NULL;
    struct hutch_result *result = NULL;
    struct hutch_error err;

    if (argc < 2) {
        fprintf(stderr, "usage: run_one COMMAND [ARG...]\n");
        return HUTCH_FAILED;
    }
    command.argv = (const char *const *)(argv + 1);

    int r = make_policy(&policy, &err);
    if (r == 0)
        r = hutch_run(policy, &command, &result, &err);
    hutch_policy_free(policy);
    if (r < 0) {
        fprintf(stderr, "run_one: %s: %s\n", hutch_code_name(err.code), err.msg);
        return HUTCH_FAILED;
    }
    print_result(result);
    int status = result->status;
    hutch_result_free(result);
    return status;
}
