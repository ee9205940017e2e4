# SPDX-License-Identifier: Apache-2.0
"""A: paths that the trusted side touches while it sets up, protects or hides."""
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import time

from case import Case, naive, own_ns
from server import Server
from stage import DONE, ESCAPED, HELD, REFUSED


# ---- A1 to A4: the workspace is the root directory, and was left full of links by an earlier run

def planted(link, target):
    """A link in the workspace where hutch needs a directory, to a place outside."""
    def setup(stage):
        stage.victim()
        path = stage.work / link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target.format(dir=stage.dir))
        stage.vars["link"] = link
    return setup


@naive
def make_by_name(stage):
    """As a tool does that makes its mount points by name."""
    os.makedirs(stage.work / stage.vars["link"] / "made")


@naive
def make_in_oldroot(stage):
    """As bwrap did before 0.12: it makes mount points while the host is at /oldroot."""
    if stage.tools.bwrap:
        stage.run(bwrap_root(stage, ["exit-with", "0"]))
    if not os.listdir(stage.dir / "victim"):
        os.makedirs(os.readlink(stage.work / stage.vars["link"])[len("/oldroot"):] + "/made")


def bwrap_root(stage, verb):
    """The workspace as root, with bwrap."""
    return [stage.tools.bwrap, "--bind", stage.work, "/", "--ro-bind", "/usr", "/usr", "--proc",
            "/proc", "--dev", "/dev", "--tmpfs", f"/{stage.vars['link']}/made", "/attack", *verb]


def run_in_root(stage):
    if stage.who == "bwrap":
        return stage.run(bwrap_root(stage, stage.expand(["write-file", "/{link}/pwned"])))
    argv = stage.wrap(["write-file", "/{link}/pwned"], ["--layout", "root"])
    argv[argv.index(str(stage.attack))] = "/attack"
    code, text = stage.run(argv)
    # Inside, the link leads nowhere or into the sandbox: only the victim tells.
    return (REFUSED if code == REFUSED else HELD), text


def in_root(number, what, link, target):
    return Case(number, what, setup=planted(link, target), control=make_by_name, play=run_in_root,
                refusal=True)


def fake_null(stage):
    stage.canary("victim", "kernel setting\n")
    stage.file("work/secret", "hidden\n")
    (stage.work / "dev").mkdir()
    (stage.work / "dev/null").symlink_to("../../victim")


def run_masked(stage):
    if stage.who == "control":
        return stage.run(own_ns(stage, ["mask-by-name", f"{stage.work}/dev/null",
                                        f"{stage.work}/secret"]))
    argv = stage.wrap(["read-file", "/secret"], ["--layout", "root", "--hide", "{work}/secret"])
    argv[argv.index(str(stage.attack))] = "/attack"
    return stage.run(argv)


def fake_proc(stage):
    for name in ("uid_map", "gid_map", "setgroups", "attr/exec"):
        stage.canary(f"work/proc/self/{name}", "fake\n")


@naive
def write_fake_proc(stage):
    (stage.work / "proc/self/uid_map").write_text("0 1000 1\n")


def run_fake_proc(stage):
    argv = stage.wrap(["rights"], ["--layout", "root"])
    argv[argv.index(str(stage.attack))] = "/attack"
    code, text = stage.run(argv)
    # What has rights inside is the business of E49; that it runs and writes nothing is ours.
    return (HELD if code in (HELD, ESCAPED) else code), text


# ---- A5: descriptors as working directory

def leaked_directory(stage):
    stage.file("out/canary")


def run_leaked(suffix):
    def play(stage):
        leak = [stage.attack, "leak", stage.out]
        if stage.who == "control":
            return stage.run([*leak, stage.attack, "own-ns", "leaky-chroot", "40", stage.work,
                              "cwd-reaches", "canary"])
        worst = HELD, "no descriptor leads out"
        for fd in range(3, 65):
            argv = stage.wrap(["cwd-reaches", "canary"],
                              ["--layout", "minimal", "--cwd", f"/proc/self/fd/{fd}{suffix}"])
            argv[argv.index(str(stage.attack))] = "/workspace/attack"
            code, text = stage.run([*leak, *argv])
            if code not in (HELD, REFUSED):
                worst = code, text
        return worst
    return play


# ---- A6: protected paths

def git_without_hooks(stage):
    (stage.work / ".git").mkdir()
    (stage.work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    stage.never("work/.git/hooks")


def protected_file(stage):
    stage.canary("work/.git/config", "[core]\n")
    (stage.work / ".git/hooks").mkdir()


def absent_cases():
    ways = ("mkdir", "rename", "symlink", "link", "fifo", "socket", "tmpfile", "open")
    return [Case(f"A6{letter}", f"bring a protected path into being: {how}",
                 ["make", how, ".git/hooks"], setup=git_without_hooks, flags=GIT)
            for letter, how in zip("abcdefgh", ways)]


GIT = ["--protect", "{work}/.git/hooks"]


def git_and_sources(stage):
    """Things of the user's, inside and outside the workspace, that clearing up must not touch."""
    git_without_hooks(stage)
    stage.canary("work/src/main.c", "int main(void) { return 0; }\n")
    stage.canary("out/precious", "of the host\n")


def no_git(stage):
    stage.never("work/.git/hooks")


def clearing_cases():
    rows = [
        ("p", "its parent a link to one that has it", ["link-parent", ".git", "hooks"], no_git),
        ("q", "moved in with a hundred levels", ["deep", ".git/hooks"], git_without_hooks),
        ("r", "made, and its parent closed to all", ["close-parent", ".git", "hooks"],
         git_without_hooks),
        ("s", "moved in with links to the user's files",
         ["with-links", ".git/hooks", "../../src", "{out}", "/"], git_and_sources),
        ("t", "made again until the very end", ["churn", ".git/hooks"], git_without_hooks),
        ("u", "exchanged with a link to the user's files", ["churn-link", ".git/hooks", "../src"],
         git_and_sources),
    ]
    return [Case(f"A6{letter}", f"protected path: {what}", verb, setup=setup, flags=GIT)
            for letter, what, verb, setup in rows]


# What git reads as settings beside .git/config: each names a program that `git status` runs.
EVIL = """mkdir -p evil/objects evil/refs
echo 'ref: refs/heads/main' >evil/HEAD
printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nfsmonitor="touch {pwned}; false #"\\n' >evil/config
"""
GIT_WAYS = {
    "commondir": ("git's common directory led elsewhere", "", "echo ../evil >.git/commondir", "."),
    "config.worktree": ("git's settings of a worktree", "git config extensions.worktreeConfig true",
                        "cp evil/config .git/config.worktree", "."),
    "modules": ("git's settings of a submodule",
                "git init -q sub; git -C sub commit -q --allow-empty -m x; "
                "git -c protocol.file.allow=always submodule --quiet add ./sub kept",
                "cat evil/config >>.git/modules/kept/config", "."),
    "worktrees": ("the common directory of a worktree elsewhere", "git worktree add -q ../out/tree",
                  "echo ../../../evil >.git/worktrees/tree/commondir", "../out/tree"),
    "HEAD": ("a directory that becomes a repository", "rm -rf .git",
             "cp -r evil/* .; printf 'worktree=.\\n' >>config", "."),
}
GIT_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
           "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git_repository(prepare):
    def setup(stage):
        stage.env.update(GIT_ENV)
        stage.vars["pwned"] = stage.never("pwned")
        subprocess.run(["sh", "-ec", "git init -q; git commit -q --allow-empty -m x; " + prepare],
                       cwd=stage.work, env=stage.env, check=True, stderr=subprocess.DEVNULL)
    return setup


def run_git(attack, where):
    """Inside, settings are put where git looks for them; then somebody outside asks git for news."""
    def play(stage):
        script = stage.expand([EVIL + attack])[0]
        argv = ["sh", "-c", script]
        if stage.who != "control":
            argv = stage.wrap([])
            at = argv.index(str(stage.attack))
            argv[at:at + 1] = ["sh", "-c", script]
        stage.run(argv)
        subprocess.run(["git", "status"], cwd=stage.work / where, env=stage.env, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return HELD, "git ran no program of theirs"
    return play


def git_cases():
    skip = "" if shutil.which("git") else "git is not here"
    return [Case(f"A6{letter}", f"{what} ({name})", setup=git_repository(prepare),
                 play=run_git(attack, where), skip=skip)
            for letter, (name, (what, prepare, attack, where)) in zip("vwxyz", GIT_WAYS.items())]


def agent_settings(stage):
    (stage.work / ".agent").mkdir()
    stage.never("work/.agent/settings.json")


# ---- A7: names that change while hutch looks

RACE_SECONDS = 20  # at most, until a control has won its race


def flipping(name):
    """`name` in the workspace is a directory and, every other moment, a link to the victim."""
    def setup(stage):
        stage.victim()
        (stage.work / name).mkdir()
        (stage.work / "other").symlink_to("../victim")
        stage.start([stage.attack, "exchange", stage.work / name, stage.work / "other"])
        stage.vars["link"] = name
    return setup


@naive
def look_then_make(stage):
    path = stage.work / stage.vars["link"]
    end = time.monotonic() + RACE_SECONDS
    while time.monotonic() < end:
        if not path.is_symlink():
            try:
                os.mkdir(path / "made")
                os.rmdir(path / "made")
            except OSError:
                pass
        if os.listdir(stage.dir / "victim"):
            return


def run_while_flipping(flags, verb):
    def play(stage):
        end = time.monotonic() + 1.0
        code, text = HELD, ""
        while time.monotonic() < end:
            argv = stage.wrap(verb, flags)
            if "root" in flags:
                argv[argv.index(str(stage.attack))] = "/attack"
            code, text = stage.run(argv)
            # Killed: what init could neither remove nor move away stops the sandbox.
            if code not in (HELD, ESCAPED, DONE, REFUSED, 128 + signal.SIGKILL):
                return code, text
        return HELD, "the victim was never touched"
    return play


# ---- A8: the same while file calls of the host look, and the one who flips is inside

SECRET = "hutch-escape-secret"
CALLS_SECONDS = 20  # at most; at least one
FLIPS_MIN = 10000


def flipped_inside(stage):
    """`box` in the workspace is a directory and, every other moment, a link to `out`, which is hidden."""
    stage.canary("out/canary", SECRET)
    stage.never("leak")
    stage.never("out/made")
    (stage.work / "box").mkdir()
    (stage.work / "other").symlink_to("../out")
    stage.file("work/box/canary", "mine")


def look_then(act):
    """As a file tool does that checks a name and then uses it."""
    def control(stage):
        stage.start([stage.attack, "exchange", stage.work / "box", stage.work / "other"])
        end = time.monotonic() + RACE_SECONDS
        while time.monotonic() < end:
            if not (stage.work / "box").is_symlink():
                try:
                    act(stage.work / "box")
                except OSError:
                    pass
            if stage.touched():
                return
    return naive(control)


def read_and_tell(path):
    if SECRET in (path / "canary").read_text():
        (path.parent.parent / "leak").touch()


READS = [("file.read", {"path": "box/canary"}),
         ("file.grep", {"pattern": "e", "path": "box"}),
         ("file.download", {"paths": ["box/canary"]}),
         ("file.glob", {"pattern": "box/*"}),
         ("file.list", {"path": "box"}),
         ("file.stat", {"path": "box/canary"})]
WRITES = [("file.write", {"path": "box/made", "content": "x"}),
          ("file.upload", {"files": [{"path": "box/made", "content_base64": "eA=="}]}),
          ("file.edit", {"path": "box/canary", "old": "e", "new": "e", "all": True}),
          ("file.write", {"path": "box/canary", "content": "mine"}),
          ("file.delete", {"path": "box/made"}),
          ("file.delete", {"path": "box", "recursive": True})]


def calls_while_flipping(calls, least):
    """What the calls answer is theirs to say; what they showed or changed is not."""
    def play(stage):
        server = Server(stage, filesystem={"hide": [str(stage.out)]})
        flips = server.start(["exchange", stage.work / "box", stage.work / "other"])
        # In base64 too, at each of the three ways it can fall.
        shown = [SECRET, *(base64.b64encode(b"x" * n + SECRET.encode()).decode()[4:-4] for n in range(3))]
        end = time.monotonic() + CALLS_SECONDS
        made = worked = 0
        while made < least or time.monotonic() < end - CALLS_SECONDS + 1:
            if time.monotonic() > end:
                return 1, f"only {made} calls"
            for method, params in calls:
                made += 1
                try:
                    answer = json.dumps(server.call(method, sandbox=server.sandbox, **params))
                except ValueError:
                    continue
                worked += 1
                if any(text in answer for text in shown) or str(len(SECRET)) in sizes_in(answer):
                    return ESCAPED, f"{method} showed {answer[:80]}"
        server.call("sandbox.write", sandbox=server.sandbox, run=flips, data="", eof=True)
        said = server.finish(flips)["stdout"]
        flipped = int(re.search(r"exchanged (\d+)", said).group(1))
        what = f"{worked} of {made} calls worked, {flipped} flips"
        return (HELD, what) if worked and flipped >= FLIPS_MIN else (1, what)
    return play


def sizes_in(answer):
    return re.findall(r'"size": (\d+)', answer)


# ---- A9: names that are not files

def odd_files(stage):
    (stage.work / ".git").mkdir()
    os.mkfifo(stage.work / ".git/hooks")
    os.mkfifo(stage.work / ".env")
    stage.unix(str(stage.work / ".bashrc"))
    deep = stage.work
    for _ in range(200):
        deep = deep / "d"
        deep.mkdir()
    (stage.work / "new\nline").write_text("x")


def open_odd(stage):
    if stage.who == "control":
        # Whoever just opens it waits for somebody to write: for ever.
        try:
            subprocess.run(["cat", stage.work / ".env"], timeout=0.2, check=False)
        except subprocess.TimeoutExpired:
            return ESCAPED, "opening it hangs"
        return HELD, "it can be opened"
    flags = [*GIT, "--hide", "{work}/.env", "--protect", "{work}/.bashrc", "--hide",
             "{work}/new\nline"]
    return stage.run(stage.wrap(["exit-with", "0"], flags))


def link_to_itself(stage):
    (stage.work / ".git").mkdir()
    (stage.work / ".git/config").symlink_to("config")


def protect_loop(stage):
    if stage.who == "control":
        code, text = stage.run(["cat", stage.work / ".git/config"])
        return (ESCAPED, "whoever follows it fails") if code else (HELD, text)
    return stage.run(stage.wrap(["make", "rename", ".git/config"],
                                ["--protect", "{work}/.git/config"]))


# ---- A10: mounts below mounts

def mount_below(stage):
    stage.file("out/x")
    (stage.out / "sub").mkdir()


def run_below(stage):
    verb = ["write-file", f"{stage.out}/sub/inner"]
    if stage.who == "control":
        return stage.run([stage.attack, "with-tmpfs", stage.out / "sub", "ro-bind", stage.out,
                          *verb])
    return stage.run([stage.attack, "with-tmpfs", stage.out / "sub",
                      *stage.wrap(verb, ["--read", "{out}"])])


def run_late(stage):
    verb = ["sees-later", f"{stage.out}/sub/inner"]
    if stage.who == "control":
        return stage.run([stage.attack, "late-mount", stage.out, "slave-ns", *verb])
    return stage.run([stage.attack, "late-mount", stage.out, *stage.wrap(verb, capture=False)])


# ---- A11: text that looks like options

def run_injected(stage):
    if stage.who == "control":
        (stage.out / "t").write_text("")
        return stage.run([stage.tools.hutch, "run", "-w", stage.work, "--write", stage.out, "--",
                          stage.attack, "write-file", stage.out / "t"])
    code, text = stage.run([stage.tools.hutch, "run", "--json", "-w", stage.work, "--", "--write",
                            str(stage.out), str(stage.attack), "write-file", str(stage.out / "t")])
    return (HELD, "not an option") if code == 127 else (code, text)


def odd_workspace(stage):
    stage.canary("out/t")
    path = stage.work / "--write=out"
    path.mkdir()
    stage.vars["odd"] = path


def run_odd_workspace(stage):
    if stage.who == "control":
        return stage.run([stage.attack, "write-file", stage.out / "t"])
    os.link(stage.attack, stage.vars["odd"] / "attack")
    return stage.run([stage.tools.hutch, "run", "--json", "-w", stage.vars["odd"].name, "--",
                      "./attack", "write-file", str(stage.out / "t")])


def run_nul(stage):
    """A path with a NUL in it: whoever cuts it there grants more than was said."""
    text = str(stage.out) + ("" if stage.who == "control" else "\0/narrow")
    policy = stage.file("policy.json", json.dumps({"filesystem": {"write": [text]}}))
    code, text = stage.run([stage.tools.hutch, "run", "-w", stage.work, "--policy", policy, "--",
                            stage.attack, "write-file", stage.out / "t"])
    return (HELD, "refused") if code == REFUSED else (code, text)


# ---- A12: set-user-id

def planted_suid(stage):
    path = stage.work / "suid"
    path.write_bytes(stage.attack.read_bytes())
    path.chmod(0o4755)


SUID_WAYS = ("chmod", "fchmod", "fchmodat2", "creat", "mknod", "tmpfile")

CASES = [
    # Only inside a tool that keeps the old root there does this link lead anywhere.
    Case("A1a", "mount point below a link to /oldroot", refusal=True, play=run_in_root,
         setup=planted(".cache", "/oldroot{dir}/victim"), control=make_in_oldroot),
    in_root("A1b", "mount point below a link with ..", ".cache", "../victim"),
    in_root("A1c", "mount point below an absolute link", "etc", "{dir}/victim"),
    in_root("A1d", "mount point below a link through /proc", "usr", "/proc/self/root{dir}/victim"),
    in_root("A1e", "mount point of /tmp is a link", "tmp", "../victim"),
    Case("A2", "the mask's source is a planted /dev/null", setup=fake_null, play=run_masked,
         bwrap=False),
    in_root("A3a", "/dev/pts is a planted link", "dev/pts", "../../victim"),
    in_root("A3b", "/dev is a planted link", "dev", "../victim"),
    in_root("A3c", "/dev/console is a planted link", "dev/console", "../../victim"),
    Case("A4", "a planted /proc takes the id maps", setup=fake_proc, control=write_fake_proc,
         play=run_fake_proc, bwrap=False),
    Case("A5a", "working directory is a leaked descriptor", setup=leaked_directory,
         play=run_leaked(""), bwrap=False),
    Case("A5b", "working directory above a leaked descriptor", setup=leaked_directory,
         play=run_leaked("/../.."), bwrap=False),
    *absent_cases(),
    Case("A6i", "protected path: its parent moved away and made anew",
         ["move-parent", ".git", "hooks"], setup=git_without_hooks, flags=GIT),
    Case("A6j", "protected path: its parent built elsewhere and moved in",
         ["move-in", ".git", "hooks"], setup=no_git, flags=GIT),
    Case("A6k", "protected path: made through a linked parent", ["via-link", ".git", "hooks"],
         setup=git_without_hooks, flags=GIT),
    Case("A6l", "protected path: settings of an agent", ["make", "open", ".agent/settings.json"],
         setup=agent_settings, flags=["--protect", "{work}/.agent/settings.json"]),
    Case("A6m", "a protected file: eleven ways to change it", ["change", ".git/config"],
         setup=protected_file, flags=["--protect", "{work}/.git/config"]),
    Case("A6n", "the default profile protects .git/config", ["change", ".git/config"],
         setup=protected_file),
    Case("A6o", "the default profile protects absent .git/hooks", ["make", "mkdir", ".git/hooks"],
         setup=git_without_hooks),
    Case("A6za", "protected path: made while PID 1 waits for a connection",
         ["block-init", "connect", ".git/hooks"], setup=git_without_hooks, flags=GIT),
    Case("A6zb", "protected path: made while PID 1 waits for who is to take a pair",
         ["block-init", "pair", ".git/hooks"], setup=git_without_hooks, flags=GIT),
    *clearing_cases(),
    *git_cases(),
    Case("A7a", "mount point exchanged with a link during set-up", setup=flipping("etc"),
         control=look_then_make, play=run_while_flipping(["--layout", "root"], ["exit-with", "0"]),
         bwrap=False),
    Case("A7b", "protected parent exchanged with a link during set-up", setup=flipping(".git"),
         control=look_then_make, bwrap=False,
         play=run_while_flipping(GIT, ["make", "mkdir", ".git/hooks"])),
    Case("A8a", "reading file calls of the host against a racing sandbox", setup=flipped_inside,
         control=look_then(read_and_tell), play=calls_while_flipping(READS, 5000), bwrap=False),
    Case("A8b", "writing file calls of the host against a racing sandbox", setup=flipped_inside,
         control=look_then(lambda path: (path / "made").touch()),
         play=calls_while_flipping(WRITES, 2000), bwrap=False),
    Case("A9a", "protected and hidden names are FIFOs and sockets", setup=odd_files, play=open_odd,
         bwrap=False),
    Case("A9b", "a protected name is a link to itself", setup=link_to_itself, play=protect_loop,
         refusal=True, bwrap=False),
    Case("A10a", "read-only tree with a writable mount inside", setup=mount_below, play=run_below),
    Case("A10b", "a mount that appears on the host later", setup=mount_below, play=run_late),
    Case("A11a", "a command that looks like options", play=run_injected, bwrap=False),
    Case("A11b", "a workspace that looks like an option", setup=odd_workspace,
         play=run_odd_workspace, bwrap=False),
    Case("A11c", "a NUL in a granted path", play=run_nul, bwrap=False),
    Case("A12a", "run a planted set-uid file", ["run-other", "./suid"], setup=planted_suid,
         root=True, user_control=True),
    Case("A12b", "run a set-uid program of the host", ["secure-exec", "/usr/bin/su"],
         user_control=True),
    *[Case(f"A12{letter}", f"leave a set-uid file behind: {how}", ["suid", how, "made"],
           setup=lambda stage: stage.plain("work/made") and None)
      for letter, how in zip("cdefgh", SUID_WAYS)],
    Case("A12i", "give a file a capability", ["file-capability", "made"], control=own_ns),
]
