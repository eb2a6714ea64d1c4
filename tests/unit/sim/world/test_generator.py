"""Goal: users ask at random, at once, or at the very instants that matter on their agent's clock."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import structs

from umi_core.values import Scope
from umi_sim.kernel.clock import SimClock
from umi_sim.record.items import Op
from umi_sim.record.run_config import PAUSE_MS_MAX, AgentConfig, RunConfig
from umi_sim.world.generator import Dice, Generator

START_MS: Final = 1_700_000_000_000
LAPSE_MS: Final = 300_000
CONFIG: Final = RunConfig(
    scenario="test",
    version=1,
    seed=1,
    mode="plain",
    agents=(AgentConfig("a", Scope("u1", "a")),),
    start_ms=START_MS,
    memory={},
    weights={"remember": 1, "recall": 3},
    faults={},
    operations_max=400,
    in_flight_max=1,
    key_count=4,
    adversarial=(0, 1),
    land=(0, 1),
    repeat=(0, 1),
    latency="instant",
    policy="fifo",
)


class Ignorant:
    """A user that knows no ids and no keys."""

    def nothing(self, agent: str) -> Sequence[Any]:
        return ()

    entity_ids = session_ids = joined_ids = record_ids = resource_ids = blocks = keys = nothing
    other_agents = sharing_agents = nothing


class Life:
    """A world in which a rewrite runs out, and a deadline stands, so long after the start."""

    def __init__(self, lapses: Sequence[int] = (), deadlines: Sequence[int] = (), num: int = 1) -> None:
        self.num = num  # how fast its clock is
        self.instants = {"lapses": lapses, "deadlines": deadlines}
        self.users = Ignorant()

    def lapses(self, agent: str) -> Sequence[int]:
        return [START_MS + ms for ms in self.instants["lapses"]]

    def deadlines(self, agent: str) -> Sequence[int]:
        return [START_MS + ms for ms in self.instants["deadlines"]]

    def clock(self, agent: str) -> SimClock:
        return SimClock(START_MS, 0, num=self.num)


def asked(life: Life, **changes: Any) -> list[Op]:
    """All operations, each drawn at the world's beginning."""
    generator = Generator(structs.replace(CONFIG, **changes), life)
    drawn = [generator.next_items("a", 0, 0) for _ in range(CONFIG.operations_max)]
    return [item for items in drawn for item in items if isinstance(item, Op)]


def test_pauses_are_short() -> None:
    times = [op.at_ms for op in asked(Life())]
    assert max(times) <= PAUSE_MS_MAX
    assert 0.4 < times.count(0) / len(times) < 0.6


def test_pauses_are_as_long_as_the_configuration_says() -> None:
    times = [op.at_ms for op in asked(Life(), pause_ms_max=3_600_000)]
    assert 1_800_000 < max(times) <= 3_600_000


def test_a_question_asked_again_may_wait_until_its_rewrite_lapses() -> None:
    late = [op for op in asked(Life(lapses=[LAPSE_MS])) if op.at_ms > PAUSE_MS_MAX]
    assert {op.at_ms for op in late} == {LAPSE_MS - 1, LAPSE_MS, LAPSE_MS + 1}
    assert {op.name for op in late} == {"recall"}
    assert all(op.args["turns"] for op in late)


def test_a_lapse_that_is_past_is_not_waited_for() -> None:
    assert max(op.at_ms for op in asked(Life(lapses=[-9]))) <= PAUSE_MS_MAX


def test_any_operation_may_land_on_a_deadline() -> None:
    landed = asked(Life(deadlines=[50_000]), land=(1, 1))
    assert {op.at_ms for op in landed} == {49_999, 50_000, 50_001}
    assert {op.name for op in landed} == {"remember", "recall"}


def test_a_fast_clock_is_made_to_show_a_reading_that_it_would_leave_out() -> None:
    generator = Generator(structs.replace(CONFIG, land=(1, 1)), Life(deadlines=[50_000], num=2))
    drawn = [generator.next_items("a", 0, 0) for _ in range(CONFIG.operations_max)]
    expected = {(items[-1].at_ms, *(str(move.args) for move in items[:-1])) for items in drawn if items}
    assert expected == {
        (24_999, str({"to_ms": START_MS + 49_999})), (25_000,), (25_000, str({"to_ms": START_MS + 50_001})),
    }  # fmt: skip


def test_what_lasts_is_recorded_with_its_end_before_the_operation_that_it_strikes() -> None:
    generator = Generator(structs.replace(CONFIG, faults={"clock_freeze": (1, 1)}), Life())
    freeze, thaw, op = generator.next_items("a", 0, 0)
    assert [getattr(item, "move", "") for item in (freeze, thaw, op)] == ["freeze", "thaw", ""]
    assert freeze.at_ms == op.at_ms < thaw.at_ms
    assert generator.record == [freeze, thaw, op]


# Which events get a fault.

SITES: Final = [f"storage.commit.remember.row{number}" for number in range(200)]
RATES: Final = {"storage_refused": (1, 2)}


def count_faults(dice: Dice, site: str) -> int:
    """Of forty events at a site."""
    return sum(
        dice.find_fault("storage.commit", site, f"o{number}/commit#1") is not None for number in range(40)
    )


def test_a_kind_is_active_at_one_site_of_four() -> None:
    active = [site for site in SITES if count_faults(Dice(7, RATES), site)]
    assert 30 < len(active) < 70


def test_the_only_kind_is_active_everywhere() -> None:
    counts = [count_faults(Dice(7, RATES, is_everywhere=True), site) for site in SITES]
    assert all(8 < count < 32 for count in counts)


def test_where_a_kind_is_active_its_faults_meet_the_same_events_as_ever() -> None:
    some, all_of_them = Dice(7, RATES), Dice(7, RATES, is_everywhere=True)
    assert {
        count_faults(some, site) - count_faults(all_of_them, site)
        for site in SITES
        if count_faults(some, site)
    } == {0}


def test_everywhere_means_every_site() -> None:
    sites = [f"storage.commit.{name}.commit" for name in ("remember", "forget", "recover", "rebalance")]
    dice = [Dice(1, {"storage_lost": (1, 1)}, is_everywhere=each) for each in (True, False)]
    found = [[it.find_fault("storage.commit", site, "o1/commit#1") for site in sites] for it in dice]
    assert found[0] == ["storage_lost"] * 4
    assert None in found[1]
