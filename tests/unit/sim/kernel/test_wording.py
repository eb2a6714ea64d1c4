"""Goal: a line for people has one form for each kind of thing, and shows all that a terminal would obey."""

import pytest

from umi_sim.kernel import wording


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\x00\x7f\x85", "a\\x0ab\\x00\\x7f\\x85"),
        ("invoice_\u202efdp.exe \u2067x\u2069 \u200f", "invoice_\\u202efdp.exe \\u2067x\\u2069 \\u200f"),
        ("\ud800 \ufeff \U000e0041", "\\ud800 \\ufeff \\U000e0041"),
        ("日本 é 👍", "日本 é 👍"),
    ],
)
def test_a_terminal_obeys_no_printed_text(text: str, expected: str) -> None:
    assert wording.escape_text(text) == expected


def test_what_is_too_long_is_cut_where_it_shows() -> None:
    assert wording.cut("x" * 120) == "x" * 120
    assert wording.cut("x" * 121) == "x" * 117 + "..."
    assert wording.cut("abcdef", 5) == "ab..."


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (-86_400_000, "-1 d"), (7_199_999, "1 h")]
)
def test_a_time_is_printed_in_its_largest_whole_unit(ms: int, text: str) -> None:
    assert wording.duration(ms) == text


def test_numbers_and_counts_have_one_form() -> None:
    assert [wording.group_digits(number) for number in (0, 999, 10_000, -1_234_567)] == [
        "0",
        "999",
        "10 000",
        "-1 234 567",
    ]
    assert [wording.plural(count, "run") for count in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert wording.show_counts({"a": 1, "b": 2}) == ["a 1", "b 2"]


def test_an_unknown_name_is_reported_with_similar_ones_or_a_small_choice() -> None:
    assert wording.suggest_names("agnets", ["agents", "faults"]) == "; did you mean agents?"
    assert wording.suggest_names("x", ["agents", "faults"]) == "; known: agents, faults"
    assert wording.suggest_names("x", map(str, range(99))) == ""
    assert wording.suggest_names("ttl_2", ["TTL-1", "TTL-2"], 2) == "; did you mean TTL-2 or TTL-1?"
