"""Stores in plain files: three that expect a write to fail or to be torn, and three that do not."""

import json
import os
import tempfile

from umi_sim.targets import MISSING, Kv


class InPlace(Kv):
    """A store in one JSON file. It loses everything when the process dies in a write."""

    durable = True

    def make(self) -> None:
        self.path = self.folder / "rows.json"
        self.rows = json.loads(self.path.read_text()) if self.path.exists() else {}

    def put(self, key: str, value: object) -> None:
        self._save({**self.rows, key: value})

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)

    def delete(self, key: str) -> bool:
        existed = key in self.rows
        self._save({each: value for each, value in self.rows.items() if each != key})
        return existed

    def _save(self, rows: dict[str, object]) -> None:
        self.path.write_text(json.dumps(rows))
        self.rows = rows


class Replaced(InPlace):
    def _save(self, rows: dict[str, object]) -> None:
        new = self.path.with_suffix(".new")
        with open(new, "w") as file:
            json.dump(rows, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
        self.rows = rows


class Retried(InPlace):
    """Each attempt writes to a file of its own; the second one may still succeed."""

    def _save(self, rows: dict[str, object]) -> None:
        for attempts_left in (1, 0):
            with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as file:
                try:
                    json.dump(rows, file)
                    file.flush()
                    os.fsync(file.fileno())
                    os.rename(file.name, self.path)
                    break
                except OSError:
                    if not attempts_left:
                        raise
        self.rows = rows


class Log(InPlace):
    """A log of lines. A line of which only a part was written is cut off, at once or when it is read."""

    def make(self) -> None:
        self.path = self.folder / "rows.log"
        self.number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.rows = {}
        *lines, _ = self.path.read_bytes().split(b"\n")
        os.ftruncate(self.number, sum(len(each) + 1 for each in lines))
        for each in lines:
            self.rows = json.loads(each)

    def close(self) -> None:
        os.close(self.number)

    def _save(self, rows: dict[str, object]) -> None:
        line = json.dumps(rows).encode() + b"\n"
        before = os.fstat(self.number).st_size
        try:
            if os.write(self.number, line) < len(line):
                raise OSError("no room for all of it")
            os.fdatasync(self.number)
        except OSError:
            os.ftruncate(self.number, before)
            raise
        self.rows = rows


class Shortened(Log):
    """A log that ignores how many bytes a write wrote."""

    def _save(self, rows: dict[str, object]) -> None:
        os.write(self.number, json.dumps(rows).encode() + b"\n")
        self.rows = rows


class Buffered(InPlace):
    """Its file stays open: what could not be written is still in the buffer, and is written later."""

    def make(self) -> None:
        self.file = open(self.folder / "rows.log", "a+")  # noqa: SIM115 - it is open as long as the store
        self.file.seek(0)
        self.rows = {}
        for each in self.file:
            self.rows = json.loads(each)

    def close(self) -> None:
        self.file.close()

    def get(self, key: str) -> object:
        self.file.seek(0)
        return dict(*[json.loads(each) for each in self.file][-1:]).get(key, MISSING)

    def _save(self, rows: dict[str, object]) -> None:
        self.file.write(json.dumps(rows) + "\n")
        self.file.flush()
        self.rows = rows
