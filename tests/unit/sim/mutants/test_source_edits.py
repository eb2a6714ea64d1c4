"""Goal: edits are small changes of the memory's source, drawn from a seed, and found again by their names."""

import ast
from pathlib import Path

import pytest

from umi_sim.kernel import folders
from umi_sim.mutants import source_edits
from umi_sim.mutants.source_edits import draw_edits, find_edit, lines_apart, overlay_sources


@pytest.fixture
def some_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them take ten seconds to read."""
    some = ["umi_core/policies/ranking.py", "umi_core/policies/promotion.py"]
    monkeypatch.setattr(source_edits, "list_files", lambda: some)


def original(file: str) -> str:
    return (folders.PROJECT / file).read_text("utf-8")


@pytest.mark.usefixtures("some_files")
def test_edits_are_drawn_from_the_seed() -> None:
    first, again, other = (list(draw_edits(seed, 4)) for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert len({(edit.file, edit.line) for edit in first}) == 4


@pytest.mark.usefixtures("some_files")
def test_an_edit_is_found_by_its_name() -> None:
    for edit in draw_edits(3, 3):
        assert find_edit(edit.name) == edit


@pytest.mark.parametrize(
    "name", ["", "text.py", "text.py:1:0", "text.py:x:0", "../conftest.py:3:0", "text.py:10:99"]
)
def test_a_name_that_no_edit_has_is_refused(name: str) -> None:
    with pytest.raises(KeyError):
        find_edit(name)


@pytest.mark.usefixtures("some_files")
def test_an_edit_is_python_and_another_program() -> None:
    for edit in draw_edits(11, 3):
        assert ast.dump(ast.parse(edit.text)) != ast.dump(ast.parse(original(edit.file)))


def test_nothing_is_drawn_that_no_run_could_show() -> None:
    lines = original("umi_core/text.py").split("\n")
    drawn = {lines[line - 1] for line in source_edits.list_changes("umi_core/text.py")}
    assert not [line for line in drawn if line.startswith(("import ", "from ", "@"))]
    assert not [file for file in source_edits.list_files() if file.endswith("/state_checks.py")]


def test_the_lines_that_differ_are_printed() -> None:
    assert lines_apart("a\nif b:\n    c\nd", "a\nif not b:\n    c\nd") == ("if b:", "if not b:")


@pytest.mark.usefixtures("some_files")
def test_an_overlay_has_the_memory_with_this_edit_and_leaves_nothing_behind() -> None:
    (edit,) = draw_edits(2, 1)
    with overlay_sources(edit) as folder:
        assert Path(folder, edit.file).read_text("utf-8") == edit.text
        assert Path(folder, "umi_core/py.typed").exists()
    assert not Path(folder).exists()
    assert original(edit.file) != edit.text
