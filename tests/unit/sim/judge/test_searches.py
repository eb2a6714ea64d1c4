"""Goal: what the judge expects of several lists, each of which was cut, is no more than is certain."""

import pytest

from umi_sim.judge.oracle.archive.searches import Relevances, certainly_found

LISTS: dict[str, Relevances] = {"k": (400, 500), "a": (0, 500), "b": (300, 600), "none": (0, 0)}


@pytest.mark.parametrize(
    ("count", "found"),
    [
        (4, {"k": 500, "a": 500, "b": 600}),
        (2, {"k": 400, "a": 500, "b": 600}),  # of equals in the second list "a" is first, and "k" is cut
        (1, {"k": 400, "b": 600}),
        (0, {}),
        (-3, {}),  # so many others may stand in front
    ],
)
def test_a_list_that_is_cut_shows_its_first_ids_alone(count: int, found: dict[str, int]) -> None:
    assert certainly_found(LISTS, count) == found
