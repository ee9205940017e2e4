# SPDX-License-Identifier: Apache-2.0
"""F: services and secrets of the host, G: load, H: network."""
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time

from case import Case, after
from stage import DONE, ESCAPED, HELD, REFUSED, backwards, eventually, marked

KINDS = {"stream": socket.SOCK_STREAM, "dgram": socket.SOCK_DGRAM,
         "seqpacket": socket.SOCK_SEQPACKET}


# ---- F53 and F54: sockets

def listening(place, kind="stream"):
    def setup(stage):
        stage.vars["sock"] = f"{stage.dir}/{place}/s"
        stage.unix(stage.vars["sock"], KINDS[kind])
    return setup


def named(place):
    """Where services have theirs: /tmp (X11), /run (docker, D-Bus, systemd)."""
    def setup(stage):
        directory = f"{place}/{stage.mark}"
        os.mkdir(directory, 0o755)
        stage.cleanups.append(lambda: shutil.rmtree(directory))
        stage.vars["sock"] = f"{directory}/s"
        stage.unix(stage.vars["sock"])
    return setup


def abstract(kind="stream"):
    def setup(stage):
        stage.vars["sock"] = "@" + stage.mark
        stage.unix(stage.vars["sock"], KINDS[kind])
    return setup


def agent_socket(stage):
    (stage.home / ".gnupg").mkdir()
    stage.vars["sock"] = f"{stage.home}/.gnupg/S.gpg-agent"
    stage.env["SSH_AUTH_SOCK"] = stage.vars["sock"]
    stage.unix(stage.vars["sock"])


def two_sandboxes(stage):
    """The second looks for an abstract socket of the first."""
    name = "@" + stage.mark
    listen = ["unix-listen", name]
    if stage.who == "control":
        stage.start([stage.attack, *listen])
        return stage.run([stage.attack, "unix-connect", name])
    stage.start(stage.wrap(listen, (), False))
    return stage.run(stage.wrap(["unix-connect", name]))


# ---- F55: IPC

def ipc(stage):
    key = secrets.randbelow(1 << 30) + 1
    stage.vars["key"] = key
    stage.run([stage.tools.attack, "ipc-make", str(key)])
    stage.cleanups.append(lambda: stage.run([stage.tools.attack, "ipc-drop", str(key)]))


def queue(stage):
    stage.vars["queue"] = "/" + stage.mark
    code, text = stage.run([stage.tools.attack, "queue-make", stage.vars["queue"]])
    if code:
        raise OSError(text)
    stage.cleanups.append(
        lambda: stage.run([stage.tools.attack, "queue-drop", stage.vars["queue"]]))


def shared_memory(stage):
    path = f"/dev/shm/{stage.mark}"
    with open(path, "w", encoding="utf-8") as file:
        file.write("secret\n")
    os.chmod(path, 0o666)
    stage.vars["shm"] = path
    stage.cleanups.append(lambda: os.unlink(path))


# ---- F56: signals

def run_sibling(stage):
    """One sandbox tries to end the other's processes, by every number there is."""
    victim = ["linger", stage.mark]
    argv = [stage.attack, *victim] if stage.who == "control" else stage.wrap(victim, (), False)
    child = stage.start(argv)
    stage.checks.append(lambda: "the other sandbox was ended" if child.poll() is not None else None)
    if stage.who == "control":
        code, text = stage.run([stage.attack, "kill-one", str(child.pid)])
        eventually(lambda: child.poll() is not None)
        return code, text
    code, text = stage.run(stage.wrap(["kill-everything", str(child.pid)]))
    return (HELD, text) if code == 42 else (code, text)


# ---- F57: keys

def run_key(stage):
    verb = ["key-find", stage.mark]
    inner = [stage.attack, *verb] if stage.who == "control" else stage.wrap(verb)
    return stage.run([stage.attack, "key-with", stage.mark, *inner])


# ---- F58: environment and files

TOKENS = ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY", "SSH_AUTH_SOCK",
          "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "LD_PRELOAD", "LD_LIBRARY_PATH",
          "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "GIT_ASKPASS"]
ALLOWED = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM",
           "COLORTERM", "NO_COLOR", "PWD", "TMPDIR", "HUTCH"]


def tokens(stage):
    word = "tok" + secrets.token_hex(12)
    stage.env.update({name: word for name in TOKENS})
    stage.env["LD_PRELOAD"] = ""
    stage.env["EXTRA_" + word] = word
    stage.vars["word"] = backwards(word)


HOME_SECRETS = [".ssh/id_ed25519", ".gnupg/private-keys-v1.d/k", ".aws/credentials", ".kube/config",
                ".docker/config.json", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
                ".config/gh/hosts.yml", ".config/gcloud/credentials.db", ".cargo/credentials.toml",
                ".local/share/keyrings/login.keyring", ".mozilla/firefox/p/logins.json",
                ".config/google-chrome/Default/Cookies", ".password-store/x.gpg",
                ".azure/token.json", ".config/containers/auth.json", ".config/rclone/rclone.conf",
                ".yarnrc.yml", ".config/pip/pip.conf", ".m2/settings.xml", ".gem/credentials",
                ".local/share/kwalletd/kdewallet.kwl", ".claude/.credentials.json",
                ".codex/auth.json", "snap/firefox/common/.mozilla/firefox/p/logins.json",
                ".config/BraveSoftware/Brave-Browser/Default/Cookies",
                ".config/microsoft-edge/Default/Cookies"]
HISTORY = [".bash_history", ".zsh_history", ".python_history", ".node_repl_history",
           ".local/share/fish/fish_history", ".psql_history", ".mysql_history"]
WORKSPACE_SECRETS = [".env"]


def secret_files(base, names):
    def setup(stage):
        for name in names:
            stage.file(f"{base}/{name}", mode=0o644)
    return setup


def read_case(number, what, base, names):
    return Case(number, what, ["read-any", *(f"{{{base}}}/{name}" for name in names)],
                setup=secret_files(base, names))


def root_only_file(stage):
    """A file that only root may read: a root caller's sandbox is not root."""
    stage.file("out/shadow", mode=0o600)


STARTUP = [".bashrc", ".profile", ".bash_profile", ".zshrc"]


def home_workspace(stage):
    """The workspace is the home directory."""
    stage.env["HOME"] = str(stage.work)
    for name in STARTUP:
        stage.canary(f"work/{name}", "# mine\n", 0o644)


# What runs when a shell, an editor or an agent starts.
HOME_STARTUP = [".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile",
                ".zlogin", ".vimrc", ".gitconfig", ".claude/settings.json", ".codex/config.toml",
                ".cursor/mcp.json", ".config/git/config", ".config/fish/config.fish",
                ".config/nvim/init.lua"]


def startup_there(stage):
    for name in HOME_STARTUP:
        stage.canary(f"home/{name}", "# mine\n")


def startup_missing(stage):
    for name in HOME_STARTUP:
        (stage.home / name).parent.mkdir(parents=True, exist_ok=True)
        stage.never(f"home/{name}")


AGENTS = [".codex", ".gemini", ".aider.conf.yml", ".claude", ".cursor", ".mcp.json"]


def agents_missing(stage):
    for name in AGENTS:
        stage.never(f"work/{name}")


def editor_settings(stage):
    stage.canary("work/.vscode/settings.json", "{}\n")
    stage.canary("work/.vscode/tasks.json", "{}\n")


# ---- G: load

def survivors(stage):
    def check():
        eventually(lambda: bool(marked(stage.mark)) == (stage.who == "control"))
        left = marked(stage.mark)
        return f"{len(left)} processes outlived it" if left else None
    stage.checks.append(check)


def run_load(stage):
    """It ends with a result, whatever limit it ran into, and leaves nothing. The control has no end."""
    if stage.who == "control":
        return stage.run([stage.attack, "fork-bomb", "20", stage.mark])
    code, text = stage.run(stage.wrap(["fork-bomb", "300", "{mark}"]))
    if stage.who == "hutch" and stage.result["reason"] not in ("exited", "processes"):
        return 1, f"reason {stage.result['reason']}"
    return code, text


# Run a command and write down how large its largest process was.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


def run_output(stage):
    """64 MiB of output: the supervisor keeps to its limit and says so."""
    verb = ["print-much", "64"]
    if stage.who == "control":
        _, text = stage.run([stage.attack, *verb])
        return (ESCAPED, "all of it is in memory") if len(text) >= 64 << 20 else (HELD, "")
    # A process begins with the peak of the one it was started from: not this one, which has grown.
    peak = stage.dir / "peak"
    stage.run([sys.executable, "-c", MEASURE, str(peak), *stage.wrap(verb)])
    result = stage.result
    if not result["truncated"] or len(result["stdout"]) > 2 << 20 or result["exit_code"] != 0:
        return 1, f"truncated {result['truncated']}, {len(result['stdout'])} bytes"
    kib = int(peak.read_text())
    return (HELD, f"cut at the limit, {kib} KiB") if kib < 32 << 10 else (ESCAPED, f"{kib} KiB")


def run_input(stage):
    """Input that nobody reads must not hold the supervisor up."""
    argv = ["sleep", "0.3"] if stage.who == "control" else stage.wrap(["exit-with", "0"])
    begin = time.monotonic()
    with open(stage.dir / "big", "wb") as file:
        file.truncate(8 << 20)
    if stage.who == "control":
        with subprocess.Popen(argv, stdin=subprocess.PIPE) as child:
            os.set_blocking(child.stdin.fileno(), False)
            wrote = os.write(child.stdin.fileno(), bytes(8 << 20))
            child.kill()
            return (ESCAPED, f"blocks after {wrote} bytes") if wrote < 8 << 20 else (HELD, "")
    code, text = stage.run(["sh", "-c", f"cat {stage.dir}/big | " + " ".join(argv)])
    return (code, text) if time.monotonic() - begin < 5 else (ESCAPED, "held up")


def run_spin(stage):
    verb = ["spin", "4", stage.mark]
    if stage.who == "control":
        script = f"{stage.attack} {' '.join(verb)} & exit 0"
        return stage.run(["timeout", "0.2", "sh", "-c", script])
    stage.run(stage.wrap(verb, ["--timeout", "300ms"]))
    reason = stage.result["reason"]
    return (HELD, "ended by the time limit") if reason == "timeout" else (1, reason)


def over(flags, verb, held):
    """More than a limit allows is not to be had; `held` says so of a result."""
    def play(stage):
        if stage.who == "control":
            code, text = stage.run([stage.attack, *verb])
            return (ESCAPED, text) if code == DONE else (code, text)
        stage.run(stage.wrap(verb, flags))
        what = f"reason {stage.result['reason']}: {stage.result['stdout'].strip()}"
        return (HELD if held(stage.result) else ESCAPED), what
    return play


def refused(flags, control_flags=()):
    """Something that cannot be enforced yet is refused before anything runs."""
    def play(stage):
        ran = stage.never("work/said")
        flags_now = control_flags if stage.who == "control" else flags
        code, text = stage.run([stage.tools.hutch, "run", "-w", stage.work, *flags_now, "--",
                                stage.attack, "write-file", ran])
        if stage.who == "control":
            return code, text
        return (HELD, text) if code == REFUSED else (ESCAPED, f"status {code}: {text}")
    return play


# ---- H: network

def tcp_service(address, kind=socket.SOCK_STREAM):
    def setup(stage):
        stage.vars["port"] = stage.inet(address, kind)
    return setup


FAR = ["1.1.1.1", "8.8.8.8", "169.254.169.254", "10.0.2.2", "192.168.0.1", "172.17.0.1"]


CASES = [
    Case("F53a", "connect to a socket of the host", ["unix-connect", "{sock}"],
         setup=listening("out")),
    Case("F53b", "connect to a socket in the workspace", ["unix-connect", "{sock}"],
         setup=listening("work")),
    Case("F53c", "connect to a socket in a read-only grant", ["unix-connect", "{sock}"],
         setup=listening("out"), flags=["--read", "{out}"]),
    Case("F53d", "connect to a socket in a writable grant", ["unix-connect", "{sock}"],
         setup=listening("out"), flags=["--write", "{out}"], bwrap=False),
    Case("F53e", "connect to a socket in the home directory", ["unix-connect", "{sock}"],
         setup=listening("home")),
    Case("F53f", "connect by a relative name", ["unix-by", "relative", "{sock}"],
         setup=listening("out")),
    Case("F53g", "connect by a link", ["unix-by", "link", "{sock}"], setup=listening("work")),
    Case("F53h", "connect by a descriptor in /proc", ["unix-by", "magic", "{sock}"],
         setup=listening("work")),
    Case("F53i", "connect to a seqpacket socket", ["unix-connect", "{sock}"],
         setup=listening("work", "seqpacket")),
    *[Case(f"F53{letter}", f"{how} to a datagram socket", ["unix-send", how, "{sock}"],
           setup=listening("work", "dgram"))
      for letter, how in zip("jkl", ("sendto", "sendmsg", "sendmmsg"))],
    Case("F53m", "connect to a datagram socket", ["unix-connect", "{sock}"],
         setup=listening("work", "dgram")),
    Case("F53n", "connect with the host's network", ["unix-connect", "{sock}"],
         setup=listening("work"), flags=["--net", "host"], bwrap=False),
    Case("F53o", "connect to a socket in /tmp, as X11 has", ["unix-connect", "{sock}"],
         setup=named("/tmp")),
    Case("F53p", "connect to a socket in /run, as services have", ["unix-connect", "{sock}"],
         setup=named("/run"), root=True),
    Case("F53q", "connect to a socket of an agent for keys", ["unix-connect", "{sock}"],
         setup=agent_socket),
    *[Case(f"F53{letter}", f"{how} from a pair to a datagram socket", ["pair-send", how, "{sock}"],
           setup=listening("work", "dgram"))
      for letter, how in zip("rstu", ("sendto", "sendmsg", "sendmmsg", "connect"))],
    Case("F54a", "abstract socket", ["unix-connect", "{sock}"], setup=abstract()),
    Case("F54b", "abstract datagram socket", ["unix-send", "sendto", "{sock}"],
         setup=abstract("dgram")),
    Case("F54c", "abstract socket with the host's network", ["unix-connect", "{sock}"],
         setup=abstract(), flags=["--net", "host"], bwrap=False),
    Case("F54d", "abstract datagram with the host's network", ["unix-send", "sendmsg", "{sock}"],
         setup=abstract("dgram"), flags=["--net", "host"], bwrap=False),
    Case("F54e", "abstract socket of another sandbox", play=two_sandboxes),
    Case("F54f", "abstract datagram from a pair with the host's network",
         ["pair-send", "sendto", "{sock}"], setup=abstract("dgram"), flags=["--net", "host"],
         bwrap=False),
    Case("F55a", "System V shared memory", ["ipc-find", "shm", "{key}"], setup=ipc),
    Case("F55b", "System V semaphores", ["ipc-find", "sem", "{key}"], setup=ipc),
    Case("F55c", "System V message queue", ["ipc-find", "msg", "{key}"], setup=ipc),
    Case("F55d", "POSIX message queue", ["queue-find", "{queue}"], setup=queue),
    Case("F55e", "POSIX shared memory", ["read-file", "{shm}"], setup=shared_memory),
    Case("F56", "signals to another sandbox", play=run_sibling),
    Case("F57a", "key in the caller's session keyring", play=run_key),
    Case("F57b", "leave a key in the user's keyring", ["key-make", "{mark}"]),
    Case("F58a", "tokens in the environment", ["env-has", *TOKENS], setup=tokens),
    Case("F58b", "environment beyond the profile's list", ["env-only", *ALLOWED], setup=tokens),
    Case("F58c", "a token anywhere in memory", ["memory-has", "{word}"], setup=tokens),
    read_case("F58d", "credentials in the home directory", "home", HOME_SECRETS),
    read_case("F58e", "histories in the home directory", "home", HISTORY),
    read_case("F58f", "the workspace's .env", "work", WORKSPACE_SECRETS),
    Case("F58g", "files that only root may read", ["read-file", "{out}/shadow"], root=True,
         setup=root_only_file, bwrap=False),
    Case("F58h", "/etc/shadow", ["read-file", "/etc/shadow"], control_root=True, bwrap=False),
    *[Case(f"F58{letter}", f"shell start-up file {name} where the workspace is the home directory",
           ["change", name], setup=home_workspace, bwrap=False)
      for letter, name in zip("ijkl", STARTUP)],
    Case("F58m", "settings of an editor", ["change", ".vscode/settings.json"],
         setup=editor_settings, bwrap=False),
    Case("F58n", "tasks of an editor", ["change", ".vscode/tasks.json"], setup=editor_settings,
         bwrap=False),
    Case("F58o", "start-up files where the home directory may be written to",
         ["write-any", *(f"{{home}}/{name}" for name in HOME_STARTUP)], setup=startup_there,
         flags=["--write", "{home}"], bwrap=False),
    Case("F58p", "the same where they are missing",
         ["make-all", *(f"{{home}}/{name}" for name in HOME_STARTUP)], setup=startup_missing,
         flags=["--write", "{home}"], bwrap=False),
    Case("F58q", "settings of agents that are missing", ["make-all", *AGENTS], setup=agents_missing,
         bwrap=False),
    Case("G59a", "300 processes that stay", setup=survivors, play=run_load),
    Case("G59b", "300 threads", ["thread-bomb", "300"]),
    Case("G59c", "more memory than the limit, by many that have little", bwrap=False,
         play=over(["--memory", "64M"], ["share-memory", "8", "32"],
                   lambda result: result["reason"] == "memory" or result["exit_code"] == HELD)),
    Case("G59d", "thousands of descriptors", ["use-descriptors", "4000"]),
    Case("G59e", "64 MiB of output", play=run_output, bwrap=False),
    Case("G59f", "input that is never read", play=run_input, bwrap=False),
    Case("G59g", "every processor, deaf to signals", setup=survivors, play=run_spin, bwrap=False),
    Case("G59h", "more memory than the limit", bwrap=False,
         play=over(["--memory", "64M"], ["use-memory", "256"],
                   lambda result: result["reason"] == "memory" or "refused" in result["stdout"])),
    Case("G59i", "more threads than the limit", bwrap=False,
         play=over(["--processes", "10"], ["thread-bomb", "30"],
                   lambda result: int(result["stdout"].split()[1]) < 10)),
    Case("H60a", "a TCP service on the host's loopback", ["tcp", "127.0.0.1", "{port}"],
         setup=tcp_service("127.0.0.1")),
    Case("H60b", "the same by IPv6", ["tcp", "::1", "{port}"], setup=tcp_service("::1")),
    Case("H60c", "a UDP service on the host's loopback", ["udp", "127.0.0.1", "{port}"],
         setup=tcp_service("127.0.0.1", socket.SOCK_DGRAM)),
    Case("H60d", "TCP with fast open", ["fast-open", "127.0.0.1", "{port}"],
         setup=tcp_service("127.0.0.1")),
    Case("H60e", "the same by an IPv4 address in IPv6", ["tcp", "::ffff:127.0.0.1", "{port}"],
         setup=tcp_service("127.0.0.1")),
    Case("H60f", "routes to the world, metadata and gateways", ["routes", *FAR],
         control=after("routed")),
    Case("H60g", "network devices of the host", ["devices"]),
    Case("H61a", "network mode 'allow' is refused while it cannot be enforced", bwrap=False,
         play=refused(["--net", "allow"], ["--net", "host"])),
    Case("H61b", "a list of allowed hosts is refused while it cannot be enforced", bwrap=False,
         play=refused(["--allow-host", "registry.example:443"])),
    Case("H61c", "an allowed host with a NUL-like name is refused", bwrap=False,
         play=refused(["--net", "allow", "--allow-host", "evil.example%00.registry.example"])),
]
