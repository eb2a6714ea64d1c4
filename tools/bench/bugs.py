"""How many seeds each planted bug takes: a guard that counts seeds, which no busy machine disturbs.

    .venv/bin/python tools/bench/bugs.py --check [NAME ...]     none lost, none later than twice its seeds
    .venv/bin/python tools/bench/bugs.py --write [NAME ...]     look for them, and keep their seeds
    .venv/bin/python tools/bench/bugs.py --cost FIRST [NAME ...]    what they take from this seed on
    .venv/bin/python tools/bench/bugs.py --ordinary FIRST [NAME ...]    which of them ordinary worlds show
    .venv/bin/python tools/bench/bugs.py --stale [NAME ...]     which of them the tests search for
    .venv/bin/python tools/bench/bugs.py --cheapest COUNT [NAME ...]    keep the cheapest of so many seeds

Every bug, or those that are named, is looked for in its own scenario from seed 0 on. What was kept is in
tests/golden/seeds_of_bugs.json. A draw that changes moves the first seed that shows a bug by chance, so a bug
may take up to twice its seeds, and 8 in any case. Each line: seeds now, seeds kept, CPU seconds of this look,
which nobody keeps. Status 4 if a bug is lost or late, or if nobody has measured it.

The scenario of a bug is chosen by the seeds from 0 on (tools/bench/homes.py shows what others would take),
so `--cost` measures what a search costs from seeds that chose no bug, 90000 say.

Some bugs are looked for in worlds that were set up for them, so finding them says little about ordinary
worlds. `--ordinary` looks for those bugs in their scenario as it is, and counts how many it still shows.

The tests look at one seed for each bug, and search on where it does not show the bug any more: `--stale`
lists these bugs, with status 4 if there are any. One world may take a hundred times as long as another to
show it, so `--cheapest` keeps the seed whose run takes the least CPU, in tests/golden/cheap_seeds.json.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

from msgspec import structs

from tests.known_seeds import seeds_of
from umi_sim.mutants import CannotPlant, Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runs.mutation_run import MutantHunt, hunt

GOLDEN: Final = Path(__file__).resolve().parents[2] / "tests" / "golden"
KEPT: Final = GOLDEN / "seeds_of_bugs.json"
CHEAP: Final = GOLDEN / "cheap_seeds.json"
CHEAP_ENOUGH_S: Final = 0.3  # no further seed is tried
TIMES: Final = 2
ALWAYS: Final = 8  # seeds: of a bug that shows in half of them, the first eight miss it once in 256 looks
HARNESS: Final = 4
Kept = Mapping[str, int]


def main(args: list[str]) -> int:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("names", nargs="*", metavar="NAME")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    what.add_argument("--cost", type=int, metavar="FIRST")
    what.add_argument("--ordinary", type=int, metavar="FIRST")
    what.add_argument("--stale", action="store_true")
    what.add_argument("--cheapest", type=int, metavar="COUNT")
    options = parser.parse_args(args)
    if unknown := [name for name in options.names if name not in MUTANTS]:
        parser.error(f"no such planted bug: {', '.join(unknown)}")
    names, known = options.names or list(MUTANTS), kept()
    if options.cost is not None:
        return cost(names, options.cost)
    if options.ordinary is not None:
        return look_in_ordinary_worlds(names, options.ordinary)
    if options.stale:
        return list_stale(names)
    if options.cheapest is not None:
        return choose_cheapest(names, options.cheapest)
    return write(names, known) if options.write else check(names, known)


def kept() -> Kept:
    found: Kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


def allowed(seeds: int) -> int:
    return max(ALWAYS, TIMES * seeds)


def check(names: list[str], known: Kept) -> int:
    problems, spent = list(unmeasured(names, known)), list[float]()
    for name in (it for it in names if it in known):
        found, cpu_s = looked(structs.replace(MUTANTS[name], seeds_max=allowed(known[name])))
        spent.append(cpu_s)
        print(f"{line(found, cpu_s)}   kept {known[name]:>3}", flush=True)
        if problem := wrong(found, known[name]):
            problems.append(problem)
    print(*problems, *summary(spent), sep="\n")
    return HARNESS if problems else 0


def unmeasured(names: list[str], known: Kept) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"{name}: not measured yet, run: python tools/bench/bugs.py --write {name}"


def wrong(found: MutantHunt, seeds: int) -> str:
    """Empty if the bug was found in time."""
    if found.is_found and found.seeds <= allowed(seeds):
        return ""
    message = (
        f"{found.name}: LOST or late, not found in {found.seeds} seeds; it took {seeds} when it was measured"
    )
    if not found.rule or found.is_found:
        return message
    return f"{message}. {found.rule} sees it now: if it may, name it among the rules of the bug, in mutants/"


def write(names: list[str], known: Kept) -> int:
    """What is not found keeps the row that it has. The rows of bugs that are gone go."""
    lost, spent, rows = list[str](), list[float](), dict(known)
    for name in names:
        found, cpu_s = looked(MUTANTS[name])
        spent.append(cpu_s)
        print(line(found, cpu_s), flush=True)
        if found.is_found:
            rows[name] = found.seeds
            keep(rows, KEPT)
        else:
            lost.append(f"{name}: not found in {found.seeds} seeds")
    print(*lost, *summary(spent), sep="\n")
    return HARNESS if lost else 0


def cost(names: list[str], first: int) -> int:
    """One that is not found counts with all that it took."""
    spent = list[float]()
    for name in names:
        found, cpu_s = looked(MUTANTS[name], first)
        spent.append(cpu_s)
        print(line(found, cpu_s), flush=True)
    print(*summary(spent), sep="\n")
    return 0


def look_in_ordinary_worlds(names: list[str], first: int) -> int:
    """Look for bugs that have settings of their own without these settings."""
    special = [name for name in names if MUTANTS[name].settings]
    found_count, spent = 0, list[float]()
    for name in special:
        found, cpu_s = looked(structs.replace(MUTANTS[name], settings={}), first)
        found_count += found.is_found
        spent.append(cpu_s)
        print(line(found, cpu_s), flush=True)
    total = f"{len(names)} bugs, {len(special)} of them with settings of their own"
    print(*summary(spent), f"{total}; ordinary worlds show {found_count} of these", sep="\n")
    return 0


def list_stale(names: list[str]) -> int:
    """List the bugs that the first seed of the tests does not show, with all the seeds that they look at."""
    stale, spent = 0, list[float]()
    for name in names:
        mutant, tried = structs.replace(MUTANTS[name], seeds_max=1), list[float]()
        for seed in seeds_of(MUTANTS[name]):
            found, cpu_s = looked(mutant, seed)
            tried.append(cpu_s)
            if found.is_found:
                break
        spent.append(sum(tried))
        if len(tried) > 1:
            stale += 1
            outcome = f"stale, {len(tried)} seeds" if found.is_found else "NOT FOUND"
            print(f"{name:40} {outcome:26}{spent[-1]:>8.2f} CPU s", flush=True)
    print(*summary(spent), f"{stale} are stale" + ", --cheapest keeps another seed" * bool(stale), sep="\n")
    return HARNESS if stale else 0


def choose_cheapest(names: list[str], count: int) -> int:
    """Keep for each bug the seed that shows it after the least CPU time."""
    rows: dict[str, int] = json.loads(CHEAP.read_text()) if CHEAP.exists() else {}
    for name in names:
        best: tuple[float, int] | None = None
        for seed in range(count):
            found, cpu_s = looked(structs.replace(MUTANTS[name], seeds_max=1), seed)
            if found.is_found and (best is None or cpu_s < best[0]):
                best = cpu_s, seed
                if cpu_s < CHEAP_ENOUGH_S:
                    break
        if best is not None:
            rows[name] = best[1]
            keep(rows, CHEAP)
        outcome = "NOT FOUND" if best is None else f"seed {best[1]:>3}{best[0]:>8.2f} CPU s"
        print(f"{name:40} {outcome}", flush=True)
    return 0


def keep(rows: Kept, path: Path) -> None:
    body = ",\n".join(f' "{name}": {rows[name]}' for name in MUTANTS if name in rows)
    path.write_text(f"{{\n{body}\n}}\n")


def looked(mutant: Mutant, first: int = 0) -> tuple[MutantHunt, float]:
    """A bug whose text is gone from the source is not found, and says so."""
    start = process_time()
    try:
        found = hunt(mutant, first)
    except CannotPlant as error:
        print(error)
        found = MutantHunt(mutant.name, "", mutant.rules, 0, 0)
    return found, process_time() - start


def line(found: MutantHunt, cpu_s: float) -> str:
    rule = found.rule if found.is_found else "NOT FOUND"
    return f"{found.name:40} {rule:26}{found.seeds:>4} seeds{cpu_s:>8.2f} CPU s"


def summary(spent: list[float]) -> Iterator[str]:
    if spent:
        yield f"{len(spent)} bugs: {sum(spent):.0f} CPU s, median {median(spent):.2f}, most {max(spent):.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
