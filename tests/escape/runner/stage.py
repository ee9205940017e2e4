# SPDX-License-Identifier: Apache-2.0
"""One attack, once: a scratch directory, what is to be attacked (canaries), and how to run it."""
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

HELD, FAILED, ESCAPED, DONE, ABSENT = 0, 2, 10, 11, 77
REFUSED = 125
SECONDS = 30
BWRAP_SECONDS = 3  # it is there for comparison only
SCRATCH = "/var/tmp"  # not /tmp: inside that is private, and what lies there would be out of reach
OTHER_UID = 23456
# What a kernel says that does not have the thing: ENODEV, ENOSYS, EPROTONOSUPPORT, ESOCKTNOSUPPORT,
# EAFNOSUPPORT.
LACKING = {19, 38, 93, 94, 97}


class Outcome:
    """How one run went: "held", "ESCAPED", "absent" or "error", and why."""

    def __init__(self, word, why=""):
        self.word = word
        self.why = why

    @classmethod
    def of(cls, code, text):
        word = {HELD: "held", DONE: "held", ESCAPED: "ESCAPED", ABSENT: "absent"}.get(code, "error")
        line = text.strip().splitlines()[-1] if text.strip() else "no output"
        if word == "error":
            line = f"status {code}: {line}"
        return cls(word, re.sub(r"^(held|ESCAPED|absent|done): ", "", line)[:160])

    def lacks(self):
        """Whether a control failed because the kernel does not have what is attacked."""
        number = re.search(r"\(errno (\d+)\)", self.why)
        return self.word == "absent" or (number is not None and int(number.group(1)) in LACKING)


class Tools:
    def __init__(self, hutch, attack):
        self.hutch = hutch
        self.attack = attack
        self.bwrap = shutil.which("bwrap")
        self.root = os.geteuid() == 0


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def marked(mark):
    """Processes with this word in their command line or in the name of their program."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                text = file.read().decode(errors="replace")
            if mark in text or mark in os.readlink(f"/proc/{entry}/exe"):
                found.append(int(entry))
        except OSError:
            continue  # ended meanwhile, or not ours
    return found


def eventually(check, seconds=2.0):
    """Whether `check` became true in time. Looks often, so that it takes no longer than needed."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def backwards(text):
    """For words that are looked for in memory or command lines, where our own must not be found."""
    return text[::-1]


class Stage:
    """`who` is "control", "hutch" or "bwrap"."""

    seen = []  # the scratch directories of all stages so far

    def __init__(self, tools, who):
        self.tools = tools
        self.who = who
        self.mark = "m" + uuid.uuid4().hex[:16]
        self.dir = Path(tempfile.mkdtemp(prefix="hutch-escape-", dir=SCRATCH))
        self.dir.chmod(0o755)
        self.seen.append(str(self.dir))
        self.work, self.home, self.out = (self.dir / name for name in ("work", "home", "out"))
        for path in (self.work, self.home, self.out):
            path.mkdir()
        self.out.chmod(0o777)
        self.attack = self.work / "attack"
        shutil.copy(tools.attack, self.attack)
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C"}
        self.vars = {"work": self.work, "out": self.out, "home": self.home, "dir": self.dir,
                     "attack": self.attack, "mark": self.mark, "pid1": 1}
        self.fds = []
        self.checks = []
        self.cleanups = []
        self.result = None  # of hutch, as JSON

    # ---- Canaries: each leaves a check that says what was touched, or nothing

    def file(self, name, text="secret\n", mode=0o666):
        """A file that anybody may write to: when an attack cannot, then not because of its mode."""
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def canary(self, name, text="secret\n", mode=0o666):
        path = self.file(name, text, mode)

        def check():
            try:
                same = path.read_text() == text and stat.S_IMODE(path.stat().st_mode) == mode
            except OSError as error:
                return f"{name}: {error.strerror}"
            return None if same else f"{name} was changed"
        self.checks.append(check)
        return path

    def victim(self, name="victim"):
        """A directory in which nothing may appear."""
        path = self.dir / name
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
        self.checks.append(lambda: f"{name} has {os.listdir(path)}" if os.listdir(path) else None)
        return path

    def never(self, name):
        """A path that must not come into being."""
        path = self.dir / name
        self.checks.append(lambda: f"{name} is there" if os.path.lexists(path) else None)
        return path

    def plain(self, name):
        """A file that may be there at the end, but not with set-id bits."""
        path = self.dir / name

        def check():
            odd = os.path.lexists(path) and os.lstat(path).st_mode & (stat.S_ISUID | stat.S_ISGID)
            return f"{name} has set-id bits" if odd else None
        self.checks.append(check)
        return path

    def _heard(self, server, what):
        server.setblocking(False)

        def check():
            try:
                if server.type in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                    server.accept()[0].close()
                else:
                    server.recv(64)
            except OSError:
                return None
            return f"{what} was reached"
        self.checks.append(check)
        self.cleanups.append(server.close)

    def unix(self, address, kind=socket.SOCK_STREAM):
        """A listening socket of the host; "@name" is abstract."""
        server = socket.socket(socket.AF_UNIX, kind)
        server.bind("\0" + address[1:] if address[0] == "@" else address)
        if address[0] == "/":
            os.chmod(address, 0o777)
        if kind != socket.SOCK_DGRAM:
            server.listen(64)
        self._heard(server, address)

    def inet(self, address, kind=socket.SOCK_STREAM):
        """The port of a listening socket on loopback."""
        server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
        server.bind((address, 0))
        if kind == socket.SOCK_STREAM:
            server.listen(8)
        self._heard(server, f"{address} of the host")
        return server.getsockname()[1]

    def process(self, *argv, env=None, alive=True):
        """A process of the host that must stay alive; its pid."""
        child = self.start(argv or (self.attack, "linger", self.mark), env=env)
        if alive:
            self.checks.append(lambda: "a process of the host was ended"
                               if child.poll() is not None else None)
        return child.pid

    def touched(self):
        return [said for said in (check() for check in self.checks) if said]

    # ---- Running

    def expand(self, args):
        return [str(arg).format_map(self.vars) for arg in args]

    def wrap(self, verb, flags=(), capture=True):
        """The command line that runs the attack inside, for hutch and bwrap."""
        if self.who == "hutch":
            how = ["--json"] if capture else []
            return [self.tools.hutch, "run", *how, "-w", str(self.work), *self.expand(flags), "--",
                    str(self.attack), *self.expand(verb)]
        return [self.tools.bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                "--unshare-all", "--die-with-parent", "--bind", str(self.work), str(self.work),
                "--chdir", str(self.work), str(self.attack), *self.expand(verb)]

    def start(self, argv, env=None, **how):
        """A process that goes on in the background; waits until it says that it is ready."""
        child = subprocess.Popen([str(arg) for arg in argv], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.work,
                                 env={**self.env, **(env or {})}, **how)

        def end():
            child.stdin.close()
            child.kill()
            child.wait()
            child.stdout.close()
        self.cleanups.append(end)
        if child.stdout.readline().strip() != b"ready":
            raise RuntimeError(f"{argv[0]} did not start: {child.poll()}")
        return child

    def run(self, argv, **how):
        """Run to the end; its exit status and what it said."""
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("cwd", self.work)
        # Files in the control: what it leaves behind would hold a pipe open. Inside, pipes: there
        # the supervisor must cope with just that.
        kind = tempfile.TemporaryFile if self.who == "control" else lambda: subprocess.PIPE
        streams = kind(), kind()
        done = subprocess.run([str(arg) for arg in argv], env=self.env, pass_fds=self.fds,
                              stdout=streams[0], stderr=streams[1], check=False,
                              timeout=BWRAP_SECONDS if self.who == "bwrap" else SECONDS, **how)
        out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr)) \
            if self.who != "control" else (self.rewound(file) for file in streams)
        self.said = out + err
        if self.who == "hutch" and out.startswith("{"):
            return self.read_result(out, done)
        return done.returncode, out or self.said

    @staticmethod
    def rewound(file):
        with file:
            file.seek(0)
            return file.read().decode(errors="replace")

    def read_result(self, out, done):
        self.result = json.loads(out)
        error = self.result.get("error")
        if error:
            return done.returncode, error["message"]
        code = self.result["exit_code"]
        if code is None:
            code = 128 + self.signal_number()
        return code, self.result["stdout"] + self.result["stderr"]

    def signal_number(self):
        name = str(self.result["signal"])
        return int(name) if name.isdigit() else getattr(signal, name, signal.SIGKILL).value

    def judge(self, code, text):
        outcome = Outcome.of(code, text)
        touched = self.touched()
        if touched:
            return Outcome("ESCAPED", "; ".join(touched))
        return outcome

    def end_rest(self):
        """SIGKILL for what still runs a program of this stage; whether there was nothing."""
        rest = marked(str(self.dir))
        for pid in rest:
            try:
                if name_of(pid) != "hutch-janitor":  # which ends by itself when it is done
                    os.kill(pid, signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass
        return not rest

    def close(self):
        """End and remove everything that belongs to this run."""
        # Twice nothing: a process that forks all the time may not be seen at once.
        eventually(lambda: self.end_rest() and self.end_rest())
        for cleanup in reversed(self.cleanups):
            cleanup()
        for base, dirs, _ in os.walk(self.dir):
            for name in dirs:
                path = os.path.join(base, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o755)
        shutil.rmtree(self.dir)
