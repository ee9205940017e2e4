/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every setting there is. JSON, flags, help, man page, completions and schema are loops over this
 * table: a setting is added here, and in the pass of plan/ that gives it its meaning.
 */
#include "policy/policy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/check.h"

/* By hand, so that what belongs together stays on one line. */
/* clang-format off */
const struct policy_field policy_fields[POLICY_FIELD_COUNT] = {
    [POLICY_LEVEL] = {
        .section = "isolation", .key = "level", .type = TYPE_ENUM,
        .flag = "--level", .argument = "L",
        .values = "none|process|container|vm|wasm",
        .help = "how strong the isolation must be",
    },
    [POLICY_BACKEND] = {
        .section = "isolation", .key = "backend", .type = TYPE_ENUM,
        .flag = "--backend", .argument = "B", .variable = "HUTCH_BACKEND",
        .values =
            "auto|native|landlock|bwrap|firejail|docker|podman|seatbelt|ulimit|none|qemu|wasm",
        .help = "what enforces it; auto takes the strongest that can",
    },
    [POLICY_REQUIRE] = {
        .section = "isolation", .key = "require", .type = TYPE_LIST,
        .flag = "--require", .argument = "WHAT[,...]",
        .help = "refuse to run when one of these would not be enforced",
        .pattern = PATTERN_REQUIRE, .check = check_require,
    },
    [POLICY_LAYOUT] = {
        .section = "filesystem", .key = "layout", .type = TYPE_ENUM,
        .flag = "--layout", .argument = "LAYOUT",
        .values = "host|minimal|root",
        .help = "what the file system looks like from inside",
    },
    [POLICY_WORKSPACE] = {
        .section = "filesystem", .key = "workspace", .type = TYPE_PATH,
        .flag = "--workspace", .short_flag = "-w", .argument = "DIR|tmpfs",
        .help = "the directory that may be changed; tmpfs is one in memory",
        .check = check_path,
    },
    [POLICY_REPO] = {
        .section = "filesystem", .key = "repo", .type = TYPE_PATH,
        .flag = "--repo", .argument = "DIR",
        .help = "a directory to show read-only at /repo",
        .check = check_path,
    },
    [POLICY_READ] = {
        .section = "filesystem", .key = "read", .type = TYPE_PATHS,
        .flag = "--read", .argument = "P",
        .help = "a path to show read-only",
        .check = check_path,
    },
    [POLICY_WRITE] = {
        .section = "filesystem", .key = "write", .type = TYPE_PATHS,
        .flag = "--write", .argument = "P",
        .help = "a path that may be changed",
        .check = check_path,
    },
    [POLICY_HIDE] = {
        .section = "filesystem", .key = "hide", .type = TYPE_PATHS,
        .flag = "--hide", .argument = "P",
        .help = "a path to make unreadable",
        .check = check_path,
    },
    [POLICY_PROTECT] = {
        .section = "filesystem", .key = "protect", .type = TYPE_PATHS,
        .flag = "--protect", .argument = "P",
        .help = "a path to keep from any change, wherever it is",
        .check = check_path,
    },
    [POLICY_NET] = {
        .section = "network", .key = "mode", .type = TYPE_ENUM,
        .flag = "--net", .argument = "MODE",
        .values = "none|host|allow",
        .help = "no network, the host's, or only the hosts allowed",
    },
    [POLICY_NET_ALLOW] = {
        .section = "network", .key = "allow", .type = TYPE_LIST,
        .flag = "--allow-host", .argument = "NAME[:PORT]",
        .help = "a host that may be reached when the network mode is allow",
        .pattern = PATTERN_HOST, .check = check_host,
    },
    [POLICY_NET_UNIX] = {
        .section = "network", .key = "unix", .type = TYPE_UNIX,
        .values = "none|private",
        .help = "no unix sockets, the sandbox's own, or these of the host",
        .check = check_path,
    },
    [POLICY_ENV_INHERIT] = {
        .section = "environment", .key = "inherit", .type = TYPE_LIST,
        .help = "variables to pass in from outside; NAME* stands for all that begin so",
        .pattern = PATTERN_INHERIT, .check = check_inherit,
    },
    [POLICY_ENV_SET] = {
        .section = "environment", .key = "set", .type = TYPE_MAP,
        .help = "variables and their values",
        .pattern = PATTERN_VARIABLE, .check = check_variable,
    },
    [POLICY_ENV_UNSET] = {
        .section = "environment", .key = "unset", .type = TYPE_LIST,
        .flag = "--unset-env", .argument = "NAME",
        .help = "a variable to leave out",
        .pattern = PATTERN_VARIABLE, .check = check_variable,
    },
    [POLICY_TIMEOUT] = {
        .section = "limits", .key = "timeout", .type = TYPE_DURATION,
        .flag = "--timeout", .argument = "T", .variable = "HUTCH_TIMEOUT",
        .help = "end the command after this long: 500ms, 30s, 5m",
    },
    [POLICY_CPU_TIME] = {
        .section = "limits", .key = "cpu_time", .type = TYPE_DURATION,
        .flag = "--cpu-time", .argument = "T",
        .help = "processor time for the command and all it starts",
    },
    [POLICY_CPUS] = {
        .section = "limits", .key = "cpus", .type = TYPE_CPUS,
        .flag = "--cpus", .argument = "N",
        .help = "processors it may keep busy at once: 2, 0.5",
    },
    [POLICY_MEMORY] = {
        .section = "limits", .key = "memory", .type = TYPE_SIZE,
        .flag = "--memory", .argument = "S", .variable = "HUTCH_MEMORY",
        .help = "memory of the whole sandbox: 64M, 1G (powers of 1024)",
    },
    [POLICY_DISK] = {
        .section = "limits", .key = "disk", .type = TYPE_SIZE,
        .flag = "--disk", .argument = "S",
        .help = "bytes it may add to the disk, or keep in a tmpfs workspace",
    },
    [POLICY_PROCESSES] = {
        .section = "limits", .key = "processes", .type = TYPE_COUNT,
        .flag = "--processes", .argument = "N",
        .help = "processes and threads at a time",
    },
    [POLICY_OPEN_FILES] = {
        .section = "limits", .key = "open_files", .type = TYPE_COUNT,
        .flag = "--open-files", .argument = "N",
        .help = "open descriptors of each process",
    },
    [POLICY_FILE_SIZE] = {
        .section = "limits", .key = "file_size", .type = TYPE_SIZE,
        .flag = "--file-size", .argument = "S",
        .help = "size of each file it writes",
    },
    [POLICY_OUTPUT] = {
        .section = "limits", .key = "output", .type = TYPE_SIZE,
        .flag = "--output", .argument = "S", .variable = "HUTCH_OUTPUT",
        .help = "captured output to keep, of each stream",
    },
    [POLICY_SYSCALLS] = {
        .key = "syscalls", .type = TYPE_STRING,
        .flag = "--syscalls", .argument = "NAME|FILE", .variable = "HUTCH_SYSCALLS",
        .help = "system call filter: default, strict, or a seccomp JSON file",
        .check = check_text,
    },
    [POLICY_USER] = {
        .section = "identity", .key = "user", .type = TYPE_ID,
        .help = "user id inside",
    },
    [POLICY_GROUP] = {
        .section = "identity", .key = "group", .type = TYPE_ID,
        .help = "group id inside",
    },
    [POLICY_HOSTNAME] = {
        .section = "identity", .key = "hostname", .type = TYPE_STRING,
        .help = "host name inside",
        .pattern = PATTERN_HOSTNAME, .check = check_hostname,
    },
    [POLICY_GUARD_MODE] = {
        .section = "guard", .key = "mode", .type = TYPE_ENUM,
        .values = "off|warn|deny",
        .help = "what to do about a command that looks dangerous",
    },
    [POLICY_GUARD_ALLOW] = {
        .section = "guard", .key = "allow", .type = TYPE_LIST,
        .help = "commands that the guard lets pass",
        .check = check_text,
    },
    [POLICY_GUARD_DENY] = {
        .section = "guard", .key = "deny", .type = TYPE_LIST,
        .help = "commands that the guard stops",
        .check = check_text,
    },
    [POLICY_GUARD_STRICT] = {
        .section = "guard", .key = "strict", .type = TYPE_BOOL,
        .help = "let only allowed commands pass",
    },
};
/* clang-format on */

/* The array has its size from the enum: this, and a test of every row, is what notices a gap. */
static_assert(POLICY_FIELD_COUNT == POLICY_GUARD_STRICT + 1,
              "a new row belongs in the table above");

const char *policy_enum_name(enum policy_id id, uint64_t value, char *out, size_t size)
{
    const char *word = policy_fields[id].values;

    for (; word && value > 0; value--) {
        word = strchr(word, '|');
        word = word ? word + 1 : NULL;
    }
    snprintf(out, size, "%.*s", word ? (int)strcspn(word, "|") : 1, word ? word : "?");
    return out;
}
