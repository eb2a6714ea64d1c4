"""Damages real seed files and reads them: each is refused in one line, or read, and never does harm.

`python tools/fuzz_seed_files.py [COUNT] [SEED]`: by default 200 000 damaged files; a test does 10 000. Of
those that are read some are run, not far. Reading must open, import, compile and start nothing.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.prng import Stream
from umi_sim.mutants import registry
from umi_sim.runs.runner import run_once
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile import item_json
from umi_sim.seedfile.files import BadSeedFile, SeedFile

Json = Any

FOLDER: Final = Path(__file__).resolve().parent.parent / "scenarios" / "seeds"
BANNED: Final = ("open", "import", "exec", "compile", "os.", "socket.", "subprocess.", "shutil.", "ctypes.")
STEPS_RUN: Final = 400
SHORT_COUNT: Final = 5  # the shortest files have all that there is, and are quickest
LINE_CHARS_MAX: Final = 500
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
    """The files of the corpus, the shortest first."""
    return sorted((path.read_bytes() for path in FOLDER.glob("*.json")), key=len)


# Damage.


def damaged(data: bytes, stream: Stream) -> bytes:
    """The file with one to three damages of one sort."""
    damage = stream.pick((with_bytes, with_tokens, with_structure))
    for _ in range(stream.between(1, 3)):
        data = damage(data, stream)
    return data


def with_bytes(data: bytes, stream: Stream) -> bytes:
    """A byte changed, taken out or put in; or the end cut off."""
    at = stream.below(len(data) + 1)
    made = {
        0: lambda: data[:at] + bytes([stream.below(256)]) + data[at + 1 :],
        1: lambda: data[:at] + data[at + 1 :],
        2: lambda: data[:at] + bytes([stream.below(256)]) + data[at:],
        3: lambda: data[:at],
    }
    return made[stream.pick_weighted(range(4), (8, 4, 4, 1))]()


def with_tokens(data: bytes, stream: Stream) -> bytes:
    """A piece of JSON where it may or may not belong, or a piece of the file once more."""
    at = stream.below(len(data) + 1)
    if stream.chance(1, 4):
        start = stream.below(len(data) + 1)
        return data[:at] + data[start : start + stream.below(200)] + data[at:]
    return data[:at] + stream.pick(TOKENS) + data[at + stream.below(4) :]


def with_structure(data: bytes, stream: Stream) -> bytes:
    """Another value, a key more or less, an entry twice: still JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places = list(containers(document))
    if places:
        change(stream.pick(places), stream)
    return json.dumps(document).encode()


def containers(value: Json) -> Iterator[Json]:
    """All lists and objects that hold something."""
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


# Reading, under watch.


class Watch:
    """Notes what is opened, imported, compiled or started while it is armed."""

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


def outcome(data: bytes) -> SeedFile | str:
    """What was read, or the line that refuses it."""
    try:
        return seed_file.loads(data, "damaged.json")
    except BadSeedFile as error:
        line = str(error)
        assert line.isascii()
        assert line.isprintable()
        assert len(line) <= LINE_CHARS_MAX
        return line


def run_a_little(seed: SeedFile) -> str:
    """How a damaged file that could be read runs: it may fail in any way but inside the simulator."""
    config = attrs.evolve(seed.config, planted=None)
    verdict, _ = run_once(config, seed.items, step_max=STEPS_RUN)
    failure = verdict.failure
    assert failure is None or failure.kind != "crash", failure
    return failure.kind if failure else "pass"


def fuzz(count: int, seed: int, watch: Watch, run_every: int) -> Counter[str]:
    """Damage and read so many files; how many were refused, read, run. Every `run_every`-th is run."""
    stream, files, told = Stream(seed, "fuzz"), originals(), Counter[str]()
    warm_up(files)
    for _ in range(count):
        data = damaged(stream.pick(files[:SHORT_COUNT]), stream)
        with watch.armed():
            found = outcome(data)
        told["refused" if isinstance(found, str) else "read"] += 1
        if isinstance(found, SeedFile) and told["read"] % run_every == 0:
            told[f"run: {run_a_little(found)}"] += 1
    return told


def warm_up(files: Sequence[bytes]) -> None:
    """Import what messages and rare values need, so that nothing is left to import."""
    assert registry.MUTANTS
    for old, new in (
        (b"", b""),
        (b'"op"', b'"opp"'),
        (b'"umi_core"', b'"umi"'),
        (b'"scope":["', b'"scope":["\\u0000'),
    ):
        outcome(files[0].replace(old, new))
    for name in KINDS:
        item_json.fault_table(name)


def main(count: int = 200_000, seed: int = 0) -> None:
    watch = Watch()
    told = fuzz(count, seed, watch, 50)
    assert not watch.seen, watch.seen[:5]
    print(", ".join(f"{name} {number}" for name, number in told.items()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
