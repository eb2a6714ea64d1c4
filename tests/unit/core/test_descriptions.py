"""Goal: whatever a model says of a payload is read: the first tagged content and a caption (H3.25)."""

import pytest

from tests.spec_tables import NOTHING, Row, read_cell, rows
from umi_core.language.descriptions import Description, Undescribed, parse_description
from umi_core.language.prompts import ask_description
from umi_core.limits import CAPTION_BYTES_MAX, REPLY_BYTES_MAX
from umi_core.values import DESCRIBED_BY


@pytest.mark.parametrize("row", rows("hierarchy", "descriptions"), ids=lambda row: row["case"])
def test_replies_are_read_as_the_table_says(row: Row) -> None:
    is_useless = row["content"] == NOTHING
    due = (
        Undescribed("empty")
        if is_useless
        else Description(read_cell(row["content"]), read_cell(row["caption"]))
    )
    assert parse_description(read_cell(row["reply"])) == due


def test_labels_are_read_and_a_refusal_is_no_description() -> None:
    assert parse_description("**Content:** a\nb\n**Caption:** c") == Description("a\nb", "c")
    for told in ("Unfortunately Ann lost access to her account.", "As an AI engineer, Ann creates models."):
        assert parse_description(told) == Description(told, told[:-1])
    for said in (
        "Unfortunately, I cannot describe it.",
        "As an AI language model, I am unable to process it.",
    ):
        assert parse_description(said) == Undescribed("empty")
    refusal = "I'm sorry, but I can't view images."
    assert parse_description(refusal) == Undescribed("empty")
    assert parse_description(f"<content>{refusal}</content><caption>c</caption>") == Description(refusal, "c")


def test_a_reply_that_is_too_long_is_of_no_use() -> None:
    assert parse_description("a" * (REPLY_BYTES_MAX + 1)) == Undescribed("too_long")
    assert parse_description("a" * REPLY_BYTES_MAX) == Description(
        "a" * REPLY_BYTES_MAX, "a" * CAPTION_BYTES_MAX
    )


@pytest.mark.parametrize("task", DESCRIBED_BY.values())
def test_a_prompt_ends_with_its_payload(task: str) -> None:
    assert ask_description(task, "https://example.org/a.png").endswith(
        '\nINPUT payload = "https://example.org/a.png"'
    )
