"""Goal: every kind of request has exactly one judge, and a missing one is reported in a sentence."""

import pytest

from umi_core.declared import Incomplete
from umi_core.messages.requests import ALL, Get, Set, Touch
from umi_sim.judge.oracle.judge import MODELS
from umi_sim.judge.oracle.model import OracleModel, check_models


class Reads(OracleModel):
    judges = (Get,)


class Writes(OracleModel):
    judges = (Set, Get)


def test_every_request_has_one_judge() -> None:
    check_models(MODELS, ALL)


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ((Reads,), "no model of the oracle judges Touch: name it in `judges` of the one that knows"),
        ((Reads, Writes), "Get is judged by Reads and Writes: one of them is enough"),
    ],
)
def test_a_request_with_no_judge_or_with_two_is_reported(
    models: tuple[type[OracleModel], ...], problem: str
) -> None:
    with pytest.raises(Incomplete, match=problem):
        check_models(models, (Get, Touch))
