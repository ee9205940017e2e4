/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of unix datagram sockets: they work as the kernel's do, wherever a sandbox has unix sockets. */
#include <sys/stat.h>

#include "drive.h"

static void messages_stay_apart(void)
{
    static const char *const args[][6] = {
        {"run", "--", "./payload", "pair-messages"},
        {"run", "--syscalls=strict", "--", "./payload", "pair-messages"},
        {"run", "--net=host", "--", "./payload", "pair-messages"},
        {"run", "--layout=minimal", "--", "./payload", "pair-messages"},
        {"run", "--policy=none.json", "--", "./payload", "pair-messages"},
        {"run", "--syscalls=own.json", "--", "./payload", "pair-messages"},
    };

    box_file("work/none.json", "{ \"network\": { \"unix\": \"none\" } }");
    box_file("work/own.json", "{ \"defaultAction\": \"SCMP_ACT_ALLOW\" }");
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        CHECK_TEXT("pair messages: ok\n", drive_cli(args[i]).out);
}

static void nothing_is_told(void)
{
    const struct hutch_result *result = drive_run(NULL, PAYLOAD("pair-messages"));

    CHECK_INT(0, (long long)result->violation_total);
}

static void a_filter_of_ones_own_refuses_them(void)
{
    box_file("work/own.json", "{ \"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [ "
                              "{ \"names\": [\"socketpair\"], \"action\": \"SCMP_ACT_ERRNO\", "
                              "\"errnoRet\": 13 } ] }");
    CHECK_TEXT("pair messages: EACCES\n",
               drive_out(LIST("--syscalls", "own.json"), PAYLOAD("pair-messages")));
}

static void flags_are_honoured(void)
{
    CHECK_TEXT("kind plain: ok\n"
               "kind raw: ok\n"
               "kind cloexec: ok cloexec\n"
               "kind nonblock: ok nonblock\n"
               "kind both: ok cloexec nonblock\n"
               "kind high: ok\n"
               "kind protocol: ok\n"
               "kind other protocol: EPROTONOSUPPORT\n"
               "kind other flag: EINVAL\n",
               drive_out(NULL, PAYLOAD("pair-kinds")));
}

static void bad_memory_leaves_nothing(void)
{
    CHECK_TEXT("place none: EFAULT\n"
               "place kernel: EFAULT\n"
               "place read-only: EFAULT\n"
               "place half: EFAULT\n"
               "place unmapped: EFAULT\n"
               "place left behind: 0\n"
               "place good: ok\n",
               drive_out(NULL, PAYLOAD("pair-places")));
}

static void the_limit_of_descriptors_counts(void)
{
    struct stat st;

    /* Before 6.2 the kernel does not tell beforehand how many a process has. */
    REQUIRE(stat("/proc/self/fd", &st) == 0);
    CHECK_TEXT(box_text("limit 0: 5 pairs, EMFILE, 0 left behind\n"
                        "limit 1: 5 pairs, EMFILE, %d left behind\n",
                        st.st_size == 0),
               drive_out(NULL, PAYLOAD("pair-limit")));
}

static void callers_may_be_many_and_die(void)
{
    CHECK_TEXT("crowd: 0 failed, 0 left behind\n", drive_out(NULL, PAYLOAD("pair-crowd")));
}

static void a_socket_alone_is_refused(void)
{
    struct drive_end end = drive_cli(LIST("run", "--json", "--", "./payload", "datagram-socket"));

    CHECK_HAS(end.out, "socket datagram: EPERM");
    CHECK_HAS(end.out, "\"family 1, type 2, protocol 0\"");
    CHECK_HAS(end.out, "unix datagrams go through pairs");
}

int main(void)
{
    static const struct box_test tests[] = {
        {"messages stay apart", messages_stay_apart},
        {"nothing is told", nothing_is_told},
        {"a filter of one's own refuses them", a_filter_of_ones_own_refuses_them},
        {"flags are honoured", flags_are_honoured},
        {"bad memory leaves nothing", bad_memory_leaves_nothing},
        {"the limit of descriptors counts", the_limit_of_descriptors_counts},
        {"callers may be many, and die", callers_may_be_many_and_die},
        {"a socket alone is refused", a_socket_alone_is_refused},
        {NULL, NULL},
    };

    return box_main(tests);
}
