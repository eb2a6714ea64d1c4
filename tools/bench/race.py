"""One memory whose answers come in any order: what detangle is made for, and no other tool does.

A saver saves its session twice while a loader loads it. Each question to storage is a task that sleeps before
it arrives and before its answer is back, so the order of all of them is what detangle explores. The check is
one sentence of the specification: a save gets the version after the one that its memory loaded or saved
last, whatever was answered meanwhile.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from tools.bench.others import SEED, Watch
from tools.bench.plain import Differs, Life, describe_outcome
from umi_core.data import Owner
from umi_core.domains import OpLabel
from umi_core.messages.effects import Effect, Reply
from umi_core.messages.requests import CreateSession, LoadSession, Request, SaveSession
from umi_core.messages.results import SessionCreated, SessionLoaded, SessionSaved

BUG: Final = "save-answered-after-load"
SAVES: Final = 2


class Race(Owner):
    """What was asked, and the version that the memory holds: `moves` counts what has changed it."""

    watch: Watch
    life: Life
    version: int = 0
    moves: int = 0
    saves: dict[OpLabel, tuple[int, int]] = {}  # of each save: version and moves at its begin
    replies: dict[OpLabel, asyncio.Future[object]] = {}
    tasks: list[asyncio.Task[None]] = []

    async def ask(self, request: Request) -> object:
        reply = self.replies[request.op_id] = asyncio.get_running_loop().create_future()
        self.saves[request.op_id] = self.version, self.moves
        self.take(self.life.memory.step(0, request))
        return await reply

    def take(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                value = describe_outcome(effect.outcome)[1]
                self.judge(effect.op_id, value)
                self.replies[effect.op_id].set_result(value)
            else:
                self.tasks.append(asyncio.create_task(self.answer(effect)))

    async def answer(self, effect: Effect) -> None:
        await asyncio.sleep(0)
        answer = self.life.answer(effect)
        await asyncio.sleep(0)
        self.take(self.life.memory.step(0, answer))

    def judge(self, op_id: OpLabel, answer: object) -> None:
        if isinstance(answer, SessionSaved):
            begun_at, moves = self.saves[op_id]
            if answer.version != begun_at + 1:
                self.watch.failed(len(self.saves))
                raise Differs(f"a save from version {begun_at} was told {answer.version}")
            self.version = answer.version if moves == self.moves else self.version
        elif isinstance(answer, SessionLoaded | SessionCreated):
            self.version, self.moves = getattr(answer, "version", 1), self.moves + 1

    async def save(self) -> None:
        for number in range(SAVES):
            await self.ask(SaveSession(10 + number))


def by_detangle(watch: Watch) -> None:
    import detangle

    async def test() -> None:
        race = Race(watch, watch.begin())
        created = await race.ask(CreateSession(1))
        assert isinstance(created, SessionCreated)
        await asyncio.gather(race.save(), race.ask(LoadSession(2, created.session_id)))
        await asyncio.gather(*race.tasks)

    detangle.explore(test, runs=watch.lives_max, seed=SEED, database=False)
