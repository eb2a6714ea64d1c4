"""Names of what a store keeps: those of the run for the ids that the store makes.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. An add that was cut off before it gave an id may have stored something: a listing that shows its text
       shows its id. Several such adds may have the same text, and one of them may have got the id of an entry
       that was deleted before. `guesses` holds every add that an id may be of; the judge follows each.
"""

from collections.abc import Mapping
from typing import Any

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"  # of what was never made: no store makes it
SCOPES = ("user", "agent", "run")


class NotAsked(Exception):
    """The run cannot make this request: it needs an id or a version that no answer has given."""


class Names:
    """`ours`: the names of the run, by the ids of the store. `unanswered`: the arguments of each add that
    has given no id, by its name. `versions`: what the store gave to be given back, by the name of the run.

    `guesses`: the names by which ids were used since the last `take_guesses`, each with the unanswered adds
    that may have made the entry instead.
    """

    def __init__(self) -> None:
        self.ours: dict[Any, str] = {}
        self.unanswered: dict[str, Mapping[str, Any]] = {}
        self.versions: dict[str, Any] = {}
        self.guesses: list[tuple[str, list[str]]] = []

    def id_of(self, name: str) -> Any:
        """Return the id of the store. Raises NotAsked."""
        known = [id for id, ours in self.ours.items() if ours == name]
        # add m1 "tea" is cut off, add m2 "tea" gives id 7: a store that dedupes may have made 7 for m1
        if known and self.unanswered:
            self.guesses.append((name, [*self.unanswered]))
        if not known and name in self.unanswered:
            raise NotAsked(f"the add of {name} gave no id")
        return known[0] if known else UNKNOWN_ID

    def version_of(self, name: str) -> Any:
        """Return what the store gave. Raises NotAsked."""
        if name not in self.versions:
            raise NotAsked(f"no answer gave version {name}")
        return self.versions[name]

    def add_id(self, name: str, id: Any) -> str:
        """Take an id for the name of an add; return the name that the id has."""
        self.unanswered.pop(name, None)
        return self.ours.setdefault(id, name)

    def name_row(self, row: Any, asked: Mapping[str, Any]) -> Any:
        """Return a row [id, text] of a listing under the name of the run."""
        if not isinstance(row, list) or len(row) != 2 or isinstance(row[0], list | dict):
            return row
        id, text = row
        names = self.candidates(text, asked)
        if id not in self.ours and names:
            self.add_id(names[0], id)
        if id in self.ours and names:
            self.guesses.append((self.ours[id], names))
        return [self.ours.get(id, id), text]

    def candidates(self, text: Any, asked: Mapping[str, Any]) -> list[str]:
        """Return the unanswered adds of this text; first the latest one of the scope that was asked for."""
        latest_first = reversed(self.unanswered.items())
        names = [name for name, args in latest_first if args.get("text") == text]
        return sorted(names, key=lambda name: not is_within(self.unanswered[name], asked))

    def take_guesses(self) -> list[tuple[str, list[str]]]:
        taken, self.guesses = self.guesses, []
        return taken


def is_within(args: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    return all(asked.get(scope) in (None, args.get(scope)) for scope in SCOPES)
