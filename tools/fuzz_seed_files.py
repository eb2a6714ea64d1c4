"""Damages real files of runs and reads them: each must be refused in one line, or read, and do no harm.

`python tools/fuzz_seed_files.py [COUNT] [SEED]`: by default 200 000 damaged files; a test does 10 000. Some
of the files that can be read are run for a few steps, and shown. Reading must not open, import, compile or
start anything. One file in ten is of a store, and one of a program.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.report import laid_out
from umi_sim.mutants import registry
from umi_sim.programs import page as program_page
from umi_sim.programs.failure_files import SavedCase, parse_case
from umi_sim.programs.program import Program
from umi_sim.programs.reports import report_saved
from umi_sim.programs.services import BadProgram
from umi_sim.programs.simulation import run_case
from umi_sim.record.saved_failures import BadFile
from umi_sim.runs.runner import run_once
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile import item_json
from umi_sim.seedfile.files import BadSeedFile, SeedFile
from umi_sim.targets import page as store_page
from umi_sim.targets.reports import report_saved as report_store
from umi_sim.targets.seed_files import SavedRun, parse_run

Json = Any

FOLDER: Final = Path(__file__).resolve().parent.parent / "scenarios" / "seeds"
BANNED: Final = ("open", "import", "exec", "compile", "os.", "socket.", "subprocess.", "shutil.", "ctypes.")
STEPS_RUN: Final = 400
SHORT_COUNT: Final = 5  # the shortest files have all kinds of values, and are the fastest to read
LINE_CHARS_MAX: Final = 500
NAME: Final = "damaged.json"
CASE: Final[Json] = {
    "format": "umi-program", "version": 1, "min_reader": 1, "made_by": {"umi_sim": "0.1.0"},
    "program": "mine:main", "seed": "7",
    "perturbations": [
        {"kind": "cancel", "step": 2, "task": 1}, {"kind": "kill", "step": 3},
        {"kind": "fail", "service": "model", "call": 2, "how": "timeout"},
        {"kind": "kill_at", "site": "write", "call": 2, "part": 40}, {"kind": "delay", "step": 3, "by": 2},
        {"kind": "jobs", "order": 7, "pauses": [3, 1]},
    ],
    "failure": {"rule": "ends", "message": "main hung", "fingerprint": "0123456789ab"},
    "events": [
        {"ms": 0, "step": 1, "kind": "step", "who": "main", "what": "waits at mine.py:6 (main)"},
        {"ms": 10, "step": 1, "kind": "strike", "who": "", "what": "main is cancelled before step 2"},
    ],
    "trace": "3d4fb904ea881b84747b234fb4c83cc4", "checksum": "dec96a650e9e65b9f91e0fceba71e0de",
}  # fmt: skip
POP: Final[Json] = {"op": "pop", "session": "a"}
STORE: Final[Json] = {
    **CASE, "format": "umi-target", "contract": "sessions", "target": "mine:Mine",
    "items": [
        {"op": "add", "session": "a", "items": []}, {"kind": "advance", "number": 1_000},
        {"kind": "crash_in", "site": "commit", "ops": [POP]}, {"kind": "at_once", "ops": [POP, POP]},
    ],
    "said": [["None"], [], ["died"], ["'v'", "'v'"]],
    "failure": {"rule": "at-once", "op": "pop+pop", "message": "pop+pop: 'v', 'v'"},
}  # fmt: skip
Saved = SeedFile | SavedCase | SavedRun
OTHERS: Final[Mapping[int, tuple[bytes, Callable[[bytes, str], Saved]]]] = {
    0: (json.dumps(STORE).encode(), parse_run),
    5: (json.dumps(CASE).encode(), parse_case),
}
TOKENS: Final = (
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\\u0000", b"\\ud800", b"null", b"true", b"-1", b"1.5",
    b"1e9", b"NaN", b"9223372036854775808", b"18446744073709551615", b"\x00", b"\xff", b"\xe2\x80\xae",
    b'"runs"', b'"hex"', b'"odd"', b'"kind":"op"', b'"agent":"b"', b"[" * 20, b'{"runs":[["ab",131072]]}',
    b'"../../etc/passwd"',
)  # fmt: skip
VALUES: Final[tuple[Json, ...]] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 10**18, "", "a", "o1", "\ud800", "\x00", "x" * 300, "../a",
    "1/2", [], [[]], {}, {"runs": [["ab", 9]]}, {"hex": "ff"}, {"odd": None}, {"int": "9" * 40},
    {"text": "x"}, {"turn": ["user", "x"]}, ["user", "x"], [1, "a"], {"__class__": "os.system"},
)  # fmt: skip


def originals() -> list[bytes]:
    """Return the files of the corpus, the shortest first."""
    return sorted((path.read_bytes() for path in FOLDER.glob("*.json")), key=len)


# Kinds of damage.


def damaged(data: bytes, stream: Stream) -> bytes:
    """Return the file with one to three damages of one kind."""
    damage = stream.pick((with_bytes, with_tokens, with_structure))
    for _ in range(stream.between(1, 3)):
        data = damage(data, stream)
    return data


def with_bytes(data: bytes, stream: Stream) -> bytes:
    """Return the file with a byte changed, removed or inserted, or without its end."""
    at = stream.below(len(data) + 1)
    made = {
        0: lambda: data[:at] + bytes([stream.below(256)]) + data[at + 1 :],
        1: lambda: data[:at] + data[at + 1 :],
        2: lambda: data[:at] + bytes([stream.below(256)]) + data[at:],
        3: lambda: data[:at],
    }
    return made[stream.pick_weighted(range(4), (8, 4, 4, 1))]()


def with_tokens(data: bytes, stream: Stream) -> bytes:
    """Return the file with a piece of JSON inserted anywhere, or with a piece of the file repeated."""
    at = stream.below(len(data) + 1)
    if stream.chance(1, 4):
        start = stream.below(len(data) + 1)
        return data[:at] + data[start : start + stream.below(200)] + data[at:]
    return data[:at] + stream.pick(TOKENS) + data[at + stream.below(4) :]


def with_structure(data: bytes, stream: Stream) -> bytes:
    """Return the file, still JSON, with a value changed, a key added or removed, or an entry repeated."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places = list(containers(document))
    if places:
        change(stream.pick(places), stream)
    return json.dumps(document).encode()


def containers(value: Json) -> Iterator[Json]:
    """Yield all lists and objects that are not empty."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


def change(place: Json, stream: Stream) -> None:
    keys: Sequence[Json] = list(place) if isinstance(place, dict) else range(len(place))
    key = stream.pick(keys)
    sort = stream.pick_weighted(range(4), (6, 1, 1, 1))
    if sort == 0:
        place[key] = stream.pick(VALUES)
    elif sort == 1:
        del place[key]
    elif isinstance(place, dict):
        place[f"{key}x" if sort == 2 else stream.pick(("id", "args", "runs", "hex"))] = place[key]
    else:
        place.insert(stream.below(len(place) + 1), place[key])


# Reading, with a watch on side effects.


class Watch:
    """Records the files opened, modules imported, code compiled and processes started while it is armed."""

    def __init__(self) -> None:
        self.is_armed = False
        self.seen: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, args: tuple[object, ...]) -> None:
        if self.is_armed and event.startswith(BANNED):
            self.seen.append(f"{event} {args!r}"[:LINE_CHARS_MAX])

    @contextmanager
    def armed(self) -> Iterator[None]:
        self.is_armed = True
        try:
            yield
        finally:
            self.is_armed = False


def outcome(data: bytes, read: Callable[[bytes, str], Saved] = seed_file.loads) -> Saved | str:
    """Return the content of a file, or the line that refuses the file."""
    try:
        return read(data, NAME)
    except (BadSeedFile, BadFile) as error:
        line = str(error)
        assert line.isascii()
        assert line.isprintable()
        assert len(line) <= LINE_CHARS_MAX
        return line


def run_a_little(seed: SeedFile) -> str:
    """Run a damaged file that could be read, and return its result; the simulator itself must not fail."""
    config = structs.replace(seed.config, planted=None)
    verdict, _ = run_once(config, seed.items, step_max=STEPS_RUN)
    failure = verdict.failure
    assert failure is None or failure.kind != "crash", failure
    return failure.kind if failure else "pass"


def show_other(saved: SavedCase | SavedRun) -> str:
    """Show a damaged file of a store or a program, and run the case of a program on one of ours."""
    if isinstance(saved, SavedRun):
        assert list(laid_out(report_store(NAME, saved)))
        assert store_page.data_of(NAME, saved)
        return "store"
    assert list(laid_out(report_saved(NAME, saved, all_events=True)))
    assert program_page.data_of(NAME, saved)
    with suppress(BadProgram):  # such as two sites in one case
        run_case(Program(wait_twice), saved.perturbations, saved.seed)
    return "program"


async def wait_twice() -> None:
    await asyncio.sleep(1)
    await asyncio.gather(asyncio.sleep(2), asyncio.to_thread(str))


def fuzz(count: int, seed: int, watch: Watch, run_every: int) -> Counter[str]:
    """Damage and read `count` files, and run every `run_every`-th of them; return counts of the results."""
    stream, files, counts = Stream(seed, "fuzz"), originals(), Counter[str]()
    warm_up(files)
    for number in range(count):
        data, read = OTHERS.get(number % 10) or (stream.pick(files[:SHORT_COUNT]), seed_file.loads)
        data = damaged(data, stream)
        with watch.armed():
            found = outcome(data, read)
        counts["refused" if isinstance(found, str) else "read"] += 1
        if isinstance(found, SavedCase | SavedRun):
            counts[f"shown: {show_other(found)}"] += 1
        elif isinstance(found, SeedFile) and counts["read"] % run_every == 0:
            counts[f"run: {run_a_little(found)}"] += 1
    return counts


def warm_up(files: Sequence[bytes]) -> None:
    """Import the modules that messages and rare values need, so that reading need not import any."""
    assert registry.MUTANTS
    for old, new in (
        (b"", b""),
        (b'"op"', b'"opp"'),
        (b'"umi_core"', b'"umi"'),
        (b'"scope":["', b'"scope":["\\u0000'),
    ):
        outcome(files[0].replace(old, new))
    for document, read in OTHERS.values():
        assert not isinstance(outcome(document, read), str)
        outcome(b'{"format": "umi-saed"}', read)
    for name in KINDS:
        item_json.fault_table(name)


def main(count: int = 200_000, seed: int = 0) -> None:
    watch = Watch()
    counts = fuzz(count, seed, watch, 50)
    assert not watch.seen, watch.seen[:5]
    print(", ".join(f"{name} {number}" for name, number in counts.items()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
