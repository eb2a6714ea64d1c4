"""Generates tables and pictures of docs/, and outputs in the README, from the code.

`python tools/tables.py` writes them; tests compare.
"""

import ast
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from tools import pictures
from tools.house import LAYERS
from tools.readme import readme
from umi_core.config import OPTIONS, Config
from umi_sim.faults.kinds import CLASSES, KINDS
from umi_sim.mutants.registry import MUTANTS, OF_TESTS
from umi_sim.scenario.files import find, list_shipped
from umi_sim.seedfile import schema as seed_schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROOMS_WIDTH = 96


NOT_SIMULATED = """
Storage loses data for good only within limits. In most runs it loses only vectors, which can be
made again. Runs with loss (`swarm = { pin = { loss = true } }`, and an eighth of the swarm runs) may
also lose up to three facts, current or ended, or sessions, or once the whole store
([what that looks like](decisions/023-what-loss-looks-like.md)).

What is not simulated at all is in the [specification](spec/simulator.md#24-what-is-not-simulated).
"""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    first, *others = ("| " + " | ".join(cells) + " |" for cells in (list(head), *rows))
    return "\n".join((first, "|---" * len(list(head)) + "|", *others)) + "\n"


def faults() -> str:
    classes = "".join(f"- **{name}**: {text}\n" for name, text in CLASSES.items())
    return (
        "# Fault kinds\n\n"
        f"There are {len(KINDS)} kinds of faults. `umi-sim faults` lists them with class, place and effect;\n"
        "`umi-sim explain KIND` describes one, how to see it, and the rules that it must not break. A name\n"
        "begins with the part that fails: `model_`, `embed_`, `storage_`, `link_`, `agent_`, `clock_`. Each\n"
        "fault is bound to a named event, such as `o7/commit#2`, the second commit attempt of operation o7\n"
        "([rules](spec/simulator.md#7-faults)). The classes:\n\n" + classes + "\n"
        "For each kind there is a planted bug that needs it: the bug is found when this kind alone is on,\n"
        "and not found when all others are on, except those that look the same to the memory\n"
        "(`umi-sim mutants --matrix`). A lost answer, for example, looks to a memory like a very late one,\n"
        "but has other effects on the rest of the world\n"
        "([why they stay apart](decisions/012-three-modes.md)).\n" + NOT_SIMULATED
    )  # fmt: skip


def settings() -> str:
    default = Config()
    rows = ((f"`{name}`", str(getattr(default, name)).lower(), allowed(name)) for name in OPTIONS)
    names = ", ".join(name for name, _ in default.categories)
    topics = ("`categories`", names, "[a list of pairs](memory.md#categories-of-your-own)")
    return "# Settings of a memory\n\n" + table(("option", "default", "allowed"), (*rows, topics))


def allowed(name: str) -> str:
    bounds = OPTIONS[name]
    return "true, false" if bounds is None else f"{bounds[0]} to {bounds[1]}"


def scenarios() -> str:
    rows = ((f"`{name}`", find(name).title) for name in sorted(list_shipped()))
    return (
        "# Scenarios\n\n"
        "A scenario is a kind of world: which requests, agents, options and faults a seed may draw from.\n"
        "`umi-sim sweep` runs all of them but those marked as manual; `umi-sim scenarios NAME --seed N`\n"
        "shows what a seed makes of one. Start with `smoke` (a bit of everything) or `storm` (every kind\n"
        "of fault); take the one nearest to what you change for a longer sweep.\n\n"
        + table(("scenario", "what it is about"), rows)
        + "\n## Planted bugs\n\n"
        f"{len(MUTANTS) + len(OF_TESTS)} known mistakes are kept as text in `mutants/*.toml`\n"
        "([what a row says](adding.md#a-planted-bug)). Each is found by the default seeds of its scenario,\n"
        f"by a rule that it names; {len(OF_TESTS)}, of functions whose limits runs seldom reach, by tests\n"
        "of functions. `umi-sim mutants --list` shows all of them, `--area AREA` those of one\n"
        "part, `umi-sim explain NAME` tells of one, and `umi-sim mutants NAME` plants it and shows the rule\n"
        "that sees it.\n"
    )


BEGIN, END = "<!-- rooms: drawn by tools/tables.py -->\n", "<!-- end of rooms -->\n"


def architecture() -> str:
    """Return the page with new pictures of both packages."""
    before, _, rest = (DOCS / "architecture.md").read_text().partition(BEGIN)
    return before + BEGIN + rooms() + END + rest.partition(END)[2]


def rooms() -> str:
    """Draw umi_core and umi_sim as `ls` shows them, each file or folder below those that it imports."""
    parts = []
    for package in ("umi_core", "umi_sim"):
        names = [name for layer in LAYERS[package] for name in layer]
        folders = {name for name in names if (DOCS.parent / package / name).is_dir()}
        lines: list[str] = []
        for is_folder, some in groupby(names, folders.__contains__):
            if is_folder:
                lines += [first_sentence(package, name) for name in some]
            else:
                lines += wrap(" ".join(f"{name.replace('.', '/')}.py" for name in some), ROOMS_WIDTH)
        parts.append(f"```text\n{package}/\n" + "".join(f"    {line}\n" for line in lines) + "```\n")
    return "\n" + "\n".join(parts) + "\n"


def first_sentence(package: str, folder: str) -> str:
    """Return the name of a folder, with the first sentence of its docstring."""
    source = (DOCS.parent / package / folder / "__init__.py").read_text()
    summary = (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
    return f"{folder + '/':<15} {summary}"


PAGES: dict[str, Callable[[], str]] = {
    "faults.md": faults, "settings.md": settings, "scenarios.md": scenarios,
    "architecture.md": architecture,
    "seed-file.schema.json": seed_schema.text, "../README.md": readme,
}  # fmt: skip

if __name__ == "__main__":
    for page, make in PAGES.items():
        (DOCS / page).write_text(make())
    pictures.write()
