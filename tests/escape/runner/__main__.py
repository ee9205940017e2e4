#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Attack hutch: every case as a control (where it must work), under hutch (where it must not), and
under bwrap for comparison. Speaks TAP; the table comes after it, as comments.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipapp
from pathlib import Path

sys.dont_write_bytecode = True  # the sources may lie in a checkout, which stays as it is

# pylint: disable=wrong-import-position
import group_a
import group_b
import group_c
import group_d
import group_f
import group_i
from case import run_case
from stage import SCRATCH, Stage, Tools, marked

GROUPS = (group_a, group_b, group_c, group_d, group_f, group_i)
# By number; what shares one stays in its order.
CASES = sorted((case for group in GROUPS for case in group.CASES),
               key=lambda case: int(re.match(r"[A-I](\d+)", case.id).group(1)))

HEADER = """# Attacks on hutch

What was tried, and what came of it. Each attack is run three times: as a *control*, where the lock
is absent and it must work (else the case proves nothing); under *hutch* with its default profile,
as root and as a user who owns nothing, where it must be held; and under *bwrap* (`--ro-bind / /
--dev /dev --proc /proc --unshare-all --die-with-parent`, the workspace writable), for comparison.

The groups: A set-up and paths, B root file system, C supervisor and lifetime, D syscall filter,
E kernel surface, F services and secrets of the host, G load, H network, I shells. "Root only": the
attack needs root outside a sandbox, so that only root's control shows it. "—": not played there.
bwrap is a tool to build sandboxes with: with other options, and a filter of one's own, it can hold
more than in these columns. For root it keeps root's rights unless told otherwise.

The table is written by `python3 tests/escape/runner --hutch build/hutch --attack
build/tests/escape/attack --write-table docs/security/attacks.md`, as root; the tests themselves run
with `meson test --suite escape`.
"""


# ---- What must not be left behind

def residue():
    """Things of this host that a run may leave: mounts, scratch, shared memory, IPC."""
    def lines(path):
        try:
            with open(path, encoding="utf-8") as file:
                return len(file.readlines())
        except OSError:
            return 0

    def names(path, mine):
        return sorted(name for name in os.listdir(path) if name.startswith(mine))
    return {
        "mounts": lines("/proc/self/mountinfo"),
        "scratch": [name for name in names(SCRATCH, "hutch-escape-")
                    if os.stat(f"{SCRATCH}/{name}").st_uid == os.geteuid()],
        "shared memory": names("/dev/shm", "m"),
        "IPC": [lines(f"/proc/sysvipc/{kind}") for kind in ("shm", "sem", "msg")],
        "children": lines(f"/proc/self/task/{os.getpid()}/children"),
        "processes": [pid for pid in marked(f"{SCRATCH}/hutch-escape-")
                      if any(marked_by(pid, path) for path in Stage.seen)],
    }


def marked_by(pid, path):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return path.encode() in file.read()
    except OSError:
        return False


def left(before):
    now = residue()
    return [f"{what}: {before[what]} before, {now[what]} after" for what in now
            if now[what] != before[what]]


# ---- Output

def tap_line(number, row):
    word = "not ok" if row.status == "FAIL" else "ok"
    line = f"{word} {number} - {row.case.id} {row.case.attacks}"
    if row.status == "skip":
        line += f" # SKIP {row.why}"
    elif row.status == "FAIL":
        line += f"\n# {row.case.id}: hutch {row.hutch}, control {row.control}: {row.why}"
    return line.replace("\r", " ")


def table(rows):
    print(f"# {'case':22} {'control':10} {'hutch':8} {'bwrap':8} attack")
    for row in rows:
        print(f"# {row.case.id:22} {row.control or '-':10} {row.hutch or row.status:8} "
              f"{row.bwrap or '-':8} {row.case.attacks}")


def summary(rows, seconds):
    def count(field, word):
        return sum(getattr(row, field) == word for row in rows)
    held = [row.control == "works" for row in rows if row.status == "ok"]
    print(f"# {len(rows)} cases in {seconds:.1f} s: {sum(held)} held with a control, "
          f"{len(held) - sum(held)} held where none can be run, "
          f"{count('status', 'FAIL')} failed, {count('status', 'skip')} skipped; "
          f"hutch let {count('hutch', 'ESCAPED')} out, bwrap {count('bwrap', 'ESCAPED')} "
          f"of {sum(bool(row.bwrap) for row in rows)}")


def as_data(rows):
    return [{"id": row.case.id, "attacks": row.case.attacks, "control": row.control,
             "hutch": row.hutch, "bwrap": row.bwrap, "status": row.status, "why": row.why}
            for row in rows]


# ---- The kept table

def cell(row):
    if not row:
        return "—"
    return f"— ({row['why']})" if row["status"] == "skip" and not row["hutch"] else row["hutch"]


def control_cell(one, two):
    words = [row["control"] for row in (one, two) if row and row["control"]]
    if "works" in words:
        return "works" if words.count("works") == len(words) else "works (root only)"
    word = words[0] if words else "—"
    return "not in this kernel" if word == "absent" else word


def bwrap_cell(row):
    word = row["bwrap"] if row else ""
    return "**ESCAPED**" if word == "ESCAPED" else word or "—"


def write_table(path, root, user):
    """`root` and `user` are results as data; either may be missing."""
    rows = root or user
    by_id = [{row["id"]: row for row in data or []} for data in (root, user)]
    text = HEADER
    heads = ["case", "attack", "control", *(f"{tool}, {who}" for tool in ("hutch", "bwrap")
                                            for who in ("root", "user"))]
    text += f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"
    for row in rows:
        pair = [data.get(row["id"]) for data in by_id]
        cells = [row["id"], row["attacks"], control_cell(*pair), *map(cell, pair),
                 *map(bwrap_cell, pair)]
        text += "| " + " | ".join(part.replace("|", "\\|") for part in cells) + " |\n"
    counts = [f"{sum(row['bwrap'] == 'ESCAPED' for row in data)} of "
              f"{sum(bool(row['bwrap']) for row in data)} for {who}"
              for who, data in (("root", root or []), ("a user", user or []))]
    text += f"\n{len(rows)} cases. bwrap lets through {' and '.join(counts)}.\n"
    Path(path).write_text(text, encoding="utf-8")


def results_as_user(args):
    """The same suite as a uid that owns nothing, by tests/as-user; None when that is not here."""
    wrapper = Path(__file__).resolve().parent.parent.parent / "as-user"
    if os.geteuid() != 0 or not wrapper.exists():
        return None
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "runner.pyz"
        zipapp.create_archive(Path(__file__).parent, program, "/usr/bin/env python3")
        program.chmod(0o755)
        env = {**os.environ, "HUTCH": args.hutch, "HUTCH_PAYLOAD": args.attack}
        done = subprocess.run([wrapper, program, "--json", *args.cases], env=env, check=False,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)


# ---- All of it

def arguments():
    parser = argparse.ArgumentParser(prog="runner", description=__doc__)
    parser.add_argument("--hutch", default=os.environ.get("HUTCH"), help="the command ($HUTCH)")
    parser.add_argument("--attack", default=os.environ.get("HUTCH_PAYLOAD"),
                        help="the attacker ($HUTCH_PAYLOAD)")
    parser.add_argument("--no-bwrap", action="store_true", help="leave the comparison out")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead")
    parser.add_argument("--list", action="store_true", help="print the cases and run nothing")
    parser.add_argument("--write-table", metavar="FILE", help="write the kept table")
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="only these, by number or its start")
    args = parser.parse_args()
    if not args.list and not (args.hutch and args.attack):
        parser.error("needs --hutch and --attack")
    return args


def chosen(args):
    return [case for case in CASES
            if not args.cases or any(case.id.startswith(part) for part in args.cases)]


def run_all(args, say):
    tools = Tools(os.path.realpath(args.hutch), os.path.realpath(args.attack))
    if args.no_bwrap:
        tools.bwrap = None
    cases = chosen(args)
    rows = []
    before = residue()
    if say:
        print(f"1..{len(cases) + 1}")
    for number, case in enumerate(cases, 1):
        row = run_case(case, tools)
        rows.append(row)
        if say:
            print(tap_line(number, row), flush=True)
    rest = left(before)
    if say:
        print(f"{'not ok' if rest else 'ok'} {len(cases) + 1} - nothing is left on the host")
        for line in rest:
            print(f"# left: {line}")
    return rows, rest


def main():
    args = arguments()
    # Whoever ends us early must find nothing left: leave by way of every `finally`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if args.list:
        for case in chosen(args):
            print(f"{case.id:22} {case.attacks}")
        return 0
    begin = time.monotonic()
    rows, rest = run_all(args, not args.json)
    if args.json:
        print(json.dumps(as_data(rows)))
    else:
        table(rows)
        summary(rows, time.monotonic() - begin)
    if args.write_table:
        data = as_data(rows)
        user = results_as_user(args)
        write_table(args.write_table, *((data, user) if os.geteuid() == 0 else (None, data)))
    return 1 if rest or any(row.status == "FAIL" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
