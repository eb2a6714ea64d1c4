"""Tables and pictures of docs/, and outputs in the README, made from the code.

`python tools/tables.py` writes them; tests compare.
"""

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tools import pictures
from tools.house import LAYERS
from tools.readme import readme
from umi_core.config import OPTIONS, Config
from umi_core.engine.facts import Fact
from umi_core.engine.workflow import Degrade, OnFailure, Step
from umi_core.messages.effects import EFFECT_NAMES
from umi_core.workflows import WORKFLOWS
from umi_sim.explain.glossary import groups
from umi_sim.faults.kinds import CLASSES, KINDS
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.rules import RULES
from umi_sim.record.verdict import CODES, SEVEREST_FIRST
from umi_sim.scenario.files import find, shipped
from umi_sim.seedfile import schema as seed_schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
FIRED = DOCS.parent / "tests" / "golden" / "fired.json"


NOT_SIMULATED = """
What storage may destroy for good is limited. In most runs it is only what can be made again (vectors).
In runs with loss (`swarm = { pin = { loss = true } }`, and an eighth of the swarm runs) it is also up to
three entities, versions or sessions, or the whole store once
([what that looks like](decisions/023-what-loss-looks-like.md)).

Not simulated: damage that neither storage nor the row itself can notice, writes that land in another row,
damage to what a memory needs before it can answer (epoch, head, core, access records), storage that reports
a forget or a core row as durable too early, a store that is wiped while memories go on, real vectors and
their rounding.
"""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ["---"] * len(list(head)), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def faults() -> str:
    bugs = {bug.kind: f"`{bug.name}`{' *' * bool(bug.alike)}" for bug in MUTANTS.values()}
    fired = json.loads(FIRED.read_text())
    rows = (
        (
            f"`{it.name}`",
            it.fault_class,
            f"`{it.place.name}`",
            it.what,
            " ".join(it.guards),
            known(bugs, it.name, "plant a bug that needs it in umi_sim/mutants"),
            known(fired["runs"], it.name, "python tools/must_fire.py 400 --write counts its runs"),
        )
        for it in KINDS.values()
    )
    classes = "".join(f"- **{name}**: {text}\n" for name, text in CLASSES.items())
    head = ("kind", "class", "strikes", "what happens", "must hold all the same", "needed for", "fired in")
    return (
        "# Fault kinds\n\n"
        "A fault is bound to a named event, such as `o7/commit#2`: "
        "the second commit attempt of operation o7.\n\n" + classes + "\n"
        "*Needed for*: a [planted bug](scenarios.md#planted-bugs) that is found if this kind is the only\n"
        "one that is on, and is not found if all kinds but this one are on (`umi-sim mutants --matrix`);\n"
        "with a star, if the kinds that [look the same](#kinds-that-look-the-same-to-the-memory) are off\n"
        f"as well. *Fired in*: in how many of the runs of `{fired['scenario']}` with seeds\n"
        f"{fired['seeds']} it struck (`tools/must_fire.py --write`).\n\n"
        + table(head, rows) + one_to_the_memory() + NOT_SIMULATED
    )  # fmt: skip


def known(table: Mapping[str, object], kind: str, remedy: str) -> str:
    """What a table says of a kind of fault; one that is new is in none of them yet."""
    if kind not in table:
        raise LookupError(f"{kind} has no row yet: {remedy}")
    return str(table[kind])


def one_to_the_memory() -> str:
    """The kinds that show a bug as well as the one that it was planted for."""
    bugs = [bug for bug in MUTANTS.values() if bug.alike]
    rows = ((f"`{bug.kind}`", ", ".join(f"`{it}`" for it in bug.alike)) for bug in bugs)
    return (
        "\n## Kinds that look the same to the memory\n\n"
        "A memory sees answers and the time, not what happened to them on the way: a lost answer looks\n"
        "like one that is very late. So the bug that is planted for a kind may be found with others as\n"
        "well. The kinds differ in what becomes of the rest of the world\n"
        "([why they stay](decisions/028-kinds-that-look-alike.md)).\n\n"
        + table(("kind", "its bug shows with these as well"), rows)
    )


def workflows() -> str:
    parts = [
        "# Workflows\n\n"
        "Every operation that asks the world is one of these tables, read from top to bottom.\n"
        "`retry n` means n attempts in all. All of it can be [changed from outside](extending.md).\n"
    ]
    head = ("row", "needs", "learns", "asks", "on failure")
    for workflow in WORKFLOWS:
        rows = (workflow_row(row) for row in workflow.steps)
        parts.append(f"\n## {workflow.name}\n\n" + table(head, rows))
    return "".join(parts)


def workflow_row(row: Step) -> tuple[str, ...]:
    effect = EFFECT_NAMES[row.effect] if row.effect else ""
    each = f", for each of {row.each.name}" if row.each else ""
    return row.id, names(row.requires), names(row.produces), effect + each, policy(row.on_failure)


def names(facts: Iterable[Fact[Any]]) -> str:
    return ", ".join(fact.name for fact in facts)


def policy(rule: OnFailure | None) -> str:
    if rule is None:
        return ""
    parts = ["retry without end" if rule.attempts == 0 else f"retry {rule.attempts}"]
    parts.append(f"go on with `{rule.then.name}`" if isinstance(rule.then, Degrade) else "give up")
    if rule.replan:
        parts.append(f"at a conflict plan again from {rule.replan}")
    return "; ".join(parts[:1] + parts[2:] if rule.attempts == 0 else parts)


def settings() -> str:
    default = Config()
    rows = ((f"`{name}`", str(getattr(default, name)).lower(), allowed(name)) for name in OPTIONS)
    return "# Settings of a memory\n\n" + table(("option", "default", "allowed"), rows)


def allowed(name: str) -> str:
    bounds = OPTIONS[name]
    return "true, false" if bounds is None else f"{bounds[0]} to {bounds[1]}"


def scenarios() -> str:
    rows = ((f"`{name}`", find(name).title) for name in sorted(shipped()))
    bugs = (
        (f"`{bug.name}`", bug.behaviour, f"`{bug.scenario}`", ", ".join(bug.rules))
        for bug in MUTANTS.values()
    )
    return (
        "# Scenarios, and the bugs they must find\n\n"
        + table(("scenario", "what it is about"), rows)
        + "\n## Planted bugs\n\n"
        "Each is found by the default seeds of its scenario, some where one kind of fault is the only one\n"
        "([which](faults.md)); `umi-sim mutants` shows it.\n\n"
        + table(("bug", "what a user would see", "scenario", "found by"), bugs)
    )


def marks() -> str:
    rows = (
        (f"`{mark}`", f"`{name}`", f"{n}/{d}")
        for name in sorted(shipped())
        for mark, (n, d) in find(name).marks.items()
    )
    return (
        "# Marks, and their floors\n\n"
        "A mark is the name of something rare that can happen in a run, such as a commit that meets the\n"
        "result of an earlier plan. A sweep of at least 1,000 seeds of a scenario must reach each of its\n"
        "marks in this share of the runs, its *floor*; otherwise too little happened for its result to mean\n"
        "much ([what else a sweep must meet](commands.md#what-a-sweep-must-meet)). Floors are well below\n"
        "what sweeps have shown, so a floor that is missed says that something has changed.\n\n"
        + table(("mark", "scenario", "floor"), rows)
    )


def invariants() -> str:
    rows = (
        (f"`{rule.name}`", rule.id, rule.statement, rule.seen_by, bugs)
        for rule in RULES
        for bugs in [", ".join(bug.name for bug in MUTANTS.values() if rule.name in bug.rules)]
    )
    head = ("rule", "id", "what it promises", "seen by", "planted bugs that it may find")
    return (
        "# Invariants\n\n"
        "`umi-sim explain NAME` tells of one rule where it is checked, which faults try it, and how to see it"
        " bite.\n\n" + table(head, rows)
    )


def glossary() -> str:
    parts = [
        "# Glossary\n\n"
        "Every word that a command shows. `umi-sim explain WORD` tells the same, and knows the names of\n"
        "[rules](invariants.md), [faults](faults.md), [planted bugs](scenarios.md#planted-bugs),\n"
        "[marks](marks.md), [options](settings.md) and [steps](workflows.md) too.\n"
    ]
    for group, words in groups().items():
        rows = ((f"`{word}`", words[word]) for word in sorted(words, key=str.lower))
        parts.append(f"\n## {group}\n\n" + table(("word", "means"), rows))
    codes = ((str(code), means) for code, means in CODES.items())
    last = ", ".join(map(str, SEVEREST_FIRST))
    parts.append(
        "\n## Exit codes\n\n"
        + table(("code", "means"), codes)
        + f"\nIf several apply, the first of {last}.\n"
    )
    return "".join(parts)


BEGIN, END = "<!-- rooms: drawn by tools/tables.py -->\n", "<!-- end of rooms -->\n"


def architecture() -> str:
    """The page as it is, with its pictures of both packages drawn anew."""
    before, _, rest = (DOCS / "architecture.md").read_text().partition(BEGIN)
    return before + BEGIN + rooms() + END + rest.partition(END)[2]


def rooms() -> str:
    """Both packages as `ls` shows them, each file or folder below those that it imports."""
    parts = []
    for package, layers in LAYERS.items():
        lines = (f"    {shown(package, name)}" for layer in layers for name in layer)
        parts.append(f"```text\n{package}/\n" + "\n".join(lines) + "\n```\n")
    return "\n" + "\n".join(parts) + "\n"


def shown(package: str, name: str) -> str:
    """A file or a folder, with the first sentence that it says of itself."""
    path = DOCS.parent / package / name
    is_folder = path.is_dir()
    source = (path / "__init__.py" if is_folder else path.with_suffix(".py")).read_text()
    said = (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
    return f"{name + '/' if is_folder else name + '.py':<18} {said}"


PAGES: dict[str, Callable[[], str]] = {
    "faults.md": faults, "workflows.md": workflows, "settings.md": settings, "scenarios.md": scenarios,
    "architecture.md": architecture, "marks.md": marks, "invariants.md": invariants, "glossary.md": glossary,
    "seed-file.schema.json": seed_schema.text, "../README.md": readme,
}  # fmt: skip

if __name__ == "__main__":
    for page, make in PAGES.items():
        (DOCS / page).write_text(make())
    pictures.write()
