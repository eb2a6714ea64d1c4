"""A store in a process of its own, in any language: JSON lines over its standard input and output.

We write one line, it answers with one line (docs/targets.md has the whole protocol):

    {"id": 1, "op": "put", "key": "a", "value": 7, "now_ms": 1767225600000}
    {"id": 1, "answer": null}

Law 1. Whatever the process does, it is a finding and no crash of ours: it ends, says nothing, or babbles.
"""

import contextlib
import json
import os
import select
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from time import monotonic
from typing import Any, Final

from umi_sim.targets.adapter import Adapter, BadAdapter
from umi_sim.targets.values import MISSING, shown

LINE_BYTES_MAX: Final = 1024 * 1024
ANSWER_SECONDS_MAX: Final = 10
ENDING_SECONDS: Final = 5


class ProcessBroken(Exception):
    """It does not answer as the protocol says."""


class Refusal(Exception):
    """It refuses what it was asked."""


class Failure(Exception):
    """It says that it failed."""


class Process:
    """The process as it runs now; `errors`: where its standard error goes. Raises ProcessBroken."""

    def __init__(self, command: str, folder: str, errors: int | None = subprocess.DEVNULL) -> None:
        self.buffer, self.count = b"", 0
        try:
            self.process = subprocess.Popen(
                [*shlex.split(command), folder], bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise ProcessBroken(f"cannot be started: {error}") from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        os.set_blocking(self.input.fileno(), False)

    def ask(self, request: Mapping[str, Any]) -> Any:
        self.count += 1
        self.until_s = monotonic() + ANSWER_SECONDS_MAX
        self.tell(json.dumps({"id": self.count, **request}).encode() + b"\n")
        return self.answer(self.line())

    def tell(self, line: bytes) -> None:
        """A line that is longer than a pipe waits until the process reads it."""
        while line:
            self.wait("reads", [], [self.input])
            try:
                line = line[os.write(self.input.fileno(), line) :]
            except OSError:
                raise self.ended() from None

    def line(self) -> bytes:
        while b"\n" not in self.buffer:
            self.wait("says", [self.output], [])
            part = os.read(self.output.fileno(), 65_536)
            if not part:
                raise self.ended()
            self.buffer += part
            if len(self.buffer) > LINE_BYTES_MAX:
                raise ProcessBroken(f"says more than {LINE_BYTES_MAX} bytes at once")
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def wait(self, does: str, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        if not any(select.select(outputs, inputs, [], max(0, self.until_s - monotonic()))):
            raise ProcessBroken(f"{does} nothing for {ANSWER_SECONDS_MAX} s")

    def ended(self) -> ProcessBroken:
        """A pipe is closed: by a process that ends, or by one that goes on without it."""
        try:
            return ProcessBroken(f"has ended with status {self.process.wait(ANSWER_SECONDS_MAX)}")
        except subprocess.TimeoutExpired:
            return ProcessBroken("has closed its input or output, and lives")

    def answer(self, line: bytes) -> Any:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            raise ProcessBroken(f"says what is no JSON: {shown(line)}") from None
        if not isinstance(said, dict) or said.get("id") != self.count:
            raise ProcessBroken(f"answers something else than request {self.count}: {shown(said)}")
        if self.buffer:
            raise ProcessBroken(f"says more than it was asked: {shown(self.buffer)}")
        if "refused" in said:
            raise Refusal(shown(said["refused"]))
        if "error" in said:
            raise Failure(shown(said["error"]))
        return MISSING if said.get("missing") is True else said.get("answer")

    def end(self) -> None:
        """Its input ends, and it has some time to end itself."""
        with contextlib.suppress(OSError):
            self.input.close()
        try:
            self.process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()

    def kill(self) -> None:
        self.process.kill()
        self.end()


def adapter_of(command: str, base: type[Adapter]) -> type[Adapter]:
    """An adapter of this contract whose operations are asked of a process. Raises BadAdapter."""
    said = hello(command, base.contract.name)
    ops, flags = said.get("ops"), said.get("flags", {})
    if not isinstance(ops, dict) or not isinstance(flags, dict) or not ops:
        raise BadAdapter(f"{command}: says no `ops` in its answer to hello: {shown(said)}")
    if unknown := [name for name in ops if name not in base.contract.ops]:
        known = ", ".join(base.contract.ops)
        raise BadAdapter(f"{command}: unknown operation {shown(unknown[0])}, known are {known}")
    body = {name: asking(command, name, args, base.contract.ops[name]) for name, args in ops.items()}
    body |= {
        name: flags[name] for name in (*base.contract.flags, "durable", "odd", "values") if name in flags
    }
    return type("Piped", (Piped, base), {**body, "command": command})


class Piped(Adapter):
    """An adapter whose operations are asked of a process."""

    command: str
    process: Process
    refuses = (Refusal,)

    def make(self) -> None:
        self.process = Process(self.command, str(self.folder))
        self.process.ask({"op": "hello", "contract": self.contract.name, "version": 1})

    def close(self) -> None:
        self.process.end()

    def killed(self) -> None:
        self.process.kill()


def asking(command: str, name: str, args: Any, known: Sequence[str]) -> Any:
    """A method with these arguments. Raises BadAdapter."""
    if not isinstance(args, list) or any(each not in known for each in args):
        raise BadAdapter(f"{command}: {name} has {shown(args)}, expected a list of {', '.join(known)}")

    def ask(self: Piped, **args: Any) -> Any:
        return self.process.ask({"op": name, **args, "now_ms": self.clock.now_ms})

    names = ["ttl_ms" if each == "ttl" else each for each in dict.fromkeys(args)]
    vars(ask)["__signature__"] = Signature([Parameter(each, Parameter.KEYWORD_ONLY) for each in names])
    return ask


def hello(command: str, contract: str) -> dict[str, Any]:
    """What it says first. If it does not start, whoever waits sees why."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            process = Process(command, folder, errors=None)
            try:
                said = process.ask({"op": "hello", "contract": contract, "version": 1})
            finally:
                process.kill()
        except (ProcessBroken, Refusal, Failure) as error:
            raise BadAdapter(f"{command}: {error}") from None
    return said if isinstance(said, dict) else {}
