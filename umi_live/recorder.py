"""Recorder: writes every input of a memory to a file, for `umi-sim replay`.

Law 1. An input is written before the memory is stepped with it, so that even a step that raises is recorded.
Law 2. Only the owner may read the file: it contains texts of users and models. Keep it like the database.
"""

import os
from contextlib import suppress

from umi_core.config import Config
from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect
from umi_core.recordings import RecordedStep, RecordingHead, digest_line
from umi_core.values import Scope
from umi_live.errors import LiveError
from umi_live.files import create_file


class Recorder:
    """Writes the file of one incarnation of a memory.

    All methods except `close` may raise LiveError. The constructor raises it if the file exists already.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            # One line at a time (buffering=1), so that the inputs of a killed process are in the file.
            self.file = open(path, "x", encoding="utf-8", buffering=1, opener=create_file)  # noqa: SIM115  # closed with the memory
        except OSError as error:
            raise LiveError(f"{path}: no recording can be written there: {error.strerror}") from None
        self.has_input = False

    def write_head(self, scope: Scope, config: Config) -> None:
        self._write(RecordingHead(scope, config).line())

    def write_input(self, now_ms: int, value: Value) -> None:
        self._write(RecordedStep(now_ms, value).line())
        self.has_input = True

    def write_effects(self, effects: tuple[Effect, ...]) -> None:
        self._write(digest_line(effects))

    def close(self) -> None:
        """Close the file; remove it if it has no input, so that its name can be used again."""
        with suppress(OSError):  # a failed write, which `_write` has raised already
            self.file.close()
        if not self.has_input:
            os.unlink(self.file.name)

    def _write(self, line: str) -> None:
        """Write a line. Raises LiveError, since a memory must not continue without its recording."""
        try:
            self.file.write(line + "\n")
        except OSError as error:
            path = self.file.name
            raise LiveError(f"{path}: the recording cannot be written: {error.strerror}") from None
