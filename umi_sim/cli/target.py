"""Options and output of the command target. The work is done in umi_sim.targets."""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import join
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import click

from umi_sim.cli import implementations
from umi_sim.cli.arguments import import_named, must_take_history, must_take_script
from umi_sim.cli.console import refuse, seeds_of, shows
from umi_sim.kernel.folders import DOCS, SKILL
from umi_sim.kernel.report import Report, ReportRow, row, whole
from umi_sim.kernel.wording import plural

if TYPE_CHECKING:
    from umi_sim.targets.adapter import Adapter
    from umi_sim.targets.hunt import Hunt, HuntStrategy
    from umi_sim.targets.life import TargetVerdict
    from umi_sim.targets.seed_files import SavedRun
    from umi_sim.targets.shrinking import Live

SECONDS: Final = 30
COUNT_MAX: Final = 1_000_000


def show_page(path: Path) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return the callback of an option that prints a page of this package and ends the command."""

    def show(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
        if is_asked:
            click.echo(path.read_text(encoding="utf-8"))
            ctx.exit()

    return show


@click.command()
@click.argument("name", default="", metavar="[MODULE:CLASS]")
@click.option(
    "--seconds", type=click.IntRange(1, 86_400), metavar="N", help=f"Time to run. Default: {SECONDS}."
)
@click.option(
    "--seed", "--seeds", "seeds", type=seeds_of, metavar="A..B", help="Run these seeds, or this one, instead."
)
@click.option(
    "--all", "to_end", is_flag=True, help="Go on after a failure: one file for each kind of failure."
)
@click.option("--against", metavar="MODULE:CLASS", help="A second implementation: both must answer alike.")
@click.option("--jobs", type=click.IntRange(1, 256), default=1, metavar="N", help="Number of processes.")
@click.option("--replay", metavar="FILE", help="Run a saved failure again, or all of a folder.")
@click.option(
    "--export", "out", metavar="OUT",
    help="Write a failure, found or replayed: OUT.py as a script, OUT.jsonl or OUT.edn as a history.",
)  # fmt: skip
@click.option(
    "--init", is_flag=False, flag_value="", metavar="KIND",
    help="Write an adapter to begin with: kv, sessions or memory.",
)  # fmt: skip
@click.option(
    "--command",
    metavar="COMMAND",
    help="Command that starts a store, which speaks over standard input and output.",
)
@click.option(
    "--contract",
    metavar="KIND",
    help="Contract of that store: kv, sessions, memory, or umi, all of ours.",
)
@click.option(
    "--manual", is_flag=True, is_eager=True, expose_value=False, callback=show_page(DOCS / "targets.md"),
    help="Show docs/targets.md: what each operation has to give, and how stores may differ.",
)  # fmt: skip
@click.option(
    "--skill", is_flag=True, is_eager=True, expose_value=False, callback=show_page(SKILL),
    help="Show SKILL.md: the same work step by step, for a coding agent.",
)  # fmt: skip
@click.option(
    "--scenario", "scenarios", multiple=True, metavar="NAME", help="With umi: only this scenario. Repeatable."
)
@shows()
def target(
    name: str, seconds: int | None, seeds: range | None, to_end: bool, against: str | None, jobs: int,
    replay: str | None, out: str | None, init: str | None, command: str | None, contract: str | None,
    scenarios: Sequence[str],
) -> Report:  # fmt: skip
    """Test your store: run it with many seeds under faults, and judge each of its answers.

    MODULE:CLASS is an adapter, which is imported from the current folder, and run. --init writes a first
    one, with a list of all operations; --manual says what each has to give.

    \b
    umi-sim target --init kv mine.py
    umi-sim target mine:Mine --seconds 30
    umi-sim target mine:Mine --replay .umi-sim/targets/FILE --export show.py
    umi-sim target mine:Mine --seed 7 --export history.edn
    umi-sim target mine:Mine --all --seeds 0..999 --jobs 4
    umi-sim target mine:Mine --against mine:Other
    umi-sim target --contract kv --command "node store.mjs"
    umi-sim target --contract umi --command "./another_umi" --seconds 600
    """
    if contract == implementations.CONTRACT:
        given = {name: name, "--all": to_end, "--jobs": jobs > 1, "--export": out, "--init": init}
        others = [option for option, value in given.items() if value]
        # Given seeds all run, however long they take; without seeds a time limit ends the hunt.
        limit = seconds if seconds is not None or seeds is not None else SECONDS
        return implementations.check_implementation(
            command, against, scenarios, seeds or range(COUNT_MAX), limit, replay, others
        )
    if scenarios:
        refuse(f"--scenario {scenarios[0]}: is for --contract umi")
    if seconds is not None and seeds is not None and len(seeds) == 1:
        refuse(f"--seed {seeds[0]}: is one run, however long it takes: leave out --seconds")
    if init is not None:
        return begin(init, name)
    # `make` is a function because each process of --jobs makes its own adapter.
    make = partial(by_command, command, contract) if command else partial(by_name, name)
    adapter = make()
    called = join(["--contract", str(contract), "--command", command]) if command else name
    # Reports print `called` as part of a command, so it must contain all that the run depends on.
    called += f" --against {against}" if against else ""
    way = way_of(adapter, against, to_end, jobs)
    must_take_export(out)
    if replay is not None:
        return replay_files(adapter, called, replay, out, way.live)
    from umi_sim.targets import reports, seed_files
    from umi_sim.targets.adapter import FOLDER
    from umi_sim.targets.hunt import SEED_COUNT_MAX, check_afresh, hunt

    limit = seconds if seconds is not None or seeds is not None else SECONDS
    with running():
        earlier = seed_files.run_again(adapter, called, Path(FOLDER), way.live)
        found = hunt(adapter, seeds or range(SEED_COUNT_MAX), limit, jobs, make, way)
        if against is None:
            check_afresh(make, found)
    if found.small is None:
        nothing = export_passing(adapter, found, seeds, way, out)
        if earlier.failing:
            return reports.report_earlier(called, FOLDER, earlier).also(*nothing)
        return reports.report_hunt(called, found, "").also(*reports.list_earlier(earlier, called), *nothing)
    saved = [seed_files.write(adapter, called, each.small).as_posix() for each in found.findings]
    reported = (
        reports.report_all(called, found, saved) if to_end else reports.report_hunt(called, found, saved[0])
    )
    return reported.also(*reports.list_earlier(earlier, called, saved), *export(adapter, found.small, out))


def way_of(adapter: "type[Adapter]", against: str | None, to_end: bool, jobs: int) -> "HuntStrategy":
    from umi_sim.targets.alike import check_same_interface, draw_both, run_both
    from umi_sim.targets.hunt import HuntStrategy

    if against is None:
        return HuntStrategy(to_end=to_end)
    if jobs > 1:
        refuse("--against: two implementations are compared by one process, without --jobs")
    other = by_name(against)
    with usable():
        check_same_interface(adapter, other)
    return HuntStrategy(partial(draw_both, other), partial(run_both, other), to_end)


def by_name(name: str) -> "type[Adapter]":
    """Return the adapter class that the user has named, or refuse the name."""
    from umi_sim.targets.adapter import Adapter

    home, attribute = import_named(
        name, "MODULE:CLASS, as in mine:Mine; --init kv mine.py writes a first one"
    )
    module = name.partition(":")[0]
    found = getattr(home, attribute, None)
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        own = [each for each in vars(home) if is_adapter_of(home, each)]
        message = f"{module} has no {attribute}" if found is None else f"{attribute} has no contract"
        refuse(
            f"{name}: {message}; its adapters: {', '.join(own)}"
            if own
            else f"{name}: is no class that inherits from Kv, Sessions or MemoryStore of umi_sim.targets"
        )
    return refuse_unjudged(found)


def is_adapter_of(module: ModuleType, name: str) -> bool:
    from umi_sim.targets.adapter import Adapter

    found = getattr(module, name)
    return isinstance(found, type) and issubclass(found, Adapter) and found.__module__ == module.__name__


def by_command(command: str, contract: str | None) -> "type[Adapter]":
    from umi_sim.targets.pipes import adapter_of

    with usable():
        return refuse_unjudged(adapter_of(command, contract_of(contract or "")))


def refuse_unjudged(adapter: "type[Adapter]") -> "type[Adapter]":
    from umi_sim.targets.declarations import check_declared

    with usable():
        check_declared(adapter)
    return adapter


def contract_of(kind: str) -> "type[Adapter]":
    from umi_sim.targets.adapter import CONTRACTS

    if kind not in CONTRACTS:
        refuse(f"{kind or '--contract'}: expected one of {', '.join(CONTRACTS)}")
    return CONTRACTS[kind]


@contextmanager
def usable() -> Iterator[None]:
    """End the command in one line if an adapter cannot be run."""
    from umi_sim.targets.adapter import BadAdapter

    try:
        yield
    except BadAdapter as error:
        refuse(error)


@contextmanager
def running() -> Iterator[None]:
    """End the command in one line if an adapter cannot be run. Hide errors of destructors.

    A store that died is destroyed after its folder was removed, and its destructor may raise for that reason.
    """
    from umi_sim.targets.world import freeze_older_objects

    before, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        with usable(), freeze_older_objects():
            try:
                yield
            finally:
                gc.collect()
    finally:
        sys.unraisablehook = before


def begin(kind: str, file: str) -> Report:
    from umi_sim.record.saved_failures import write_whole
    from umi_sim.targets.skeletons import skeleton

    if not kind:
        refuse("--init: name one of kv, sessions, memory, and a file: umi-sim target --init kv mine.py")
    contract_of(kind)
    path = Path(file)
    if path.suffix != ".py" or not path.stem.isidentifier() or not path.parent.is_dir():
        refuse(f"--init {kind} {file}: name a new .py file in a folder that is there, such as mine.py")
    if path.exists():
        refuse(f"--init {kind} {file}: is there already, and stays as it is: name a new .py file")
    is_below = not path.is_absolute() and ".." not in path.parts
    # "stores/mine.py" -> "stores.mine". For a path outside of the current folder only the name remains, and
    # the user has to change to that folder.
    module = ".".join(path.with_suffix("").parts) if is_below else path.stem
    write_whole(path, skeleton(kind, module).encode())
    run = f"umi-sim target {module}:Mine --seconds 30"
    return Report(f"WROTE {file}", [whole("run", run)], lambda: {"file": file, "run": run})


def replay_files(adapter: "type[Adapter]", name: str, file: str, out: str | None, live: "Live") -> Report:
    from umi_sim.targets import reports, seed_files

    if not Path(file).is_dir():
        return replay_file(adapter, name, file, out, live)
    with running():
        earlier = seed_files.run_again(adapter, name, Path(file), live)
    if not earlier.runs and not earlier.unreadable:
        refuse(f"{file}: holds no run of {adapter.__name__}")
    return reports.report_earlier(name, file, earlier)


def replay_file(adapter: "type[Adapter]", name: str, file: str, out: str | None, live: "Live") -> Report:
    from umi_sim.record.saved_failures import BadFile
    from umi_sim.targets import seed_files

    try:
        saved = seed_files.read(Path(file))
    except BadFile as error:
        refuse(error)
    check_fits(adapter, file, saved)
    return replay_saved(adapter, name, file, saved, live, out)


def replay_saved(
    adapter: "type[Adapter]", name: str, file: str, saved: "SavedRun", live: "Live | None" = None,
    out: str | None = None,
) -> Report:  # fmt: skip
    from umi_sim.targets import reports

    verdict = live_saved(adapter, saved, live)
    return reports.report_replay(name, file, adapter, saved, verdict).also(*export(adapter, verdict, out))


def live_saved(adapter: "type[Adapter]", saved: "SavedRun", live: "Live | None" = None) -> "TargetVerdict":
    from umi_sim.targets.life import run

    with running():
        return (live or run)(adapter, [step.item for step in saved.steps], saved.seed)


def check_fits(adapter: "type[Adapter]", file: str, saved: "SavedRun") -> None:
    """Refuse a run of another contract, or with operations that the adapter does not have."""
    from umi_sim.targets.adapter import ops_of

    if saved.contract != adapter.contract.name:
        refuse(f"{file}: contract: expected {adapter.contract.name}, as {adapter.__name__} has it")
    ops = ops_of(adapter)
    asked = dict.fromkeys(op.name for step in saved.steps for op in step.item.ops)
    if lacking := [name for name in asked if name not in ops]:
        refuse(f"{file}: asks for {' and '.join(lacking)}, which {adapter.__name__} does not have")


def is_script(out: str) -> bool:
    return Path(out).suffix not in (".jsonl", ".edn")


def must_take_export(out: str | None) -> None:
    """Refuse an export file with an unknown ending, or one that cannot be written or replaced."""
    if out is None:
        return
    if not is_script(out):
        must_take_history("--export", out)
    elif Path(out).suffix != ".py":
        refuse(f"--export {out}: name a file .py, .jsonl or .edn in a folder that is there")
    else:
        must_take_script("--export", out)


def export(adapter: "type[Adapter]", verdict: "TargetVerdict", out: str | None) -> list[ReportRow]:
    """Export a failure as a script or a history if `out` is given, and return the rows that report it."""
    if out is None:
        return []
    from umi_sim.record.saved_failures import write_whole
    from umi_sim.targets.exporting import CannotExport, script_of

    if not is_script(out):
        return export_history(verdict, out)
    try:
        text = script_of(adapter, verdict)
    except CannotExport as error:
        refuse(f"--export {out}: {error}")
    write_whole(Path(out), text.encode(errors="backslashreplace"))
    message = f"{out} was written; it needs what the adapter imports, and no umi_sim"
    return [row("script", message), whole("run", join(["python", out]))]


def export_passing(
    adapter: "type[Adapter]", found: "Hunt", seeds: range | None, way: "HuntStrategy", out: str | None
) -> list[ReportRow]:
    """Export the history of a run without a failure, if it is the only run; else report why not."""
    if out is None:
        return []
    if is_script(out):
        return [row("script", f"{out} was not written: no promise was broken")]
    if seeds is None or len(seeds) != 1:
        message = "no promise was broken; with --seed N it is the history of one run"
        return [row("history", f"{out} was not written: {message}")]
    items = way.draw(adapter, seeds[0], found.moments)
    return export_history(way.live(adapter, items, seeds[0]), out)


def export_history(verdict: "TargetVerdict", out: str) -> list[ReportRow]:
    from umi_sim.record.history import write_history
    from umi_sim.record.saved_failures import write_whole
    from umi_sim.targets.history import history_of

    events = history_of(verdict)
    write_whole(Path(out), write_history(events, Path(out).suffix))
    return [row("history", f"{out} was written: {plural(len(events), 'event')}")]


COMMANDS: Final[tuple[Any, ...]] = (target,)
