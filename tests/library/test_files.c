/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on the files of a sandbox, next to commands in it: both must see the same, and be refused the
 * same. What is refused to the calls alone is what waits or leads out.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <hutch.h>

#include "calls.h"

/* Two sandboxes at once, and each has its own. */
static void sandboxes_never_meet(void)
{
    struct hutch_sandbox *one = drive_open(LIST("--layout", "minimal", "-w", "tmpfs"));
    struct hutch_sandbox *two = drive_open(LIST("--layout", "minimal", "-w", "tmpfs"));

    CHECK_TEXT("ok", call_write(one, "/tmp/file", "one"));
    CHECK_TEXT("<not_found>", call_read(two, "/tmp/file"));
    CHECK_TEXT("ok", call_write(two, "file", "two"));
    CHECK_TEXT("<not_found>", call_read(one, "file"));
    hutch_sandbox_close(two);
    CHECK_TEXT("one", call_read(one, "/tmp/file"));
    hutch_sandbox_close(one);
}

static void rules_hold_for_calls(void)
{
    static const char *const paths[] = {
        "f",
        "hidden",
        "hid/f",
        "protected",
        "prot/f",
        "prot/open/f",
        "prot/new",
        "hid/new",
        "ro/f",
        "ro/new",
        "new",
        "link",
        "hidlink/f",
        "../out/f",
        "../out/w/f",
        "../out/w/new",
        "../out/one",
        "/etc/passwd",
        "/etc/shadow",
        "/proc/1/environ",
        "/proc/version",
        "/proc/kcore",
        "/proc/sys/kernel/hostname",
        "/sys/kernel/notes",
    };

    box_dir("work/hid");
    box_dir("work/prot");
    box_dir("work/prot/open");
    box_dir("work/ro");
    box_dir("out/w");
    static const char *const files[] = {
        "work/f",           "work/hidden", "work/hid/f", "work/protected", "work/prot/f",
        "work/prot/open/f", "work/ro/f",   "out/f",      "out/w/f",        "out/one"};
    for (size_t i = 0; i < COUNT(files); i++)
        box_file(files[i], "text\n");
    box_symlink("protected", "work/link");
    box_symlink("hid", "work/hidlink");
    struct hutch_sandbox *sandbox = drive_open(LIST(
        "--hide", "hidden", "--hide", "hid", "--protect", "protected", "--protect", "prot",
        "--write", "prot/open", "--read", "ro", "--write", "../out/w", "--write", "../out/one"));
    for (size_t i = 0; i < COUNT(paths); i++)
        compare_rights(sandbox, paths[i]);

    /* Neither removed nor replaced, and not what is above them. */
    CHECK_TEXT("state", call_delete(sandbox, "protected"));
    CHECK_TEXT("state", call_delete(sandbox, "hidden"));
    CHECK_TEXT("state", call_delete(sandbox, "hid"));
    CHECK_TEXT("state", call_delete(sandbox, "prot"));
    CHECK_TEXT("denied", call_delete(sandbox, "prot/f"));
    CHECK_TEXT("<denied>", call_read(sandbox, "hidden"));
    /* Nor made, where it would be undone. */
    CHECK_TEXT("denied", call_write(sandbox, ".envrc", "x"));
    CHECK_TEXT("denied", call_write(sandbox, "./.vscode/tasks.json", "x"));
    hutch_sandbox_close(sandbox);
    box_expect("work/new");
    box_expect("out/w/new");
    CHECK_TEXT("text\n", box_read("hidden"));
    CHECK_TEXT("text\n", box_read("protected"));
    CHECK_TEXT("text\n", box_read("prot/f"));
}

static const char *found(struct hutch_sandbox *sandbox, const char *path)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    struct hutch_file_matches *matches = NULL;
    struct hutch_file_entries *entries = NULL;
    const char *out = "";

    OK(hutch_file_grep(sandbox, path, "secret", &options, &matches, &err));
    for (size_t i = 0; i < matches->count; i++)
        out = box_text("%sline %s\n", out, matches->items[i].path);
    hutch_file_free(matches);
    OK(hutch_file_glob(sandbox, path, "*secret*", NULL, &entries, &err));
    for (size_t i = 0; i < entries->count; i++)
        out = box_text("%sname %s\n", out, entries->items[i].path);
    hutch_file_free(entries);
    return out;
}

static void searches_do_not_find_what_is_hidden(void)
{
    box_dir("work/hid");
    box_file("work/hid/secret", "secret\n");
    box_file("work/secret", "secret\n");
    struct hutch_sandbox *sandbox = drive_open(LIST("--layout", "minimal", "--hide", "hid"));
    CHECK_TEXT("line /workspace/secret\nname /workspace/secret\n", found(sandbox, NULL));
    CHECK_TEXT("line /workspace/secret\nname /workspace/secret\n", found(sandbox, "/workspace"));
    hutch_sandbox_close(sandbox);
}

/* The system lies in the workspace there, and has more files than a search finds. */
static void searches_of_a_root_find_what_is_its_own(void)
{
    struct hutch_file_entries *entries = NULL;
    struct hutch_sandbox *sandbox = drive_open(LIST("--layout", "root", "-w", "tmpfs"));

    CHECK_TEXT("ok", call_write(sandbox, "own/secret", "secret\n"));
    CHECK_TEXT("line /own/secret\nname /own/secret\n", found(sandbox, NULL));
    OK(hutch_file_glob(sandbox, "/usr", "bin/*", NULL, &entries, &err));
    CHECK(entries->count > 0);
    hutch_file_free(entries);
    hutch_sandbox_close(sandbox);
}

static bool is_gone(void *path)
{
    return access(path, F_OK) < 0;
}

/* There is nothing to mount on: what appears is taken away, whoever made it. */
static void what_is_protected_and_missing_stays_missing(void)
{
    box_dir("work/dir");
    struct hutch_sandbox *sandbox = drive_open(LIST("--protect", "dir/missing"));
    call_write(sandbox, "dir/missing", "x");
    CHECK(box_eventually(is_gone, (void *)(uintptr_t) "dir/missing"));
    CHECK_TEXT("ok", call_write(sandbox, "dir/other", "x"));
    hutch_sandbox_close(sandbox);
    CHECK(access("dir/missing", F_OK) < 0);
    box_expect("work/dir/other");
}

/* Every call on something that is no file or leads out: none may work, wait, or reach the host. */
static void check_hostile(struct hutch_sandbox *sandbox, const char *path)
{
    struct hutch_file_transfers *transfers = NULL;
    struct hutch_file_entries *entries = NULL;
    struct hutch_file_matches *matches = NULL;
    const double start = box_now_ms();

    const char *text = call_read(sandbox, path);
    box_check(text[0] == '<', __FILE__, __LINE__, "'%s' was read: %s", path, text);
    box_check(hutch_file_edit(sandbox, path, "a", "b", NULL, NULL, &err) < 0, __FILE__, __LINE__,
              "'%s' was edited", path);
    box_check(strcmp(call_write(sandbox, path, "x"), "ok") != 0, __FILE__, __LINE__,
              "'%s' was written", path);
    OK(hutch_file_download(sandbox, &path, 1, NULL, &transfers, &err));
    box_check(transfers->items[0].error.code != 0, __FILE__, __LINE__, "'%s' was sent", path);
    hutch_file_free(transfers);
    box_check(hutch_file_grep(sandbox, path, "", NULL, &matches, &err) < 0, __FILE__, __LINE__,
              "'%s' was searched", path);
    box_check(hutch_file_list(sandbox, path, NULL, &entries, &err) < 0, __FILE__, __LINE__,
              "'%s' was listed", path);
    box_check(box_now_ms() - start < 2000, __FILE__, __LINE__, "'%s' took too long", path);
}

static void things_that_wait_or_lead_out(void)
{
    static const char *const paths[] = {
        "fifo",
        "fifolink",
        "/dev/null",
        "/dev/zero",
        "/dev/tty",
        "/dev/ptmx",
        "/dev/stdin",
        "root/etc/passwd",
        "self",
        "first",
        "/proc/1/root/etc/passwd",
        "/proc/1/cwd/x",
        "/proc/1/exe",
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/0",
        "/proc/thread-self/cwd/x",
    };

    box_file("out/secret", "secret\n");
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("--layout", layouts[i], "-w", "tmpfs"));
        CHECK_TEXT("", sh(sandbox, "mkfifo fifo; ln -s fifo fifolink; ln -s /proc/self/root root; "
                                   "ln -s /proc/self/exe self; ln -s /proc/1/exe first"));
        for (size_t k = 0; k < COUNT(paths); k++)
            check_hostile(sandbox, paths[k]);
        OK(hutch_file_delete(sandbox, "fifo", NULL, &err));
        OK(hutch_file_delete(sandbox, "root", NULL, &err));
        hutch_sandbox_close(sandbox);
    }
}

/* One command may not look into another one; neither may a call. */
static void processes_keep_what_is_theirs(void)
{
    static const char *const names[] = {"environ", "maps", "mem", "auxv"};
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_sandbox *sandbox = drive_open(LIST("-w", "tmpfs"));
    struct hutch_file_matches *matches = NULL;
    struct hutch_run *run = NULL;

    command.argv = LIST("sh", "-c", "echo $$ >pid; exec sleep 60");
    command.env = LIST("TOKEN=secret");
    OK(hutch_sandbox_start(sandbox, &command, NULL, NULL, &run, &err));
    for (int i = 0; i < 1000 && !strchr(call_read(sandbox, "pid"), '\n'); i++)
        REQUIRE(hutch_run_step(run, 5, &err) == 0);
    int pid = (int)strtol(call_read(sandbox, "pid"), NULL, 10);
    REQUIRE(pid > 1);
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *text = call_read(sandbox, box_text("/proc/%d/%s", pid, names[i]));
        box_check(text[0] == '<', __FILE__, __LINE__, "%s was read: %s", names[i], text);
    }
    CHECK(hutch_file_grep(sandbox, box_text("/proc/%d/environ", pid), "TOKEN", NULL, &matches,
                          &err) < 0);
    OK(hutch_file_grep(sandbox, box_text("/proc/%d", pid), "TOKEN", NULL, &matches, &err));
    CHECK_INT(0, (long long)matches->count);
    hutch_file_free(matches);
    /* What is about no process can be read. */
    CHECK_HAS(call_read(sandbox, "/proc/meminfo"), "MemTotal");
    hutch_run_free(run);
    hutch_sandbox_close(sandbox);
}

/* "/" is the sandbox's, for links and for "..". */
static void no_path_leads_to_the_host(void)
{
    const char *climb = "../../../../../../../../../../..";

    box_file("out/secret", "secret\n");
    for (size_t i = 1; i < COUNT(layouts); i++) {
        struct hutch_sandbox *sandbox = drive_open(LIST("--layout", layouts[i], "-w", "tmpfs"));
        const char *secret = box_text("%s/secret", box.out);

        CHECK_TEXT("", sh(sandbox, box_text("ln -s %s link; ln -s %s%s up; ln -s %s dir", secret,
                                            climb, secret, box.out)));
        CHECK_TEXT("<not_found>", call_read(sandbox, "link"));
        CHECK_TEXT("<not_found>", call_read(sandbox, "up"));
        CHECK_TEXT("<not_found>", call_read(sandbox, "dir/secret"));
        CHECK_TEXT("<not_found>", call_read(sandbox, box_text("%s%s", climb, secret)));
        call_write(sandbox, "link", "changed\n");
        call_write(sandbox, "dir/secret", "changed\n");
        call_delete(sandbox, "dir/secret");
        hutch_sandbox_close(sandbox);
        CHECK_TEXT("secret\n", box_read(secret));
    }
}

/* A command exchanges what is at a path, all the time. */
static void paths_that_change_meanwhile(void)
{
    struct hutch_command command = HUTCH_COMMAND_INIT;
    struct hutch_run *run = NULL;
    int own = 0;

    box_dir("work/hid");
    box_file("work/hid/f", "secret\n");
    box_dir("work/open");
    box_file("work/open/f", "mine\n");
    box_dir("work/prot");
    box_file("work/prot/f", "kept\n");
    struct hutch_sandbox *sandbox = drive_open(LIST("--hide", "hid", "--protect", "prot"));
    CHECK_TEXT("", sh(sandbox, "ln -s open x"));
    command.argv = LIST("sh", "-c",
                        "while :; do for d in hid open prot; do ln -s $d new; mv -fT new x; done; "
                        "done");
    OK(hutch_sandbox_start(sandbox, &command, NULL, NULL, &run, &err));
    for (double end = box_now_ms() + 500; box_now_ms() < end;) {
        struct hutch_file_content *content = NULL;

        if (hutch_file_read(sandbox, "x/f", NULL, &content, &err) == 0) {
            own += strcmp(content->data, "mine\n") == 0;
            CHECK(strcmp(content->data, "secret\n") != 0);
        }
        hutch_file_free(content);
        hutch_file_write(sandbox, "x/f", "mine\n", 5, NULL, NULL, &err);
        hutch_file_delete(sandbox, "x/other", NULL, &err);
        REQUIRE(hutch_run_step(run, 0, &err) == 0);
    }
    CHECK(own > 0);
    hutch_run_free(run);
    hutch_sandbox_close(sandbox);
    CHECK_TEXT("secret\n", box_read("hid/f"));
    CHECK_TEXT("kept\n", box_read("prot/f"));
    CHECK_TEXT("mine\n", box_read("open/f"));
    CHECK(unlink("x") == 0);
    unlink("new");
}

static char failed[] = "failed", other[] = "not what was written";

static void *use_own(void *arg)
{
    struct hutch_sandbox *sandbox = arg;
    struct hutch_error error;
    char text[32];

    for (int i = 0; i < 300; i++) {
        struct hutch_file_content *content = NULL;
        int len = snprintf(text, sizeof text, "%p %d", arg, i);

        if (hutch_file_write(sandbox, "/tmp/dir/file", text, (size_t)len, NULL, NULL, &error) < 0 ||
            hutch_file_read(sandbox, "/tmp/dir/file", NULL, &content, &error) < 0)
            return failed;
        bool same = strcmp(content->data, text) == 0;
        hutch_file_free(content);
        if (!same)
            return other;
    }
    return NULL;
}

/* Different handles may be used at the same time; rights are a thread's own. */
static void threads_with_a_sandbox_each(void)
{
    enum { THREADS = 3 };
    struct hutch_sandbox *boxes[THREADS];
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        boxes[i] = drive_open(LIST("--layout", "minimal", "-w", "tmpfs"));
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, use_own, boxes[i]) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        CHECK_TEXT("fine", answer ? answer : "fine");
        hutch_sandbox_close(boxes[i]);
    }
    box_check(prctl(PR_GET_DUMPABLE) == 1, __FILE__, __LINE__, "not dumpable any more");
}

/* One that uses a sandbox, and one that calls on its files meanwhile. */
static void files_beside_commands(void)
{
    struct hutch_sandbox *sandbox = drive_open(LIST("--layout", "minimal", "-w", "tmpfs"));
    pthread_t thread;
    void *answer = NULL;

    REQUIRE(pthread_create(&thread, NULL, use_own, sandbox) == 0);
    for (int i = 0; i < 30; i++) {
        const char *text = box_text("%d", i);

        CHECK_TEXT("ok", call_write(sandbox, "mine", text));
        CHECK_TEXT(text, sh(sandbox, "cat mine"));
    }
    pthread_join(thread, &answer);
    CHECK_TEXT("fine", answer ? answer : "fine");
    hutch_sandbox_close(sandbox);
    box_check(prctl(PR_GET_DUMPABLE) == 1, __FILE__, __LINE__, "not dumpable any more");
}

static pid_t first_process(void)
{
    pid_t pid = box_child(getpid(), "hutch-init");

    if (pid <= 0)
        box_skip("this kernel does not list children");
    return pid;
}

/* Without its own memory, for loops. */
static int read_code(struct hutch_sandbox *sandbox, const char *path)
{
    struct hutch_file_content *content = NULL;
    int r = hutch_file_read(sandbox, path, NULL, &content, &err);

    hutch_file_free(content);
    return r;
}

static bool is_noticed(void *sandbox)
{
    return read_code(sandbox, "/etc/passwd") == HUTCH_ESTATE;
}

/*
 * With its last process a mount namespace goes, and mounts come apart: whoever still has its root would
 * see what lies below what hides and protects.
 */
static void nothing_comes_to_light_when_it_ends(void)
{
    box_file("work/hidden", "secret\n");
    box_file("work/protected", "text\n");
    for (int i = 0; i < 20; i++) {
        struct hutch_sandbox *sandbox = drive_open(
            LIST("--hide", "hidden", "--protect", "protected"));
        CHECK_INT(HUTCH_EDENIED, read_code(sandbox, "hidden"));
        REQUIRE(kill(first_process(), SIGKILL) == 0);
        for (double end = box_now_ms() + 20; box_now_ms() < end;)
            if (read_code(sandbox, "hidden") >= 0 ||
                hutch_file_write(sandbox, "protected", "x", 1, NULL, NULL, &err) >= 0)
                box_fatal(__FILE__, __LINE__, "it came to light");
        /* Though nobody has stepped. */
        CHECK(box_eventually(is_noticed, sandbox));
        hutch_sandbox_close(sandbox);
    }
    CHECK_TEXT("text\n", box_read("protected"));
}

static const char *row_of(const char *status, const char *name)
{
    const char *at = strstr(status, name);

    return at ? at : "";
}

/* A result is its own, and so are the rights of this process. */
static void nothing_of_a_call_stays(void)
{
    struct hutch_file_content *content = NULL;
    struct hutch_sandbox *sandbox = drive_open(LIST("-w", "tmpfs"));
    char *status = box_read("/proc/thread-self/status");

    CHECK_TEXT("ok", call_write(sandbox, "file", "text"));
    OK(hutch_file_read(sandbox, "file", NULL, &content, &err));
    char *after = box_read("/proc/thread-self/status");
    static const char *const rows[] = {"Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *was = row_of(status, rows[i]);
        CHECK(*was);
        CHECK_INT(0, strncmp(was, row_of(after, rows[i]), strcspn(was, "\n") + 1));
    }
    hutch_sandbox_close(sandbox);
    CHECK_TEXT("text", content->data);
    hutch_file_free(content);
}

struct seen {
    char text[512]; /* of each file.written: path, size */
    size_t others;
};

static void see(void *arg, const struct hutch_event *event)
{
    struct seen *seen = arg;
    size_t len = strlen(seen->text);
    char *json = NULL;

    if (event->type != HUTCH_EVENT_FILE_WRITTEN) {
        seen->others++;
        return;
    }
    CHECK_INT(sizeof *event, event->size);
    CHECK_INT(0, event->run);
    CHECK_TEXT("file.written", hutch_event_name(event->type));
    OK(hutch_event_to_json(event, &json, &err));
    CHECK_HAS(json, box_text("\"type\":\"file.written\",\"path\":\"%s\",\"size\":%llu}",
                             event->path, (unsigned long long)event->file_bytes));
    free(json);
    snprintf(seen->text + len, sizeof seen->text - len, "%s %llu\n", event->path,
             (unsigned long long)event->file_bytes);
    /* The call is over: the sandbox's rights are not the callback's. */
    CHECK_INT(geteuid(), setfsuid((uid_t)-1));
}

/* Each file that a call wrote is told once, when it is there; nothing else is. */
static void what_calls_write_is_told(void)
{
    static const struct hutch_file_source files[] = {
        {.path = "/tmp/one", .data = "1", .len = 1},
        {.path = "/usr/none", .data = "", .len = 0},
        {.path = "dir/two", .data = "22", .len = 2},
    };
    struct hutch_file_transfers *transfers = NULL;
    struct seen seen = {0};
    struct hutch_sandbox *sandbox = drive_open_told(LIST("-w", "tmpfs"), see, &seen);
    const char *cwd = cwd_of(sandbox);
    CHECK_TEXT("ok", call_write(sandbox, "dir/../file", "a text"));
    OK(hutch_file_edit(sandbox, "file", "text", "longer text", NULL, NULL, &err));
    OK(hutch_file_upload(sandbox, files, COUNT(files), &transfers, &err));
    hutch_file_free(transfers);
    CHECK_TEXT("denied", call_write(sandbox, "/usr/none", ""));
    CHECK(hutch_file_edit(sandbox, "file", "none such", "", NULL, NULL, &err) < 0);
    CHECK_TEXT("a longer text", call_read(sandbox, "file"));
    CHECK_TEXT("ok", call_delete(sandbox, "dir"));
    CHECK_TEXT("", sh(sandbox, "echo >by-command"));
    hutch_sandbox_close(sandbox);
    CHECK_TEXT(box_text("%s/dir/../file 6\n%s/file 13\n/tmp/one 1\n%s/dir/two 2\n", cwd, cwd, cwd),
               seen.text);
    CHECK(seen.others > 0);
}

int main(void)
{
    static const struct box_test tests[] = {
        {"sandboxes never meet", sandboxes_never_meet},
        {"rules hold for calls", rules_hold_for_calls},
        {"searches do not find what is hidden", searches_do_not_find_what_is_hidden},
        {"searches of a root find what is its own", searches_of_a_root_find_what_is_its_own},
        {"what is protected and missing stays missing",
         what_is_protected_and_missing_stays_missing},
        {"things that wait or lead out", things_that_wait_or_lead_out},
        {"processes keep what is theirs", processes_keep_what_is_theirs},
        {"no path leads to the host", no_path_leads_to_the_host},
        {"paths that change meanwhile", paths_that_change_meanwhile},
        {"threads with a sandbox each", threads_with_a_sandbox_each},
        {"files beside commands", files_beside_commands},
        {"nothing comes to light when it ends", nothing_comes_to_light_when_it_ends},
        {"nothing of a call stays", nothing_of_a_call_stays},
        {"what calls write is told", what_calls_write_is_told},
        {NULL, NULL},
    };

    return box_main(tests);
}
