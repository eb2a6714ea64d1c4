"""Goal: no file of strangers does harm: thousands of damaged ones are read or refused, and nothing else."""

import json
import tracemalloc

import pytest

from tools.fuzz_seed_files import Watch, fuzz, originals
from umi_sim.formats.strict_json import FILE_BYTES_MAX, VALUE_COUNT_MAX
from umi_sim.seedfile.files import BadSeedFile, loads

ALLOCATED_BYTES_MAX = 64 * 1024 * 1024


@pytest.mark.slow
def test_thousands_of_damaged_files_are_read_or_refused_and_nothing_else_happens() -> None:
    watch = Watch()
    counts = fuzz(1_500, 42, watch, run_every=10)  # tools/fuzz_seed_files.py tries more
    assert watch.seen == []
    assert counts["refused"] > 750  # the damage is real
    assert counts["read"] > 45
    assert min(counts["shown: program"], counts["shown: store"]) > 5
    assert sum(count for name, count in counts.items() if name.startswith("run")) >= 5


def test_the_watch_hears_what_is_opened() -> None:
    watch = Watch()
    with watch.armed():
        open(__file__, "rb").close()  # what a reader must not do
    assert [event.split()[0] for event in watch.seen] == ["open"]


def full(piece: bytes, count_max: int = FILE_BYTES_MAX) -> bytes:
    """As many of these as a file may hold, as its items."""
    document = {**json.loads(originals()[0]), "items": "HERE"}
    head, tail = json.dumps(document).encode().split(b'"HERE"')
    count = min(count_max, (FILE_BYTES_MAX - len(head) - len(tail) - 2) // (len(piece) + 1))
    return head + b"[" + b",".join([piece] * count) + b"]" + tail


@pytest.mark.parametrize("piece", [b"[]", b"{}", b"[" * 12 + b"]" * 12, b"1"])
def test_a_file_of_too_many_values_is_refused_before_it_is_parsed(piece: bytes) -> None:
    data = full(piece)
    assert len(data) <= FILE_BYTES_MAX
    with pytest.raises(BadSeedFile, match=f"x: more than {VALUE_COUNT_MAX} values"):
        loads(data, "x")


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"[]", b'"\\ud83d\\ude00"'])
def test_no_file_makes_more_of_itself_than_the_bound(piece: bytes) -> None:
    data = full(piece, (VALUE_COUNT_MAX - 1_000) // (1 + piece.count(b"[")))
    tracemalloc.start()
    with pytest.raises(BadSeedFile, match="items: expected at most 100000 entries"):
        loads(data, "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < ALLOCATED_BYTES_MAX
