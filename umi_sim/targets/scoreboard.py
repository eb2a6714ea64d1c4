"""The scoreboard: many adapters, each run for a while in a process of its own, as one table of promises.

A cell says that a promise was *held* in all runs, *few* if few runs could have broken it, *broken*, *not
promised*, or *not expressible* by the adapter. Held means only that no run broke the promise.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from umi_core.data import Data
from umi_sim.kernel.wording import group_digits, plural
from umi_sim.record.saved_failures import write_whole
from umi_sim.targets.exporting import STILL
from umi_sim.targets.promises import PROMISES
from umi_sim.targets.reports import NO_DEATH
from umi_sim.targets.seed_files import read

Json = dict[str, Any]
CONTRACTS: Final = ("Kv", "Sessions", "MemoryStore")
PACKAGE: Final = re.compile(r"([A-Za-z][\w.-]*) \d+\.\d")
GRACE_SECONDS: Final = 300  # added to the time of a hunt, for shrinking
FEW_RUNS_MAX: Final = 19  # that could have broken a promise: too few to show a rare failure
HELD, FEW, BROKEN = "held", "few", "broken"
NOT_MET: Final = "not expressible: nothing in these runs could have broken it"
WORST: Final = (BROKEN, HELD, "not promised", "not expressible")  # cells, the worst first
SHOWN: Final = {
    BROKEN: "**broken**", HELD: "held", FEW: "few", "not promised": "off", "not expressible": "–",
}  # fmt: skip


class ScoredFailure(Data):
    """A promise that an adapter breaks: the failure, its file, the result of its script, and the other kinds.

    For a divergence that the adapter declares as known, `what` is its address.
    """

    promise: str
    what: str
    adapter: str
    file: str = ""
    script: str = ""
    more: int = 0


class ScoredSubject(Data):
    """A row: a store, or one of its adapters. `cells`: by promise. `left_out`: why it could not be run.

    `tried`: by promise, how many runs could have broken it. `not_explored`: the limits of the runs, by class.
    """

    name: str
    packages: str
    runs: int = 0
    cells: Mapping[str, str] = {}
    tried: Mapping[str, int] = {}
    not_explored: Mapping[str, Sequence[str]] = {}
    failures: tuple[ScoredFailure, ...] = ()
    left_out: str = ""


# Finding adapters. Their source is parsed, not imported, since their packages may not be installed.


def list_subjects(folder: Path) -> dict[str, list[str]]:
    """Return the stores of a folder, each with the names MODULE:CLASS of its adapters. Raises SyntaxError."""
    subjects: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.py")):
        for name, subject in list_adapters(path.read_text("utf-8"), path.name).items():
            subjects.setdefault(f"{path.stem}:{subject}", []).append(f"{path.stem}:{name}")
    return subjects


def list_adapters(source: str, file: str) -> dict[str, str]:
    """Return the adapters of a module that define or inherit `make`, each with the store that it belongs to.

    An adapter that inherits from another one belongs to the same store, with other promises or operations.
    Raises SyntaxError.
    """
    makes, subjects = dict.fromkeys(CONTRACTS, False), dict[str, str]()
    for each in ast.parse(source, file).body:
        if isinstance(each, ast.ClassDef):
            bases = [base.id for base in each.bases if isinstance(base, ast.Name) and base.id in makes]
            own = any(getattr(member, "name", "") == "make" for member in each.body)
            if bases:
                makes[each.name] = own or any(makes[base] for base in bases)
            if makes.get(each.name):
                subjects[each.name] = next((subjects[base] for base in bases if base in subjects), each.name)
    return subjects


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


# Running them.


def score_subjects(
    folder: Path, subjects: Mapping[str, Sequence[str]], seconds: int, jobs: int, out: Path
) -> Iterator[ScoredSubject]:
    """Run each adapter for `seconds`, `jobs` at a time, and yield the rows in order.

    Files of failures, and a script for each, are written below `out`. The files that are already there are
    run again: a failure that needs a rare seed stays in the table. Raises BadFile.
    """
    out.mkdir(parents=True, exist_ok=True)
    kept: dict[str, list[Path]] = {}
    for path in sorted(out.resolve().glob("*.json")):
        kept.setdefault(read(path).target, []).append(path)
    score = partial(score_class, folder.resolve(), seconds, out.resolve())
    with ThreadPoolExecutor(jobs) as pool:
        scored = {
            name: pool.submit(score, name, kept.get(name, ()))
            for names in subjects.values()
            for name in names
        }
        for subject, names in subjects.items():
            yield unite_classes(subject, [scored[name].result() for name in names])


def unite_classes(subject: str, rows: Sequence[ScoredSubject]) -> ScoredSubject:
    """Return one row for the adapters of a store: for each promise their worst cell.

    A promise that few runs of all of them could have broken is FEW, not HELD; if none could, it is NOT_MET.
    """
    found = [it for it in rows if not it.left_out]
    promises = found[0].cells if found else ()
    rank = lambda cell: WORST.index(cell.partition(":")[0])  # noqa: E731  # used once
    cells = {promise: min((it.cells[promise] for it in found), key=rank) for promise in promises}
    tried = {name: sum(it.tried[name] for it in found if it.cells[name] in (HELD, BROKEN)) for name in cells}
    untested = [name for name, cell in cells.items() if cell == HELD and tried[name] <= FEW_RUNS_MAX]
    few = {name: FEW if tried[name] else NOT_MET for name in untested}
    return ScoredSubject(
        subject, rows[0].packages, sum(it.runs for it in found), cells | few, tried,
        dict(list_unmet(found)),
        tuple(failure for it in found for failure in it.failures), "" if found else rows[0].left_out,
    )  # fmt: skip


def list_unmet(rows: Sequence[ScoredSubject]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the limits of the runs of each class, without missing deaths if another class had some."""
    died = [
        it.cells["crashes"] in (HELD, BROKEN)
        and not any(each.startswith(NO_DEATH) for each in it.not_explored.get(it.name, ()))
        for it in rows
    ]
    for row in rows:
        for name, reasons in row.not_explored.items():
            yield name, [each for each in reasons if not (any(died) and each.startswith(NO_DEATH))]


def score_class(folder: Path, seconds: int, out: Path, name: str, kept: Sequence[Path]) -> ScoredSubject:
    source = (folder / f"{name.partition(':')[0]}.py").read_text("utf-8")
    named = dict.fromkeys(PACKAGE.findall(ast.get_docstring(ast.parse(source)) or ""))
    packages = ", ".join(f"{each} {version_of(each)}" for each in named)
    with TemporaryDirectory() as home:
        run = AdapterRun(name, folder, Path(home))
        found, error = run.ask(seconds + GRACE_SECONDS, "--all", "--seconds", str(seconds))
        if not found:
            return ScoredSubject(name, packages, left_out=error)
        failures = found.get("failures", [])
        if found["result"] == "fail" and not failures:  # the failure did not recur, so it has no file
            return ScoredSubject(name, packages, found["runs"], left_out="; ".join(found["did_not_recur"]))
        met = {Path(it["saved"]).name for it in failures}
        again = list_failing(run, [path for path in kept if path.name not in met])
        broken = tuple(score_failures(run, [*failures, *again], out))
    known = [ScoredFailure(it["promise"], it["address"], name) for it in found["known"]]
    cells = {promise: lack or HELD for promise, lack in found["promised"].items()}
    cells |= {it.promise: BROKEN for it in (*broken, *known)}
    tried = {promise: found["tried"].get(promise, 0) for promise in cells}
    return ScoredSubject(
        name, packages, found["runs"], cells, tried, {name: found["not_explored"]},
        (*broken, *dict.fromkeys(known)),
    )  # fmt: skip


def list_failing(run: "AdapterRun", kept: Iterable[Path]) -> Iterator[Json]:
    """Yield what fails now of the kept files, in the form of a hunt's failures."""
    for path in kept:
        found, _ = run.ask(GRACE_SECONDS, "--replay", str(path))
        if found.get("result") == "fail":
            yield found


def score_failures(run: "AdapterRun", failures: Iterable[Json], out: Path) -> Iterator[ScoredFailure]:
    """Yield the first failure of each promise, after copying its file and its script to `out`."""
    kinds: dict[str, list[Json]] = {}
    for found in failures:
        kinds.setdefault(found["promise"], []).append(found)
    for promise, (first, *more) in kinds.items():
        file = run.home / first["saved"]
        reason = run.check_script(first["saved"])
        for path in (file, file.with_suffix(".py")):
            if path.exists():
                write_whole(out / path.name, path.read_bytes())
        what = f"{first['failure']['rule']}: {first['failure']['op']}"
        yield ScoredFailure(promise, what, run.name, file.name, reason, len(more))


class AdapterRun(Data):
    """An adapter of a folder, run in separate processes whose current directory is `home`."""

    name: str
    folder: Path
    home: Path

    def ask(self, seconds_max: int, *options: str) -> tuple[Json, str]:
        """Run `umi-sim target`. Return its JSON and "", or {} and the last line of its errors."""
        command = [sys.executable, "-m", "umi_sim", "target", self.name, *options, "--json"]
        path = os.pathsep.join(filter(None, [str(self.folder), *map(os.path.abspath, sys.path)]))
        try:
            done = subprocess.run(
                command, cwd=self.home, env={**os.environ, "PYTHONPATH": path}, capture_output=True,
                text=True, timeout=seconds_max, check=False,
            )  # fmt: skip
            found: Json = json.loads(done.stdout)
            return found, ""
        except subprocess.TimeoutExpired:
            return {}, f"did not end within {plural(seconds_max, 'second')}"
        except ValueError:
            last = [f"ended with status {done.returncode}", *filter(None, done.stderr.splitlines())][-1]
            return {}, last.removeprefix("umi-sim: ").removeprefix(f"{self.name}: ")

    def check_script(self, file: str) -> str:
        """Export a failure as a script, run it without umi_sim, and return the result in words."""
        script = (self.home / file).with_suffix(".py")
        self.ask(GRACE_SECONDS, "--replay", file, "--export", str(script))
        if not script.exists():
            return "cannot be written"
        alone = {key: each for key, each in os.environ.items() if key != "PYTHONPATH"}
        command = [sys.executable, "-P", script.name]
        try:
            done = subprocess.run(
                command, cwd=script.parent, env=alone, capture_output=True, timeout=GRACE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.stdout.endswith(STILL):
            return "says the same"
        if b"Traceback" in done.stderr:  # such as a missing package
            return f"cannot be run: {done.stderr.decode(errors='replace').splitlines()[-1]}"
        return f"says something else ({done.returncode})"


# As Markdown.


def write_table(subjects: Sequence[ScoredSubject], seconds: int, date: str, folder: str) -> Iterator[str]:
    """Yield the lines of the page. `folder`: that of the files of failures, as shown in it."""
    scored = [it for it in subjects if not it.left_out]
    yield "# Which stores keep which promises"
    yield ""
    runs = group_digits(sum(it.runs for it in scored))
    yield (
        f"`umi-sim scoreboard --seconds {seconds}` on {date}: {plural(len(scored), 'store')}, {runs} runs. "
        f"*Held* means: not broken in these runs or by a kept failure; *few*: held, in at most "
        f"{FEW_RUNS_MAX} runs that could have broken it; *off*: not promised; *–*: not expressible."
    )
    yield ""
    yield from (f"- **{it.name}**: {it.means}" for it in PROMISES)
    yield ""
    heads = ("store", "packages", "runs", *(it.name for it in PROMISES))
    yield from (as_row(heads), f"|{'---|' * len(heads)}")
    for subject in scored:
        cells = (SHOWN[subject.cells[it.name].partition(":")[0]] for it in PROMISES)
        yield as_row((f"`{subject.name}`", subject.packages, group_digits(subject.runs), *cells))
    if broken := [failure for it in scored for failure in it.failures]:
        yield from ("", "## What broke", "")
        yield f"`umi-sim target CLASS --replay FILE` repeats one; the files are in `{folder}`."
        yield ""
        yield from (f"- `{it.adapter}`, {it.promise}: {describe_failure(it)}" for it in broken)
    if lacking := [(name, why) for it in scored for name, why in it.cells.items() if ":" in why]:
        yield from ("", "## Why some was not tested", "")
        for promise, why in sorted(dict.fromkeys(lacking)):
            yield f"- **{promise}**: {why}"
    explored = [pair for it in scored for pair in it.not_explored.items()]
    if unmet := [(reason, name) for name, reasons in explored for reason in reasons]:
        yield from ("", "## What these runs say nothing about", "")
        for reason in dict.fromkeys(reason for reason, _ in unmet):
            yield f"- {reason}: {', '.join(f'`{name}`' for it, name in unmet if it == reason)}"
    if left_out := [it for it in subjects if it.left_out]:
        yield from ("", "## What could not be run", "")
        yield from (f"- `{it.name}` ({it.packages}): {it.left_out}" for it in left_out)


def describe_failure(failure: ScoredFailure) -> str:
    if not failure.file:
        return f"known, {failure.what}"
    rest = f", and {plural(failure.more, 'more kind')}" if failure.more else ""
    return f"{failure.what}{rest}; its script {failure.script}: `{failure.file}`"


def as_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(each.replace('|', '/') for each in cells)} |"
