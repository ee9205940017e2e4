# SPDX-License-Identifier: Apache-2.0
"""What a case is, and how it is played: as control, under hutch, and under bwrap for the table."""
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence

from stage import HELD, OTHER_UID, REFUSED, Outcome, Stage


# ---- Controls: where the attack must work

def outside(stage, verb):
    return [stage.attack, *verb]


def own_ns(stage, verb):
    """As root of namespaces that the attacker has made: a sandbox with all capabilities left."""
    return [stage.attack, "own-ns", *verb]


def after(*prefix):
    """With other verbs before it, which make the place where it must work."""
    return lambda stage, verb: [stage.attack, *stage.expand(prefix), *verb]


def naive(act):
    """The mistake itself, made by us: `act(stage)`. The canaries say that it had its effect."""
    act.is_naive = True
    return act


class Lacking(Exception):
    """Raised by a play: this host has not got the lock that the case is about."""


@dataclass
class Case:
    """
    One row of the table.

    id        number in the catalogue of attacks, and a letter where there are several
    attacks   one line: what it is about
    verb      what the attacker does; {names} are those of Stage.vars
    setup     makes what is attacked, outside
    flags     of hutch
    control   where the attack must work: outside, own_ns, after(...), naive(...)
    control_verb  when it is not the same
    control_root  the control works for root only; for others that part is left out
    root      only root can set this case up
    refusal   hutch may also refuse to run at all (125)
    violation what the result must report: the name in `violations`
    play      runs the attack, instead of the usual way; returns its status and what it said
    bwrap     False: means nothing there. A function: the command line
    user_control  as root, run the control as a user
    """
    id: str
    attacks: str
    verb: Sequence[Any] = ()
    setup: Optional[Callable] = None
    flags: Sequence[str] = ()
    control: Any = outside
    control_verb: Optional[Sequence[Any]] = None
    control_root: bool = False
    root: bool = False
    refusal: bool = False
    violation: str = ""
    play: Optional[Callable] = None
    bwrap: Any = True
    user_control: bool = False
    skip: str = ""


@dataclass
class Row:
    """The result of one case: a word for each place, and the line that goes with it."""
    case: Case
    control: str = ""
    hutch: str = ""
    bwrap: str = ""
    why: str = ""
    status: str = ""  # ok, skip or FAIL


def ordinary(case, stage):
    """Run the verb at the place of this stage."""
    verb = stage.expand(case.verb)
    how = {}
    if stage.who == "control":
        argv = case.control(stage, stage.expand(case.control_verb or case.verb))
        if case.user_control and stage.tools.root:
            how = {"user": OTHER_UID, "group": OTHER_UID, "extra_groups": []}
    elif stage.who == "bwrap" and callable(case.bwrap):
        argv = case.bwrap(stage, verb)
    else:
        argv = stage.wrap(verb, case.flags)
    return stage.run(argv, **how)


BUSY = "no process could be started"
BUSY_TRIES = 20


def play(case, tools, who):
    """One run of the case; the outcome, and the result of hutch."""
    for _ in range(BUSY_TRIES):
        outcome, result = play_once(case, tools, who)
        # Another case, as another user, has taken all process ids for a moment: nothing was played.
        if outcome.why != BUSY:
            break
        time.sleep(0.5)
    return outcome, result


def play_once(case, tools, who):
    stage = Stage(tools, who)
    try:
        if case.setup:
            case.setup(stage)
        if who == "control" and getattr(case.control, "is_naive", False):
            case.control(stage)
            outcome = stage.judge(HELD, "the mistake had no effect")
        else:
            outcome = stage.judge(*(case.play(stage) if case.play else ordinary(case, stage)))
        if who == "hutch" and case.refusal and outcome.why.startswith(f"status {REFUSED}"):
            outcome = Outcome("held", "refused: " + outcome.why)
        return outcome, stage.result
    except subprocess.TimeoutExpired:
        return Outcome("error", "did not end"), None
    except BlockingIOError:
        return Outcome("error", BUSY), None
    except (OSError, RuntimeError, ValueError) as error:
        return Outcome("error", f"{type(error).__name__}: {error}"), None
    finally:
        stage.close()


def run_control(case, tools):
    """How the control went: "works", "root only", "absent" or "FAILED", and why."""
    if case.control is None:
        return "none", ""
    if case.control_root and not tools.root:
        return "root only", ""
    outcome, _ = play(case, tools, "control")
    if outcome.word == "ESCAPED":
        return "works", outcome.why
    if outcome.lacks():
        return "absent", outcome.why
    return "FAILED", f"{outcome.word}: {outcome.why}"


def names_of(result):
    return [row.get("name") for row in (result or {}).get("violations", [])]


def run_case(case, tools):
    row = Row(case)
    if case.skip or (case.root and not tools.root):
        row.status, row.why = "skip", case.skip or "only root can set it up"
        return row
    row.control, control_why = run_control(case, tools)
    try:
        outcome, result = play(case, tools, "hutch")
    except Lacking as lacking:
        row.status, row.why = "skip", str(lacking)
        return row
    if outcome.word == "absent" and row.control == "works":
        outcome = Outcome("held", "not there: " + outcome.why)
    row.hutch, row.why = outcome.word, outcome.why
    if tools.bwrap and case.bwrap:
        row.bwrap = play(case, tools, "bwrap")[0].word
    if row.hutch == "absent" and row.control in ("absent", "root only"):
        row.status, row.why = "skip", f"not in this kernel: {row.why}"
    elif row.hutch != "held":
        row.status = "FAIL"
    elif case.violation and case.violation not in names_of(result):
        row.status = "FAIL"
        row.why = f"held, but '{case.violation}' is not in violations {names_of(result)}: {row.why}"
    elif row.control == "FAILED":
        row.status, row.why = "FAIL", f"control failed: {control_why}"
    elif row.control == "absent":
        row.status, row.why = "skip", f"not in this kernel: {control_why}"
    else:
        row.status = "ok"
    return row
