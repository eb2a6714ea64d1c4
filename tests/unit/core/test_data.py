"""Data and owners compare, hash and show themselves as their laws say."""

import pytest

from umi_core.data import Data, Owner


class Point(Data):
    x: int
    y: int = 0
    note: str = ""
    uncompared = ("note",)


class Other(Data):
    x: int
    y: int = 0


class Named(Point):
    """No fields of its own, no decorator."""


class Own(Data):
    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int)

    __hash__ = None  # type: ignore[assignment]  # what is equal to numbers is no key


class Place(Owner):
    x: int
    near: "Place | None" = None
    uncompared = ("near",)


def test_data_is_equal_by_class_and_fields() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 2) not in [Other(1, 2), (1, 2)]
    assert Point(1, 2) != Named(1, 2)
    assert Named(1, 2) == Named(1, 2)


def test_a_field_that_does_not_count_counts_nowhere() -> None:
    assert Point(1, 2, "a") == Point(1, 2, "b")
    assert hash(Point(1, 2, "a")) == hash(Point(1, 2, "b"))
    assert repr(Point(1, 2, "a")) == "Point(x=1, y=2)"


def test_data_is_a_key_by_class_and_fields() -> None:
    assert {Point(1): "point", Other(1): "other"}[Point(1)] == "point"
    with pytest.raises(TypeError):
        hash(Other([]))  # type: ignore[arg-type]  # a key is whole or none


def test_data_stays_frozen() -> None:
    with pytest.raises(AttributeError):
        setattr(Point(1), "x", 2)  # noqa: B010  # written out, mypy would not allow it


def test_a_class_keeps_what_it_says_itself() -> None:
    assert Own(1) == 7
    assert repr(Own(1)) == "Own(x=1)"
    with pytest.raises(TypeError):
        hash(Own(1))


def test_an_owner_is_equal_to_itself_alone() -> None:
    place = Place(1)
    assert [place] == [place]
    assert [place] != [Place(1)]
    assert {place: 1}[place] == 1
    assert repr(place) == "Place(x=1)"
