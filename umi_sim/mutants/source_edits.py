"""Source edits: small mistakes in umi_core, drawn and not thought of beforehand.

They are made by the operators of the mutation-testing library mutmut: a number one higher, a comparison the
other way, an argument that is None or gone, `and` for `or`, another text, an assignment of None.

Law 1. A line is drawn, then one of its edits, so that long calls have no more of them than short statements.
Law 2. The same source and seed give the same edits. Law 3. What is no Python is never drawn.

Left out is what a run cannot show: annotations, imports, decorators, assertions, and the rules of the judge.
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
JUDGED_BY: Final = "state_checks.py"  # runs are judged by it, so they cannot show that it is too lax
LEFT_OUT: Final = (libcst.Annotation, libcst.Assert, libcst.Decorator, libcst.Import, libcst.ImportFrom)


class SourceEdit(Data):
    """Edit `number` of a line: lines `before` become lines `after`; `text` is the whole file with them."""

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
        # A line without an edit that is valid Python is dropped, and another one drawn.
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
    """List the sources of the memory, without the checks that judges use, too."""
    paths = (path.relative_to(folders.PROJECT) for path in (folders.PROJECT / CORE).rglob("*.py"))
    return sorted(path.as_posix() for path in paths if path.name != JUDGED_BY)


def edits_of(file: str, line: int) -> Iterator[SourceEdit]:
    """List all edits of what begins in this line."""
    for number, (node, other) in enumerate(list_changes(file).get(line, ())):
        # an operator may make text that is no Python, as two arguments of one name
        edited = tree(file).module.deep_replace(node, other)
        assert isinstance(edited, libcst.Module)
        if is_python(text := edited.code):
            yield SourceEdit(file, line, number, *lines_apart(tree(file).module.code, text), text)


def lines_apart(before: str, after: str) -> tuple[str, str]:
    """Return the lines in which two texts differ, as one text each."""
    texts = before.split("\n"), after.split("\n")
    # "a b c", "a x c" by lines: first 1 from the front, last 1 from the back, so b and x are left
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
    """Return, by line, the possible changes of nodes that begin there."""
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
    """Make a folder with umi_core and this edit in it, for a process that looks there first."""
    with tempfile.TemporaryDirectory(prefix="umi-sim-edited-") as folder:
        shutil.copytree(folders.PROJECT / CORE, Path(folder, CORE))
        Path(folder, edit.file).write_text(edit.text, "utf-8")
        yield folder
