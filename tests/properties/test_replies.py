"""Goal: a parser reads in any reply of a model what a plain reader reads in it, for every task."""

from typing import Final

import pytest

from tests.properties.laws import Draw, law
from tests.properties.readings import PromptSubject, check_read
from tests.properties.replies import AS_JSON, TAGS, asked_and_answered
from umi_core.config import Config
from umi_core.limits import PPM

CONFIGS: Final = (
    *(Config(),) * 3,
    Config(extract_confidence_min_ppm=0, route_confidence_min_ppm=0, evolve_confidence_min_ppm=0),
    Config(promote_confidence_min_ppm=PPM, evolve_confidence_min_ppm=PPM),
)


def in_json(draw: Draw) -> tuple[str, str, PromptSubject, Config]:
    return *asked_and_answered(draw, tuple(AS_JSON)), draw.pick(CONFIGS)


def in_tags(draw: Draw) -> tuple[str, str, PromptSubject]:
    return asked_and_answered(draw, (*TAGS, *("memories",) * 5))  # of which most can go wrong


@pytest.mark.slow
@law(in_json, examples=500)
def test_replies_in_json_are_read_as_a_plain_reader_reads_them(
    task: str, reply: str, asked: PromptSubject, config: Config
) -> None:
    check_read(task, reply, asked, config)


@pytest.mark.slow
@law(in_tags, examples=600)
def test_replies_in_tags_are_read_as_a_plain_reader_reads_them(
    task: str, reply: str, asked: PromptSubject
) -> None:
    check_read(task, reply, asked, Config())
