/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/landlock.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/ret.h"

#define K_SYS_landlock_create_ruleset 444
#define K_SYS_landlock_add_rule 445
#define K_SYS_landlock_restrict_self 446
#define K_CREATE_RULESET_VERSION 1
#define K_RULE_PATH_BENEATH 1

/* Rights on files, with the version that brought them. */
#define EXECUTE (1ULL << 0)
#define WRITE_FILE (1ULL << 1)
#define READ_FILE (1ULL << 2)
#define READ_DIR (1ULL << 3)
#define ALL_OF_1 ((1ULL << 13) - 1) /* and remove and make of every kind */
#define REFER_2 (1ULL << 13)
#define TRUNCATE_3 (1ULL << 14)
#define IOCTL_DEV_5 (1ULL << 15)
#define SCOPE_ABSTRACT_UNIX_SOCKET_6 (1ULL << 0)
#define SCOPE_SIGNAL_6 (1ULL << 1)

/* struct landlock_ruleset_attr as of version 6; older kernels take the bytes they know. */
struct k_ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

struct k_path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

static uint64_t all_of(int abi)
{
    uint64_t rights = ALL_OF_1;

    if (abi >= 2)
        rights |= REFER_2;
    if (abi >= 3)
        rights |= TRUNCATE_3;
    if (abi >= 5)
        rights |= IOCTL_DEV_5;
    return rights;
}

int sys_landlock_abi(void)
{
    return ret_errno(syscall(K_SYS_landlock_create_ruleset, NULL, 0, K_CREATE_RULESET_VERSION));
}

int sys_landlock_create(int abi, bool signals)
{
    struct k_ruleset_attr attr = {.handled_access_fs = all_of(abi)};
    size_t size = offsetof(struct k_ruleset_attr, handled_access_net);

    if (abi >= 6) {
        attr.scoped = SCOPE_ABSTRACT_UNIX_SOCKET_6 | (signals ? 0 : SCOPE_SIGNAL_6);
        size = sizeof attr;
    }
    return ret_errno(syscall(K_SYS_landlock_create_ruleset, &attr, size, 0));
}

int sys_landlock_allow(int ruleset, int abi, int fd, enum sys_landlock_access access,
                       bool directory)
{
    struct k_path_beneath_attr rule = {.parent_fd = fd};

    switch (access) {
    case SYS_LANDLOCK_READ: rule.allowed_access = EXECUTE | READ_FILE | READ_DIR; break;
    case SYS_LANDLOCK_DEVICE:
        rule.allowed_access = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE_3 | IOCTL_DEV_5;
        break;
    case SYS_LANDLOCK_WRITE: rule.allowed_access = all_of(abi); break;
    }
    rule.allowed_access &= all_of(abi);
    if (!directory)
        rule.allowed_access &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE_3 | IOCTL_DEV_5;
    return ret_errno(syscall(K_SYS_landlock_add_rule, ruleset, K_RULE_PATH_BENEATH, &rule, 0));
}

int sys_landlock_restrict(int ruleset)
{
    return ret_errno(syscall(K_SYS_landlock_restrict_self, ruleset, 0));
}
