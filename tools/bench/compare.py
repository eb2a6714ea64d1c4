"""One bench: every figure of docs/benchmarks.md, beside other tools and bare loops, from one run.

    .venv/bin/python tools/bench/compare.py [SECTION ...]          prints the tables
    .venv/bin/python tools/bench/compare.py --write [SECTION ...]  and puts them into docs/benchmarks.md
    .venv/bin/python tools/bench/compare.py --quick                fewer turns, smaller sizes: five minutes

Each section is a program of this folder that says what it measures, can be run alone, and gets a process of
its own. Figures are CPU time, the least of some turns. All of it takes about an hour. hegeltest and detangle
come with the extra `bench` (pip install -e '.[test,bench]'); without them their columns stay empty, and the
head says so.
"""

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from tools.bench.measure import load
from umi_core.data import Data

HERE: Final = Path(__file__).resolve().parent
PAGE: Final = HERE.parents[1] / "docs" / "benchmarks.md"
OTHERS: Final = ("hypothesis", "hegeltest", "detangle")
HEAD: Final = "head"
QUICK_BUGS: Final = (
    "get-alive-at-expiry",
    "missing-session-succeeds",
    "load-merges",
    "save-answered-after-load",
)


class Section(Data):
    """A program of this folder, and what makes it quick."""

    program: str
    more: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()


SECTIONS: Final = {
    "operations": Section("operations.py", quick=("--turns", "1", "--operations", "200")),
    "bugs": Section("shrinking.py", quick=("--turns", "1", "--lives-max", "100", *QUICK_BUGS)),
    "each": Section("shrinking.py", ("--each",), ("--each", "--turns", "1", *QUICK_BUGS)),
    "stores": Section("stores.py", quick=("--turns", "1", "--lives-max", "100")),
    "recall": Section("recall.py", ("--full",), ("--rounds", "5")),
    "writes": Section("writes.py", quick=("--turns", "1", "--rounds", "50")),
}


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if unknown := [name for name in options.sections if name not in SECTIONS]:
        parser.error(f"no such section: {', '.join(unknown)}; known: {', '.join(SECTIONS)}")
    sections = {HEAD: head(options.quick)}
    print(sections[HEAD], flush=True)
    for name in options.sections or SECTIONS:
        sections[name] = measured(SECTIONS[name], options.quick)
        print(sections[name], flush=True)
        if options.write:  # at once: what was measured is kept if a later section fails
            PAGE.write_text(filled(PAGE.read_text(), {HEAD: sections[HEAD], name: sections[name]}))


def head(is_quick: bool = False) -> str:
    """Where and with what this was measured, and which columns are left out."""
    known = {name: version_of(name) for name in OTHERS}
    here = ", ".join(f"{name} {of}" for name, of in known.items() if of)
    absent = ", ".join(name for name, of in known.items() if not of)
    left_out = f" Left out, because they are not installed: {absent}." if absent else ""
    return (
        f"CPython {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores; "
        f"load at the begin {load()}. {here}.{left_out}{QUICK if is_quick else ''}\n"
    )


QUICK: Final = " Measured with --quick: fewer turns and smaller sizes, so take the figures for a first look."


def version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def measured(section: Section, is_quick: bool) -> str:
    command = (
        sys.executable,
        str(HERE / section.program),
        *(section.quick if is_quick else section.more),
    )
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def filled(page: str, sections: dict[str, str]) -> str:
    """The page with these texts between their marks. Raises ValueError if a mark is not there once."""
    for name, text in sections.items():
        begin, end = f"<!-- {name}: printed by tools/bench/compare.py -->\n", f"<!-- end of {name} -->"
        if (page.count(begin), page.count(end)) != (1, 1):
            raise ValueError(f"{PAGE.name} needs {begin.strip()} and {end}, each once")
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{text.strip()}\n\n{end}{rest.split(end)[1]}"
    return page


if __name__ == "__main__":
    main()
