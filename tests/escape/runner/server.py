# SPDX-License-Identifier: Apache-2.0
"""A sandbox that lasts, by way of `hutch rpc`."""
import json
import select
import subprocess

from stage import DONE, ESCAPED, HELD, SECONDS


class Server:
    """One `hutch rpc` with one sandbox, whose workspace is that of the stage."""

    def __init__(self, stage, program=None, **policy):
        self.stage = stage
        self.last = 0
        self.child = subprocess.Popen(
            [str(program or stage.tools.hutch), "rpc"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=stage.work, env=stage.env,
            pass_fds=stage.fds)
        stage.cleanups.append(self.close)
        opened = self.call("sandbox.open", policy={
            **policy, "filesystem": {"workspace": str(stage.work), **policy.get("filesystem", {})}})
        self.sandbox, self.enforced = opened["sandbox"], opened["enforced"]

    def close(self):
        """Hanging up ends the sandbox, and waits for that."""
        self.child.stdin.close()
        try:
            self.child.wait(SECONDS)
        finally:
            self.child.kill()
            self.child.wait()
            self.child.stdout.close()

    def hang_up(self):
        """close(), before the stage does."""
        self.stage.cleanups.remove(self.close)
        self.close()

    def send(self, method, **params):
        """A request whose answer nobody waits for."""
        self.last += 1
        request = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.child.stdin.write(json.dumps(request).encode() + b"\n")
        self.child.stdin.flush()

    def call(self, method, **params):
        self.send(method, **params)
        if not select.select([self.child.stdout], [], [], SECONDS)[0]:
            raise RuntimeError(f"no answer to {method}")
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"the server has ended: {self.child.poll()}")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def exec(self, verb, **params):
        return self.call("sandbox.exec", **self.with_argv(verb, params))

    def send_exec(self, verb, **params):
        self.send("sandbox.exec", **self.with_argv(verb, params))

    def with_argv(self, verb, params):
        argv = [str(self.stage.attack), *self.stage.expand(verb)]
        return {"sandbox": self.sandbox, "argv": argv, **params}

    def start(self, verb, **params):
        """A process that stays; waits until it says that it is ready. Returns the number of its run."""
        run = self.call("sandbox.start", **self.with_argv(verb, params))["run"]
        seen = self.call("sandbox.poll", sandbox=self.sandbox, run=run, cursor=0, wait_ms=5000)
        if not seen["output"]:
            raise RuntimeError(f"{verb[0]} did not start: {seen}")
        return run

    def finish(self, run):
        """The result of a run that is about to end."""
        cursor = 0
        while True:
            seen = self.call("sandbox.poll", sandbox=self.sandbox, run=run, cursor=cursor,
                             wait_ms=SECONDS * 1000)
            cursor = seen["cursor"]
            if seen["done"]:
                return seen["result"]


def status(result):
    """Of a result: what Stage.run() gives of a run."""
    code = result["exit_code"]
    return (HELD if code == DONE else 1 if code is None else code), \
        result["stdout"] + result["stderr"] or result["reason"]


def exactly(result, code):
    """Held when it ended by itself, with this status."""
    if result["reason"] == "exited" and result["exit_code"] == code:
        return HELD, f"status {code} as it was"
    return ESCAPED, f"{result['reason']} {result['exit_code']} instead of {code}"
