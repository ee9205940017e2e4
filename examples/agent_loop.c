/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of an agent: one sandbox that lasts, and tool calls one after the other, from a list here in
 * place of a model. Each ends in text for the model, also when it fails.
 */
#include <hutch.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

struct call {
    int (*tool)(struct hutch_sandbox *sandbox, const struct call *call, struct hutch_error *err);
    const char *on; /* a command, a path or a pattern */
    const char *text;
    const char *new_text;
    uint64_t timeout_ms; /* of a command; 0: as the policy says */
};

/* Output is shown as it comes; the result has all of it once more. */
static void on_event(void *arg, const struct hutch_event *event)
{
    (void)arg;
    if (event->type == HUTCH_EVENT_RUN_OUTPUT)
        fwrite(event->data, 1, event->data_len, stdout);
    else if (event->type == HUTCH_EVENT_RUN_TIMEOUT)
        puts("! out of time");
    else if (event->type == HUTCH_EVENT_VIOLATION)
        printf("! %s: %s\n", event->violation->name, event->violation->hint);
}

static int execute(struct hutch_sandbox *sandbox, const struct call *call, struct hutch_error *err)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_result *result = NULL;
    struct hutch_run *run;

    command.argv = (const char *const[]){"sh", "-c", call->on, NULL};
    command.timeout_ms = call->timeout_ms;
    int r = hutch_sandbox_start(sandbox, &command, NULL, NULL, &run, err);
    if (r < 0)
        return r;
    /* The agent's own loop: its other descriptors, such as the model's connection, go here too. */
    struct pollfd fds[] = {{.fd = hutch_run_fd(run), .events = POLLIN}};
    while (r == 0) {
        if (poll(fds, 1, -1) > 0)
            r = hutch_run_step(run, 0, err);
    }
    if (r == 1)
        r = hutch_run_result(run, &result, err);
    if (r == 0)
        printf("= %s, status %d\n", hutch_reason_name(result->reason), result->status);
    hutch_result_free(result);
    hutch_run_free(run);
    return r;
}

static int write_file(struct hutch_sandbox *sandbox, const struct call *call,
                      struct hutch_error *err)
{
    return hutch_file_write(sandbox, call->on, call->text, strlen(call->text), NULL, NULL, err);
}

static int edit(struct hutch_sandbox *sandbox, const struct call *call, struct hutch_error *err)
{
    return hutch_file_edit(sandbox, call->on, call->text, call->new_text, NULL, NULL, err);
}

static int read_file(struct hutch_sandbox *sandbox, const struct call *call,
                     struct hutch_error *err)
{
    struct hutch_file_content *content;
    int r = hutch_file_read(sandbox, call->on, NULL, &content, err);

    if (r < 0)
        return r;
    fwrite(content->data, 1, content->len, stdout);
    hutch_file_free(content);
    return 0;
}

static int grep(struct hutch_sandbox *sandbox, const struct call *call, struct hutch_error *err)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    struct hutch_file_matches *found;

    options.regex = true;
    int r = hutch_file_grep(sandbox, NULL, call->on, &options, &found, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < found->count; i++)
        printf("%s:%d: %s\n", found->items[i].path, (int)found->items[i].line,
               found->items[i].text);
    hutch_file_free(found);
    return 0;
}

static const struct call script[] = {
    {write_file, .on = "greet.sh", .text = "echo \"Helo, $1\"\n"},
    {execute, .on = "sh greet.sh agent"},
    {edit, .on = "greet.sh", .text = "Helo", .new_text = "Hello"},
    {edit, .on = "greet.sh", .text = "Helo", .new_text = "Hello"}, /* not there any more */
    {read_file, .on = "greet.sh"},
    {read_file, .on = "notes.txt"}, /* never was */
    {grep, .on = "Hel+o"},
    {execute, .on = "unshare --mount true 2>/dev/null"},
    {execute, .on = "sleep 60", .timeout_ms = 100},
    {execute, .on = "sh greet.sh world; exit 3"}, /* the sandbox is as it was */
};

int main(void)
{
    struct hutch_sandbox *sandbox;
    struct hutch_policy *policy;
    struct hutch_error err;

    if (hutch_policy_new("default", &policy, &err) < 0 ||
        hutch_policy_set(policy, "--workspace", "tmpfs", NULL, &err) < 0 ||
        hutch_policy_set(policy, "--layout", "minimal", NULL, &err) < 0 ||
        hutch_sandbox_open(policy, on_event, NULL, &sandbox, &err) < 0) {
        fprintf(stderr, "agent_loop: %s\n", err.msg);
        return 1;
    }
    hutch_policy_free(policy); /* the sandbox has what it needs */
    for (size_t i = 0; i < sizeof script / sizeof *script; i++) {
        printf("> %s\n", script[i].on);
        if (script[i].tool(sandbox, &script[i], &err) < 0)
            printf("= %s: %s\n", hutch_error_word(&err), err.msg);
    }
    hutch_sandbox_close(sandbox);
    return 0;
}
