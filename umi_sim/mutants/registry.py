"""The registry of mutants: all planted bugs, those found by runs and those found by tests.

Each area has a file: in mutants/ of a checkout, or in umi_sim/_mutants of an installed package.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from umi_core.data import list_fields
from umi_sim.kernel import folders
from umi_sim.mutants import CANARY, Mutant, TestedMutant
from umi_sim.mutants.edits import TextEdit

__all__ = ["MUTANTS", "OF_TESTS"]

FILES: Final = sorted(folders.MUTANTS.glob("*.toml"))
PARTS: Final = TextEdit.__struct_fields__


class BadMutant(Exception):
    """A row in a file of mutants has a missing or an unknown key."""


def rows(path: Path) -> Iterator[Mutant | TestedMutant]:
    """Yield the bugs of a file, one for each table. The file name is the area of tables that give none."""
    for name, row in tomllib.loads(path.read_text("utf-8")).items():
        yield mutant(name, {"area": path.stem.replace("_", " "), **row}, f"{path.name}: {name}")


def mutant(name: str, row: Mapping[str, Any], where: str) -> Mutant | TestedMutant:
    """Return the bug of a row. A single edit is three keys of the row; several edits are tables below it.

    A bug with `detected_by` is found by a test, any other by rules.
    """
    given = {key: value for key, value in row.items() if key not in PARTS}
    # The keys of the edit are in the row itself, or in tables [[name.edit]] below it.
    edits = given.pop("edit", [{key: row[key] for key in PARTS if key in row}])
    for edit in edits:
        check(edit, PARTS, PARTS, where)
    cls = TestedMutant if "detected_by" in row else Mutant
    fields = cls.__struct_fields__
    needed = [field.name for field in list_fields(cls) if field.required]
    given |= {"name": name, "edits": tuple(TextEdit(**edit) for edit in edits)}
    check(given, fields, needed, where)
    for key, value in given.get("settings", {}).items():
        if not isinstance(value, str):
            raise BadMutant(f"{where}: settings.{key} is {value!r}, expected a text, as --set takes it")
    lists = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    return cls(**(given | lists))


def check(given: Mapping[str, Any], known: Iterable[str], needed: Iterable[str], where: str) -> None:
    for key in needed:
        if key not in given:
            raise BadMutant(f"{where} has no {key}")
    for key in given:
        if key not in known:
            raise BadMutant(f"{where}: {key} is no key")


ALL: Final = [bug for path in FILES for bug in rows(path)]
MUTANTS: Final[dict[str, Mutant]] = {
    CANARY.name: CANARY, **{bug.name: bug for bug in ALL if isinstance(bug, Mutant)},
}  # fmt: skip
"""The bugs that runs find, by name."""
OF_TESTS: Final = {bug.name: bug for bug in ALL if isinstance(bug, TestedMutant)}
"""The bugs that tests of functions find, by name."""
