"""Goal: a closed agent that answers, an open one that does not, and company for what runs alone, are seen."""

import pytest

from umi_core.errors import StorageFull, TooBusy
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.requests import DeleteAgent, ListBlocks, OpenAgent
from umi_core.kelpie.results import AgentSwitched, BlocksShown
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Unknown
from umi_core.messages.requests import Request
from umi_sim.judge.oracle.agents import Closing
from umi_sim.judge.oracle.model import Ending, Surroundings
from umi_sim.record.broken import Broken

GONE = Refused(NotFound("agent", "a1"))
SHOWN = Done(BlocksShown(()))


class Judged:
    """A model, with what is durable, and how often the agent lost all that it had."""

    def __init__(self) -> None:
        self.durable: list[str] = []
        self.closed_count = 0
        self.model = Closing(Surroundings(is_durable=lambda op_id: op_id in self.durable))
        self.model.on_closed = self.closed

    def closed(self) -> None:
        self.closed_count += 1

    def issue(self, request: Request) -> None:
        self.model.observe_request(str(request.op_id), request, 0)

    def end(self, request: Request, outcome: Outcome) -> None:
        self.model.observe_reply(Ending(str(request.op_id), request, outcome, 0, 0))

    def hear(self, request: Request, outcome: Outcome) -> "Judged":
        self.issue(request)
        self.end(request, outcome)
        return self


def switched(change: str) -> Done:
    return Done(AgentSwitched(change, 0))


def closed() -> Judged:
    return Judged().hear(DeleteAgent("d"), switched("closed"))


def test_an_agent_is_closed_and_opened_and_each_answers_so() -> None:
    judged = closed().hear(ListBlocks("1"), GONE).hear(DeleteAgent("2"), GONE)
    judged.hear(OpenAgent("3"), switched("opened")).hear(ListBlocks("4"), SHOWN)
    judged.hear(OpenAgent("5"), switched("unchanged"))
    assert (judged.closed_count, judged.model.is_closed) == (1, False)


@pytest.mark.parametrize("outcome", [SHOWN, Failed(StorageFull("read", "full", 1)), Unknown()])
def test_a_closed_agent_that_answers_is_seen(outcome: Outcome) -> None:
    with pytest.raises(Broken, match="by an agent that is closed"):
        closed().hear(ListBlocks("1"), outcome)


def test_an_open_agent_that_is_not_found_is_seen() -> None:
    for request in (ListBlocks("1"), DeleteAgent("2")):
        with pytest.raises(Broken):
            Judged().hear(request, GONE)


@pytest.mark.parametrize(
    ("request_", "change"),
    [(DeleteAgent("1"), "closed"), (OpenAgent("1"), "unchanged"), (OpenAgent("1"), "x")],
)
def test_what_cannot_be_done_of_a_closed_agent_is_seen(request_: Request, change: str) -> None:
    with pytest.raises(Broken):
        closed().hear(request_, switched(change))


def test_what_runs_alone_has_no_company() -> None:
    judged = Judged()
    judged.issue(ListBlocks("1"))
    with pytest.raises(Broken, match="earlier requests that 2 had to wait for"):
        judged.hear(DeleteAgent("2"), switched("closed"))
    judged = Judged()
    judged.issue(DeleteAgent("1"))
    judged.hear(ListBlocks("2"), Refused(TooBusy(64, 64)))
    with pytest.raises(Broken, match="had to wait for"):
        judged.hear(ListBlocks("3"), SHOWN)


@pytest.mark.parametrize("is_durable", [True, False])
@pytest.mark.parametrize("is_crash", [True, False])
def test_a_request_without_a_reply_has_the_outcome_in_storage(is_durable: bool, is_crash: bool) -> None:
    judged = Judged()
    judged.issue(DeleteAgent("d"))
    judged.durable += ["d"] if is_durable else []
    if is_crash:
        judged.model.observe_crash()
    else:
        judged.end(DeleteAgent("d"), Unknown())
    judged.hear(ListBlocks("1"), GONE if is_durable else SHOWN)
    assert (judged.closed_count, judged.model.was_closed()) == (int(is_durable), is_durable)


def test_a_failure_that_has_happened_is_seen() -> None:
    judged = Judged()
    judged.durable.append("d")
    with pytest.raises(Broken, match="the reply to d, which is durable"):
        judged.hear(DeleteAgent("d"), Failed(StorageFull("commit", "full", 1)))


def test_a_store_that_lost_everything_knows_of_no_closed_agent() -> None:
    judged = closed()
    judged.model.observe_wipe()
    judged.hear(ListBlocks("1"), SHOWN)
    assert not judged.model.is_closed


def test_a_key_tells_again_what_was_done_and_closes_nothing() -> None:
    first = DeleteAgent("1", "k")
    judged = Judged().hear(first, switched("closed")).hear(OpenAgent("2"), switched("opened"))
    judged.hear(DeleteAgent("3", "k"), Done(AgentSwitched("closed", 0, repeated=True)))
    assert not judged.model.is_closed
    with pytest.raises(Broken):
        judged.hear(DeleteAgent("4", "k"), switched("closed"))
