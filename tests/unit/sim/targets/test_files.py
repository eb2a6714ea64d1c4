"""Goal: writes to plain files fail and are torn; a store that expects it loses nothing."""

import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.file_stores import Buffered, InPlace, Log, Replaced, Retried, Shortened
from umi_sim.kernel.report import laid_out
from umi_sim.targets import MISSING, Kv, faults, files, seed_files
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.exporting import script_of
from umi_sim.targets.hunt import hunt, moments_of
from umi_sim.targets.items import SITES, ContractOp, Item, read_item
from umi_sim.targets.life import run
from umi_sim.targets.reports import report_hunt

PUT = ContractOp("put", {"key": "a", "value": "v1"})
GET = Item("op", (ContractOp("get", {"key": "a"}),))


def test_a_file_that_is_rewritten_in_place_is_found_torn() -> None:
    found = hunt(InPlace, range(50))
    assert found.small is not None
    assert found.small.broken is not None
    assert (found.small.broken.rule, found.small.broken.op) == ("raises", "make")
    assert [str(step.item).partition(":")[0] for step in found.small.steps] == ["the process dies at write 1"]
    assert "bytes written to rows.json; make: raised JSONDecodeError" in found.small.steps[0].told
    assert {site for each in found.moments.values() for site, _ in each} == {"open", "write"}


@pytest.mark.parametrize("store", [Replaced, Retried, Log])
def test_a_store_that_expects_it_is_left_alone(store: type[Kv]) -> None:
    """All 600: umi-sim target tests.file_stores:Log --seeds 0..599"""
    found = hunt(store, range(15))
    assert found.first is None, found.first.broken
    assert {"sync", "write"} <= {site for each in found.moments.values() for site, _ in each}


@pytest.mark.parametrize(("store", "rule"), [(Shortened, "raises"), (Buffered, "error-applied")])
def test_a_store_that_relies_on_its_writes_is_found(store: type[Kv], rule: str) -> None:
    small = hunt(store, range(300)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule == rule


@pytest.mark.parametrize(
    ("kind", "part", "answer"),
    [
        ("crash_in", 0, "died, with 0 of 11 bytes written to rows.json"),
        ("crash_in", 40, "died, with 4 of 11 bytes written to rows.json"),
        ("crash_in", 100, "died, with 11 of 11 bytes written to rows.json"),
        ("fail", 0, "No space left on device: 'FOLDER/0/rows.json'\", with 0 of 11 bytes written"),
        ("fail", 40, "No space left on device: 'FOLDER/0/rows.json'\", with 4 of 11 bytes written"),
    ],
)
def test_the_report_says_how_much_was_written(kind: str, part: int, answer: str) -> None:
    verdict = run(InPlace, (Item(kind, (PUT,), 1, "write", part),))
    assert answer in verdict.steps[0].told
    assert (verdict.broken is None) == (kind == "fail" or part == 100)


def test_a_torn_run_replays_from_its_file_and_as_a_script(tmp_path: Path) -> None:
    verdict = run(InPlace, (Item("op", (PUT,)), Item("crash_in", (PUT,), 1, "write", 40)))
    saved = seed_files.read(seed_files.write(InPlace, "file_stores:InPlace", verdict, tmp_path))
    assert [step.item for step in saved.steps] == list(verdict.items)
    assert run(InPlace, [step.item for step in saved.steps]).trace == saved.trace
    script = tmp_path / "show.py"
    script.write_text(script_of(InPlace, verdict))
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("\nit happens still\n"), done.stderr
    assert "with 4 of 11 bytes written to rows.json" in done.stdout


def test_runs_replay_answer_by_answer() -> None:
    moments = moments_of(Retried)
    for seed in range(8):
        items = draw_items(Retried, seed, moments)
        assert run(Retried, items, seed).trace == run(Retried, items, seed).trace


def test_no_part_of_what_has_none_is_read() -> None:
    ops: dict[str, list[str]] = {"get": ["key"]}
    row: Any = {"kind": "fail", "number": 1, "site": "sync", "part": 1, "ops": [{"op": "get", "key": "a"}]}
    with pytest.raises(ValueError, match="part"):
        read_item(row, ops)
    assert read_item({**row, "site": "write"}, ops).part == 1


# The files themselves.


@contextmanager
def sites_in(folder: Path) -> Iterator[faults.Sites]:
    sites = faults.Sites(str(folder))
    with files.install(sites):
        yield sites


def write_bytes_unbuffered(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(b"abc")


def write_by_number(path: Path) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT), "w") as file:
        file.write("abc")


def write_by_bytes(path: Path) -> None:
    with open(os.fsencode(path), "w+", encoding="utf-8", newline="\n") as file:
        file.write("abc")


def copy(path: Path) -> None:
    other = path.parent.parent / "other"
    other.write_bytes(b"abc")
    shutil.copyfile(other, path)


def dump(path: Path) -> None:
    with path.open("a") as file:
        json.dump("a", file)


WRITERS = [
    lambda path: path.write_text("abc"), lambda path: path.write_bytes(b"abc"), write_bytes_unbuffered,
    write_by_number, write_by_bytes, copy, dump,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS)
def test_each_way_to_write_reaches_its_sites_once(tmp_path: Path, write: Callable[[Path], Any]) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    with sites_in(folder) as sites:
        write(folder / "file")
        assert sites.counts == {"open": 1, "write": 1}
    assert (folder / "file").read_bytes() in (b"abc", b'"a"')


def test_files_elsewhere_and_reads_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "file").write_text("abc")
    with sites_in(folder) as sites:
        (tmp_path / "elsewhere").write_text("abc")
        assert (folder / "file").read_text() == "abc"
        number = os.open(folder, os.O_RDONLY)
        os.fsync(number)
        os.close(number)
        assert not sites.counts


def test_a_file_is_what_open_returns(tmp_path: Path) -> None:
    real = open(tmp_path / "real", "w+", encoding="utf-8")  # noqa: SIM115 - compared while it is open
    with sites_in(tmp_path), real, open(tmp_path / "own", "w+", encoding="utf-8") as own:
        assert type(own) is type(real)
        assert isinstance(own.buffer, type(real.buffer))
        assert isinstance(own.buffer.raw, io.FileIO)  # type: ignore[attr-defined] # of a BufferedRandom
        assert (own.mode, own.encoding, own.newlines) == (real.mode, real.encoding, real.newlines)
        own.write("ab\ncd\n")
        own.seek(0)
        assert [own.readline(), *own] == ["ab\n", "cd\n"]
        assert own.truncate(3) == 3
        assert os.stat(own.fileno()).st_size == 3
    with sites_in(tmp_path):
        assert (tmp_path / "own").stat().st_mode == (tmp_path / "real").stat().st_mode
        with pytest.raises(ValueError, match="can't have unbuffered text"):
            open(tmp_path / "new", "w", buffering=0)  # noqa: SIM115 - it is not opened
        with pytest.raises(ValueError, match="binary mode doesn't take"):
            open(tmp_path / "new", "wb", encoding="utf-8")  # noqa: SIM115 - it is not opened


def test_what_is_in_a_buffer_is_not_in_the_file(tmp_path: Path) -> None:
    with sites_in(tmp_path) as sites, open(tmp_path / "file", "w") as file:
        file.write("abc")
        assert "write" not in sites.counts
        assert (tmp_path / "file").read_text() == ""


def test_a_full_disk_takes_a_part_and_then_nothing(tmp_path: Path) -> None:
    with sites_in(tmp_path) as sites:
        sites.arm("write", 1, faults.fail, 50)
        with pytest.raises(OSError, match="No space left"), open(tmp_path / "file", "w") as file:
            file.write("abcd")  # written on closing, and tried twice there
        assert (tmp_path / "file").read_text() == "ab"
        (tmp_path / "other").write_text("abcd")
        assert sites.disarm()
        sites.arm("", 0, faults.fail)
        (tmp_path / "file").write_text("abcd")
    assert (tmp_path / "file").read_text() == "abcd"


@pytest.mark.parametrize(("part", "content", "answer"), [(0, "abcd", "file not cut to 1 bytes"),
                                                    (100, "a", "file cut to 1 bytes")])  # fmt: skip
def test_a_process_dies_before_or_after_a_file_is_cut(
    tmp_path: Path, part: int, content: str, answer: str
) -> None:
    def die(_: Exception) -> None:
        raise faults.Killed

    path = tmp_path / "0" / "file"
    path.parent.mkdir()
    with sites_in(tmp_path) as sites:
        path.write_text("abcd")
        sites.arm("truncate", 1, die, part)
        with pytest.raises(faults.Killed):
            os.truncate(path, 1)
        assert sites.told == answer
    assert path.read_text() == content


def test_everything_is_as_before_afterwards(tmp_path: Path) -> None:
    before = open, io.open, os.open, os.write, os.fsync, os.replace
    with sites_in(tmp_path):
        assert os.write is not before[3]
    assert before == (open, io.open, os.open, os.write, os.fsync, os.replace)


@pytest.mark.parametrize("fails", [(), ("open",)])
def test_a_process_dies_within_an_operation_whatever_may_fail(fails: tuple[str, ...]) -> None:
    """A failure is one thing and a death another: `fails` says nothing about the process."""
    found = hunt(type("Calm", (InPlace,), {"fails": fails}), range(60))
    assert found.small is not None
    assert found.small.broken is not None
    assert (found.small.broken.rule, found.small.broken.op) == ("raises", "make")
    assert found.small.items[-1].kind == "crash_in"
    assert hunt(type("CalmReplaced", (Replaced,), {"fails": fails}), range(15)).first is None


@pytest.mark.parametrize("fails", [(), ("open",), SITES])
def test_only_what_fails_names_is_drawn_to_fail(fails: tuple[str, ...]) -> None:
    for durable in (True, False):
        store = type("Drawn", (Replaced,), {"fails": fails, "durable": durable})
        drawn = [item for seed in range(200) for item in draw_items(store, seed, MOMENTS)]
        assert {item.site for item in drawn if item.kind == "fail"} == {*fails} & {"open", "write", "sync"}
        died_at = {item.site for item in drawn if item.kind == "crash_in"}
        assert died_at == ({"open", "write", "sync"} if durable else set())


MOMENTS = {name: [("open", 1), ("write", 1), ("sync", 1)] for name in ("put", "get", "delete")}


def reported(store: type[Kv], *threads: str, seed_count: int = 40) -> tuple[str, list[str]]:
    found = hunt(store, range(seed_count))
    found.threads = threads
    report = report_hunt("mine:Mine", found, "")
    assert report.value is not None
    return "\n".join(laid_out(report)), report.value()["not_explored"]


class InADict(Kv):
    """Keeps what it has outside of the process, where no run sees when it is written."""

    durable = True

    def make(self) -> None:
        self.rows = self.outside.setdefault("rows", {})

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)


def test_a_pass_says_where_no_process_died() -> None:
    text, not_explored = reported(type("Calm", (Replaced,), {"fails": ()}))
    assert "crashes within operations (at open, replace, sync, write)" in text
    assert "failures of" not in text
    assert not_explored == []
    few = reported(type("Brief", (Replaced,), {"fails": ()}), seed_count=0)
    assert few[1] == ["no crash within an operation: no run had one"]
    text, not_explored = reported(InADict)
    assert not_explored == [
        "no crash within an operation: none reached SQLite, a file or a client that runs see"
    ]
    assert not_explored[0].partition(":")[0] in text
    assert "crashes within" not in text
    assert reported(type("Emptied", (InADict,), {"durable": False}))[1] == []


class InAThread(Replaced):
    """Writes in a thread of its own."""

    def _save(self, rows: dict[str, object]) -> None:
        thread = threading.Thread(target=super()._save, args=(rows,))
        thread.start()
        thread.join()


def test_a_thread_of_the_store_does_not_die_in_place_of_its_process() -> None:
    verdict = run(InAThread, (Item("crash_in", (PUT,), 1, "write"), GET))
    assert verdict.broken is None
    assert [step.told for step in verdict.steps] == ["None", "'v1'"]
    text, not_explored = reported(InAThread, *verdict.threads)
    assert not_explored == ["no crash within what its own threads do"]
    assert "crashes within" not in text


def test_some_runs_begin_with_a_death_or_a_failure() -> None:
    """A store makes its tables in its first request: what a death leaves there is never made again."""

    def first_kinds(durable: bool, fails: tuple[str, ...]) -> set[str]:
        store = type("Begun", (Replaced,), {"fails": fails, "durable": durable})
        return {draw_items(store, seed, MOMENTS)[0].kind for seed in range(200)} & {"fail", "crash_in"}

    assert first_kinds(True, SITES) == {"fail", "crash_in"}
    assert first_kinds(True, ()) == {"crash_in"}
    assert first_kinds(False, SITES) == {"fail"}
    assert first_kinds(False, ()) == set()
    firsts = [draw_items(Replaced, seed, MOMENTS)[0].kind for seed in range(400)]
    assert sum(kind in ("fail", "crash_in") for kind in firsts) > 50


def test_a_request_in_which_the_process_dies_has_no_answer() -> None:
    """A store that goes on after anything, as where a job ends with it, must not be believed."""

    class GoesOn(Replaced):
        def put(self, key: str, value: object) -> None:
            with suppress(BaseException):
                super().put(key, value)

    put, get = ContractOp("put", {"key": "a", "value": 1}), ContractOp("get", {"key": "a"})
    verdict = run(GoesOn, [Item("crash_in", (put,), 1, "open"), Item("op", (get,))])
    assert verdict.steps[0].told == "died"
    assert verdict.broken is None
