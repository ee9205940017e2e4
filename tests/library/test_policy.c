/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that need no sandbox: policies, suggestions and plans; errors, results and events as text.
 * Valgrind can run these, and sees what they leave behind, also when they fail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hutch.h>

#include "open.h"

/* Text that a call gave, and that is free()'s to free. */
static const char *kept(char *text)
{
    return box_keep(text);
}

static const char *policy_json(const struct hutch_policy *policy)
{
    char *text = NULL;

    OK(hutch_policy_to_json(policy, &text, &err));
    return kept(text);
}

static struct hutch_policy *policy_of(const char *profile)
{
    struct hutch_policy *policy = NULL;

    OK(hutch_policy_new(profile, &policy, &err));
    return policy;
}

/* What the last call said, when that is what it was to say. */
static void check_refusal(int want, int got, const char *where, const char *part)
{
    CHECK_INT(want, got);
    CHECK_INT(want, err.code);
    CHECK_TEXT(where, err.where);
    CHECK_HAS(err.msg, part);
}

/* ---- Policies ---- */

static void profiles_become_policies(void)
{
    static const char *const wrong[] = {"", "none-such", "../default", "a/b"};
    struct hutch_profile *profiles = NULL;
    struct hutch_policy *policy = NULL;
    char *text = NULL;
    size_t count = 0;

    OK(hutch_profile_list(&profiles, &count, &err));
    CHECK(count >= 8);
    for (size_t i = 0; i < count; i++) {
        OK(hutch_profile_text(profiles[i].name, &text, &err));
        CHECK_HAS(kept(text), "\"description\"");
        policy = policy_of(profiles[i].name);
        const char *json = policy_json(policy);
        hutch_policy_free(policy);
        /* It is a document like any other. */
        policy = policy_of(NULL);
        OK(hutch_policy_merge(policy, json, strlen(json), profiles[i].name, &err));
        CHECK_HAS(policy_json(policy), "\"limits\"");
        hutch_policy_free(policy);
    }
    free(profiles);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        policy = NULL;
        check_refusal(HUTCH_EPOLICY, hutch_policy_new(wrong[i], &policy, &err), "profile", "'");
        check_refusal(HUTCH_ENOTFOUND, hutch_profile_text(wrong[i], &text, &err), "profile", "'");
        CHECK(!policy);
    }
    OK(hutch_schema(&text, &err));
    CHECK_HAS(kept(text), "\"properties\"");
}

static void documents_are_merged_or_refused(void)
{
    static const struct {
        const char *json;
        const char *where; /* NULL: it is merged, and `part` in what comes out */
        const char *part;
    } cases[] = {
        {"{}", NULL, "\"memory\": \"1G\""},
        {"{\"limits\":{\"memory\":\"64M\",\"cpus\":1.5}}", NULL, "\"memory\": \"64M\""},
        {"{\"network\":{\"mode\":\"host\"}}", NULL, "\"mode\": \"host\""},
        {"{\"filesystem\":{\"hide\":[\"a\",\"\\u00e4\"]}}", NULL, "\"ä\""},
        {"", "doc:1:0", "not valid JSON"},
        {"[]", "doc", "must be a JSON object, not an array"},
        {"{\"limits\":", "doc:1:10", "not valid JSON"},
        {"{\"limits\":{},\"limits\":{}}", "doc:1:21", "duplicate object key"},
        {"{\"limits\":{\"timeout\":\"\\u0000\"}}", "doc:1:29", "a string contains NUL"},
        {"{\"limits\":1}", "/limits in doc", "must be an object, not a number"},
        {"{\"limit\":1}", "/limit in doc", "did you mean 'limits'?"},
        {"{\"limits\":{\"memory\":\"much\"}}", "/limits/memory in doc", "'much' is not a size"},
        {"{\"network\":{\"mode\":\"hots\"}}", "/network/mode in doc", "none|host|allow"},
        {"{\"filesystem\":{\"hide\":[\"a\",\"\"]}}", "/filesystem/hide/1 in doc", "it is empty"},
        {"{\"filesystem\":{\"hide\":[1]}}", "/filesystem/hide/0 in doc", "must be a string"},
        {"{\"extends\":\"none\"}", "/extends in doc", "there is no profile 'none'"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hutch_policy *policy = policy_of(NULL);
        int r = hutch_policy_merge(policy, cases[i].json, strlen(cases[i].json), "doc", &err);

        if (cases[i].where)
            check_refusal(HUTCH_EPOLICY, r, cases[i].where, cases[i].part);
        else
            CHECK_HAS(policy_json(policy), cases[i].part);
        hutch_policy_free(policy);
    }
}

static void flags_are_set_or_refused(void)
{
    static const struct {
        const char *flag;
        const char *value;
        const char *wrong; /* NULL: it is set, and `part` in what comes out */
        const char *part;
    } cases[] = {
        {"--memory", "64M", NULL, "\"memory\": \"64M\""},
        {"--timeout", "unlimited", NULL, "\"timeout\": \"unlimited\""},
        {"--net", "host", NULL, "\"mode\": \"host\""},
        {"--hide", "secret", NULL, "\"secret\""},
        {"-w", "tmpfs", NULL, "\"workspace\": \"tmpfs\""},
        {"--env", "A=b", NULL, "\"A\": \"b\""},
        {"--memory", "x", "--memory", "'x' is not a size"},
        {"--timeout", NULL, "--timeout", "needs a value"},
        {"--layout", "roots", "--layout", "host|minimal|root"},
        {"--write", "", "--write", "it is empty"},
        {"--nme", "x", "--nme", "did you mean '--net'?"},
    };
    size_t count = 0;
    const struct hutch_option *options = hutch_options(&count);

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hutch_policy *policy = policy_of("strict");
        int r = hutch_policy_set(policy, cases[i].flag, cases[i].value, NULL, &err);

        if (cases[i].wrong)
            check_refusal(HUTCH_EPOLICY, r, cases[i].wrong, cases[i].part);
        else
            CHECK_HAS(policy_json(policy), cases[i].part);
        hutch_policy_free(policy);
    }
    /* Every option takes a value that is odd, or says that it does not. */
    for (size_t i = 0; i < count; i++) {
        struct hutch_policy *policy = policy_of(NULL);
        const char *value = options[i].argument ? "" : "x";
        int r = hutch_policy_set(policy, options[i].flag, value, "here", &err);

        box_check(r == 0 || (r == HUTCH_EPOLICY && strcmp(err.where, "here") == 0), __FILE__,
                  __LINE__, "%s: %d at %s", options[i].flag, r, err.where);
        hutch_policy_free(policy);
    }
}

static void limits_are_suggested(void)
{
    static const struct {
        const char *argv[4];
        const char *kind;
        const char *command;
        const char *memory;
    } cases[] = {
        {{"ls", "-l"}, "file tool", "ls", "512M"},
        {{"npm", "install", "left-pad"}, "package manager", "npm install", "2G"},
        {{"/usr/bin/x86_64-linux-gnu-gcc"}, "compiler", "*-gcc", "2G"},
        {{"env", "A=b", "make"}, "build", "make", "4G"},
        {{"sh", "-c", "pytest -q"}, "test runner", "pytest", "2G"},
        {{"none-such"}, "unknown", NULL, "1G"},
    };
    struct hutch_suggestion *suggestion = NULL;

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hutch_policy *policy = policy_of(NULL);

        OK(hutch_suggest(cases[i].argv, &suggestion, &err));
        CHECK_TEXT(cases[i].kind, suggestion->kind);
        CHECK_TEXT(cases[i].command ? cases[i].command : "none",
                   suggestion->command ? suggestion->command : "none");
        CHECK(suggestion->reason[0]);
        const struct hutch_suggested_limit *limit = suggestion->limits;
        while (limit->name && strcmp(limit->name, "memory") != 0)
            limit++;
        CHECK_TEXT(cases[i].memory, limit->name ? limit->value : "none");
        free(suggestion);
        OK(hutch_policy_suggest(policy, cases[i].argv, &err));
        CHECK_HAS(policy_json(policy), box_text("\"memory\": \"%s\"", cases[i].memory));
        hutch_policy_free(policy);
    }
    check_refusal(HUTCH_EINVALID, hutch_suggest(LIST(""), &suggestion, &err), "argv", "empty");
}

/* ---- Plans ---- */

static void plans_are_explained_or_refused(void)
{
    static const struct {
        const char *flags[4];
        int code;
        const char *text; /* in the explanation, or in the refusal, which is about the first flag */
        const char *json;
    } cases[] = {
        {{"--layout", "host"}, 0, "layout host", "\"layout\": \"host\""},
        {{"--layout", "minimal"}, 0, "layout minimal", "\"cwd\": \"/workspace\""},
        {{"--layout", "root"}, 0, "layout root", "\"cwd\": \"/\""},
        {{"--workspace", "tmpfs", "--layout", "minimal"}, 0, "layout minimal", "\"tmpfs\""},
        {{"--net", "host"}, 0, "the host's", "\"network\": \"host\""},
        {{"--hide", "payload"}, 0, "payload", "/payload\""},
        {{"--memory", "64M"}, 0, "64M", "\"memory_bytes\": 67108864"},
        {{"--net", "allow"}, HUTCH_EUNSUPPORTED, "'allow' is not enforced yet", NULL},
        {{"--read", "/none/such"}, HUTCH_EPOLICY, "'/none/such' does not exist", NULL},
    };
    struct hutch_command command = HUTCH_COMMAND_INIT;
    char *text = NULL;

    command.argv = LIST("echo", "a b");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const *flags = cases[i].flags;
        struct hutch_policy *policy = drive_policy(LIST(flags[0], flags[1], flags[2], flags[3]));
        int r = hutch_explain(policy, &command, HUTCH_TEXT, &text, &err);

        if (cases[i].code) {
            check_refusal(cases[i].code, r, flags[0], cases[i].text);
        } else {
            CHECK_INT(0, r);
            CHECK_HAS(kept(text), cases[i].text);
            OK(hutch_explain(policy, &command, HUTCH_JSON, &text, &err));
            CHECK_HAS(kept(text), cases[i].json);
        }
        hutch_policy_free(policy);
    }
}

/* ---- What happened, as text ---- */

static const char *result_json(const struct hutch_result *result)
{
    char *text = NULL;

    OK(hutch_result_to_json(result, &text, &err));
    return kept(text);
}

static void errors_have_words_and_become_results(void)
{
    static const struct {
        int code;
        int sys_errno;
        const char *name;
        const char *word;
    } cases[] = {
        {HUTCH_EINVALID, 0, "invalid", "invalid"},
        {HUTCH_EINVALID, EEXIST, "invalid", "exists"},
        {HUTCH_EINVALID, EISDIR, "invalid", "is_directory"},
        {HUTCH_EINVALID, ENOTDIR, "invalid", "not_directory"},
        {HUTCH_EINVALID, EFBIG, "invalid", "too_large"},
        {HUTCH_EPOLICY, 0, "policy", "invalid"},
        {HUTCH_EUNSUPPORTED, ENOSYS, "unsupported", "unsupported"},
        {HUTCH_EDENIED, EACCES, "denied", "denied"},
        {HUTCH_ESYSTEM, EIO, "system", "system"},
        {HUTCH_ENOMEM, ENOMEM, "nomem", "system"},
        {HUTCH_EBUSY, 0, "busy", "state"},
        {HUTCH_ENOTFOUND, ENOENT, "not_found", "not_found"},
        {HUTCH_ESTATE, 0, "state", "state"},
        {HUTCH_EINTERNAL, 0, "internal", "system"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hutch_error error = {cases[i].code, cases[i].sys_errno, "/a \xff", "no luck"};
        struct hutch_result *result = NULL;

        CHECK_TEXT(cases[i].name, hutch_code_name(cases[i].code));
        CHECK_TEXT(cases[i].word, hutch_error_word(&error));
        OK(hutch_result_from_error(&error, &result, &err));
        const char *json = result_json(result);
        CHECK_HAS(json, box_text("\"code\":\"%s\",\"where\":\"/a \xef\xbf\xbd\"", cases[i].name));
        CHECK_HAS(json, "\"message\":\"no luck\"");
        CHECK_HAS(json, "\"exit_code\":null");
        CHECK_HAS(json, "\"reason\":\"setup\"");
        hutch_result_free(result);
    }
    CHECK(!hutch_error_word(NULL) && !hutch_error_word(&(struct hutch_error){0}));
    CHECK_TEXT(HUTCH_VERSION, hutch_version());
}

static const struct hutch_violation violation = {"syscall", "mount", "tmpfs", 12, "sh", "none"};
static const struct hutch_fact facts[] = {
    {"backend", "native"},
    {"pidns", "true"},
    {"landlock", "6"},
    {NULL, NULL},
};
static const struct hutch_step steps[] = {{"clone", 0.5}, {NULL, 0}};

static struct hutch_result sample(void)
{
    return (struct hutch_result){.size = sizeof(struct hutch_result),
                                 .stdout_data = "",
                                 .stderr_data = "",
                                 .enforced = facts,
                                 .setup = steps,
                                 .sandbox = "k3f9",
                                 .run = 1};
}

static const char *number_or_null(bool known, int number)
{
    return known ? box_text("%d", number) : "null";
}

static void results_become_json(void)
{
    static const struct {
        enum hutch_reason reason;
        int exit_code, signal;
        const char *out;
        size_t out_len;
        const char *part;
    } cases[] = {
        {HUTCH_EXITED, 0, 0, "a\n", 2, "\"stdout\":\"a\\n\","},
        {HUTCH_EXITED, 3, 0, "a\0b", 3, "\"stdout\":\"a\\u0000b\","},
        {HUTCH_SIGNALED, -1, 9, "\xff", 1, "\"stdout_base64\":\"/w==\","},
        {HUTCH_TIMEOUT, -1, 15, "", 0, "\"timed_out\":true,"},
        {HUTCH_MEMORY, -1, 9, "", 0, "\"timed_out\":false,"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hutch_result result = sample();

        result.reason = cases[i].reason;
        result.exit_code = cases[i].exit_code;
        result.signal = cases[i].signal;
        result.stdout_data = cases[i].out;
        result.stdout_len = cases[i].out_len;
        result.violations = &violation;
        result.violation_count = 1;
        result.violation_total = i;
        result.written_bytes = HUTCH_UNKNOWN;
        const char *json = result_json(&result);
        CHECK_HAS(json, box_text("{\"exit_code\":%s,\"signal\":%s,\"success\":%s,",
                                 number_or_null(cases[i].exit_code >= 0, cases[i].exit_code),
                                 number_or_null(cases[i].signal > 0, cases[i].signal),
                                 i == 0 ? "true" : "false"));
        CHECK_HAS(json, box_text("\"reason\":\"%s\"", hutch_reason_name(cases[i].reason)));
        CHECK_HAS(json, cases[i].part);
        CHECK_HAS(json, "\"written_bytes\":null");
        CHECK_HAS(json, "\"name\":\"mount\",\"detail\":\"tmpfs\",\"pid\":12");
        CHECK_HAS(json, "{\"backend\":\"native\",\"pidns\":true,\"landlock\":6}");
    }
}

static void events_become_json(void)
{
    const struct hutch_result result = sample();
    const struct {
        struct hutch_event event;
        const char *name;
        const char *rest; /* behind the type */
    } cases[] = {
        {{.type = HUTCH_EVENT_SANDBOX_STARTED}, "sandbox.started", "}"},
        {{.type = HUTCH_EVENT_SANDBOX_STOPPED}, "sandbox.stopped", "}"},
        {{.type = HUTCH_EVENT_RUN_STARTED, .argv = LIST("a", "\xff")},
         "run.started",
         ",\"argv\":[\"a\",\"\xef\xbf\xbd\"]}"},
        {{.type = HUTCH_EVENT_RUN_OUTPUT, .stream = 2, .data = "\xff", .data_len = 1},
         "run.output",
         ",\"stream\":\"stderr\",\"data\":\"\xef\xbf\xbd\",\"data_base64\":\"/w==\"}"},
        {{.type = HUTCH_EVENT_RUN_TIMEOUT}, "run.timeout", "}"},
        {{.type = HUTCH_EVENT_RUN_EXITED, .result = &result},
         "run.exited",
         ",\"result\":{\"exit_code\":0,"},
        {{.type = HUTCH_EVENT_VIOLATION, .violation = &violation},
         "violation",
         ",\"violation\":{\"kind\":\"syscall\","},
        {{.type = HUTCH_EVENT_LIMIT_WARNING, .limit = "memory", .current = 8, .max = 10},
         "limit.warning",
         ",\"limit\":\"memory\",\"current\":8,\"max\":10}"},
        {{.type = HUTCH_EVENT_LIMIT_EXCEEDED, .limit = "disk", .current = HUTCH_UNKNOWN, .max = 1},
         "limit.exceeded",
         ",\"limit\":\"disk\",\"current\":null,\"max\":1}"},
        {{.type = HUTCH_EVENT_SHELL_STARTED, .shell = "s1"}, "shell.started", ",\"shell\":\"s1\"}"},
        {{.type = HUTCH_EVENT_SHELL_STOPPED, .shell = "s1"}, "shell.stopped", ",\"shell\":\"s1\"}"},
        {{.type = HUTCH_EVENT_FILE_WRITTEN, .path = "/f", .file_bytes = 7},
         "file.written",
         ",\"path\":\"/f\",\"size\":7}"},
        {{.type = 99}, "unknown", "}"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hutch_event event = cases[i].event;
        char *text = NULL;

        event.size = sizeof event;
        event.time_ms = 5;
        event.sandbox = "k3f9";
        event.run = 2;
        CHECK_TEXT(cases[i].name, hutch_event_name(event.type));
        OK(hutch_event_to_json(&event, &text, &err));
        const char *head = "{\"time\":5,\"sandbox\":\"k3f9\",\"run\":2,\"type\":";
        CHECK_HAS(kept(text), box_text("%s\"%s\"%s", head, cases[i].name, cases[i].rest));
    }
}

int main(void)
{
    static const struct box_test tests[] = {
        {"profiles become policies", profiles_become_policies},
        {"documents are merged or refused", documents_are_merged_or_refused},
        {"flags are set or refused", flags_are_set_or_refused},
        {"limits are suggested", limits_are_suggested},
        {"plans are explained or refused", plans_are_explained_or_refused},
        {"errors have words and become results", errors_have_words_and_become_results},
        {"results become JSON", results_become_json},
        {"events become JSON", events_become_json},
        {NULL, NULL},
    };

    return box_main(tests);
}
