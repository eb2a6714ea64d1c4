"""Replay: run a seed file again and put the result into one of four classes.

Law 1. Two failures are the same if their fingerprints are equal. A strict replay also compares hashes and the
       answers of the model; a relaxed replay gives the recorded answers where event and task agree.
Law 2. A strict replay has diverged if the hashes of a block of steps differ. But if the expected failure no
       longer occurs, the result is "passes": fixing a memory changes its steps.
Law 3. A file edited by hand is replayed relaxed, since its hashes belong to another run.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, Literal

from msgspec import structs

from umi_core.data import Data
from umi_sim.record import fingerprint
from umi_sim.record.exit_codes import EXIT_CODES
from umi_sim.record.items import Item
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import STEP, Record, Trace, decode, first_difference
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run, run_once
from umi_sim.seedfile.files import ExpectedResult, SeedFile

if TYPE_CHECKING:
    from umi_sim.scenario.files import Scenario

Class = Literal["same failure", "other failure", "passes", "diverged"]
DIVERGED: Final = 4  # exit codes, as in umi_sim/record/exit_codes.py
UNEXPECTED_PASS: Final = 1
RECORDS_SHOWN: Final = 5


class NotRegenerated(ValueError):
    """This version cannot draw the run of a file from its seed; the message says why."""


class Replayed(Data):
    """The result of running a seed file again: its class, the reason in one line, the exit code.

    `records`: the first trace records where it diverged from the recorded run, if it did.
    """

    what: Class
    why: str
    exit_code: int
    verdict: Verdict
    records: tuple[Record, ...] = ()


def replay(seed: SeedFile, *, relaxed: bool = False, expect: str = "") -> Replayed:
    """Run the items of a seed file and compare the result with the recorded one.

    `expect`: "fail" or "pass" in place of the result that the file expects; then hashes are not compared.
    """
    is_asked = expect not in ("", seed.expect.result)
    # The hashes in the file belong to the result that it expects, so only the failure can be compared.
    if is_asked:
        seed = structs.replace(seed, expect=ExpectedResult(expect))
    is_relaxed = relaxed or seed.is_edited or is_asked
    # A strict replay asks the model again, since it also checks that the answers are the recorded ones.
    verdict = run(seed.config, seed.items, replies=seed.model if is_relaxed else ())
    done = compare_failure(seed, verdict, is_asked=is_asked)
    place = "" if is_relaxed else difference(seed, verdict, done.what)
    return find_divergence(seed, done, place) if place else done


def compare_failure(seed: SeedFile, verdict: Verdict, *, is_asked: bool = False) -> Replayed:
    """Compare the failure alone. `is_asked`: the expected result is the caller's, not that of the file."""
    what = class_of(seed, verdict)
    why = REMARKS[what, seed.expect.result]
    if is_asked and (what, seed.expect.result) == ("same failure", "pass"):
        why = "expected to pass, and it fails as recorded"  # not "is back": the file never passed
    return Replayed(what, why, exit_code(seed, what, verdict), verdict)


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
    ("passes", "fail"): "the failure is gone: fixed, or no longer reached by these items; umi-sim bless FILE",
    ("passes", "pass"): "as recorded",
    ("other failure", "fail"): "another one than was recorded",
    ("other failure", "pass"): "a failure where none was recorded",
}


def trace_of(seed: SeedFile, *, relaxed: bool = False) -> Trace:
    """Replay a file and return the trace with all records."""
    replies = seed.model if relaxed or seed.is_edited else ()
    return run_once(seed.config, seed.items, keep_trace=True, replies=replies)[1]


# From the seed alone.


def regenerate(seed: SeedFile, expect: str = "", own: str = "") -> Replayed:
    """Draw scenario and items from the seed again, and run them.

    `own`: the file of a scenario that is not shipped. Raises NotRegenerated if the run would be another one.
    """
    from umi_sim.scenario import files as scenario  # a replay of items needs none

    try:
        found = scenario.of(seed.config, own)
    except scenario.BadScenario as error:
        raise NotRegenerated(str(error)) from None
    # A scenario contains no planted bug, so the one of the seed file is taken over.
    config = structs.replace(draw_anew(seed, found), planted=seed.config.planted)
    is_asked = expect not in ("", seed.expect.result)
    wanted = structs.replace(seed, expect=ExpectedResult(expect)) if expect else seed
    done = compare_failure(wanted, run(config), is_asked=is_asked)
    return structs.replace(done, why=f"{compare_items(seed, done.verdict.items)}; {done.why}")


def draw_anew(seed: SeedFile, found: "Scenario") -> RunConfig:
    """Draw the configuration from the seed, the scenario and the settings recorded in the seed file."""
    from umi_sim.scenario import files as scenario

    recorded = seed.original_config or seed.config
    try:
        config = scenario.draw(found, recorded.seed, recorded.settings)
    except scenario.BadScenario as error:
        raise NotRegenerated(f"recorded with settings that mean nothing here: {error}") from None
    is_own = recorded.workload == "transcript" != config.workload
    if is_own or config.transcript not in (None, found.transcript):
        raise NotRegenerated("recorded with a conversation of your own, which is not in the file")
    return config


def compare_items(seed: SeedFile, items: Sequence[Item]) -> str:
    """Compare the drawn items with those of the file before it was shrunk; return the result in words."""
    if seed.minimised and not seed.original:
        return "the items before shrinking are not in the file"
    for recorded, now in zip_longest(seed.original or seed.items, items):
        if recorded != now:
            return f"generator changed at {(recorded or now).id}"
    return "same items"


# Where two runs diverge.


def difference(seed: SeedFile, verdict: Verdict, what: Class) -> str:
    """Describe where the hashes differ from the recorded ones; empty if they agree."""
    expect = seed.expect
    block = block_apart(expect, verdict.prefix, verdict.prefix_every)
    if block is None:
        is_alike = (what, expect.result) in (("same failure", "fail"), ("passes", "pass"))
        # Every block agrees and the trace does not: the runs differ after the last prefix hash, or in records
        # between steps. If the failure is another one, that is known already.
        if not is_alike or expect.trace in ("", verdict.trace_hash):
            return ""
    return f"{model_apart(seed, verdict)}the first difference is {place_of(expect, verdict, block)}"


def place_of(expect: ExpectedResult, verdict: Verdict, block: tuple[int, int] | None) -> str:
    if block is None:
        return f"after step {last_agreed(expect, verdict.prefix, verdict.prefix_every)}"
    first, last = block
    return f"in step {first}" if first == last else f"in steps {first} to {last}"


def block_apart(expect: ExpectedResult, prefix: Sequence[bytes], every: int) -> tuple[int, int] | None:
    """Return the first and last step of the first block whose hashes differ; None if none do."""
    theirs, first = blocks(prefix, every), 1
    for step, digest in blocks(expect.prefix, expect.every).items():
        # A longer run keeps a hash for every 1, 2, 4 ... steps. Only steps with a hash in both are compared:
        #   recorded, every 2   2 4 6 8 10
        #   now, every 4          4   8        4 agrees, 8 differs: apart in steps 5 to 8
        if theirs.get(step, digest) != digest:
            return first, step
        first = step + 1 if step in theirs else first
    return None


def last_agreed(expect: ExpectedResult, prefix: Sequence[bytes], every: int) -> int:
    theirs = blocks(prefix, every)
    return max((step for step in blocks(expect.prefix, expect.every) if step in theirs), default=0)


def blocks(prefixes: Sequence[bytes], every: int) -> dict[int, bytes]:
    """Return the prefix hashes by the last step that they cover."""
    return {(number + 1) * every: prefix for number, prefix in enumerate(prefixes)}


def model_apart(seed: SeedFile, verdict: Verdict) -> str:
    """Describe the first answer of the model that differs from the record; empty if none does."""
    for old, new in zip_longest(seed.model, verdict.model) if seed.model else ():
        if old is None or new is None or (old.at, old.task) != (new.at, new.task):
            return f"the model is asked something else at {(old or new).at}; "
        if old.prompt != new.prompt:
            return f"the prompt of {old.at} has changed; "
        if old.text != new.text:
            return f"the model answers {old.at} differently; "
    return ""


def find_divergence(seed: SeedFile, done: Replayed, place: str) -> Replayed:
    """Run the file once more with all records, to find where it diverges, and whether it is deterministic.

    `place`: where the hashes differ, in words.
    """
    verdict = done.verdict
    trace = run_once(seed.config, seed.items, keep_trace=True)[1]
    # If two runs of the same items differ, the run is not deterministic; that matters more than the place.
    is_same = trace.hexdigest() == verdict.trace_hash
    if not is_same:
        place = apart_from_itself(trace, run_once(seed.config, seed.items, keep_trace=True)[1])
    block = block_apart(seed.expect, verdict.prefix, verdict.prefix_every)
    last = last_agreed(seed.expect, verdict.prefix, verdict.prefix_every)
    records = tuple(islice(records_of(trace, *(block or (last + 1, verdict.steps))), RECORDS_SHOWN))
    # A fixed failure always differs from its record (law 2): the class stays "passes", the place is added.
    if is_same and (done.what, seed.expect.result) == ("passes", "fail"):
        missing_text, _, advice = done.why.rpartition("; ")
        return structs.replace(done, why=f"{missing_text}; {place}; {advice}", records=records)
    return Replayed("diverged", f"{place}; --relaxed compares the failure only", DIVERGED, verdict, records)


def apart_from_itself(first: Trace, second: Trace) -> str:
    """Describe where two runs of the same items in one process differ."""
    from umi_sim.record.trace_fields import field_apart  # only for the message

    found = first_difference(first, second)
    where = f": record {found.index}, {field_apart(found.a, found.b)}" if found else ""
    return f"not deterministic, two runs of these items differ{where}"


def records_of(trace: Trace, first: int, last: int) -> Iterator[Record]:
    """Yield the records that the hash of these steps covers: those after the STEP before `first`."""
    count = 0
    for packed in trace.kept:
        record = decode(packed)
        # Effects and replies come after the STEP that caused them, hence first - 1.
        if first - 1 <= count < last:
            yield record
        count += record[2] == STEP
