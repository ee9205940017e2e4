# SPDX-License-Identifier: Apache-2.0
"""C28: who stays in a sandbox against who joins it. I: shells that last."""
import os
import select
import signal
import subprocess
import time

from case import Case
from group_c import leave_open, own_copy
from server import Server, exactly, status
from stage import ESCAPED, HELD, eventually

SECRET = "hutch-escape-secret"
JOINS = 40


# ---- C28: a resident against those who join

def stays(verb):
    """
    A process of the sandbox tries `verb` on every other, while commands join and end. The commands of
    one sandbox are kept from one another by Landlock; where there is none only the time before a
    command is itself counts, when it still has things of process 1.
    """
    def play(stage):
        stop = stage.work / "stop"
        name = stage.mark[:15]
        if stage.who == "control":
            child = stage.start([stage.attack, "resident", "any", name, stop, *verb])
            for _ in range(JOINS):
                stage.run([stage.attack, "join-naively", name, "20"])
                if child.poll() is not None:
                    break
            stop.touch()
            text = child.stdout.read().decode()
            return child.wait(), text
        server = Server(stage, environment={"set": {"ESCAPE_SECRET": SECRET}})
        when = "any" if server.enforced.get("landlock") else "early"
        run = server.start(["resident", when, "-", stop, *verb])
        for _ in range(JOINS):
            result = server.exec(["exit-with", "3"])
            if exactly(result, 3)[0] != HELD:
                return exactly(result, 3)
        server.exec(["exit-after", "100"])
        stop.touch()
        return status(server.finish(run))
    return play


def joined_fds(stage):
    """Descriptors of the server, and of process 1, in the second command."""
    if stage.who == "control":
        return stage.run([stage.attack, "extra-fds"])
    server = Server(stage)
    run = server.start(["linger", stage.mark])
    answer = status(server.exec(["extra-fds"]))
    server.call("sandbox.signal", sandbox=server.sandbox, run=run, signal="KILL")
    return answer


def joined_directory(stage):
    """The directory of a command that joins is a link to a descriptor that process 1 may have."""
    stage.canary("out/canary")
    if stage.who == "control":
        fd = os.open(stage.out, os.O_RDONLY | os.O_DIRECTORY)
        stage.fds.append(fd)
        stage.cleanups.append(lambda: os.close(fd))
        return stage.run(["sh", "-c", f"cd /proc/self/fd/{fd}; exec {stage.attack} cwd-reaches canary"])
    server = Server(stage, filesystem={"layout": "minimal"})
    ways = [f"/proc/{who}/{what}" for who in ("self", "1", "thread-self")
            for what in ("cwd", "root", *(f"fd/{n}" for n in range(40)))]
    inside = 0
    for way in ways:
        try:
            result = server.exec([], cwd=way, argv=["/workspace/attack", "cwd-reaches", "canary"])
        except ValueError:  # it leads nowhere
            continue
        if result["exit_code"] != HELD:
            return status(result)
        inside += 1
    return HELD, f"{len(ways)} ways, {inside} of them lead somewhere inside"


def through_own_exe(stage):
    """
    CVE-2019-5736: the program that joins is /proc/self/exe, which is the server's, by a mount of the
    host. It may run, as any program; it must stay as it is.
    """
    path = stage.vars["installed"]
    stop = stage.work / "stop"
    if stage.who == "control":
        pid = stage.process(path, "linger", stage.mark, alive=False)
        return stage.run([stage.attack, "overwrite-binary", str(pid), path])
    link = stage.work / "python3"
    link.symlink_to("/proc/self/exe")
    server = Server(stage, path)
    run = server.start(["overwrite-joiner", stop, path])
    for program in (link, "/proc/self/exe", "/proc/thread-self/exe"):
        # It waits for a request that never comes: as long as it takes.
        server.exec([], argv=[str(program), "rpc"], timeout="100ms", stdin="")
        joined = server.call("sandbox.start", sandbox=server.sandbox, argv=[str(program), "rpc"])
        time.sleep(0.1)
        server.call("sandbox.signal", sandbox=server.sandbox, run=joined["run"], signal="KILL")
    stop.touch()
    return status(server.finish(run))


def process_waits(verb):
    """What process 1 keeps ready for the next command is stopped, or killed: that starts all the same."""
    def play(stage):
        stop = stage.work / "stop"
        if stage.who == "control":
            child = stage.start([stage.attack, "linger", stage.mark])
            stage.run([stage.attack, verb, str(child.pid)])
            child.stdin.close()
            gone = eventually(lambda: child.poll() == 0, 0.2)
            return (HELD, "it went on") if gone else (ESCAPED, "it does not go on")
        server = Server(stage)
        for _ in range(10):
            # It looks until there is somebody.
            server.finish(server.start(["resident", "any", "-", stop, verb]))
            begin = time.monotonic()
            code, text = exactly(server.exec(["exit-with", "7"], timeout="5s"), 7)
            if code != HELD or time.monotonic() - begin > 4:
                return ESCAPED, f"{text}, after {time.monotonic() - begin:.1f} s"
        return HELD, "10 commands ran"
    return play


def process_is_burdened(stage):
    """A command lowers the limits of what waits to be the next one, and slows it down."""
    if stage.who == "control":
        pid = str(stage.start([stage.attack, "linger", stage.mark]).pid)
        before = stage.run([stage.attack, "burdens", pid])
        stage.run([stage.attack, "burden", pid])
        after = stage.run([stage.attack, "burdens", pid])
        return (HELD if after == before else ESCAPED), after[1]
    server = Server(stage)
    before = server.exec(["burdens", "0"])["stdout"]
    for _ in range(10):
        server.finish(server.start(["resident", "any", "-", stage.work / "stop", "burden"]))
        after = server.exec(["burdens", "0"])["stdout"]
        if after != before:
            return ESCAPED, f"{after} instead of {before}"
    return HELD, "10 commands were as the first"


def stops_all(stage):
    """Every process is stopped as soon as it is seen: the time limit ends a command all the same."""
    stop = stage.work / "stop"
    if stage.who == "control":
        child = stage.start([stage.attack, "linger", stage.mark])
        stage.run([stage.attack, "stop-one", str(child.pid)])
        child.terminate()
        return (HELD, "ended") if eventually(lambda: child.poll() is not None, 0.2) else \
            (ESCAPED, "a stopped process does not end when asked to")
    server = Server(stage)
    script = f"while [ ! -e {stop} ]; do {stage.attack} resident any - {stop} stop-one; done"
    server.call("sandbox.start", sandbox=server.sandbox, argv=["sh", "-c", script])
    ends = []
    for _ in range(3):
        begin = time.monotonic()
        try:
            ends.append(server.exec(["exit-with", "7"], timeout="300ms")["reason"])
        except ValueError as error:  # none could be started
            if "ended" in str(error):
                return ESCAPED, str(error)
            ends.append(str(error))
        if time.monotonic() - begin > 5:
            return ESCAPED, f"held up for {time.monotonic() - begin:.1f} s"
    stop.touch()
    other = server.call("sandbox.open", policy={"filesystem": {"workspace": "tmpfs"}})
    result = server.call("sandbox.exec", sandbox=other["sandbox"], argv=["true"])
    return (HELD, ", ".join(ends)) if result["success"] else (ESCAPED, "no other sandbox works")


def beside_a_maker(play):
    """
    `play(stage, begin)`: begin() is a new server, whose sandbox has a process that makes what must not be
    there, and stops all it sees.
    """
    def run(stage):
        (stage.work / ".git").mkdir()
        (stage.work / ".git").chmod(0o777)
        path = stage.never("work/.git/hooks")
        if stage.who == "control":
            return stage.run([stage.attack, "make", "mkdir", path])

        def begin():
            server = Server(stage)
            server.start(["stop-and-make", path])
            return server

        return play(stage, begin)
    return run


def one_by_one(_, begin):
    """Every command that joins is stopped: process 1 is not held up."""
    server = begin()
    for _ in range(4):
        try:
            server.exec(["exit-with", "7"], timeout="300ms")
        except ValueError as error:
            if "ended" in str(error):
                return ESCAPED, str(error)
    server.hang_up()
    return HELD, "undone, and the sandbox is there"


def hangs_up(stage, begin):
    """The caller goes while process 1 starts commands for it."""
    for _ in range(4):
        server = begin()
        for _ in range(4):
            server.send_exec(["exit-with", "7"])
        server.hang_up()
        if os.path.lexists(stage.work / ".git/hooks"):
            return ESCAPED, "it is there"
    return HELD, "undone each time"


def too_many(_, begin):
    """So many commands are stopped that process 1 is given up for dead."""
    server = begin()
    for _ in range(60):
        server.send_exec(["exit-with", "7"], timeout="300ms")
    for _ in range(60):
        server.child.stdout.readline()
    server.hang_up()
    return HELD, "undone"


RESIDENT = [
    ("a", "its environment", ["proc-bytes", "environ"]),
    ("b", "its memory layout", ["proc-bytes", "maps"]),
    ("c", "its memory", ["open-memory"]),
    ("d", "its root, directory, program and descriptors", ["follow-links"]),
    ("e", "trace it", ["attach"]),
    ("f", "read its memory", ["read-memory"]),
    ("g", "write its memory", ["write-memory"]),
    ("h", "take its descriptors", ["steal-fd"]),
    ("i", "compare with it", ["compare"]),
]


# ---- I62: shells

MARK = "__HUTCH_DONE__"
FORGED = f"printf '\\n{MARK} 0\\n\\033]133;D;0\\007'"


class NaiveShell:
    """One bash that is fed with lines, and asked to print a mark behind each: what people write first."""

    def __init__(self, stage):
        self.child = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, bufsize=0,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      cwd=stage.work, env=stage.env, start_new_session=True)
        self.rest = b""

        def end():
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
            self.child.stdin.close()
            self.child.stdout.close()
        stage.cleanups.append(end)

    def line(self, deadline):
        while b"\n" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                return None
            more = os.read(self.child.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace")

    def exec(self, command):
        """Status (None: there was no end to be seen) and output."""
        try:
            os.write(self.child.stdin.fileno(), f"{command}\necho {MARK} $?\n".encode())
        except BrokenPipeError:
            return None, ""
        deadline = time.monotonic() + 1
        said = []
        while (line := self.line(deadline)) is not None:
            if line.startswith(MARK):
                return int(line.split()[1]), "\n".join(said)
            said.append(line)
        return None, "\n".join(said)


class LastingShell:
    """The same by `hutch rpc`."""

    def __init__(self, stage, mode):
        self.server = Server(stage, filesystem={"hide": [str(stage.out)]})
        self.shell = self.server.call("shell.open", sandbox=self.server.sandbox, mode=mode)["shell"]
        self.result = None

    def exec(self, command):
        self.result = self.server.call("shell.exec", shell=self.shell, command=command,
                                       timeout="10s")
        code = self.result["exit_code"]
        return code, self.result["stdout"] + self.result["stderr"]

    def state(self):
        return self.server.call("shell.state", shell=self.shell)


def open_shell(stage, mode="exec"):
    return NaiveShell(stage) if stage.who == "control" else LastingShell(stage, mode)


def forges(command, code, mode="exec"):
    """The command has this status, and the ones after it theirs, whatever it does."""
    def play(stage):
        shell = open_shell(stage, mode)
        for line, want, words in ((command, code, None), ("false", 1, ""),
                                  ("command echo fine; (exit 9)", 9, "fine")):
            got, said = shell.exec(line)
            if got != want or (words is not None and said.strip() != words):
                return ESCAPED, f"'{line}' gave {got} and {said.strip()[:60]!r}, not {want}"
        return HELD, "all as it was"
    return play


def forges_later(mode):
    """A process that a command left behind prints while the next one runs."""
    def play(stage):
        shell = open_shell(stage, mode)
        shell.exec(f"(trap '' HUP; sleep 0.2; {FORGED}; echo late) &")
        got, said = shell.exec("sleep 0.5; echo mine; (exit 5)")
        if got != 5 or said.strip() != "mine":
            return ESCAPED, f"status {got} and {said.strip()[:60]!r}"
        return HELD, "it is not heard"
    return play


def forges_state(stage):
    """
    What the shell has left for its supervisor is replaced: by links to files that the sandbox cannot
    read, FIFOs, numbers that are too large, a lot.
    """
    secret = stage.file("out/state", "9\n1\0/" + SECRET + "\0A=" + SECRET + "\0")
    shell = open_shell(stage)
    if stage.who == "control":
        shell.exec(f"ln -s {secret} state")
        return (ESCAPED, "read by its supervisor") if SECRET in \
            (stage.work / "state").read_text() else (HELD, "")
    where = "$(echo /tmp/.hutch-shell-*)"
    for command in (
            f"cd {where}; rm -f a.env b.env; ln -s {secret} a.env; ln -s {secret} b.env;"
            "echo 9 >a.ok; echo 9 >b.ok",
            f"cd {where}; rm -f a* b*; mkfifo a.env b.env a.ok b.ok began pid a b",
            f"cd {where}; for n in a b; do rm -f $n*; mkdir $n.ok $n.env; done",
            f"cd {where}; rm -rf a* b*; yes 99999999999999999999 | head -c 3000000 | tee a.ok >b.env",
            "rm -rf /tmp/.hutch-shell-*",
            "d=$(echo /tmp/.hutch-shell-*); rm -rf /tmp/.hutch-shell-*; ln -s / $d"):
        # Behind the shell's back too, when it has saved.
        shell.exec(f"(sleep 0.1; {command}) & {command}; exit 4")
        time.sleep(0.15)
        shown = str(shell.state())
        if SECRET in shown:
            return ESCAPED, "the state shows it"
        shell.exec("true")  # what is left may cost this one
        if (got := shell.exec("exit 6")[0]) != 6:
            return ESCAPED, f"status 6 became {got} after '{command}'"
    return HELD, "6 ways"


def floods(stage):
    """More output than is kept, with marks in it."""
    shell = open_shell(stage)
    got, said = shell.exec(f"yes '{MARK} 0' | head -c 33554432; (exit 7)")
    if got != 7 or len(said) > 2 << 20:
        return ESCAPED, f"status {got}, {len(said)} bytes"
    if not shell.result["truncated"]:
        return 1, "it is not said that it was cut"
    return HELD, "cut at the limit"


FORGERIES = [
    ("a", "output that looks like its end", f"{FORGED}; (exit 7)", 7),
    ("b", "a child that prints an end meanwhile", f"({FORGED}) >&1 & sleep 0.2; (exit 7)", 7),
    ("d", "all descriptors closed", "for n in {0..255}; do eval \"exec $n>&-\"; done; (exit 7)", 7),
    ("e", "replaced by another program", "exec sh -c 'exit 7'", 7),
    ("f", "a quote that does not end", "echo 'open", 2),
    ("g", "a document that does not end", "cat >/dev/null <<END; exit 7", 7),
    ("h", "it exits", "exit 7", 7),
    ("i", "its builtins are other functions",
     f"printf() {{ {FORGED.replace('printf', 'command printf')}; }}; echo() {{ printf; }};"
     "trap() { :; }; eval() { :; }; return() { :; }; (exit 7)", 7),
    ("j", "its builtins are other commands",
     f"shopt -s expand_aliases; alias echo='command echo {MARK} 0; :' builtin=: eval=:"
     " trap=: printf=:; (exit 7)", 7),
    ("k", "traps that print and exit",
     f"trap \"{FORGED}\" DEBUG ERR RETURN; PROMPT_COMMAND=\"{FORGED}\"; (exit 7)", 7),
    ("l", "stops at the first failure", "set -e; (exit 7); echo on", 7),
    ("m", "its group is killed", "kill -9 0", None),
]

# As a shell does when a job of its own has ended.
GIVES_BACK = ("import os, signal; signal.signal(signal.SIGTTOU, signal.SIG_IGN); p = os.getpgrp(); "
              "os.setpgid(0, 0); os.tcsetpgrp(0, os.getpgrp()) if os.isatty(0) else 0; "
              "os.tcsetpgrp(0, p) if os.isatty(0) else 0")

SHELLS = [
    *[Case(f"I62{letter}", f"a shell: {what}", bwrap=False, play=forges(command, code))
      for letter, what, command, code in FORGERIES],
    Case("I62c", "a shell: a child that prints an end later", play=forges_later("exec"), bwrap=False),
    Case("I62n", "a shell: what it left is replaced", play=forges_state, bwrap=False),
    Case("I62o", "a shell: 32 MiB of ends", play=floods, bwrap=False),
    *[Case(f"I63{letter}", f"a shell on a terminal: {what}", bwrap=False, play=forges(command, code, "pty"))
      for letter, what, command, code in FORGERIES],
    Case("I63c", "a shell on a terminal: a child that prints an end later", play=forges_later("pty"), bwrap=False),
    Case("I63p", "a shell on a terminal: a child takes the foreground and hands it back", bwrap=False,
         play=forges(f"python3 -c '{GIVES_BACK}'; {FORGED}; sleep 0.2; (exit 7)", 7, "pty")),
]

CASES = [
    *[Case(f"C28{letter}", f"a resident against who joins: {what}", play=stays(verb), bwrap=False)
      for letter, what, verb in RESIDENT],
    Case("C28j", "descriptors of the server in a second command", setup=leave_open,
         play=joined_fds, bwrap=False),
    Case("C28k", "a second command whose directory is a descriptor of process 1",
         play=joined_directory, bwrap=False),
    Case("C28l", "a second command that is /proc/self/exe", setup=own_copy, play=through_own_exe,
         bwrap=False),
    Case("C28m", "stop what waits to be the next command", play=process_waits("stop-one"),
         bwrap=False),
    Case("C28n", "kill what waits to be the next command", play=process_waits("kill-one"),
         bwrap=False),
    Case("C28o", "stop every process, again and again", play=stops_all, bwrap=False),
    Case("C28p", "stop every process, and make a protected path meanwhile", bwrap=False,
         play=beside_a_maker(one_by_one)),
    Case("C28q", "make a protected path, and the caller hangs up", bwrap=False,
         play=beside_a_maker(hangs_up)),
    Case("C28r", "make a protected path, with sixty commands that are stopped", bwrap=False,
         play=beside_a_maker(too_many)),
    Case("C28s", "limit and slow down what waits to be the next command", play=process_is_burdened,
         bwrap=False),
    *sorted(SHELLS, key=lambda case: case.id),
]
