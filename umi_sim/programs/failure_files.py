"""Failure files: a case of a program as JSON, which can be replayed wherever the program can be imported.

Law. Files are untrusted: sizes are bounded, types and names are checked. A file never chooses which program
is imported; the command line does.
"""

from pathlib import Path
from typing import Final

import msgspec

from umi_core.data import Data
from umi_sim.formats.schema import SEED, TEXT, Json, Schema, as_object, at, list_of, of_class, table
from umi_sim.programs.events import EVENT_COUNT_MAX, ProgramEvent, choose_events
from umi_sim.programs.perturbations import Perturbation, read_perturbation
from umi_sim.programs.search import FOLDER, ProgramFinding, fingerprint_of
from umi_sim.record.saved_failures import (
    make_document,
    parse_document,
    read_file,
    read_trace,
    save_document,
    shorten_owner,
)

FORMAT: Final = "umi-program"
COUNT_MAX: Final = 100
EVENTS: Final = list_of(of_class(ProgramEvent), EVENT_COUNT_MAX)
RENAMED: Final = {"who": "subject", "what": "text", "strike": "injection", "life": "process"}
FAILURE: Final = table(dict.fromkeys(("rule", "message", "fingerprint"), TEXT))


class SavedCase(Data):
    """A case from a file, with its recorded result. `trace`: empty if the file was edited by hand.

    `events`: the events of the run; a long run is stored without its first ones.
    """

    program: str
    seed: int
    perturbations: tuple[Perturbation, ...]
    rule: str
    message: str
    fingerprint: str
    trace: str
    events: tuple[ProgramEvent, ...] = ()


def write_finding(name: str, finding: ProgramFinding, folder: Path = Path(FOLDER)) -> Path:
    """Write a finding to a file, and return its path. The same finding always gets the same file."""
    outcome, mark = finding.outcome, fingerprint_of(finding.broken)
    case: list[Json] = [each.to_json() for each in outcome.perturbations]
    failure: Json = {"rule": finding.broken.rule, "message": finding.broken.message, "fingerprint": mark}
    document = make_document(
        FORMAT,
        {
            "program": name, "seed": str(outcome.seed), "perturbations": case, "failure": failure,
            "events": [as_object(msgspec.to_builtins(each)) for each in choose_events(outcome.events)],
            "trace": outcome.trace,
        },
    )  # fmt: skip

    def is_same(path: Path) -> bool:
        saved = read_case(path)
        return (saved.program, saved.fingerprint, saved.perturbations) == (name, mark, outcome.perturbations)

    return save_document(folder, name, document, case, is_same)


def list_kept(name: str, folder: Path) -> list[SavedCase]:
    """Return the saved cases of this program in a folder. Raises BadFile."""
    found = [read_case(path) for path in sorted(folder.glob(f"{shorten_owner(name)}-*.json"))]
    return [saved for saved in found if saved.program == name]


def read_case(path: Path) -> SavedCase:
    """Read a case. Raises BadFile, naming the file and the place in it."""
    return read_file(path, parse_case)


def parse_case(data: bytes, name: str) -> SavedCase:
    """Read a case from the bytes of a file. Raises BadFile, whose message names the file `name`."""
    return parse_document(data, name, FORMAT, "case of a program", case_of)


def case_of(document: dict[str, Json]) -> SavedCase:
    perturbations = list_of(Schema(read_perturbation, dict), COUNT_MAX)
    failure = at("failure", FAILURE.read, document.get("failure", {}))
    return SavedCase(
        at("program", TEXT.read, document.get("program", "")),
        at("seed", SEED.read, document.get("seed", "0")),
        tuple(at("perturbations", perturbations.read, document.get("perturbations", []))),
        failure.get("rule", ""), failure.get("message", ""), failure.get("fingerprint", ""),
        read_trace(document), at("events", EVENTS.read, renew_events(document.get("events", []))),
    )  # fmt: skip


def renew_events(events: Json) -> Json:
    """Rename fields and kinds of events in older files: `who`, `what`, and the kinds strike and life."""

    def renew(name: str, value: Json) -> tuple[str, Json]:
        return RENAMED.get(name, name), RENAMED.get(str(value), value) if name == "kind" else value

    if not isinstance(events, list):
        return events
    return [dict(renew(*it) for it in each.items()) if isinstance(each, dict) else each for each in events]
