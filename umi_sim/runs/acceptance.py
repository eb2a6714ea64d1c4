"""The command `bless`: the result of a seed file now becomes the result that it expects.

Law 1. The changes are reported before they are written.
Law 2. A failure other than the recorded one needs --other, and a bug that came back needs a ticket.
"""

from collections.abc import Iterator

from msgspec import structs

from umi_core.data import Data
from umi_sim.record import fingerprint, provenance
from umi_sim.record.verdict import Verdict
from umi_sim.runs.replay import block_apart
from umi_sim.runs.runner import run
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import ExpectedResult, SeedFile


class NotBlessed(ValueError):
    """The result of a run must not be accepted as expected; the message says what to do."""


class Blessed(Data):
    """A seed file with its new expected result, and a line for each change; no line if nothing changed."""

    seed: SeedFile
    changes: tuple[str, ...]
    is_new: bool = True


def bless(seed: SeedFile, ticket: str = "", *, other: bool = False) -> Blessed:
    """Run the items and return the file with their result as the expected one. Raises NotBlessed.

    `ticket`: where an open bug is tracked. `other`: accept a failure other than the recorded one.
    """
    verdict = run(seed.config, seed.items)
    ticket = ticket or seed.history.ticket
    if verdict.failure is not None:
        must_be_known(seed, verdict, ticket, other)
    found = seed_file.of_verdict(verdict)
    changes = tuple(list_differences(seed.expect, found.expect))
    is_same_bug = found.failure is None or found.fingerprint == seed.fingerprint
    # A file that was edited by hand has a wrong checksum, so it is written again even without a change.
    if not changes and is_same_bug and not seed.is_edited and ticket == seed.history.ticket:
        return Blessed(seed, (), is_new=False)
    history = structs.replace(
        # The new expected result has not passed yet, so the count of passes in a row starts at zero.
        seed.history,
        passes=0,
        ticket=ticket,
        fixed_in=fixed_in(seed, found.expect.result),
    )
    made = structs.replace(
        seed, expect=found.expect, model=found.model, made_by=found.made_by, history=history, is_edited=False
    )
    # If the run passes, the past failure stays in the file: it is the bug that the file guards against.
    if found.failure is not None:
        names = ("failure", "fingerprint", "before", "after")
        made = structs.replace(made, **{name: getattr(found, name) for name in names})
    return Blessed(made, changes)


def must_be_known(seed: SeedFile, verdict: Verdict, ticket: str, other: bool) -> None:
    """Raise NotBlessed for a failure other than the recorded one, or a new failure without a ticket."""
    failure = verdict.failure
    assert failure is not None
    message = f"{failure.rule} ({failure.rule_id}): {failure.message}"
    # A file that has never failed (a kept pass) has an empty fingerprint; there any failure is accepted here.
    if seed.fingerprint not in ("", fingerprint.of(failure)) and not other:
        raise NotBlessed(f"fails in another way than recorded, {message}; if it is the same bug: --other")
    if seed.expect.result == "pass" and not ticket:
        raise NotBlessed(
            f"it passed and fails now, {message}; fix it, or say where it is tracked: --ticket TEXT"
        )


def fixed_in(seed: SeedFile, result: str) -> str:
    """Return the commit that fixed the bug: the present one if the file failed and passes now; empty if it
    still fails."""
    if result == "fail":
        return ""
    here = provenance.made_by()
    is_new = seed.expect.result == "fail"
    return str(here["commit"] or here["umi_sim"]) if is_new else seed.history.fixed_in


def list_differences(old: ExpectedResult, new: ExpectedResult) -> Iterator[str]:
    """Yield a line for each difference between the expected result and the new one."""
    for name in ("result", "steps", "trace", "state"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield f"{name} {before or 'not recorded'} -> {after}"
    if old.trace != new.trace and (block := block_apart(old, new.prefix, new.every)):
        yield f"apart from step {block[0]} on"
    yield from (f"mark gone: {mark}" for mark in old.marks if mark not in new.marks)
    yield from (f"mark new: {mark}" for mark in new.marks if mark not in old.marks)
