"""Replays and shrinks recordings of a live memory, and reports the result."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from umi_sim.cli.console import refuse
from umi_sim.formats.strict_json import bytes_of
from umi_sim.kernel.report import Report, ReportRow, row, whole
from umi_sim.kernel.wording import plural
from umi_sim.record.exit_codes import HARNESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from umi_core.recordings import RecordedStep, RecordingHead
    from umi_sim.runs.recorded import RecordingRun

MARK: Final = b'"umi": "recording"'
HEAD_BYTES: Final = 4_096


def is_recording(file: str) -> bool:
    """Return True if the first line is that of a recording; the reader checks the rest."""
    # A file that cannot be read is no recording; the next reader reports the error.
    with suppress(OSError):
        return MARK in bytes_of(Path(file), HEAD_BYTES).partition(b"\n")[0]
    return False


def replay_recording(file: str) -> Report:
    from umi_sim.runs import recorded

    return report_recording(file, recorded.run_recording(*readable(file)))


def readable(file: str) -> "tuple[RecordingHead, Sequence[RecordedStep]]":
    """Return a recording, or refuse the file."""
    from umi_sim.runs import recorded

    try:
        return recorded.read(Path(file))
    except recorded.BadRecording as error:
        refuse(error)


def report_recording(file: str, done: "RecordingRun", *more: ReportRow) -> Report:
    counted = f"{plural(done.request_count, 'request')}, {plural(len(done.steps), 'step')}"
    rows = [row("trace", done.trace), *more]
    if done.failure:
        rows = [row("told", done.message), whole("repeat", f"umi-sim replay {file}"), *rows]
        head, code = f"FAIL {done.failure} of recording {file} at its last step: {counted}", 1
    # No rule is broken, so this is no failure, but a recording that replays differently proves nothing.
    elif done.differs_at is not None:
        what = f"step {done.differs_at} gives other effects than were recorded: was it another release?"
        rows.append(row("differs", what))
        head, code = f"DIFFER recording {file}: {counted}", HARNESS
    else:
        head, code = f"PASS recording {file}: {counted}, every rule holds", 0
    value = {
        "file": file, "failure": done.failure, "told": done.message, "trace": done.trace,
        "steps": len(done.steps), "requests": done.request_count, "differs_at": done.differs_at,
    }  # fmt: skip
    return Report(head, rows, lambda: value, code)


def shrink_recording(file: str, runs_max: int) -> Report:
    """Replace the file by the smallest recording with the same failure, without digests."""
    from umi_sim.runs import recorded
    from umi_sim.shrink import NothingToShrink
    from umi_sim.shrink import recorded as shrinking

    try:
        head, steps = recorded.read(Path(file))
        done = shrinking.shrink_recording(head, steps, runs_max)
    except recorded.BadRecording as error:
        refuse(error)
    except NothingToShrink as error:
        refuse(f"{file}: {error}")
    # The digests belong to the effects of the original recording; the effects of the smaller one differ.
    recorded.write(Path(file), head, [recorded.drop_digest(step) for step in done.steps])
    return report_recording(file, done, row("shrunk", f"{len(steps)} steps -> {len(done.steps)}"))
