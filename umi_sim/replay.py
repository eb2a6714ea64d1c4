"""Replay: a seed file is run again, and what comes of it is one of four classes.

Law 1. The fingerprint says whether it is the same failure. Strict asks for the same hashes besides.
Law 2. Where the hashes of a block of steps differ, strict believes nothing that comes after.
Law 3. A file edited by hand is relaxed: its hashes prove nothing.
"""

from collections.abc import Iterable
from typing import Final, Literal

import attrs

from umi_sim import fingerprint
from umi_sim.runner import run
from umi_sim.seed_file import Expect, SeedFile
from umi_sim.verdict import EXIT_CODES, Verdict

Class = Literal["same failure", "other failure", "passes", "diverged"]
DIVERGED: Final = 4
UNEXPECTED_PASS: Final = 1
SEVEREST_FIRST: Final = (2, 4, 1, 3, 5)


@attrs.frozen
class Replayed:
    """One seed file, run again: what it is, in one line, and the exit code of that."""

    what: Class
    why: str
    exit_code: int
    verdict: Verdict


def replay(seed: SeedFile, *, relaxed: bool = False) -> Replayed:
    """Run the items of a seed file and say how it compares with what was recorded."""
    verdict = run(seed.config, seed.items)
    what = class_of(seed, verdict)
    place = "" if relaxed or seed.is_edited else difference(seed, verdict, what)
    if place:
        return Replayed("diverged", f"{place}; --relaxed compares the failure only", DIVERGED, verdict)
    return Replayed(what, REMARKS[what, seed.expect.result], exit_code(seed, what, verdict), verdict)


def class_of(seed: SeedFile, verdict: Verdict) -> Class:
    if verdict.failure is None:
        return "passes"
    return "same failure" if fingerprint.of(verdict.failure) == seed.fingerprint else "other failure"


def exit_code(seed: SeedFile, what: Class, verdict: Verdict) -> int:
    if verdict.failure is None:
        return 0 if seed.expect.result == "pass" else UNEXPECTED_PASS
    is_expected = what == "same failure" and seed.expect.result == "fail"
    return 0 if is_expected else EXIT_CODES[verdict.failure.kind]


REMARKS: Final[dict[tuple[Class, str], str]] = {
    ("same failure", "fail"): "as recorded",
    ("same failure", "pass"): "it was fixed once, and is back",
    ("passes", "fail"): "the failure is gone: fixed, or no longer reached by these items",
    ("passes", "pass"): "as recorded",
    ("other failure", "fail"): "another one than was recorded",
    ("other failure", "pass"): "a failure where none was recorded",
}


def severest(codes: Iterable[int]) -> int:
    """The exit code to end with when several apply."""
    given = list(codes)
    return next((code for code in SEVEREST_FIRST if code in given), 0)


# Where two runs part.


def difference(seed: SeedFile, verdict: Verdict, what: Class) -> str:
    """Where the hashes say that this is another run; empty if nothing says so."""
    expect = seed.expect
    last = 0
    theirs = blocks(verdict.prefix, verdict.prefix_every)
    for step, prefix in blocks(expect.prefix, expect.every).items():
        if theirs.get(step, prefix) != prefix:
            return f"the first difference is in steps {last + 1} to {step}"
        last = step if step in theirs else last
    is_alike = (what, expect.result) in (("same failure", "fail"), ("passes", "pass"))
    return f"a difference after step {last}" if is_alike and has_other_hash(expect, verdict) else ""


def blocks(prefixes: tuple[bytes, ...], every: int) -> dict[int, bytes]:
    """The prefix hashes by the step that they end with."""
    return {(number + 1) * every: prefix for number, prefix in enumerate(prefixes)}


def has_other_hash(expect: Expect, verdict: Verdict) -> bool:
    return expect.trace not in ("", verdict.trace_hash)
