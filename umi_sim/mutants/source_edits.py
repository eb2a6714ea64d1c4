"""Source edits: small mistakes in umi_core, drawn at random instead of designed.

The operators of the mutation-testing library mutmut make them: a number one higher, the opposite comparison,
an argument that is None or missing, `and` for `or`, another text, an assignment of None.

Law 1. A line is drawn first, then one of its edits, so long calls are not edited more often than short lines.
Law 2. The same source and seed give the same edits. Law 3. Text that is no valid Python is never drawn.

Code whose mistakes no run can show is never edited: annotations, imports, decorators, assertions, and checks
that the judge uses.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import libcst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from umi_core.data import Data
from umi_sim.kernel import folders
from umi_sim.kernel.prng import Stream

CORE: Final = "umi_core"
JUDGED_BY: Final = "state_checks.py"  # runs are judged by it, so they cannot show its mistakes
LEFT_OUT: Final = (libcst.Annotation, libcst.Assert, libcst.Decorator, libcst.Import, libcst.ImportFrom)


class SourceEdit(Data):
    """Edit `number` of a line: text `before` becomes `after`; `text` is the whole file with the edit."""

    file: str
    line: int
    number: int
    before: str
    after: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.file.removeprefix(CORE + '/')}:{self.line}:{self.number}"


Change = tuple[libcst.CSTNode, libcst.CSTNode]


def draw_edits(seed: int, count: int) -> Iterator[SourceEdit]:
    """Draw `count` edits of different lines from the seed."""
    lines = [(file, line) for file in list_files() for line in list_changes(file)]
    draw, left = Stream(seed, "source edits"), count
    while lines and left:
        file, line = lines.pop(draw.below(len(lines)))
        # A line without any valid edit is dropped, and another one is drawn.
        if edits := list(edits_of(file, line)):
            yield draw.pick(edits)
            left -= 1


def find_edit(name: str) -> SourceEdit:
    """Return the edit of this name. Raises KeyError if there is none."""
    with suppress(ValueError):
        file, line, number = name.rsplit(":", 2)
        if f"{CORE}/{file}" in list_files():
            for edit in edits_of(f"{CORE}/{file}", int(line)):
                if edit.number == int(number):
                    return edit
    raise KeyError(name)


def list_files() -> list[str]:
    """List the sources of the memory, without the checks that judges use as well."""
    paths = (path.relative_to(folders.PROJECT) for path in (folders.PROJECT / CORE).rglob("*.py"))
    return sorted(path.as_posix() for path in paths if path.name != JUDGED_BY)


def edits_of(file: str, line: int) -> Iterator[SourceEdit]:
    """Yield all valid edits of nodes that begin in this line."""
    for number, (node, other) in enumerate(list_changes(file).get(line, ())):
        # An operator may make invalid Python, such as two arguments of one name.
        edited = tree(file).module.deep_replace(node, other)
        assert isinstance(edited, libcst.Module)
        if is_python(text := edited.code):
            yield SourceEdit(file, line, number, *lines_apart(tree(file).module.code, text), text)


def lines_apart(before: str, after: str) -> tuple[str, str]:
    """Return the differing lines of two texts, each as one text."""
    texts = before.split("\n"), after.split("\n")
    # Lines a b c and a x c: one is equal in front and one at the end, so b and x are returned.
    first = next(number for number, (one, other) in enumerate(zip(*texts, strict=False)) if one != other)
    ends = map(reversed, texts)
    last = next(number for number, (one, other) in enumerate(zip(*ends, strict=False)) if one != other)
    shown = [" ".join(" ".join(text[first : len(text) - last]).split()) for text in texts]
    return shown[0], shown[1]


def is_python(text: str) -> bool:
    try:
        compile(text, "<edit>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


@cache
def tree(file: str) -> MetadataWrapper:
    return MetadataWrapper(libcst.parse_module((folders.PROJECT / file).read_text("utf-8")), True)


@cache
def list_changes(file: str) -> Mapping[int, Sequence[Change]]:
    """Return, by line, the changes of nodes that begin in it."""
    places = tree(file).resolve(PositionProvider)
    found: dict[int, list[Change]] = {}
    for node in nodes(tree(file).module):
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                mine = found.setdefault(places[node].start.line, [])
                mine += ((node, other) for other in operator(node))
    return {line: mine for line, mine in found.items() if mine}


def nodes(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    if not isinstance(node, LEFT_OUT):
        yield node
        for child in node.children:
            yield from nodes(child)


@contextmanager
def overlay_sources(edit: SourceEdit) -> Iterator[str]:
    """Make a folder with a copy of umi_core that has this edit, for a process that imports from it first."""
    with tempfile.TemporaryDirectory(prefix="umi-sim-edited-") as folder:
        shutil.copytree(folders.PROJECT / CORE, Path(folder, CORE))
        Path(folder, edit.file).write_text(edit.text, "utf-8")
        yield folder
