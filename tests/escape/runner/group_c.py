# SPDX-License-Identifier: Apache-2.0
"""C: process 1, the supervisor, lifetime, results, the terminal. C28 is with the shells."""
import contextlib
import hashlib
import os
import pty
import random
import resource
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

from case import Case, after
from stage import DONE, ESCAPED, HELD, eventually, marked

WORD = "hutch-escape-secret"


# ---- C24 and C25: process 1 inside; outside, a process of ours stands for it

def host_process(stage):
    stage.env["ESCAPE_SECRET"] = WORD
    stage.vars["pid"] = stage.process()


def on_process(number, what, verb, violation=""):
    """`verb` with the pid of process 1 inside, and of a process of ours in the control."""
    return Case(number, what, [verb[0], "1", *verb[1:]], setup=host_process,
                control_verb=[verb[0], "{pid}", *verb[1:]], violation=violation)


# ---- C26: exit status

def run_forged(how, naive):
    def play(stage):
        argv = [stage.attack, naive, how] if stage.who == "control" else stage.wrap([how])
        code, _ = stage.run(argv)
        return (HELD, "status 3 as it was") if code == 3 else (ESCAPED, f"status 3 became {code}")
    return play


# ---- C27: the program that runs us

def own_copy(stage):
    """hutch, installed where its user can write to it; in the control a copy of the attacker."""
    source = stage.tools.hutch if stage.who == "hutch" else stage.tools.attack
    path = stage.dir / "installed"
    with open(source, "rb") as file:
        path.write_bytes(file.read())
    path.chmod(0o777)
    digest = hashlib.sha256(path.read_bytes()).digest()
    stage.checks.append(lambda: "the installed program was changed"
                        if hashlib.sha256(path.read_bytes()).digest() != digest else None)
    stage.vars["installed"] = path


def run_overwrite(stage):
    path = stage.vars["installed"]
    if stage.who == "control":
        pid = stage.process(path, "linger", stage.mark, alive=False)
        return stage.run([stage.attack, "overwrite-binary", str(pid), path])
    argv = stage.wrap(["overwrite-binary", "1", "{installed}"])
    if stage.who == "hutch":
        argv[0] = str(path)
    return stage.run(argv)


def run_as_interpreter(stage):
    """A script whose interpreter is the program that starts it (CVE-2019-5736)."""
    path = stage.vars["installed"]
    if stage.who == "control":
        return run_overwrite(stage)
    script = stage.work / "script"
    script.write_text("#!/proc/self/exe\n")
    script.chmod(0o755)
    argv = stage.wrap([])
    argv[0] = str(path)
    argv[argv.index(str(stage.attack))] = str(script)
    code, text = stage.run(argv)
    return (ESCAPED, f"ran hutch inside: {text}") if code == 0 else (HELD, f"status {code}")


# ---- C29: descriptors

def leave_open(stage):
    """What a careless caller has open: a directory, a file, sockets, memory, a process."""
    kinds = [os.open("/", os.O_RDONLY), os.open(stage.file("out/f"), os.O_RDWR),
             os.memfd_create("canary"), os.pidfd_open(os.getpid()), *os.pipe()]
    pair = socket.socketpair()
    stage.fds = kinds + [end.detach() for end in pair]
    high = os.dup2(kinds[0], 300)
    stage.fds.append(high)
    stage.cleanups.append(lambda: [os.close(fd) for fd in stage.fds])


def run_with_file(name, flags):
    """A standard stream that is a file of the host."""
    def play(stage):
        path = stage.canary("out/stream", "the caller's own\n")
        with open(path, "r+b") as file:
            file.seek(0, os.SEEK_END)
            verb = ["smash-stdio"]
            argv = [stage.attack, *verb] if stage.who == "control" else stage.wrap(verb, (), False)
            done = subprocess.run(argv, env=stage.env, cwd=stage.work, timeout=20, check=False, **{
                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                   "stderr": subprocess.DEVNULL}, name: file})
        return (HELD if done.returncode in (HELD, DONE) else done.returncode), ""
    return play


# ---- C30 and C31: what must not outlive the run

def names_of(pids):
    """What they are, and what they wait for."""
    names = []
    for pid in pids:
        with contextlib.suppress(OSError):
            comm, where = (Path(f"/proc/{pid}/{file}").read_text().strip()
                           for file in ("comm", "wchan"))
            names.append(f"{comm} ({where})")
    return ", ".join(names)


def no_survivors(stage):
    def check():
        left = []

        def settled():
            left[:] = marked(stage.mark)
            return bool(left) == (stage.who == "control")

        # In the control, until there is one: it may be about to fork, and a look at all processes does
        # not see what is forked meanwhile. Else, until there is none. Long: sixty of them end at once,
        # beside whatever else the machine does. What bwrap leaves, it leaves for good.
        eventually(settled, 1 if stage.who == "bwrap" else 10)
        return f"{len(left)} processes outlived it: {names_of(left)}" if left else None
    stage.checks.append(check)


def run_killed(stage):
    """SIGKILL for whoever started it, at any moment of the first milliseconds."""
    verb = ["outlast", stage.mark]
    if stage.who == "control":
        child = stage.start(["/bin/sh", "-c", f"{stage.attack} {' '.join(verb)} & wait"])
        child.kill()
        return HELD, ""
    for _ in range(60):
        with subprocess.Popen(stage.wrap(verb, (), False), env=stage.env, cwd=stage.work,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as child:
            select.select([], [], [], random.uniform(0, 0.008))
            child.kill()
    return HELD, "nothing lives after 60 kills"


def no_heartbeat(stage):
    """A process that is never there for long writes to a file as long as it goes on."""
    def check():
        path = stage.work / "beat"
        first = path.read_bytes()
        return "it goes on" if eventually(lambda: path.read_bytes() != first, 0.05) else None
    stage.checks.append(check)


def leave(letter, kind, what):
    return Case(f"C31{letter}", what, ["leave", kind, "{mark}"],
                setup=no_heartbeat if kind == "racing" else no_survivors)


def run_timeout(stage):
    verb = ["outlast", stage.mark]
    if stage.who == "control":
        # timeout(1) sends a signal that can be ignored, and ends with the first process.
        script = f"{stage.attack} {' '.join(verb)} & exit 0"
        return stage.run(["timeout", "0.2", "sh", "-c", script])
    begin = time.monotonic()
    argv = stage.wrap(verb, ["--timeout", "200ms"]) if stage.who == "hutch" else \
        ["timeout", "0.2", *stage.wrap(verb)]
    stage.run(argv)
    took = time.monotonic() - begin
    reason = (stage.result or {}).get("reason", "timeout")
    if reason != "timeout":
        return 1, f"reason {reason}"
    return (HELD, f"ended after {took * 1000:.0f} ms") if took < 10 else (ESCAPED, f"{took:.1f} s")


# ---- C32 to C36

def run_kill_all(stage):
    pid = stage.process()
    if stage.who == "control":
        return stage.run([stage.attack, "kill-one", str(pid)])
    code, text = stage.run(stage.wrap(["kill-everything", str(pid)]))
    return (HELD, text) if code == 42 else (ESCAPED, f"the result is {code}, not 42")


STATUSES = (0, 1, 2, 77, 124, 125, 126, 127, 128, 137, 139, 255)
SIGNALS = (1, 2, 3, 6, 9, 11, 13, 14, 15, 24, 31, 34, 64)


def run_statuses(stage):
    """The command's own 124, 125, 137 and signals are not those of the supervisor."""
    if stage.who == "control":
        code, _ = stage.run(["timeout", "5", stage.attack, "exit-with", "124"])
        return (ESCAPED, "124 is a timeout or is not") if code == 124 else (HELD, str(code))
    wanted = [(["exit-with", str(n)], "exited", n) for n in STATUSES]
    wanted += [(["die-by", str(n)], "signaled", None) for n in SIGNALS]
    for verb, reason, code in wanted:
        stage.run(stage.wrap(verb))
        if stage.result["reason"] != reason or stage.result["exit_code"] != code:
            return ESCAPED, f"{verb} gave {stage.result['reason']} {stage.result['exit_code']}"
    return HELD, f"{len(wanted)} ways to end told apart"


def odd_caller(**how):
    """Run with something odd about the caller."""
    def play(stage):
        verb = ["inherited-state"]
        argv = [stage.attack, *verb] if stage.who == "control" else stage.wrap(verb)
        return stage.run(argv, **how)
    return play


def block_and_ignore():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD])
    os.umask(0o777)


def run_without_stdio(stage):
    """0, 1 and 2 are closed: what the supervisor opens first must not become them inside."""
    argv = stage.wrap(["write-file", "said"], (), False)
    if stage.who == "control":
        argv = [stage.attack, "smash-stdio"]
        stage.canary("out/first")
    text = " ".join(f"'{arg}'" for arg in argv)
    first = f"exec 3<>{stage.out}/first; " if stage.who == "control" else ""
    code, _ = stage.run(["sh", "-c", f"{first}exec 0<&- 1>&- 2>&-; exec {text}"
                         + (" 1>&3" if first else "")])
    if stage.who == "control":
        return code, ""
    said = stage.work / "said"
    return (HELD, f"status {code}") if said.exists() and said.read_text() == "pwned\n" \
        else (code or 1, "did not run")


def run_without_cwd(stage):
    gone = stage.dir / "gone"
    gone.mkdir()
    if stage.who == "control":
        return stage.run(["sh", "-c", f"cd {gone}; rmdir {gone}; {stage.attack} cwd-reaches x"])
    text = " ".join(f"'{arg}'" for arg in stage.wrap(["cwd-reaches", "x"]))
    return stage.run(["sh", "-c", f"cd {gone}; rmdir {gone}; exec {text}"])


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))


def no_core(stage):
    def check():
        cores = [name for name in os.listdir(stage.work) if name.startswith("core")]
        return f"left {cores}" if cores else None
    stage.checks.append(check)


# ---- C37 and C38: the terminal

def on_terminal(verb, flags=()):
    """On a terminal of ours: what was typed into it, or written to it, is seen at our end."""
    def play(stage):
        argv = [stage.attack, *verb] if stage.who == "control" else stage.wrap(verb, flags, False)
        pid, end = pty.fork()
        if pid == 0:
            os.chdir(stage.work)
            os.execve(str(argv[0]), [str(arg) for arg in argv], stage.env)
        text = b""
        try:
            while chunk := os.read(end, 4096):
                text += chunk
        except OSError:
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(end)
        text = text.decode(errors="replace")
        return (ESCAPED if text.startswith("X") or "pwned" in text else code), text
    return play


ESC = "\x1b]52;c;cHduZWQ=\x07"


def run_odd_command(stage):
    """A command whose name a terminal would act on, in what the supervisor itself says."""
    if stage.who == "control":
        stage.run(["sh", "-c", f"'{ESC}'"])
    else:
        argv = stage.wrap([], (), False)
        argv[argv.index(str(stage.attack))] = ESC
        stage.run(argv)
    return (ESCAPED, "an escape sequence was printed") if "\x1b" in stage.said else (HELD, "quoted")


def run_odd_name(stage):
    if stage.who == "control":
        stage.run(["sh", "-c", f"printf '{ESC}'"])
        return (ESCAPED, "printed as it is") if "\x1b" in stage.said else (HELD, "")
    stage.run(stage.wrap(["odd-name"], (), False))
    raw = "\x1b" in stage.said
    stage.run(stage.wrap(["odd-name"], ["--events", "-"]))
    raw = raw or "\x1b" in stage.said
    return (ESCAPED, "an escape sequence was printed") if raw else (HELD, "quoted")


def run_captured(stage):
    argv = stage.wrap([])
    if stage.who == "control":
        argv = []
    else:
        argv[argv.index(str(stage.attack))] = "/usr/bin/printf"
    stage.run([*argv, ESC] if argv else ["printf", ESC])
    return (ESCAPED, "raw") if "\x1b" in stage.said else (HELD, "the JSON text has it escaped")


CASES = [
    on_process("C24a", "the caller's environment in process 1", ["proc-text", "environ", WORD]),
    on_process("C24b", "the policy in the arguments of process 1",
               ["proc-text", "cmdline", "{mark}"]),
    on_process("C24c", "memory layout of process 1", ["proc-bytes", "maps"]),
    on_process("C24d", "auxiliary vector of process 1", ["proc-bytes", "auxv"]),
    on_process("C25a", "memory of process 1", ["open-memory"]),
    on_process("C25b", "root, cwd, exe and fd of process 1", ["follow-links"]),
    on_process("C25c", "trace process 1", ["attach"]),
    on_process("C25d", "read memory of process 1", ["read-memory"]),
    on_process("C25e", "write memory of process 1", ["write-memory"]),
    on_process("C25f", "take descriptors of process 1", ["steal-fd"]),
    on_process("C25g", "compare with process 1", ["compare"]),
    on_process("C25h", "limits of process 1", ["set-limits"]),
    on_process("C25i", "make process 1 wait for all others", ["set-schedule"]),
    Case("C26a", "forge the exit status by stolen descriptors",
         play=run_forged("forge-exit", "naive-init")),
    Case("C26b", "forge the exit status by a brother",
         play=run_forged("sibling-exit", "naive-wait")),
    Case("C27a", "overwrite the program that runs us", setup=own_copy, play=run_overwrite,
         bwrap=False),
    Case("C27b", "a script with /proc/self/exe as interpreter", setup=own_copy,
         play=run_as_interpreter, bwrap=False),
    Case("C29a", "descriptors that the caller left open", ["extra-fds"], setup=leave_open),
    Case("C29b", "standard output is a file of the host", play=run_with_file("stdout", ())),
    Case("C29c", "standard input is a file of the host", play=run_with_file("stdin", ())),
    Case("C29d", "standard error is a file of the host", play=run_with_file("stderr", ())),
    Case("C30", "SIGKILL for the supervisor, 60 times", setup=no_survivors, play=run_killed),
    leave("a", "daemon", "outlive the run: daemon that ignores signals"),
    leave("b", "stopped", "outlive the run: stopped"),
    leave("c", "vforked", "outlive the run: blocked in vfork"),
    leave("d", "traced", "outlive the run: stopped by a tracer"),
    leave("e", "racing", "outlive the run: forking all the time"),
    Case("C31f", "outlive the time limit", setup=no_survivors, play=run_timeout),
    Case("C32", "kill everything, process 1 too", play=run_kill_all),
    Case("C33", "exit statuses that look like the supervisor's", play=run_statuses, bwrap=False),
    Case("C34", "2000 orphans", ["orphans", "2000"], control=after("lazy-init"),
         control_verb=["orphans", "1000"],
         bwrap=lambda stage, verb: stage.wrap(["orphans", "1000"])),
    Case("C35a", "ignored and blocked signals of the caller",
         play=odd_caller(preexec_fn=block_and_ignore)),
    Case("C35b", "caller without standard streams", play=run_without_stdio, bwrap=False),
    Case("C35c", "caller whose directory is gone", play=run_without_cwd),
    Case("C35d", "caller with 16 descriptors", ["extra-fds"], bwrap=False, setup=leave_open,
         refusal=True, play=lambda stage: stage.run(
             [stage.attack, "extra-fds"] if stage.who == "control" else stage.wrap(["extra-fds"]),
             preexec_fn=few_files)),
    Case("C36a", "leave a core file", ["dump-core"], setup=no_core),
    Case("C36b", "give a core to the host's handler", ["core-to-program"]),
    Case("C37a", "type into the caller's terminal", play=on_terminal(["type-ahead", "low"])),
    Case("C37b", "the same with a bit above the 32nd", play=on_terminal(["type-ahead", "high"])),
    Case("C37c", "TIOCLINUX", play=on_terminal(["paste"]), violation=""),
    Case("C37d", "line discipline of the caller's terminal", play=on_terminal(["line-discipline"])),
    Case("C37e", "the caller's terminal by /dev/tty", play=on_terminal(["controlling-terminal"])),
    Case("C37f", "standard streams are the caller's terminal", play=on_terminal(["is-terminal"])),
    Case("C37g", "type into a terminal of one's own (--tty)", bwrap=False,
         play=on_terminal(["type-ahead", "low"], ["--tty"])),
    Case("C38a", "escape sequence in the name of a command", play=run_odd_command, bwrap=False),
    Case("C38b", "escape sequence in the name of a process", play=run_odd_name, bwrap=False),
    Case("C38c", "escape sequence in captured output", play=run_captured, bwrap=False),
]
