"""A user's process in any language: each request is a line of JSON, and so is each answer.

    {"id": 1, "op": "put", "key": "a", "value": 7, "now_ms": 1767225600000}
    {"id": 1, "answer": null}

Law 1. ProcessBroken is raised if the process does not answer: it ends, stays silent, or writes something that
is no answer.
"""

import contextlib
import json
import os
import select
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, Final

from umi_sim.kernel.wording import show_value

LINE_BYTES_MAX: Final = 1024 * 1024
ANSWER_SECONDS_MAX: Final = 10
ENDING_SECONDS: Final = 5


class ProcessBroken(Exception):
    """The process does not follow the protocol."""


class Process:
    """A running process. `more`: arguments added at the end; `errors`: where its standard error goes.

    Raises ProcessBroken.
    """

    def __init__(
        self,
        command: str,
        *more: str,
        errors: int | None = subprocess.DEVNULL,
        line_bytes_max: int = LINE_BYTES_MAX,
    ) -> None:
        self.buffer, self.count, self.line_bytes_max = b"", 0, line_bytes_max
        try:
            self.process = subprocess.Popen(
                [*shlex.split(command), *more], bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise ProcessBroken(f"cannot be started: {error}") from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        # If the process does not read, a blocking write of more than the pipe holds would never return. So
        # writes do not block: they wait with a time limit and write as much as fits.
        os.set_blocking(self.input.fileno(), False)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer: an object with the id of the request and any other fields."""
        self.count += 1
        self.until_s = monotonic() + ANSWER_SECONDS_MAX
        self.write_line(json.dumps({"id": self.count, **request}).encode() + b"\n")
        return self.parse_answer(self.read_line())

    def write_line(self, line: bytes) -> None:
        """Write a line; if it is longer than the pipe, wait until the process has read enough of it."""
        while line:
            self.wait("reads", [], [self.input])
            try:
                line = line[os.write(self.input.fileno(), line) :]
            except OSError:
                raise self.describe_end() from None

    def read_line(self) -> bytes:
        while b"\n" not in self.buffer:
            self.wait("says", [self.output], [])
            part = os.read(self.output.fileno(), 65_536)
            if not part:
                raise self.describe_end()
            self.buffer += part
            if len(self.buffer) > self.line_bytes_max:
                raise ProcessBroken(f"says more than {self.line_bytes_max} bytes at once")
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def wait(self, does: str, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        if not any(select.select(outputs, inputs, [], max(0, self.until_s - monotonic()))):
            raise ProcessBroken(f"{does} nothing for {ANSWER_SECONDS_MAX} s")

    def describe_end(self) -> ProcessBroken:
        """Return the error for a closed pipe: the process has ended, or has closed the pipe and runs on."""
        try:
            return ProcessBroken(f"has ended with status {self.process.wait(ANSWER_SECONDS_MAX)}")
        except subprocess.TimeoutExpired:
            return ProcessBroken("has closed its input or output, and still runs")

    def parse_answer(self, line: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            raise ProcessBroken(f"says what is no JSON: {show_value(line)}") from None
        if not isinstance(reply, dict) or reply.get("id") != self.count:
            raise ProcessBroken(f"answers something else than request {self.count}: {show_value(reply)}")
        # An extra line would be taken for the answer to the next request.
        if self.buffer:
            raise ProcessBroken(f"says more than it was asked: {show_value(self.buffer)}")
        return reply

    def end(self) -> None:
        """Close the input of the process, wait a little for it to end, then kill it."""
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
