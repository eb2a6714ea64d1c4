"""Failure files: one case of a program as JSON, which replays wherever the program can be imported.

Law 1. Input is hostile: bounded, typed, every name known. The program is named on the command line.
Law 2. A file is whole or not there. One whose checksum is wrong was edited by hand, and says so.
"""

import re
from pathlib import Path
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.formats.schema import SEED, TEXT, Json, Schema, Wrong, as_object, at, list_of, table, whole
from umi_sim.formats.strict_json import bytes_of, parse_json
from umi_sim.programs.perturbations import Perturbation, read_perturbation
from umi_sim.programs.search import FOLDER, ProgramFinding, fingerprint_of
from umi_sim.programs.services import BadProgram

FORMAT: Final = "umi-program"
VERSION: Final = 1
COUNT_MAX: Final = 100
WORD: Final = re.compile(r"\w+", re.ASCII)
OWNER_CHARS_MAX: Final = 60
FAILURE: Final = table(dict.fromkeys(("rule", "message", "fingerprint"), TEXT))


class BadProgramFile(BadProgram):
    """A file that holds no case of a program, and why, in one line."""


@attrs.frozen
class SavedCase(Data):
    """A case from a file, and what it came to then. `trace`: empty where it was edited by hand."""

    program: str
    seed: int
    perturbations: tuple[Perturbation, ...]
    rule: str
    message: str
    fingerprint: str
    trace: str


def write_finding(name: str, finding: ProgramFinding, folder: Path = Path(FOLDER)) -> Path:
    """Write a finding to a file of its own, and return the path. The same one is written to the same file."""
    from umi_sim.record import (
        saved_failures,  # these load a memory, which a search without a finding need not
    )
    from umi_sim.record.provenance import made_by
    from umi_sim.seedfile.text import checksum, layout

    outcome, mark = finding.outcome, fingerprint_of(finding.broken)
    case: list[Json] = [each.to_json() for each in outcome.perturbations]
    document: dict[str, Json] = {
        "format": FORMAT, "version": VERSION, "min_reader": VERSION, "made_by": as_object(made_by()),
        "program": name, "seed": str(outcome.seed), "perturbations": case,
        "failure": {"rule": finding.broken.rule, "message": finding.broken.message, "fingerprint": mark},
        "trace": outcome.trace,
    }  # fmt: skip
    data = layout({**document, "checksum": checksum(document)}).encode()

    def is_own(path: Path) -> bool:
        try:
            saved = read_case(path)
        except BadProgramFile:
            return False
        is_same = (saved.program, saved.fingerprint) == (name, mark)
        return is_same and saved.perturbations == outcome.perturbations

    return saved_failures.save(
        folder, f"{own_name(name)}-{finding.broken.rule}-{mark}", case, is_own, lambda _: data
    )


def list_kept(name: str, folder: Path) -> list[SavedCase]:
    """Return the cases of this program that a folder holds. Raises BadProgramFile."""
    found = [read_case(path) for path in sorted(folder.glob(f"{own_name(name)}-*.json"))]
    return [saved for saved in found if saved.program == name]


def own_name(name: str) -> str:
    """Return how the files of a program begin."""
    return "-".join(WORD.findall(name))[:OWNER_CHARS_MAX]


def read_case(path: Path) -> SavedCase:
    """Raises BadProgramFile, naming the file and the place in it."""
    try:
        return case_of(at("the file", as_object, parse_json(bytes_of(path))))
    except OSError as error:
        raise BadProgramFile(f"{path}: cannot be read: {error.strerror}") from None
    except Wrong as error:
        raise BadProgramFile(f"{path}: {error}") from None


def case_of(document: dict[str, Json]) -> SavedCase:
    from umi_sim.seedfile.text import checksum

    if document.get("format") != FORMAT:
        raise Wrong(("format", f'expected "{FORMAT}", so this is no case of a program'))
    if at("min_reader", whole(1, 10**9).read, document.get("min_reader", 1)) > VERSION:
        raise Wrong(("min_reader", f"written for a newer umi_sim, this one reads version {VERSION}"))
    perturbations = list_of(Schema(read_perturbation, dict), COUNT_MAX)
    failure = at("failure", FAILURE.read, document.get("failure", {}))
    is_whole = document.get("checksum") == checksum(document)
    return SavedCase(
        at("program", TEXT.read, document.get("program", "")),
        at("seed", SEED.read, document.get("seed", "0")),
        tuple(at("perturbations", perturbations.read, document.get("perturbations", []))),
        failure.get("rule", ""), failure.get("message", ""), failure.get("fingerprint", ""),
        at("trace", TEXT.read, document.get("trace", "")) if is_whole else "",
    )  # fmt: skip
