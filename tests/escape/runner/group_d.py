# SPDX-License-Identifier: Apache-2.0
"""D: the syscall filter, and E: what namespaces and sockets open up in the kernel."""
import os
import random
import signal
import subprocess

from case import Case, Lacking, own_ns
from stage import ESCAPED, HELD, eventually, marked

# Calls of which no program in a sandbox has need. root: for others the kernel refuses by itself, so
# that only root's control shows anything. The second field is whether it must be reported.
CALLS = [
    ("io_uring_setup", False, False), ("io_uring_enter", False, False),
    ("io_uring_register", False, False), ("userfaultfd", True, False),
    ("perf_event_open", True, False), ("bpf", True, True), ("kexec_load", True, True),
    ("keyctl", True, False), ("add_key", True, False), ("request_key", True, False),
    ("fanotify_init", False, True), ("quotactl", True, False), ("quotactl_fd", True, False),
    ("memfd_secret", False, False), ("vmsplice", False, False), ("swapon", True, True),
    ("swapoff", True, True), ("lookup_dcookie", False, True), ("nfsservctl", False, False),
    ("modify_ldt", False, False), ("process_madvise", False, False), ("init_module", True, True),
    ("finit_module", True, True), ("delete_module", True, True), ("reboot", True, True),
    ("acct", True, True), ("syslog", False, True), ("settimeofday", True, True),
    ("clock_settime", True, True), ("clock_adjtime", True, False), ("iopl", True, False),
    ("ioperm", True, False),
    ("open_by_handle_at", True, True), ("listmount", False, False), ("statmount", False, False),
    ("open_tree_attr", False, True), ("mount", True, True), ("umount2", True, True),
    ("sethostname", True, True), ("setdomainname", True, True), ("uselib", False, False),
    ("ustat", False, False), ("sysfs", False, False),
]
SPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "time", "cgroup"]


def call_cases():
    return [Case(f"D44-{name}", f"call {name}", ["call", name], control_root=root,
                 violation=name if reported else "")
            for name, reported, root in CALLS]


def space_cases():
    rows = []
    for letter, name in zip("abcdefgh", SPACES):
        rows.append(Case(f"D42{letter}", f"unshare a {name} namespace", ["unshare", name],
                         control=own_ns, violation="unshare"))
    for letter, name in zip("ijklmno", [name for name in SPACES if name != "time"]):
        rows.append(Case(f"D42{letter}", f"clone into a {name} namespace", ["clone", name],
                         control=own_ns, violation="clone"))
    rows.append(Case("D42p", "setns", ["setns", "uts"], control=own_ns, violation="setns"))
    return rows


# ---- D47 and D48

def two_sockets(stage):
    """One of the sandbox's own and one of the host's, with names of the same length."""
    stage.vars["own"] = stage.work / "sock-a"
    stage.vars["host"] = stage.work / "sock-b"
    stage.unix(str(stage.vars["host"]))


def run_blocked(kind):
    """A connection that hangs: the supervisor's time limit must work meanwhile."""
    def play(stage):
        verb = ["connect-forever", kind]
        if stage.who == "control":
            code, text = stage.run(["timeout", "0.3", stage.attack, *verb])
            return (ESCAPED, "whoever connects waits") if code == 124 else (code, text)
        stage.run(stage.wrap(verb, ["--timeout", "300ms"]))
        reason = stage.result["reason"]
        return (HELD, "the time limit worked") if reason == "timeout" else (1, reason)
    return play


def two_names(stage):
    (stage.work / ".git").mkdir()
    stage.never("work/.git/hooks")


def run_flood(stage):
    """Refuse 100 000 calls: memory of the supervisor and size of the result stay small."""
    if stage.who == "control":
        return stage.run([stage.attack, "flood", "1", "quiet"])
    argv = stage.wrap(["flood", "100000", "quiet"])
    code, text = stage.run(argv)
    if stage.result:
        size = len(str(stage.result.get("violations", [])))
        if size > 1 << 16:
            return 1, f"violations take {size} bytes"
    return code, text


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def init_of(engine):
    """The child that is process 1 of a namespace below: a root's engine may have another."""
    def last_pid(pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return next(line.split()[-1] for line in file if line.startswith("NSpid:"))
    return next(pid for pid in children_of(engine) if last_pid(pid) == "1")


def run_stopped(kill):
    """Engine and init are stopped, or the engine is killed, while init is asked: nothing passes meanwhile."""
    def play(stage):
        passed = stage.never("work/passed")
        verb = ["refused-forever", str(passed)]
        if stage.who == "control":
            return stage.run([stage.attack, *verb])
        child = stage.start(stage.wrap(verb, (), False))
        stopped = [init_of(child.pid), child.pid]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        eventually(passed.exists, 0.2)
        if kill:
            child.send_signal(signal.SIGKILL)
        for pid in stopped[:-1] if kill else stopped:
            os.kill(pid, signal.SIGCONT)
        if not kill:
            eventually(passed.exists, 0.2)
            child.send_signal(signal.SIGTERM)
        child.wait()
        return (HELD, "nothing passed") if eventually(lambda: not marked(str(passed))) \
            else (ESCAPED, "the sandbox lives on")
    return play


# ---- E49: second locks, seen from outside or by way of a first one that has failed

def pid_inside(stage):
    return next(pid for pid in marked(stage.mark)
                if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "attack")


def run_nested(layout):
    """From outside, in the place of a process of the sandbox but without its filter."""
    def play(stage):
        own = [stage.attack, "own-ns"]
        # By another name: it is elsewhere in some layouts.
        wrapped = [*stage.wrap([], ["--layout", layout], False)[:-1], "./attack"]
        stage.start([*(own if stage.who == "control" else wrapped), "linger", stage.mark])
        return stage.run([stage.attack, "nested", pid_inside(stage)])
    return play


def told(child, line):
    """Tell a process that waits for it a line; how it ends, and what it says."""
    child.stdin.write(f"{line}\n".encode())
    child.stdin.flush()
    text = child.stdout.read().decode(errors="replace")
    return child.wait(), text


def need_landlock(stage, version):
    """Other kernels have only the first lock, and results say so."""
    stage.run(stage.wrap(["exit-with", "0"]))
    has = stage.result["enforced"]["landlock"]
    if not has or has < version:
        raise Lacking(f"the kernel's Landlock is of version {has or 0}, this is of {version}")


def run_writable(stage):
    """A mount of the sandbox that is not read-only, as by a mistake in the plan."""
    if stage.who == "hutch":
        need_landlock(stage, 1)
    path = stage.canary("out/x")
    verb = ["write-later", str(path), stage.mark]
    child = stage.start([stage.attack, "own-ns", "ro-bind", stage.out, *verb]
                        if stage.who == "control" else stage.wrap(verb, (), False))
    code, text = stage.run([stage.attack, "open-door", pid_inside(stage), path])
    return told(child, "go") if code == HELD else (code, text)


def run_neighbour(stage):
    """A process in the sandbox's pid namespace, with its ids, that is not the sandbox's."""
    verb = ["signal-later", stage.mark]
    if stage.who == "control":
        child = stage.start([stage.attack, *verb])
        return told(child, stage.start([stage.attack, "linger", "neighbour"]).pid)
    need_landlock(stage, 6)
    child = stage.start(stage.wrap(verb, (), False))
    other = stage.start([stage.attack, "neighbour", pid_inside(stage)])
    return told(child, int(other.stdout.readline()))


def start_init(stage):
    """Its pid; in a control, that of a process with nothing but a user, of its own where there can be one."""
    if stage.who != "control":
        return init_of(stage.start(stage.wrap(["linger", stage.mark], (), False)).pid)
    uid = random.randrange(1 << 30, 1 << 31)
    how = {"user": uid, "group": uid, "extra_groups": []} if stage.tools.root else {}
    return stage.start([stage.attack, "linger", stage.mark], **how).pid


def look_at_init(look):
    """`look(pid)` says what is wrong with init, seen from outside, or nothing."""
    def play(stage):
        wrong = look(start_init(stage))
        return (ESCAPED, wrong) if wrong else (HELD, "as it should be")
    return play


def status_of(pid, name):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(line.split()[1] for line in file if line.startswith(name + ":"))


def has_no_filter(pid):
    return None if status_of(pid, "Seccomp") == "2" else "no filter"


def is_dumpable(pid):
    """The kernel gives what belongs to a process that is not dumpable to root."""
    return f"/proc/{pid} is its own" if os.stat(f"/proc/{pid}/environ").st_uid else None


def session_keyrings(stage, uid):
    how = {"user": uid, "group": uid, "extra_groups": []} if stage.tools.root else {}
    keys = subprocess.run(["cat", "/proc/keys"], stdout=subprocess.PIPE, check=True, text=True,
                          **how).stdout
    return {line.split()[0] for line in keys.splitlines() if " _ses" in line}


def run_keyring(stage):
    """
    A session keyring comes into being that belongs to init's user. As root that is a user of its own; any other may
    have more processes that make some, so that a control without a new one is waited for.
    """
    for _ in range(1 if stage.who == "hutch" else 20):
        before = set() if stage.tools.root else session_keyrings(stage, 0)
        pid = start_init(stage)
        if not session_keyrings(stage, int(status_of(pid, "Uid"))) - before:
            return ESCAPED, "no session keyring of its own"
    return HELD, "as it should be"


CASES = [
    Case("D39", "calls by the i386 ABI", ["foreign-abi", "i386"]),
    Case("D40", "calls by the x32 ABI", ["foreign-abi", "x32"]),
    *[Case(f"D41{letter}", f"clone3 with a {name} namespace", ["clone3", name], control=own_ns)
      for letter, name in zip("abc", ("user", "mnt", "time"))],
    *space_cases(),
    Case("D43", "every call number by every ABI",
         skip="the golden table of the filter covers it, on any host (unit tests)"),
    *call_cases(),
    Case("D44-personality", "personality", ["personality"]),
    *[Case(f"D45{letter}", f"upper half of a register: {name}", ["high-half", name], control=own_ns)
      for letter, name in zip("abcde", ("socket", "netlink", "personality", "setns", "clone"))],
    Case("D46a", "another call after the check, by a tracer", ["reenter"]),
    Case("D46b", "a listener of one's own that allows", ["own-listener"]),
    *[Case(f"D46{letter}", f"a filter of one's own that says {name}", ["own-filter", name],
           control=own_ns)
      for letter, name in zip("cde", ("allow", "log", "trace"))],
    Case("D47a", "change the address while connect is checked", ["flip-connect", "{own}", "{host}"],
         setup=two_sockets),
    Case("D47b", "change the socket while connect is checked", ["swap-connect", "{own}", "{host}"],
         setup=two_sockets),
    Case("D47c", "change the path while mkdir is checked",
         ["flip-mkdir", ".git/other", ".git/hooks"], setup=two_names,
         flags=["--protect", "{work}/.git/hooks"], bwrap=False),
    Case("D48a", "100 000 refused calls", play=run_flood),
    Case("D48b", "refused calls in a storm of signals", ["flood", "500", "storm"],
         control_verb=["flood", "1", "quiet"]),
    Case("D48c", "supervisor stopped while it is asked", play=run_stopped(False)),
    Case("D48d", "supervisor killed while it is asked", play=run_stopped(True)),
    Case("D48e", "processes that die while they are answered", ["ask-and-die", "200"]),
    Case("D48f", "connect to a full unix socket", play=run_blocked("unix"), bwrap=False),
    Case("D48g", "connect to a full TCP socket", play=run_blocked("tcp"), bwrap=False),
    Case("E49a", "capabilities, no_new_privs and filter", ["rights"]),
    Case("E49b", "become root", ["become-root"], control=own_ns),
    Case("E49c", "setgroups", ["setgroups"], control_root=True),
    Case("E49d", "second lock on nested user namespaces", play=run_nested("host"), bwrap=False),
    Case("E49e", "a mount in namespaces of one's own", ["own-ns", "mount-tmpfs", "{work}"],
         violation="unshare"),
    *[Case(f"E49{letter}", f"second lock on nested user namespaces, layout {layout}",
           play=run_nested(layout), bwrap=False)
      for letter, layout in (("f", "minimal"), ("g", "root"))],
    Case("E49h", "second lock on writing: a mount that is not read-only", play=run_writable,
         bwrap=False),
    Case("E49i", "second lock on signals: a process that can be seen", play=run_neighbour,
         bwrap=False),
    Case("E49j", "init: a filter of its own", play=look_at_init(has_no_filter), bwrap=False),
    Case("E49k", "init: closed to tracers and core dumps", play=look_at_init(is_dumpable),
         bwrap=False),
    Case("E49l", "init: a session keyring of its own", play=run_keyring, bwrap=False),
    Case("E50a", "every socket family but the usual", ["families"], control=own_ns),
    Case("E50b", "AF_PACKET", ["socket", "17", "3", "0"], control=own_ns, violation="socket"),
    Case("E50c", "AF_ALG", ["socket", "38", "5", "0"], violation="socket"),
    # No control: a socket of this family is never made outside a sandbox by these tests.
    Case("E50d", "AF_VSOCK, socket() only", ["socket", "40", "1", "0"], control=None, bwrap=False,
         violation="socket"),
    Case("E50e", "AF_XDP", ["socket", "44", "3", "0"], control=own_ns, violation="socket"),
    Case("E51a", "netlink protocols but route", ["netlink"], control=own_ns),
    Case("E51b", "upper layer protocols of TCP", ["upper-layer"]),
    Case("E52", "MPTCP, SCTP, UDP-Lite, raw and others", ["odd-protocols"], control=own_ns),
]
