"""Goal: the recording of a live memory is replayed, and a bug in it becomes a small file."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_core.memory import Memory
from umi_core.messages.requests import Append, Delete, Forget, Get, Incr, Recall, Remember, Request, Set
from umi_core.messages.results import Remembered
from umi_core.recordings import RecordedStep, RecordingHead
from umi_core.tiers import working
from umi_core.values import Scope
from umi_live import Closed, LiveError, LiveMemory, NotDone, open_blocking, open_memory
from umi_live.local import HashEmbedder
from umi_live.recorder import Recorder
from umi_live.store import Store
from umi_live.transfer import export_lines
from umi_sim.cli.recordings import is_recording, replay_recording, shrink_recording
from umi_sim.cli.redact import redact
from umi_sim.runs import recorded
from umi_sim.runs.redacted import redact_recording


def requests(count: int) -> list[Request]:
    chance = random.Random(1)
    made: list[Request] = []
    for n in range(count):
        key = f"k{chance.randrange(5)}"
        made.append(
            chance.choice((
                Remember(0, f"Ann{n % 7} likes thing{n}. It rains."), Recall(0, f"What does Ann{n % 7} do?"),
                Set(0, key, b"7"), Incr(0, key), Append(0, key, b"1"), Get(0, key), Delete(0, key),
                Forget(0, "ent_" + "0" * 24),
            ))
        )  # fmt: skip
    return made


def record(path: Path, count: int) -> None:
    async def ask(memory: LiveMemory, request: Request) -> None:
        with suppress(NotDone):
            await memory.ask(request, object)

    async def live() -> None:
        async with open_memory(":memory:", user="ann", agent="helper", record=path) as memory:
            for start in range(0, count, 20):
                await asyncio.gather(*(ask(memory, it) for it in requests(count)[start : start + 20]))

    asyncio.run(live())


@pytest.mark.slow
def test_a_recording_of_hundreds_of_requests_is_replayed_twice_with_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    record(path, 200)
    assert is_recording(str(path))
    head, steps = recorded.read(path)
    lives = [recorded.run_recording(head, steps) for _ in range(2)]
    assert lives[0] == lives[1]
    assert (lives[0].failure, lives[0].differs_at) == ("", None), lives[0].message
    assert lives[0].request_count >= 200
    assert len(lives[0].steps) == len(steps)
    again = recorded.run_recording(head, steps, recorded.labels_of(head, steps))
    late = [step for step in steps if step not in again.steps]  # late answers
    assert len(again.steps) + len(late) == len(steps)
    assert (again.failure, again.differs_at) == ("", None)
    report = replay_recording(str(path))
    assert report.head.startswith("PASS recording ")
    assert report.exit_code == 0


def test_a_planted_bug_becomes_a_recording_of_two_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "live.jsonl"

    def forgets_to_count(tier: working.WorkingTier, key: str) -> None:
        del tier.entries[key]

    monkeypatch.setattr(working, "drop", forgets_to_count)
    record(path, 100)
    report = replay_recording(str(path))
    assert report.head.startswith("FAIL space-accounting of recording ")
    assert report.exit_code == 1
    assert "shrunk" in str(list(shrink_recording(str(path), 500).lines))
    head, steps = recorded.read(path)
    assert [type(step.value) for step in steps] == [Incr, Delete]
    assert recorded.run_recording(head, steps).failure == "space-accounting"
    monkeypatch.undo()
    assert recorded.run_recording(head, steps).failure == ""


def test_a_recording_in_other_words_breaks_the_same_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, shared = tmp_path / "live.jsonl", tmp_path / "shared.jsonl"

    def forgets_to_count(tier: working.WorkingTier, key: str) -> None:
        del tier.entries[key]

    monkeypatch.setattr(working, "drop", forgets_to_count)
    record(path, 100)
    result = CliRunner().invoke(redact, [str(path), str(shared)])
    assert (result.exit_code, "space-accounting, as before" in result.output) == (0, True), result.output
    assert replay_recording(str(shared)).head.startswith("FAIL space-accounting of recording ")
    assert "name a new file" in CliRunner().invoke(redact, [str(path), str(shared)]).output


def test_a_recording_that_goes_on_is_redacted_with_what_was_known_before(tmp_path: Path) -> None:
    """Rows that the recording did not write are found under the ids that follow from their new names."""
    path, lives = tmp_path / "agent.db", [tmp_path / f"{n}.jsonl" for n in range(2)]
    with open_blocking(path, user="ann", agent="helper") as memory:
        memory.remember("Zanzibar likes marzipan.")
        memory.set_block("human", "Name: Zanzibar")
    with open_blocking(path, user="ann", agent="helper", record=lives[0]) as memory:
        assert [hit.name for hit in memory.recall("What does Zanzibar like?")] == ["Zanzibar"]
        (kept,) = [it for it in memory.entities() if it.name == "Zanzibar"]
        memory.remember("Zanzibar likes pistachio. Ötzi works at Acme-42.")
        assert memory.forget(kept.id).value.existed
        assert "Zanzibar" in memory.render()
    head, steps = recorded.read(lives[0])
    new_head, new_steps = redact_recording(head, steps, b"secret" * 8)
    recorded.write(lives[1], new_head, new_steps)
    texts = [str(recorded.read(it)).casefold() for it in lives]
    for word in ("zanzibar", "marzipan", "pistachio", "ötzi", "acme", "'ann'", kept.id):
        assert (word in texts[0], word in texts[1]) == (True, False), word
    replies = [kinds_of(*recorded.read(it)) for it in lives]
    assert replies[0] == replies[1]
    assert recorded.run_recording(new_head, new_steps).differs_at is None


def kinds_of(head: RecordingHead, steps: Sequence[RecordedStep]) -> list[str]:
    """What was asked and replied: of a recall how much was found, of a remember what it changed."""
    memory, found = Memory(head.scope, head.config), list[str]()
    for step in steps:
        for effect in memory.step(step.now_ms, step.value):
            value = getattr(getattr(effect, "outcome", None), "value", None)
            counts = [len(getattr(value, name, ())) for name in ("hits", "entities", "removed")]
            changes = [it.change for it in value.entities] if isinstance(value, Remembered) else []
            found.append(f"{type(effect).__name__} {type(value).__name__} {counts} {changes}")
    return found


def test_a_recording_that_cannot_begin_changes_nothing_and_leaves_no_file(tmp_path: Path) -> None:
    path, taken = tmp_path / "agent.db", tmp_path / "taken.jsonl"
    taken.write_text("mine")
    with open_blocking(path, user="ann", agent="helper") as memory:
        memory.remember("Ann likes tea.")
    before = rows_of(path)
    with pytest.raises(LiveError, match="no recording can be written"):
        open_blocking(path, user="ann", agent="helper", embedder=Coarse(), record=taken).__enter__()
    assert (rows_of(path), taken.read_text()) == (before, "mine")
    with pytest.raises(OSError, match="of no use"):
        open_blocking(
            path, user="ann", agent="helper", embedder=Nameless(), record=tmp_path / "new"
        ).__enter__()
    assert not (tmp_path / "new").exists()


class Coarse(HashEmbedder):
    name = "coarse"


class Nameless(HashEmbedder):
    @property
    def name(self) -> str:  # type: ignore[override]  # it is asked for while the memory opens
        raise OSError("of no use")


def rows_of(path: Path) -> list[str]:
    store = Store.open_now(path)
    try:
        return list(export_lines(store.storage, Scope("ann", "helper")))
    finally:
        store.close()


def test_a_recording_of_another_release_differs(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    record(path, 20)
    lines = path.read_text().split("\n")
    lines[6] = '"0000000000000000"'
    path.write_text("\n".join(lines))
    report = replay_recording(str(path))
    assert (report.head[:7], report.exit_code) == ("DIFFER ", 4)


def test_a_recording_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    record(path, 1)
    with pytest.raises(LiveError, match="no recording can be written there: File exists"):
        record(path, 1)
    assert not is_recording(str(tmp_path / "nothing"))


def test_a_recording_that_cannot_be_written_ends_the_memory_in_a_sentence(tmp_path: Path) -> None:
    async def live() -> None:
        memory = open_memory(":memory:", user="ann", agent="helper", record=tmp_path / "live.jsonl")
        async with memory:
            await memory.count()
            assert memory.host is not None
            recorder = memory.host.recorder
            assert recorder is not None
            recorder.file.close()
            recorder.file = open("/dev/full", "w", buffering=1)  # noqa: SIM115  # closed with the memory
            with pytest.raises(LiveError, match="cannot be written: No space left"):
                await memory.remember("Ann likes tea.")
            with pytest.raises(Closed):
                await memory.count()

    asyncio.run(live())


def test_a_memory_that_cannot_begin_its_recording_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.db"

    def full(*_: object) -> None:
        raise LiveError("the recording cannot be written")

    with monkeypatch.context() as broken:
        broken.setattr(Recorder, "write_input", full)
        with pytest.raises(LiveError, match="cannot be written"):
            open_blocking(path, user="ann", agent="helper", record=tmp_path / "live.jsonl").__enter__()
    with open_blocking(path, user="ann", agent="helper") as memory:
        assert memory.count() == 0
