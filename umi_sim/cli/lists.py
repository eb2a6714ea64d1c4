"""Commands that look at worlds without running them: check, scenarios, faults, marks."""

from pathlib import Path
from typing import Final

import click

from umi_sim.cli.arguments import config_of, readable
from umi_sim.cli.console import is_colored, output_options, refuse, say, say_json, seed_of
from umi_sim.kernel.wording import plural


@click.command()
@click.argument("file")
@output_options
def check(file: str, as_json: bool, quiet: bool, no_color: bool) -> int:
    """Check a scenario, a seed file or a transcript (.toml, .json, .jsonl); nothing is run.

    \b
    umi-sim check scenarios/smoke.toml
    """
    said = checked(Path(file))
    if as_json:
        say_json({"result": "ok", "file": file, "is": said})
    elif not quiet:
        say([f"OK {file}: {said}"], is_colored(no_color))
    return 0


def checked(path: Path) -> str:
    """What a good file is, in a few words."""
    from umi_sim.formats import transcripts as transcript
    from umi_sim.scenario import files as scenario

    if not path.exists():
        refuse(f"{path}: no such file")
    if path.suffix not in CHECKS:
        refuse(f"{path}: expected a scenario (.toml), a seed file (.json) or a transcript (.jsonl)")
    try:
        return CHECKS[path.suffix](path)
    except (scenario.BadScenario, transcript.BadTranscript) as error:
        refuse(error)


def check_scenario(path: Path) -> str:
    from umi_sim.scenario import files as scenario

    found = scenario.load(path)
    return f"scenario {found.id}, version {found.version}"


def check_seed_file(path: Path) -> str:
    seed = readable(str(path))
    return f"seed file of {seed.config.scenario} seed {seed.config.seed}, {len(seed.items)} items"


def check_transcript(path: Path) -> str:
    from umi_sim.formats import transcripts as transcript

    return f"transcript of {plural(len(transcript.load(path)), 'turn')}"


CHECKS: Final = {".toml": check_scenario, ".json": check_seed_file, ".jsonl": check_transcript}


@click.command()
@click.argument("name", required=False)
@click.option(
    "--seed", type=seed_of, default="0", metavar="S", help="The seed to draw the configuration from."
)
@output_options
def scenarios(name: str | None, seed: int, as_json: bool, quiet: bool, no_color: bool) -> int:
    """List the scenarios, or show what a seed makes of one.

    \b
    umi-sim scenarios
    umi-sim scenarios smoke --seed 42
    """
    rows = resolved(name, seed) if name else listed()
    if as_json:
        say_json(rows)
    elif not quiet:
        width = max(map(len, rows))
        say([f"{key:{width}}  {shown(value)}" for key, value in rows.items()])
    return 0


def listed() -> dict[str, object]:
    """The shipped scenarios by id: how many agents, and the title."""
    from umi_sim.scenario import files as scenario

    found = [scenario.load(path) for path in scenario.shipped().values()]
    return {each.id: f"{agents_of(each.count):10}  {each.title}{MANUAL[each.manual]}" for each in found}


MANUAL = {True: " (manual)", False: ""}


def agents_of(count: tuple[int, int] | None) -> str:
    low, high = count or (1, 4)
    return f"{low} agent{'s' if low > 1 else ''}" if low == high else f"{low}-{high} agents"


def resolved(name: str, seed: int) -> dict[str, object]:
    from umi_sim.seedfile.files import config_to_json

    config = config_of(name, seed, {})
    return {
        "scenario": config.scenario,
        "version": config.version,
        "seed": str(seed),
        **config_to_json(config),
    }


def shown(value: object) -> str:
    from umi_sim.formats.strict_json import compact

    return value if isinstance(value, str) else compact(value)


@click.command()
@output_options
def faults(as_json: bool, quiet: bool, no_color: bool) -> int:
    """List the kinds of faults: class, where they strike, what happens, which rules must hold.

    \b
    umi-sim faults
    """
    from umi_sim.faults.kinds import KINDS

    rows = [(it.name, it.fault_class, it.place.name, it.what, it.guards) for it in KINDS.values()]
    if as_json:
        say_json([dict(zip(("name", "class", "place", "what", "guards"), row, strict=True)) for row in rows])
    elif not quiet:
        say(
            f"{name:24}{cls:10}{place:16}{what:100}{' '.join(guards)}"
            for name, cls, place, what, guards in rows
        )
    return 0


@click.command()
@output_options
def marks(as_json: bool, quiet: bool, no_color: bool) -> int:
    """List the rare places that a sweep must reach: mark, scenario, floor (the share of its runs).

    \b
    umi-sim marks
    """
    from umi_sim.scenario import files as scenario

    found = [scenario.load(path) for path in scenario.shipped().values()]
    rows = [(mark, each.id, f"{n}/{d}") for each in found for mark, (n, d) in each.marks.items()]
    if as_json:
        say_json([{"mark": mark, "scenario": name, "floor": floor} for mark, name, floor in rows])
    elif not quiet:
        say(f"{mark:48}{name:16}{floor}" for mark, name, floor in rows)
    return 0


COMMANDS: Final = (check, scenarios, faults, marks)
