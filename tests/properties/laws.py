"""Laws: what holds of a function for every value that Hypothesis draws from a domain.

    def pairs(draw: Draw) -> tuple[int, int]:           # a domain: the arguments of one call
        return draw.below(9), draw.between(1, 9)

    @law(pairs)
    def test_a_remainder_is_smaller(n: int, d: int) -> None:
        assert n % d < d

    test_remainders = agree(math.fmod, reference, pairs)    # equal results, whatever is drawn

The test of planted bugs calls these functions (tests/quality/test_mutants.py), so none of them takes a
fixture or a parameter of pytest.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

T = TypeVar("T")
Domain = Callable[["Draw"], tuple[Any, ...]]
Test = Callable[[], None]
UNSHRUNK: Final = (Phase.explicit, Phase.generate)


class Draw:
    """The choices of one example. Each shrinks toward the first item, the lower number, and no."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def below(self, count: int) -> int:
        return self._draw(numbers(0, count - 1))

    def between(self, low: int, high: int) -> int:
        return self._draw(numbers(low, high))

    def chance(self, n: int, of: int) -> bool:
        """Return True in about n of so many cases."""
        return self.below(of) >= of - n

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def subset(self, items: Iterable[T], n: int = 1, of: int = 2) -> list[T]:
        """Return the items, in order, for each of which a chance of n in `of` came true."""
        return [it for it in items if self.chance(n, of)]

    def shuffle(self, items: Iterable[T]) -> list[T]:
        return list(self._draw(st.permutations(list(items))))

    def many(self, make: Callable[["Draw"], T], low: int, high: int) -> list[T]:
        return [make(self) for _ in range(self.between(low, high))]


@cache
def numbers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


def law(domain: Domain, examples: int = 50) -> Callable[[Callable[..., None]], Test]:
    """Make a test of a check that holds for the arguments of every example."""

    def decorate(check: Callable[..., None]) -> Test:
        values = st.composite(lambda draw: domain(Draw(draw)))()

        def test_in(phases: Collection[Phase]) -> Test:
            def test(values: tuple[Any, ...]) -> None:
                check(*values)

            test.__name__ = test.__qualname__ = check.__name__
            test.__module__, test.__doc__ = check.__module__, check.__doc__
            limits = settings(max_examples=examples, phases=phases)
            made: Test = limits(given(values)(test))
            return made

        found: Any = test_in(tuple(Phase))
        found.unshrunk = test_in(UNSHRUNK)
        return found  # type: ignore[no-any-return]

    return decorate


def agree(
    function: Callable[..., object], reference: Callable[..., object], domain: Domain, examples: int = 50
) -> Test:
    """Make a test that both functions give equal results."""

    def agrees(*args: Any) -> None:
        assert reference(*args) == function(*args), args

    return law(domain, examples)(agrees)


def fail_first(test: Test) -> None:
    """Call a test, which fails at the first example that breaks it, without looking for a smaller one."""
    getattr(test, "unshrunk", test)()


def around(number: int) -> tuple[int, ...]:
    return number - 1, number, number + 1
