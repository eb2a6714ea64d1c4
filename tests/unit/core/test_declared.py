"""Goal: who declares something without a part of it reads which thing, which part, and in which file."""

from typing import Annotated

import pytest

from umi_core.declared import Incomplete, complete, list_declared
from umi_core.domains import Flag, domain_of
from umi_core.engine.registry import Registry
from umi_core.messages.requests import Get, Len, Recall, WorkingRequest
from umi_core.workflows import check_served


class Untagged(WorkingRequest):
    """A request as it was just written."""


def test_a_class_without_a_tag() -> None:
    found = {"FILE": "umi_core/messages/requests.py", "Get": Get, "Untagged": Untagged}
    with pytest.raises(Incomplete, match=r"^Untagged has no tag: .* in umi_core/messages/requests.py$"):
        list_declared(found, WorkingRequest)


def test_a_part_that_is_missing_and_one_that_belongs_to_nothing() -> None:
    assert complete("answer", [Get], {Get: 1}, "here.py") == {Get: 1}
    with pytest.raises(Incomplete, match=r"^Len has no answer: add one in here.py$"):
        complete("answer", [Get, Len], {Get: 1}, "here.py")
    with pytest.raises(Incomplete, match=r"^Len is not declared, and here.py has its answer: take it out$"):
        complete("answer", [Get], {Get: 1, Len: 2}, "here.py")


def test_a_request_without_its_workflow() -> None:
    with pytest.raises(Incomplete, match=r"^Recall has no workflow recall: add it to WORKFLOWS in umi_core/"):
        check_served([Get, Recall], Registry())


def test_a_field_without_a_domain() -> None:
    assert domain_of(Flag | None).name == "flag"
    for annotation in (int, Annotated[int, "no domain"]):
        with pytest.raises(Incomplete, match=r"has no domain: give it one in umi_core/domains\.py"):
            domain_of(annotation)
