"""Mixed worlds: scenarios that each combine two of ours, with more faults, crashes and repeats than either.

    .venv/bin/python tools/mixed.py FOLDER [--count 40] [--seed 1]
    umi-sim sweep FOLDER/*.toml --seeds 0..11

Two rules may each be right in their own scenarios, and wrong where both apply. The scenarios follow from the
seed. Each file is an ordinary scenario: `umi-sim run FOLDER/x007.toml --seed 3` repeats a run.
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from umi_sim.judge.equivalences import NAMES, RESTORE
from umi_sim.kernel.prng import Stream
from umi_sim.record.saved_failures import write_whole
from umi_sim.scenario.files import list_shipped

Document = dict[str, Any]
SECTIONS: Final = ("agents", "workload", "memory", "clock", "services", "faults", "run")
NOT_MIXED: Final = ("explore", "target", "mutant", "manual")  # scenarios with a special purpose
LEFT_OUT: Final = ("weights", "marks", "off", "policy", "storage", "reason")  # mixed otherwise, or too narrow
COUNT_MAX: Final = 1_000
OPERATIONS: Final = ([10, 60], [20, 80], [30, 120])
MORE: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "agents": {"count": ([1, 4],), "in_flight": ([1, 8],)},
    "workload": {
        "adversarial": ("1/8", "1/2"),
        "retry": ("1/8",),
        "repeat": ("1/6",),
        "retold": ("1/3",),
        "nearly": ("1/6",),
    },
    "faults": dict.fromkeys(("model", "embed", "storage", "link", "agent", "clock"), (True,)),
}
"""What half of the mixed worlds have, whatever the two say."""


def main(args: list[str]) -> int:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the scenarios are written")
    parser.add_argument("--count", type=int, default=40, metavar="N", help="how many; default 40")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which; default 1")
    options = parser.parse_args(args)
    if not 1 <= options.count <= COUNT_MAX:
        parser.error(f"--count {options.count}: 1 to {COUNT_MAX}")
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        for number in range(options.count):
            name = f"x{number:03}"
            text = "\n".join((*lines(mixed(name, Stream(options.seed, "mixed", number))), ""))
            write_whole(options.folder / f"{name}.toml", text.encode())
    except OSError as error:
        parser.error(f"{options.folder}: {error.strerror}")
    print(f"{options.count} scenarios: umi-sim sweep {options.folder}/*.toml --seeds 0..11")
    return 0


@cache
def worlds() -> dict[str, Document]:
    """Return the shipped scenarios with drawn requests, by name."""
    found = {name: tomllib.loads(path.read_text()) for name, path in sorted(list_shipped().items())}
    return {
        name: it
        for name, it in found.items()
        if not any(key in it or key in it["scenario"] for key in NOT_MIXED)
        and it.get("workload", {}).get("kind", "generated") == "generated"
    }


def mixed(name: str, draw: Stream) -> Document:
    """Return a scenario of this name: the settings of two of ours together, and half of those in MORE."""
    known = worlds()
    one, other = draw.shuffle([*known])[:2]
    both = known[one], known[other]
    scenario = {
        "id": name,
        "title": f"{one} and {other}",
        "swarm": {"mode": draw.pick(("any", "swarm", "one_kind"))},
    }
    found: Document = {"scenario": scenario}
    for section in SECTIONS:
        sections = [*(it.get(section, {}).items() for it in both)]
        found[section] = {key: value for items in sections for key, value in items if key not in LEFT_OUT}
        for key, values in MORE.get(section, {}).items():
            if draw.chance(1, 2):
                found[section][key] = draw.pick(values)
    if found["agents"].get("scopes") == "hostile":
        found["agents"].pop("users", None)  # hostile scopes determine their users
    found["workload"] |= {"operations": draw.pick(OPERATIONS), "weights": weights(both)}
    found["run"] |= {"equivalences": draw.subset(NAMES, 1, 4) or [RESTORE]}
    if off := sorted({rule: None for it in both for rule in it.get("run", {}).get("off", ())}):
        found["run"] |= {"off": off, "reason": "one of the two worlds cannot keep it"}
    return found


def weights(both: tuple[Document, Document]) -> dict[str, int]:
    """Return the weights of both; a scenario without weights makes every request."""
    weights = [it.get("workload", {}).get("weights") for it in both]
    if None in weights:
        return {}
    names = dict.fromkeys(name for each in weights for name in each)
    return {name: min(100, sum(each.get(name, 0) for each in weights)) for name in names}


def lines(document: Document) -> Iterator[str]:
    """Yield the lines of a document as TOML, with nested tables inline."""
    for section, table in document.items():
        yield f"[{section}]"
        yield from (f"{key} = {literal(value)}" for key, value in table.items() if value != {})


def literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {literal(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
