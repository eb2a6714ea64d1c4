"""Interpreters: checks that other Pythons, and the lowest dependencies, run the same. Needs a network.

`python -m tools.interpreters [PYTHON ...] [--seeds N]` makes an environment for each of these interpreters
with the newest versions of the dependencies, and one for its own with the lowest that pyproject.toml allows.
Each runs the seeds 0..N-1 of every scenario, and makes ids, keys and words of every Unicode character. Their
output must equal that of this interpreter. Status 0: all are equal. 1: some output differs. 2: an
environment cannot be made.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SURROGATES: Final = range(0xD800, 0xE000)
SEED_COUNT: Final = 3


def main(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--seeds", type=int, default=SEED_COUNT)
    parser.add_argument("--tell", action="store_true", help="only tell what this interpreter makes of them")
    options = parser.parse_args(args)
    if options.tell:
        for line in list_run_lines(options.seeds):
            print(line, flush=True)
        return 0
    return compare(options.pythons, options.seeds)


# Output that must be equal for every interpreter.


def list_run_lines(seed_count: int) -> Iterator[str]:
    """Yield a line for each run, with its trace hash, and a line for each block of characters."""
    from umi_sim.scenario.files import list_shipped

    yield from characters()
    yield from lives(list_shipped(), seed_count)


def lives(names: Iterable[str], seed_count: int) -> Iterator[str]:
    from umi_sim.runs.runner import run_once
    from umi_sim.scenario.files import draw, find

    for name in names:
        for seed in range(seed_count):
            verdict, _ = run_once(draw(find(name), seed))
            yield f"{name} {seed} {verdict.trace_hash}"


def characters() -> Iterator[str]:
    """Yield digests of ids and readings of each character, alone and in a text, by blocks of 4096."""
    from umi_core.ids import entity_id, fact_id
    from umi_core.language.pronouns import read
    from umi_core.language.sentences import sentences
    from umi_core.language.terms import split_terms
    from umi_core.language.words import words
    from umi_core.text import norm, show_value, tidy
    from umi_core.values import Scope

    scope = Scope("u1", "a1")
    for start in range(0, sys.maxunicode + 1, 4096):
        digest = blake2b(digest_size=8)
        for char in (chr(code) for code in range(start, start + 4096) if code not in SURROGATES):
            for text in (char, f"a{char}\u0323\u0302 B"):
                made = (
                    entity_id(scope, text),
                    fact_id(scope, (), text),
                    norm(text),
                    tidy(text),
                    [*words(text)],
                    [*split_terms(text)],
                )
                digest.update(ascii(made).encode() + show_value(text).encode())
            found = sentences(f"WHO{char}Mr. {char} is IT"), sorted(read(f"WHO {char} IT").names)
            digest.update(ascii(found).encode())
        yield f"characters from {start:06x} {digest.hexdigest()}"


# Other interpreters.


def compare(pythons: Sequence[str], seed_count: int) -> int:
    from tools.lowest import pins

    tell = ("-m", "tools.interpreters", "--tell", "--seeds", str(seed_count))
    own = list(lines_of(sys.executable, tell))
    status = 0
    for python, versions in (*((python, []) for python in pythons), (sys.executable, pins())):
        with tempfile.TemporaryDirectory() as folder:
            if not is_made(folder, python, versions):
                return 2
            other = list(lines_of(str(Path(folder, "bin", "python")), tell))
        differing = [(mine, theirs) for mine, theirs in zip(own, other, strict=False) if mine != theirs]
        same = not differing and len(own) == len(other)
        status |= not same
        what = "the lowest versions" if versions else "the newest versions"
        print(
            f"{'same' if same else 'DIFFERS'}: {python}, {what}: {len(own)} lines", *differing[:3], flush=True
        )
    return status


def lines_of(python: str, tell: Sequence[str]) -> Iterator[str]:
    """Yield the output lines of another interpreter. Raises CalledProcessError if it fails."""
    with subprocess.Popen((python, *tell), cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(str.strip, process.stdout)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, python)


def is_made(folder: str, python: str, versions: Sequence[str]) -> bool:
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", str(ROOT))
    if shutil.which(python) is None or subprocess.run((python, "-m", "venv", folder)).returncode:
        print(f"{python}: no such interpreter, or one that makes no environment", file=sys.stderr)
        return False
    return subprocess.run((Path(folder, "bin", "python"), *pip, *versions)).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
