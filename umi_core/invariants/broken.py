"""How a rule is broken: one exception for all of them."""

from typing import Final

SHOWN_CHARS_MAX: Final = 300


class BrokenRule(Exception):
    """A rule does not hold: its readable name, one line, and what was expected and found."""

    def __init__(self, rule: str, message: str, expected: object = "", got: object = "") -> None:
        super().__init__(f"{rule}: {message}")
        self.rule, self.message = rule, message
        self.expected, self.got = str(expected)[:SHOWN_CHARS_MAX], str(got)[:SHOWN_CHARS_MAX]


def demand(holds: bool, rule: str, message: str, expected: object = "", got: object = "") -> None:
    """Raises BrokenRule unless it holds; the texts of expected and got are made only then."""
    if not holds:
        raise BrokenRule(rule, message, expected, got)
