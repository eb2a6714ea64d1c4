"""Names of what a store keeps: those of the run for the ids that the store makes.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. What was cut off before it told an id may be there: a listing that shows its text tells its id.
"""

from collections.abc import Mapping
from typing import Any

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"  # of what was never made: no store makes it
SCOPES = ("user", "agent", "run")


class Untold(Exception):
    """Nobody can ask for what is meant: its id was never told."""


class Names:
    """`ours`: the names of the run, by the ids of the store. `untold`: what was to be added, by its name.

    `versions`: what the store gave to be given back, by the name of the run.
    """

    def __init__(self) -> None:
        self.ours: dict[Any, str] = {}
        self.untold: dict[str, Mapping[str, Any]] = {}
        self.versions: dict[str, Any] = {}

    def id_of(self, name: str) -> Any:
        """The id of the store. Raises Untold."""
        known = [id for id, ours in self.ours.items() if ours == name]
        if not known and name in self.untold:
            raise Untold(f"the id of {name} was never told")
        return known[0] if known else UNKNOWN_ID

    def version_of(self, name: str) -> Any:
        """Raises Untold."""
        if name not in self.versions:
            raise Untold(f"{name} was never told")
        return self.versions[name]

    def added(self, name: str, id: Any) -> str:
        self.untold.pop(name, None)
        return self.ours.setdefault(id, name)

    def listed(self, row: Any, asked: Mapping[str, Any]) -> Any:
        """A row [id, text] of a listing, under the name of the run."""
        if not isinstance(row, list) or len(row) != 2 or isinstance(row[0], list | dict):
            return row
        id, text = row
        if id not in self.ours and (name := self.whose(text, asked)) is not None:
            self.added(name, id)
        return [self.ours.get(id, id), text]

    def whose(self, text: Any, asked: Mapping[str, Any]) -> str | None:
        """The latest that says this, of the scope that was asked for; None if nobody does."""
        for name, args in reversed(self.untold.items()):
            if args.get("text") == text and all(asked.get(it) in (None, args.get(it)) for it in SCOPES):
                return name
        return None
