"""Commands that describe worlds without running them: check, scenarios, faults, marks."""

from pathlib import Path
from typing import Final

import click

from umi_sim.cli.arguments import config_of, readable
from umi_sim.cli.console import refuse, seed_of, shows
from umi_sim.cli.kinds import find_other
from umi_sim.kernel.report import Report, row
from umi_sim.kernel.wording import plural


@click.command()
@click.argument("file")
@shows()
def check(file: str) -> Report:
    """Check a scenario, a seed file or a transcript (.toml, .json, .jsonl); nothing is run.

    \b
    umi-sim check scenarios/smoke.toml
    """
    description = describe_file(Path(file))
    return Report(
        f"OK {file}: {description}", value=lambda: {"result": "ok", "file": file, "is": description}
    )


def describe_file(path: Path) -> str:
    """Return a description of a valid file in a few words, or refuse the file."""
    from umi_sim.formats import transcripts as transcript
    from umi_sim.scenario import files as scenario

    if not path.exists():
        refuse(f"{path}: no such file")
    if other := find_other(str(path)):
        return other.describe()
    try:
        match path.suffix:
            case ".toml":
                found = scenario.load(path)
                return f"scenario {found.id}, version {found.version}"
            case ".json":
                seed = readable(str(path))
                return f"seed file of {seed.config.scenario} seed {seed.config.seed}, {len(seed.items)} items"
            case ".jsonl":
                return f"transcript of {plural(len(transcript.load(path)), 'turn')}"
            case _:
                refuse(f"{path}: expected a scenario (.toml), a seed file (.json) or a transcript (.jsonl)")
    except (scenario.BadScenario, transcript.BadTranscript) as error:
        refuse(error)


@click.command()
@click.argument("name", required=False)
@click.option(
    "--seed", type=seed_of, default="0", metavar="S", help="The seed to draw the configuration from."
)
@shows()
def scenarios(name: str | None, seed: int) -> Report:
    """List the scenarios, or show what a seed makes of one.

    \b
    umi-sim scenarios
    umi-sim scenarios smoke --seed 42
    """
    found = resolve_config(name, seed) if name else list_shipped()
    width = max(map(len, found)) + 2
    rows = (row(key, show_value(value), column=width) for key, value in found.items())
    return Report("", rows, lambda: found)


def list_shipped() -> dict[str, object]:
    """Return the number of agents and the title of each shipped scenario, by id."""
    from umi_sim.scenario import files as scenario

    found = [scenario.load(path) for path in scenario.list_shipped().values()]
    return {each.id: f"{agents_of(each.count):10}  {each.title}{MANUAL[each.manual]}" for each in found}


MANUAL = {True: " (manual)", False: ""}


def agents_of(count: tuple[int, int] | None) -> str:
    low, high = count or (1, 4)  # the default of a scenario that gives no count
    return f"{low} agent{'s' if low > 1 else ''}" if low == high else f"{low}-{high} agents"


def resolve_config(name: str, seed: int) -> dict[str, object]:
    from umi_sim.seedfile.files import config_to_json

    config = config_of(name, seed, {})
    head = {"scenario": config.scenario, "version": config.version, "seed": str(config.seed)}
    return {**head, **config_to_json(config)}


def show_value(value: object) -> str:
    from umi_sim.formats.strict_json import compact

    return value if isinstance(value, str) else compact(value).replace(",", ", ")


@click.command()
@click.argument("name", required=False)
@shows()
def faults(name: str | None) -> Report:
    """List the kinds of faults with place, effect, and the rules that must hold; or explain one.

    \b
    umi-sim faults
    umi-sim faults storage_torn
    """
    from umi_sim.faults.kinds import KINDS

    if name:
        from umi_sim.cli.explain import explain_name

        return explain_name(name, KINDS, "kind of fault")
    fields = ("name", "class", "place", "what", "guards")
    kinds = [(it.name, it.fault_class, it.place.name, it.what, it.guards) for it in KINDS.values()]
    rows = (
        row(name, f"{cls}, {place}: {what} {' '.join(guards)}", column=24)
        for name, cls, place, what, guards in kinds
    )
    return Report("", rows, lambda: [dict(zip(fields, kind, strict=True)) for kind in kinds])


@click.command()
@click.argument("name", required=False)
@shows()
def marks(name: str | None) -> Report:
    """List the rare events that a sweep must reach: mark, scenario, least share of runs; or explain one.

    \b
    umi-sim marks
    umi-sim marks "recover.settle: ok"
    """
    from umi_sim.explain.words import floors

    if name:
        from umi_sim.cli.explain import explain_name

        return explain_name(name, floors(), "mark")
    rows = [(mark, each, floor) for mark, found in floors().items() for each, floor in found]
    value = [{"mark": mark, "scenario": each, "floor": floor} for mark, each, floor in rows]
    return Report(
        "", (row(mark, f"{each:16}{floor}", column=48) for mark, each, floor in rows), lambda: value
    )


COMMANDS: Final = (check, scenarios, faults, marks)
