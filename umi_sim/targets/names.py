"""Names: the run's names for the ids and versions that a store makes.

Law 1. This file needs only the standard library: an exported script contains a copy of it.
Law 2. An add that was cut off before it returned an id may have stored its entry; a listing that shows its
       text then shows its id. Several such adds may have the same text, and the store may have reused the id
       of a deleted entry. `guesses` holds all adds that may have made an id; the checker follows each.
"""

from collections.abc import Mapping
from typing import Any

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"  # of an entry never added: no store makes it
SCOPES = ("user", "agent", "run")


class NotAsked(Exception):
    """The run cannot make this request: it needs an id or a version that no answer has given."""


class Names:
    """The names of a run. `ours`: names by id of the store. `versions`: versions of the store by name.

    `unanswered`: by name, the arguments of adds that have not returned an id. `guesses`: names whose ids were
    used or shown since the last `take_guesses`, each with the unanswered adds that may have made its entry.
    """

    def __init__(self) -> None:
        self.ours: dict[Any, str] = {}
        self.unanswered: dict[str, Mapping[str, Any]] = {}
        self.versions: dict[str, Any] = {}
        self.guesses: list[tuple[str, list[str]]] = []

    def id_of(self, name: str) -> Any:
        """Return the id of the store for a name. Raises NotAsked if its add returned none."""
        known = [id for id, ours in self.ours.items() if ours == name]
        # If add m1 "tea" is cut off, and add m2 "tea" returns id 7, a store that dedupes made 7 for m1.
        if known and self.unanswered:
            self.guesses.append((name, [*self.unanswered]))
        if not known and name in self.unanswered:
            raise NotAsked(f"the add of {name} gave no id")
        return known[0] if known else UNKNOWN_ID

    def version_of(self, name: str) -> Any:
        """Return the version of the store for a name. Raises NotAsked."""
        if name not in self.versions:
            raise NotAsked(f"no answer gave version {name}")
        return self.versions[name]

    def add_id(self, name: str, id: Any) -> str:
        """Record that an add returned this id. Return the name that the id has: the first one it got."""
        self.unanswered.pop(name, None)
        return self.ours.setdefault(id, name)

    def name_row(self, row: Any, asked: Mapping[str, Any]) -> Any:
        """Return a row [id, text] of a listing with the name of the run instead of the id."""
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
        """Return the names of unanswered adds of this text: those in scope `asked` first, then the latest."""
        latest_first = reversed(self.unanswered.items())
        names = [name for name, args in latest_first if args.get("text") == text]
        return sorted(names, key=lambda name: not is_within(self.unanswered[name], asked))

    def take_guesses(self) -> list[tuple[str, list[str]]]:
        taken, self.guesses = self.guesses, []
        return taken


def is_within(args: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    return all(asked.get(scope) in (None, args.get(scope)) for scope in SCOPES)
