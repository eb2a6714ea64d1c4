"""Goal: what a caller fills in is known by name, and whether it may be left out."""

from umi_core.messages.requests import Recall, arguments_of


def test_an_optional_field_and_one_that_may_be_none_are_distinguished() -> None:
    of_recall = {it.name: (it.is_required, it.may_be_none) for it in arguments_of(Recall)}
    assert of_recall["query"] == (True, False)
    assert of_recall["limit"] == (False, True)
    assert of_recall["turns"] == (False, False)
