"""The house rules hold on the tree, and each of them bites."""

import importlib

import pytest

from tools import house

CORE = "umi_core/state.py"
SIM = "umi_sim/world/world.py"
LIVE = "umi_live/sqlite.py"
PLAIN = "umi_sim/judge/plain/levels.py"
REFERENCE = "tests/properties/text_reference.py"
ORACLE = "umi_sim/judge/oracle/archive/reads.py"


def found(path: str, text: str) -> list[str]:
    return house.check_files({path: text + "\n"})


@pytest.mark.slow
def test_the_tree_keeps_the_house_rules() -> None:
    assert house.check_files(house.read_files(house.ROOT)) == []


@pytest.mark.parametrize("package", ["umi_core", "umi_sim"])
def test_every_exported_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name), name


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        # direction
        ("umi_core/tiers/core.py", "from umi_core.memory import Memory", "umi_core.memory is a layer above"),
        ("umi_core/tiers/core.py", "from ..workflows import recall", "umi_core.workflows is a layer above"),
        ("umi_core/values.py", "from umi_core import state", "umi_core.state is a layer above"),
        (
            "umi_core/values.py",
            "def f() -> None:\n    import umi_core.messages.effects",
            "umi_core.messages.effects is a layer above",
        ),
        ("umi_core/values.py", "from umi_core import Memory", "import from a file that is in LAYERS"),
        ("umi_core/novelty.py", "from umi_core.values import Scope", "use a row of LAYERS"),
        (CORE, "from umi_sim.world.world import World", "ask the world by an effect"),
        (CORE, "import rich", "not on the list of pure modules"),
        (CORE, "import logging", "not on the list of pure modules"),
        (CORE, "from typing_extensions import TypeForm", "not on the list of pure modules"),
        (CORE, "if TYPE_CHECKING:\n    x = 1\nelse:\n    import typing_extensions", "pure modules"),
        (CORE, "import numpy as np", "umi_core/policies/similarity.py only"),
        (CORE, "def f[T](x: T) -> T: ...", "not Python 3.11"),
        (SIM, "from tests.unit import world", "tests is not shipped"),
        (SIM, "from tools.house import main", "tools is not shipped"),
        # judges
        (REFERENCE, "from umi_core.text import norm", "umi_core.text.norm decides what this is compared"),
        (REFERENCE, "import click\nimport umi_core.ids", "umi_core.ids decides what this is compared"),
        (PLAIN, "import umi_core.policies.promotion", "umi_core.policies.promotion decides"),
        (PLAIN, "def f() -> None:\n    from umi_core.language import prompts", "umi_core.language decides"),
        (PLAIN, "from umi_core import Memory", "umi_core.Memory decides"),
        *[
            (ORACLE, f"from umi_core.{room} import x", f"umi_core.{room} decides what is judged here")
            for room in "language policies workflows tiers engine domains state_checks codec".split()
        ],
        (ORACLE, "from umi_sim.services.stored_rows import words_of", "umi_sim.services.stored_rows decides"),
        # banned in umi_core
        *[(CORE, f"x = {name}(y)", f"{name}() is banned") for name in house.CORE_CALLS],
        *[(CORE, f"import {name}", f"{name} is banned in umi_core") for name in house.CORE_MODULES],
        (CORE, "from os.path import join", "use an effect"),
        (CORE, "x = 0.5", "the float 0.5 is banned"),
        (CORE, "x = y / 2", "use //"),
        (CORE, "x /= 2", "use //"),
        (CORE, "from math import sqrt", "math.sqrt rounds"),
        (CORE, "import math\nx = math.log(2)", "math.log rounds"),
        # banned in umi_sim
        *[(SIM, f"x = {name}(y)", f"{name}() is banned") for name in house.SIM_CALLS],
        *[(SIM, f"import {name}", f"{name} is banned in umi_sim") for name in house.SIM_MODULES],
        (SIM, "from time import monotonic", "use umi_sim.kernel.clock"),
        (SIM, "x = 1e3", "the float 1000.0 is banned"),
        (SIM, "import os\nx = os.urandom(8)", ".urandom is banned"),
        (SIM, "from os import urandom", "urandom is banned"),
        (SIM, "x = y.isalpha()", "frozen tables"),
        # umi_live
        (LIVE, "from umi_sim.services.storage import SimStorage", "umi_live never imports umi_sim"),
        (LIVE, "from umi_live.memory import open_memory", "umi_live.memory is a layer above"),
        (CORE, "from umi_live.memory import open_memory", "not on the list of pure modules"),
        (SIM, "from umi_live.memory import open_memory", "import it in umi_sim/disk/"),
        # sets
        (SIM, "for x in {1, 2}:\n    y(x)", "for over a set has no order, use sorted(...)"),
        (SIM, "for x in set(y):\n    z(x)", "for over a set"),
        (SIM, "z = [x for x in frozenset(y)]", "comprehension over a set"),
        (SIM, "z = {x: 1 for x in {a for a in y}}", "comprehension over a set"),
        (SIM, "z = f(x for x in {1, 2})", "comprehension over a set"),
        (SIM, "z = list(set(y))", "list() of a set"),
        (SIM, "z = tuple({*y})", "tuple() of a set"),
        (SIM, "z = next(iter(set(y)))", "iter() of a set"),
        (SIM, "z = ','.join({'a', 'b'})", "join() of a set"),
        (SIM, "z = [*set(y)]", "* of a set"),
        (SIM, "z = list(set(a) - b)", "list() of a set"),
        (SIM, "z = list(a.keys() | b)", "list() of a set"),
        (SIM, "z = list(a.union(b))", "list() of a set"),
        (SIM, "z = set(y).pop()", "use min() and remove()"),
        (SIM, "seen = set()\nfor x in seen:\n    y(x)", "for over a set"),
        (SIM, "def f(ids: frozenset[str] | None) -> None:\n    g(list(ids))", "list() of a set"),
        (
            SIM,
            "def f() -> None:\n    a = set[int]()\n    b = a | c\n    for x in b:\n        y(x)",
            "for over a set",
        ),
        (
            SIM,
            "class A:\n    must: set[str]\n    def f(self):\n        return list(self.must)",
            "list() of a set",
        ),
        (
            SIM,
            "class A:\n    def f(self):\n        self.x = {1}\n    def g(self):\n        return [*self.x]",
            "* of a set",
        ),
        # asserts, lengths, words, exports
        (SIM, "assert a and b", "use two asserts"),
        (SIM, "def f() -> None:\n" + "    g()\n" * 70, "world.py::f has 71 lines, at most 70"),
        ("umi_sim/world/agent.py", "x = 1\n" * 901, "agent.py has 902 lines, at most 900"),
        ("umi_sim/string_utils.py", "", "says util"),
        (SIM, "class LockManager:\n    pass", "says manager"),
        (SIM, "def helper_of() -> None:\n    pass", "says helper"),
        (SIM, "def common_prefix() -> None:\n    pass", "says common"),
        (
            SIM,
            "async def of_tenants() -> None:\n    pass",
            "says tenant, which is not in the glossary, use scope",
        ),
        (SIM, "class SUTAdapter:\n    pass", "use target"),
        ("umi_core/__init__.py", '"""Layout."""', "no __all__"),
        (
            "umi_core/__init__.py",
            "from umi_core.memory import Memory\n__all__ = []",
            "Memory is bound in public",
        ),
        ("umi_core/__init__.py", '__all__ = ["Memory"]', "lists Memory, which is not here"),
        ("umi_sim/__init__.py", "from .world import World\n__all__ = [World.name]", "no __all__"),
        ("umi_sim/__init__.py", 'x = 1\n__all__ = ["x", "x"]', "lists a name twice"),
        # paths
        ("README.md", "cd /" + "work/main", "use one relative to the project"),
        ("docs/index.md", "see /" + "tmp/umi/trace", "use one relative to the project"),
    ],
)
def test_a_bad_snippet_is_found(path: str, text: str, message: str) -> None:
    findings = found(path, text)
    assert len(findings) == 1, findings
    assert message in findings[0]
    assert findings[0].startswith(f"{path}:")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("umi_core/state.py", "from umi_core.tiers import core\nfrom umi_core import limits\nimport msgpack"),
        ("umi_core/values.py", "from umi_core.limits import PPM\nfrom math import isqrt"),
        (house.NUMPY_FILE, "import numpy as np"),
        (CORE, "if TYPE_CHECKING:\n    from typing_extensions import TypeForm"),
        (CORE, "x = y // 2\nif isinstance(x, float):\n    z(x)"),
        (CORE, "self.open(x)\nx.id(3)"),
        ("umi_sim/sweep/outside.py", "import time"),
        ("umi_sim/cli/root.py", "import os\nimport time\nx = os.urandom(8)"),
        ("umi_sim/kernel/characters.py", "x = y.isalpha()"),
        (PLAIN, "from umi_core import limits\nfrom umi_core.messages.results import Resolution"),
        (PLAIN, "import umi_core.rows\nfrom umi_core.text import norm"),
        (REFERENCE, "import umi_core.rows\nfrom umi_core.language.tables import STOP_WORDS"),
        (ORACLE, "from umi_core.messages.requests import Recall\nfrom umi_core.rows import Entity"),
        (ORACLE, "from umi_sim.record.broken import demand\nfrom umi_sim.services.calls import Call"),
        (ORACLE, "from umi_core.messages.requests import bad_request\nfrom umi_core.shapes import shape_of"),
        ("umi_sim/judge/inspector.py", "from umi_core.memory import Memory\nx = requests.bad_request(y)"),
        (SIM, "for x in sorted({1, 2}):\n    y(x)"),
        (SIM, "z = sorted(f(x) for x in set(y))\nok = all(x for x in {1, 2})\nu = {f(x) for x in set(y)}"),
        (SIM, "seen = set()\nseen.update(x for x in seen)\nz = [x for x in y if x in seen]"),
        (
            SIM,
            "for x in y.keys():\n    z(x)\nn = len(set(y))\nxs = list(y)\nq = a | b\nfor x in q:\n    z(x)",
        ),
        (
            SIM,
            "def f():\n    a = {1}\n    a = sorted(a)\n    return list(a)\ndef g(a):\n    return list(a)",
        ),
        (SIM, "a = {1}\ndef f(a: list[int]):\n    return list(a)\ndef g():\n    a = [1]\n    return list(a)"),
        (SIM, "assert a or b\nassert a"),
        (SIM, "def f() -> None:\n" + "    g()\n" * 69),
        (SIM, "def result_of_resuturing() -> None:\n    pass"),
        (
            "umi_core/__init__.py",
            "from umi_core.memory import Memory\nimport msgspec\n_x = 1\n__all__ = ['Memory']",
        ),
        ("umi_sim/__init__.py", "__all__ = ['World']\ndef __getattr__(name: str) -> object: ..."),
        ("umi_core/tiers/__init__.py", "from umi_core.tiers.core import CoreTier"),
        ("tests/unit/test_world.py", "x = '/" + "work/x'"),
        ("docs/index.md", "the framework/network paths"),
    ],
)
def test_a_good_snippet_is_left_alone(path: str, text: str) -> None:
    assert found(path, text) == []


def test_a_file_that_is_not_imported_is_found() -> None:
    files = {
        "pyproject.toml": '[project.entry-points.umi]\nfar = "umi_sim.testing.far:make"\n',
        "umi_sim/cli/root.py": "from umi_sim.runs.runner import run\nfrom umi_sim.world import world\n"
        "X='umi_sim.explain.why:main'\n",
        "umi_sim/runs/runner.py": "from . import replay\n",
        "umi_sim/world/world.py": "import umi_sim.world.links\n",
        "umi_sim/world/links.py": "",
        "umi_sim/runs/replay.py": "",
        "umi_sim/explain/why.py": "",
        "umi_sim/testing/far.py": "",
        "umi_sim/world/alone.py": "import umi_sim.world.alone\n",
        "tests/unit/test_alone.py": "import umi_sim.world.alone\n",
    }
    assert house.check_files(files) == [
        "umi_sim/world/alone.py:1: nobody imports this file, "
        "delete it or use it (BY_OTHERS in tools/house.py)"
    ]


def test_files_that_import_each_other_are_found_also_inside_functions() -> None:
    files = {
        "umi_sim/world/a.py": "from umi_sim.world import b\n",
        "umi_sim/world/b.py": "def f() -> None:\n    from umi_sim.world.a import x\n",
    }
    (finding,) = house.check_files(files)
    assert "imports in a circle" in finding
    assert finding.count("umi_sim.world.a") + finding.count("umi_sim.world.b") == 3
    files["umi_sim/world/b.py"] = "if TYPE_CHECKING:\n    from umi_sim.world.a import x\n"
    assert house.check_files(files) == []


def test_a_name_that_two_classes_have_is_found_wherever_they_stand() -> None:
    files = {
        "umi_core/state.py": "class Row:\n    class Part: ...\n",
        "umi_sim/world/world.py": "class World: ...\ndef f() -> None:\n    class Row: ...\n",
        "umi_live/sqlite.py": "class Part: ...\n",
        "tools/bench/rows.py": "class Row: ...\n",
        "tests/worlds.py": "class World: ...\n",
    }
    assert house.check_files(files) == [
        "umi_live/sqlite.py:1: umi_core/state.py:2 is named Part too, say what this one is",
        "umi_sim/world/world.py:3: umi_core/state.py:1 is named Row too, say what this one is",
    ]


def test_a_docstring_describes_what_is_there() -> None:
    files = {
        CORE: 'class Row:\n    """A row. `id`: its name.\n\n    `ok`: stored. `of`: its type."""\n'
        '    id: str\n    kind: Literal["ok"]\n    def of(self): ...\n',
        SIM: 'def f(row):\n    """Return `told`; `row`: what; see `other`. `told`: its text."""\n',
    }
    assert house.check_files(files) == [f"{SIM}:1: the docstring of f describes told, which it lacks"]


def test_a_budget_for_words_never_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "DOCSTRINGS_MAX", 1)
    monkeypatch.setattr(house, "FUNCTIONS_MAX", 2)
    files = {
        CORE: 'class Row:\n    """What is stored."""\n    def kept(self): ...\ndef checked(): ...\n',
        SIM: 'def is_kept():\n    """Return whether it is."""\n@property\ndef named(): ...\n',
        "umi_core/values.py": "def embed(): ...\n",
        "tools/house.py": 'def found():\n    """Whether it is."""\n',
    }
    assert house.check_files(files) == []
    files[LIVE] = 'def told():\n    """Of a row, its text."""\n'
    asking, bare = house.check_files(files)
    assert "2 docstrings begin with What, Whether, Of or Who, at most 1" in asking
    assert "3 functions are named by a bare participle, at most 2" in bare


def test_the_docs_together_have_a_number_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "DOCS_WORDS_MAX", 6)
    files = {"README.md": "Two words.\n", "docs/a/b.md": "| a | 7 |\n|---|---|\n| - | `x` y |\n"}
    assert house.check_files(files | {"notes.md": "not counted", "docs/c.py": "# nor this\n"}) == []
    files["docs/c.md"] = "More.\n"
    assert house.check_files(files) == [
        "tools/house.py:1: README.md and docs have 7 words, at most 6, say it in fewer"
    ]


def test_an_empty_package_is_found_once_its_last_file_is_there() -> None:
    assert house.check_files({"umi_core/__init__.py": ""}) == []
    findings = house.check_files({"umi_core/__init__.py": "", "umi_core/memory.py": ""})
    assert findings == ["umi_core/__init__.py:1: no __all__, write one out as a literal: []"]


def test_a_record_may_shrink_and_never_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(house.RECORDS, f"{SIM}::f", 80)
    assert found(SIM, "def f() -> None:\n" + "    g()\n" * 79) == []
    assert len(found(SIM, "def f() -> None:\n" + "    g()\n" * 80)) == 1


def test_the_command_prints_what_it_finds_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(house, "read_files", lambda root: {SIM: "assert a and b\n"})
    assert house.main() == 1
    assert capsys.readouterr().out == f"{SIM}:1: one claim per assert, use two asserts\n"
