"""The plugin for pytest: it collects scenarios and seed files as tests, in any project.

    pytest scenarios                        each scenario with seeds 0..9, each seed file once
    pytest --umi-sim-seeds 0..199 -n auto   more seeds, on all cores

Law 1. In a project without such files the plugin imports no other module of the simulator.
Law 2. The collected tests depend on files and options only, so every process of xdist collects the same ones.
Law 3. A failure is reported in the layout of umi_sim.explain.report, without a traceback, and a malformed
file in one line.
"""

import inspect
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

if TYPE_CHECKING:
    from umi_sim.kernel.report import Report
    from umi_sim.record.verdict import Verdict
    from umi_sim.runs.replay import Replayed
    from umi_sim.scenario.files import Scenario
    from umi_sim.seedfile.files import SeedFile

PATHS_DEFAULT: Final = ("scenarios",)
SEEDS_DEFAULT: Final = "0..9"
KEPT: Final = ".umi-sim/ephemeral"
SEED_COUNT_MAX: Final = 100_000
SHRINK_SECONDS_MAX: Final = 20
PASSES_NOW: Final = "passes now, and is run each time:"
SNIFFED_BYTES: Final = 65_536
OURS: Final = {  # by suffix: patterns that the beginning of a scenario or a seed file must contain
    ".toml": (re.compile(rb"^\s*\[scenario\]", re.M), re.compile(rb"^\s*(id|title)\s*=", re.M)),
    ".json": (re.compile(rb'\{\s*"'), re.compile(rb'"format"\s*:\s*"umi-seed"')),
}
FOLDERS = pytest.StashKey[tuple[Path, ...]]()
REPLAYED = pytest.StashKey[tuple[Path, ...]]()


# Options.


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("umi-sim", "simulated worlds")
    group.addoption(
        "--umi-sim-seeds", metavar="A..B", default=SEEDS_DEFAULT,
        help=f"the seeds of each scenario, both ends included; default: {SEEDS_DEFAULT}",
    )  # fmt: skip
    group.addoption(
        "--umi-sim-base", metavar="X",
        help="as many fresh seeds again, drawn from X, such as the id of the commit",
    )  # fmt: skip
    group.addoption(
        "--umi-sim-relaxed", action="store_true", help="seed files: compare the failure only, not the hashes"
    )
    group.addoption(
        "--umi-sim-replay", metavar="FILE", action="append", default=[],
        help="run this seed file and nothing else; it must not fail, whatever it recorded",
    )  # fmt: skip
    parser.addini(
        "umi_sim_paths", type="linelist", default=None,
        help="folders of scenarios and seed files, run whenever no path is given; "
        "without this option those that pytest meets in a folder `scenarios` are run",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "umi_sim: a life of a scenario, or a seed file, run by umi-sim")
    config.addinivalue_line(
        "markers", "umi_program(**options): an async test is a program, which umi_sim.programs.check runs"
    )
    given = config.getini("umi_sim_paths")
    folders: list[Path] = [config.rootpath / name for name in (PATHS_DEFAULT if given is None else given)]
    config.stash[FOLDERS] = tuple(folders)
    config.stash[REPLAYED] = tuple(Path(name).resolve() for name in config.getoption("umi_sim_replay"))
    # Checks the seeds before anything is collected, but only if they were given: parsing
    # them imports the simulator (law 1).
    if config.getoption("umi_sim_seeds") != SEEDS_DEFAULT or config.getoption("umi_sim_base"):
        seeds_of(config)
    if config.stash[REPLAYED]:
        must_be_seed_files(config.getoption("umi_sim_replay"))
        # A replay replaces all other paths.
        config.args = [str(path) for path in config.stash[REPLAYED]]
    # `umi_sim_paths` adds its folders, but not if the user named paths on the command line.
    elif given and config.args_source is not pytest.Config.ArgsSource.ARGS:
        must_be_there(folders, given)
        config.args += [str(path) for path in folders if not is_below(path, config.args)]


def must_be_there(folders: Sequence[Path], names: Sequence[str]) -> None:
    for folder, name in zip(folders, names, strict=True):
        if not folder.is_dir():
            raise pytest.UsageError(f"umi_sim_paths: no folder {name!r} beside the configuration of pytest")


def must_be_seed_files(names: Iterable[str]) -> None:
    for name in names:
        if not Path(name).exists():
            raise pytest.UsageError(f"--umi-sim-replay: {name}: no such file")
        if not (name.endswith(".json") and Path(name).is_file()):
            raise pytest.UsageError(
                f"--umi-sim-replay: {name}: not a seed file, expected one that ends in .json"
            )


def is_below(path: Path, args: Iterable[str]) -> bool:
    """Return True if this path is, or is below, one of the arguments, so that pytest visits it anyway."""
    return any(path.is_relative_to(Path(arg).absolute()) for arg in args)


def seeds_of(config: pytest.Config) -> list[int]:
    """Return the pinned seeds and, if there is a base, as many fresh ones. Raises UsageError."""
    given, base = config.getoption("umi_sim_seeds"), config.getoption("umi_sim_base")
    first, _, last = given.partition("..")
    low, high = (seed_of("--umi-sim-seeds", text) for text in (first, last or first))
    if not low <= high < low + SEED_COUNT_MAX:
        message = f"write A..B with A <= B, at most {SEED_COUNT_MAX} seeds"
        raise pytest.UsageError(f"--umi-sim-seeds: {given}: {message}")
    pinned = range(low, high + 1)
    if base is None:
        return list(pinned)
    seed_of("--umi-sim-base", base)
    from umi_sim.sweep.plan import fresh_seed  # the same seeds as in a sweep with this base

    return [*pinned, *(fresh_seed(base, index) for index in range(len(pinned)))]


def seed_of(option: str, text: str) -> int:
    from umi_sim.kernel.prng import parse_seed

    try:
        return parse_seed(text)
    except ValueError as error:
        raise pytest.UsageError(f"{option}: {error}") from None


# Collecting tests.


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a scenario or seed file that is in one of the folders or named on the command line."""
    kind = KINDS.get(file_path.suffix)
    if kind is None:
        return None
    config = parent.config
    is_asked_for = parent.session.isinitpath(file_path)
    if not is_asked_for and not any(file_path.is_relative_to(folder) for folder in config.stash[FOLDERS]):
        return None
    # A file that was named for a replay is collected unchecked, so that its reader reports what is wrong.
    if file_path in config.stash[REPLAYED] or is_ours(file_path):
        return kind.from_parent(parent, path=file_path)
    return None


def is_ours(path: Path) -> bool:
    """Return True if the beginning of the file has the signs of a scenario or a seed file."""
    try:
        with path.open("rb") as file:
            head = file.read(SNIFFED_BYTES)
    except OSError:
        return False
    return all(sign.search(head) for sign in OURS[path.suffix])


class SimulationItem(pytest.Item):
    """A test from a scenario or a seed file; pytest reports it by name, without a line number."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.add_marker("umi_sim")

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class ScenarioCollector(pytest.File):
    """A scenario: one test for each seed. A `manual` one runs only if the command line names its file."""

    def collect(self) -> Iterator["RunItem"]:
        from umi_sim.scenario import files as scenario

        try:
            found = scenario.load(self.path)
        except scenario.BadScenario as error:
            raise self.CollectError(str(error)) from None
        if found.manual and not self.session.isinitpath(self.path):
            return
        for seed in seeds_of(self.config):
            yield RunItem.from_parent(self, name=f"{found.id}[{seed}]", scenario=found, seed=seed)


class RunItem(SimulationItem):
    """One simulated run."""

    def __init__(self, *, scenario: "Scenario", seed: int, **given: Any) -> None:
        super().__init__(**given)
        self.scenario, self.seed = scenario, seed

    def runtest(self) -> None:
        from shlex import join

        from umi_sim.explain import report
        from umi_sim.runs import runner
        from umi_sim.scenario.files import draw

        verdict = runner.run(draw(self.scenario, self.seed))
        if verdict.failure is None:
            return
        command = join(["umi-sim", "run", show_path(self.path), "--seed", str(self.seed)])
        path = keep_seed_file(self.config, verdict)
        small = smaller(self.config, verdict, path, command) if path else None
        repeat, file = (replay_of(path), show_path(path)) if path else (command, "")
        fail(small or report.of_run(verdict, repeat, command, file=file))


class SeedFileCollector(pytest.File):
    """A seed file: one test. The test reads the file, so that collecting it costs nothing."""

    def collect(self) -> Iterator["ReplayItem"]:
        yield ReplayItem.from_parent(self, name=f"{self.path.parent.name}/{self.path.stem}")


class ReplayItem(SimulationItem):
    """A replay of a seed file."""

    def runtest(self) -> None:
        from umi_sim.runs import corpus, replay
        from umi_sim.seedfile import files as seed_file

        is_kept = self.path.parent == kept_folder(self.config)
        if is_kept and not self.path.exists():
            pytest.skip("it is gone: another process has removed it")
        try:
            seed = seed_file.read(Path(show_path(self.path)))
        except seed_file.BadSeedFile as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        # A failure kept from an earlier run, or named for a replay, must not fail again. Any other seed file
        # must have the result that it expects.
        must_pass = is_kept or self.path in self.config.stash[REPLAYED]
        # The code has changed since the file was written, so only the failure is compared, not the hashes.
        done = replay.replay(seed, relaxed=must_pass or self.config.getoption("umi_sim_relaxed"))
        if is_kept:
            corpus.count_passes(self.path, seed, done)
            if done.what == "passes":
                print(PASSES_NOW, show_path(self.path))
        if done.what == "passes" and (must_pass or seed.expect.result == "pass"):
            return
        # A known failure is an open bug, which is what pytest calls an expected failure (xfail).
        if done.what == "same failure" and seed.expect.result == "fail" and not must_pass:
            pytest.xfail(open_bug(seed))  # with --runxfail this returns, and the failure is reported
        fail(self.report_failure(seed, done))

    def report_failure(self, seed: "SeedFile", done: "Replayed") -> "Report":
        """Return the report of a replay: a failure, a divergence, or a pass that was not expected."""
        from umi_sim.explain import report
        from umi_sim.kernel.report import Report, row, whole

        name = show_path(self.path)
        repeat, bless = whole("repeat", f"umi-sim replay {name}"), whole("next", f"umi-sim bless {name}")
        if done.what == "diverged":
            advice = row("", "if that is meant; pytest --umi-sim-relaxed compares less")
            return Report(f"DIVERGED {name}: {done.why}", (repeat, bless, advice))
        if done.verdict.failure is None:
            advice = row("", "then it must never come back")
            return Report(f"UNEXPECTED PASS {name}: {done.why}", (repeat, bless, advice))
        saved = keep_seed_file(self.config, done.verdict) if done.what == "other failure" else None
        file = saved or Path(name)
        failed = report.of_run(done.verdict, replay_of(file), file=show_path(file))
        return Report(failed.head, (row("replay", f"{name}: {done.what}: {done.why}"), *failed.lines))


KINDS: Final[dict[str, type[pytest.File]]] = {".toml": ScenarioCollector, ".json": SeedFileCollector}


def open_bug(seed: "SeedFile") -> str:
    """Return the reason of an expected failure: its ticket and notes."""
    history = seed.history
    return "; ".join(filter(None, ("open bug", history.ticket, history.notes)))


def fail(report: "Report") -> NoReturn:
    """Fail a test with the report and no traceback."""
    from umi_sim.kernel.report import laid_out

    pytest.fail("\n".join(laid_out(report)), pytrace=False)


def show_path(path: Path) -> str:
    """Return a path as a user in the current folder would type it."""
    return os.path.relpath(path)


# Programs.


@pytest.fixture
def umi_run() -> None:
    """Declare the argument `umi_run` of a program; `pytest_pyfunc_call` passes it a new run each time."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test with the marker umi_program as a program, under umi_sim.programs.check."""
    marker = pyfuncitem.get_closest_marker("umi_program")
    if marker is None:
        return None
    from umi_sim.programs import BadProgram, check
    from umi_sim.programs.search import FOLDER

    names = pyfuncitem._fixtureinfo.argnames
    given = {name: pyfuncitem.funcargs[name] for name in names if name != "umi_run"}

    async def main(run: Any) -> None:
        await pyfuncitem.obj(**given, **({"umi_run": run} if "umi_run" in names else {}))

    main.__module__, main.__qualname__ = pyfuncitem.obj.__module__, pyfuncitem.name
    main.__name__ = pyfuncitem.obj.__name__
    message = ""
    try:
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            raise BadProgram(f"{pyfuncitem.name}: expected an async test, as its marker is umi_program")
        check(
            main,
            folder=pyfuncitem.config.rootpath / FOLDER,
            repeat=f"pytest {pyfuncitem.nodeid}",
            **marker.kwargs,
        )
    except (AssertionError, BadProgram) as error:
        message = str(error)
    if message:
        pytest.fail(message, pytrace=False)
    return True


# Failures kept as seed files, which run first the next time.


def kept_folder(config: pytest.Config) -> Path:
    return config.rootpath / KEPT


def keep_seed_file(config: pytest.Config, verdict: "Verdict") -> Path | None:
    """Write the seed file of a failure and return its path; None if it cannot be written."""
    from umi_sim.runs import corpus
    from umi_sim.seedfile import files as seed_file

    try:
        return corpus.keep_run(verdict, Path(show_path(kept_folder(config))))
    except (OSError, seed_file.BadSeedFile):
        return None


def replay_of(path: Path) -> str:
    return f"umi-sim replay {path.as_posix()}"


def smaller(config: pytest.Config, verdict: "Verdict", path: Path, command: str) -> "Report | None":
    """Return the report of a saved failure, which is shrunk first if it was not; None if it cannot be."""
    from umi_sim.explain import report
    from umi_sim.seedfile import files as seed_file
    from umi_sim.shrink import NothingToShrink, Shrunk, shrink_whole

    assert verdict.failure is not None
    seed = seed_file.read(path)
    try:
        done = Shrunk(seed) if seed.minimised else shrink_whole(seed, seconds_max=SHRINK_SECONDS_MAX)
    except NothingToShrink:
        return None
    if not seed.minimised:
        seed_file.write(path, done.seed)
    for other in done.others:
        keep_seed_file(config, other)
    return report.of_failure(report.of_shrunk(done, show_path(path), command, verdict.failure))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show kept failures that pass now, because pytest hides the output of tests that pass."""
    lines = [line for it in terminalreporter.getreports("passed") for line in it.capstdout.splitlines()]
    # The dict removes duplicates: with xdist, or after a rerun, a report may come twice.
    for line in dict.fromkeys(lines):
        if line.startswith(PASSES_NOW):
            terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give all xdist workers the same list of files."""
    node.workerinput["umi_sim_kept"] = kept_names(node.config)


def kept_names(config: pytest.Config) -> list[str]:
    return sorted(path.name for path in kept_folder(config).glob("*.json"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Run the failures of earlier runs first, unless every simulation was named on the command line."""
    # A project without simulations skips this, and imports nothing.
    if not any(isinstance(item, SimulationItem) and not session.isinitpath(item.path) for item in items):
        return
    input_of_worker = getattr(config, "workerinput", None)
    names = kept_names(config) if input_of_worker is None else input_of_worker["umi_sim_kept"]
    collected = {item.path for item in items}
    files = [kept_folder(config) / name for name in names]
    first = [SeedFileCollector.from_parent(session, path=path) for path in files if path not in collected]
    items[:0] = [item for file in first for item in file.collect()]
