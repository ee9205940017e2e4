/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A systemd for tests: serves one connection at a socket, as told, in a process of its own. It writes
 * what it was asked for into the file "asked" of the scratch directory, and moves processes into real
 * groups when it has a place for them.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "../dbus_sample.h"
#include "../scratch.h"
#include "sys/cgroup.h"

#define ID "abcdefghij012345"
#define NAME "hutch-" ID ".scope"
#define JOB "/org/freedesktop/systemd1/job/42"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define TEXT_MAX 2048

static char group[64]; /* where the manager makes scopes; "": nowhere */

enum turn {
    TURN_WELL,
    TURN_STAY,     /* does nothing, and says that it did */
    TURN_REFUSE,   /* an error with a reason */
    TURN_REFUSE_2, /* one without */
    TURN_TYPE,     /* a reply that is not the path of a job */
    TURN_LONG,     /* nor is this */
    TURN_FAIL,     /* the job ends badly */
    TURN_SIGNAL,   /* a signal that is not what its name says */
    TURN_CLOSE,    /* right after the call */
    TURN_GARBAGE,
    TURN_REJECT, /* who we are */
    TURN_STOP,   /* is asked to stop units, and nothing else */
};

struct manager {
    enum turn turn;
    bool bus;
    const char *files[4]; /* memory.max, memory.swap.max, pids.max, cpu.max; NULL: none */
};

static const char *const file_names[] = {"memory.max", "memory.swap.max", "pids.max", "cpu.max"};

/* Nothing can be asserted in the manager's process. */
static inline void need(bool truth)
{
    if (!truth)
        _exit(9);
}

static inline void send_all(int peer, const void *data, size_t len)
{
    need(send(peer, data, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static inline void send_sample(int peer, const struct sample *sample)
{
    struct sys_dbus_out out = build(sample);

    send_all(peer, out.data, out.len);
}

/* One call; `data` holds it. */
static inline struct sys_dbus_message receive_call(int peer, unsigned char *data, size_t size)
{
    struct sys_dbus_message message;
    size_t len = 0;

    need(recv(peer, data, SYS_DBUS_START, MSG_WAITALL) == SYS_DBUS_START);
    need(sys_dbus_length(data, &len) == 0 && len <= size);
    len -= SYS_DBUS_START;
    need(recv(peer, data + SYS_DBUS_START, len, MSG_WAITALL) == (ssize_t)len);
    need(sys_dbus_parse(data, len + SYS_DBUS_START, &message) == 0);
    need(message.type == SYS_DBUS_CALL);
    return message;
}

static inline uint64_t get_u64(struct sys_dbus_in *in)
{
    in->at = (in->at + 7) / 8 * 8;
    uint64_t low = sys_dbus_get_u32(in);
    return low | (uint64_t)sys_dbus_get_u32(in) << 32;
}

/* One property as text; returns the pid, when that is what it has. */
static inline pid_t print_property(struct sys_dbus_in *in, char *out, size_t size)
{
    in->at = (in->at + 7) / 8 * 8;
    const char *name = sys_dbus_get_string(in);
    const char *type = sys_dbus_get_signature(in);

    if (str_eq(type, "s")) {
        snprintf(out, size, "%s '%s'\n", name, sys_dbus_get_string(in));
    } else if (str_eq(type, "t")) {
        snprintf(out, size, "%s %" PRIu64 "\n", name, get_u64(in));
    } else if (str_eq(type, "b")) {
        snprintf(out, size, "%s %s\n", name, sys_dbus_get_u32(in) == 1 ? "true" : "false");
    } else {
        need(str_eq(type, "au") && str_eq(name, "PIDs") && sys_dbus_get_u32(in) == 4);
        snprintf(out, size, "%s\n", name);
        return (pid_t)sys_dbus_get_u32(in);
    }
    return 0;
}

/* What was asked for, into the file "asked"; returns the process. */
static inline pid_t print_call(struct sys_dbus_message *call)
{
    char text[TEXT_MAX];
    struct sys_dbus_in *in = &call->body;
    pid_t pid = 0;

    need(str_eq(call->member, "StartTransientUnit") && str_eq(call->interface, MANAGER));
    need(str_eq(call->path, "/org/freedesktop/systemd1"));
    need(str_eq(call->signature, "ssa(sv)a(sa(sv))"));
    const char *name = sys_dbus_get_string(in);
    need(strlen(name) < 256);
    int len = snprintf(text, sizeof(text), "%s %s\n", name, sys_dbus_get_string(in));
    size_t end = sys_dbus_get_u32(in);
    in->at = (in->at + 7) / 8 * 8;
    end += in->at;
    while (!in->failed && in->at < end) {
        pid_t found = print_property(in, text + len, sizeof(text) - (size_t)len);
        pid = found ? found : pid;
        len += (int)strlen(text + len);
    }
    need(!in->failed && in->at == end && sys_dbus_get_u32(in) == 0 && !in->failed);
    fd_auto int fd = open(at("@/asked"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(write(fd, text, (size_t)len) == len);
    return pid;
}

/* Files that no group of this host may have are put on top of it. */
static inline void put_files(const struct manager *manager, const char *dir)
{
    need(mount("tmpfs", dir, "tmpfs", 0, NULL) == 0);
    for (size_t i = 0; i < ARRAY_LEN(file_names); i++) {
        char path[PATH_MAX + 32];
        if (!manager->files[i])
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, file_names[i]);
        fd_auto int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        size_t len = strlen(manager->files[i]);
        need(write(fd, manager->files[i], len) == (ssize_t)len);
    }
}

static inline void move(const struct manager *manager, pid_t pid)
{
    char path[PATH_MAX];
    fd_auto int parent = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    need(parent >= 0 && sys_cgroup_make(parent, NAME) == 0);
    fd_auto int dir = sys_cgroup_open(parent, NAME);
    need(dir >= 0 && sys_cgroup_write_number(dir, "cgroup.procs", (uint64_t)pid) == 0);
    snprintf(path, sizeof(path), "%s/%s", group, NAME);
    if (manager->files[0] || manager->files[1] || manager->files[2] || manager->files[3])
        put_files(manager, path);
}

static inline struct sample job_removed(const char *job, const char *name, const char *result)
{
    struct sample sample = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/org/freedesktop/systemd1",
                                  .interface = MANAGER, .member = "JobRemoved",
                                  .signature = "uoss");

    sys_dbus_put_u32(&sample.body, 42);
    sys_dbus_put_string(&sample.body, job);
    sys_dbus_put_string(&sample.body, name);
    sys_dbus_put_string(&sample.body, result);
    return sample;
}

static inline void greet(int peer, const struct manager *manager)
{
    char line[256];
    ssize_t len = recv(peer, line, sizeof(line) - 1, 0);

    need(len > 3 && line[0] == '\0' && line[len - 1] == '\n');
    if (manager->turn == TURN_REJECT) {
        send_all(peer, "REJECTED\r\n", 10);
        _exit(0);
    }
    send_all(peer, "OK 1234\r\n", 9);
    need(recv(peer, line, 7, MSG_WAITALL) == 7 && memcmp(line, "BEGIN\r\n", 7) == 0);
}

/* The bus answers for itself, and tells of what happens on it. */
static inline uint32_t join_bus(int peer)
{
    unsigned char data[SYS_DBUS_MESSAGE_MAX];
    struct sys_dbus_message call = receive_call(peer, data, sizeof(data));
    struct sample name = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = 1, .signature = "s");
    struct sample acquired = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/org/freedesktop/DBus",
                                    .interface = "org.freedesktop.DBus", .member = "NameAcquired",
                                    .signature = "s");
    struct sample done = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = 2);

    need(str_eq(call.member, "Hello") && call.signature[0] == '\0');
    sys_dbus_put_string(&name.body, ":1.7");
    send_sample(peer, &name);
    sys_dbus_put_string(&acquired.body, ":1.7");
    send_sample(peer, &acquired);
    call = receive_call(peer, data, sizeof(data));
    need(str_eq(call.member, "AddMatch") && str_eq(call.signature, "s"));
    need(strstr(sys_dbus_get_string(&call.body), "member='JobRemoved'"));
    send_sample(peer, &done);
    return 3;
}

static inline void refuse(int peer, uint32_t serial, bool reason)
{
    struct sample sample = SAMPLE(.type = SYS_DBUS_ERROR, .reply_to = serial,
                                  .error = "org.freedesktop.systemd1.UnitExists",
                                  .signature = reason ? "s" : NULL);

    if (reason)
        sys_dbus_put_string(&sample.body, "it is \033[31mthere");
    send_sample(peer, &sample);
}

static inline void answer(int peer, const struct manager *manager, uint32_t serial)
{
    char path[256] = JOB;
    struct sample sample = SAMPLE(.type = SYS_DBUS_RETURN, .reply_to = serial,
                                  .signature = manager->turn == TURN_TYPE ? "s" : "o");

    if (manager->turn == TURN_REFUSE || manager->turn == TURN_REFUSE_2) {
        refuse(peer, serial, manager->turn == TURN_REFUSE);
        return;
    }
    if (manager->turn == TURN_LONG)
        memset(path, 'x', sizeof(path) - 1);
    sys_dbus_put_string(&sample.body, path);
    send_sample(peer, &sample);
}

/* Signals of others' jobs, and of ours. */
static inline void tell(int peer, const struct manager *manager)
{
    struct sample odd = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/", .interface = MANAGER,
                               .member = "JobRemoved", .signature = "u");
    struct sample unit_new = SAMPLE(.type = SYS_DBUS_SIGNAL, .path = "/", .interface = MANAGER,
                                    .member = "UnitNew");
    const struct sample others[] = {
        unit_new,
        job_removed("/org/freedesktop/systemd1/job/41", "other.scope", "failed"),
        job_removed("/org/freedesktop/systemd1/job/41", NAME, "failed"),
        job_removed(JOB, "other.scope", "failed"),
    };
    struct sample ours = job_removed(JOB, NAME, manager->turn == TURN_FAIL ? "failed" : "done");

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        send_sample(peer, &others[i]);
    sys_dbus_put_u32(&odd.body, 42);
    send_sample(peer, manager->turn == TURN_SIGNAL ? &odd : &ours);
}

/* Every unit that is to be stopped, a line of the file "asked" each, until the other side closes. */
static inline void serve_stops(int peer, uint32_t serial)
{
    unsigned char data[SYS_DBUS_MESSAGE_MAX];
    char byte;
    fd_auto int fd = open(at("@/asked"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    for (; recv(peer, &byte, 1, MSG_PEEK) == 1; serial++) {
        struct sys_dbus_message call = receive_call(peer, data, sizeof(data));
        need(str_eq(call.member, "StopUnit") && str_eq(call.signature, "ss"));
        need(dprintf(fd, "%s\n", sys_dbus_get_string(&call.body)) > 0);
        need(str_eq(sys_dbus_get_string(&call.body), "fail") && !call.body.failed);
        answer(peer, &(struct manager){0}, serial);
    }
}

static inline void serve(int sock, const struct manager *manager)
{
    unsigned char data[SYS_DBUS_MESSAGE_MAX];
    int peer = accept(sock, NULL, NULL);
    struct sample early = job_removed(JOB, NAME, "failed");

    greet(peer, manager);
    uint32_t serial = manager->bus ? join_bus(peer) : 1;
    if (manager->turn == TURN_STOP) {
        serve_stops(peer, serial);
        return;
    }
    struct sys_dbus_message call = receive_call(peer, data, sizeof(data));
    pid_t pid = print_call(&call);
    if (manager->turn == TURN_CLOSE)
        return;
    if (manager->turn == TURN_GARBAGE) {
        send_all(peer, "HTTP/1.1 400 Bad Request\r\n", 26);
        return;
    }
    send_sample(peer, &early); /* somebody else's, as ours cannot have ended yet */
    answer(peer, manager, serial);
    if (manager->turn >= TURN_REFUSE && manager->turn <= TURN_LONG)
        return;
    if (manager->turn == TURN_WELL)
        move(manager, pid);
    tell(peer, manager);
    recv(peer, data, 1, 0); /* until the other side closes */
}
