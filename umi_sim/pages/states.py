"""States: the whole state of a run after each step, stored as the changes of each step.

Law 1. The value at a path after a step follows from the changes of the steps up to it.
Law 2. Paths and values are numbers in tables of names and of texts, so that each is written once.
Law 3. Changes that a user cares about come before internal ones (QUIET).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from umi_core.data import Data, Owner
from umi_sim.kernel.wording import cut, escape_text
from umi_sim.record.state_tree import Branch, Tree, describe_tree, is_same

NAME_CHARS_MAX: Final = 80
ROOTS: Final = ("memory", "storage", "world")  # `umi-sim step` also shows the state of the judge
REMOVED: Final = -1
QUIET: Final = re.compile(  # internal: times, counts, and parts of an operation
    r"(memory\.[^.]*\.(seen_ms|request_count|marks|waiting\..*|.*\.due_ms"
    r"|operations\.[^.]*\.(facts|learned|asked|sent|pages|calls|notes)\b.*)|world\..*)"
)

Parts = tuple[str, ...]


class Delta(Data):
    """The changes of one step, as numbers of a path and of its new text; the first `telling_count` matter."""

    changes: tuple[tuple[int, int], ...] = ()
    telling_count: int = 0


class States(Owner):
    """The tables of paths and texts, and the current values."""

    roots: tuple[str, ...] = ROOTS
    paths: list[tuple[int, str]] = []  # (number of the parent or -1, name)
    texts: list[str] = []
    numbers: dict[Parts, int] = {}
    text_numbers: dict[str, int] = {}
    now: dict[Parts, Tree] = {}

    def look(self, at: Callable[[str], Tree]) -> Delta:
        """Read the values below the roots, and return the changes since the previous call."""
        then, self.now = self.now, dict(leaves({root: at(root) for root in self.roots}))
        changed = [path for path in self.now if path not in then or not is_same(then[path], self.now[path])]
        changed += [path for path in then if path not in self.now]
        telling = sorted((path for path in changed if is_telling(path)), key=rank)
        quiet = [path for path in changed if not is_telling(path)]
        return Delta(tuple((self.number(path), self.text(path)) for path in telling + quiet), len(telling))

    def number(self, path: Parts) -> int:
        if not path:
            return -1
        if path not in self.numbers:
            # A parent gets its number before its children, because
            # life.js counts from the last number down.
            parent = self.number(path[:-1])
            self.numbers[path] = len(self.paths)
            self.paths.append((parent, escape_text(cut(path[-1], NAME_CHARS_MAX))))
        return self.numbers[path]

    def text(self, path: Parts) -> int:
        if path not in self.now:
            return REMOVED
        text = describe_tree(self.now[path])
        if text not in self.text_numbers:
            self.text_numbers[text] = len(self.texts)
            self.texts.append(text)
        return self.text_numbers[text]


def leaves(parts: Mapping[str, Tree], above: Parts = ()) -> Iterator[tuple[Parts, Tree]]:
    """Yield each leaf with its path; a branch without parts is a leaf."""
    for name, tree in parts.items():
        path = (*above, name)
        if isinstance(tree, Branch) and tree.parts:
            yield from leaves(tree.parts, path)
        else:
            yield path, tree


def is_telling(path: Parts) -> bool:
    return not QUIET.fullmatch(".".join(path))


def rank(path: Parts) -> int:
    return ROOTS.index(path[0])
