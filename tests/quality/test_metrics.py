"""Goal: what the memory decides meets the success metrics, on a corpus that is large and soundly labelled."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tools import metrics
from tools.measured.labelled import archive, queries
from tools.measured.table import Count, Row
from umi_core.language.words import words

QUERIES: Final = queries()


def test_the_talk_is_large_and_most_of_it_as_people_talk() -> None:
    conversations = Counter({(it.turns, it.form, it.language): 1 for it in QUERIES})
    forms = Counter(form for _, form, _ in conversations)
    assert forms["talk"] * 2 >= conversations.total() >= 30
    assert {language for _, _, language in conversations} == {"en", "de", "es", "zh"}
    assert sum(it.refers for it in QUERIES) >= 60
    assert len({(it.turns, it.text) for it in QUERIES}) == len(QUERIES) >= 100


def test_the_labels_are_sound() -> None:
    assert [it.text for it in QUERIES if it.refers != bool(it.right)] == []
    assert [it.text for it in QUERIES if not it.refers and not it.wrong] == []
    kinds = {kind for it in QUERIES for kind, _ in it.wrong}
    assert kinds == {"entity", "person", "dropped", "foreign", "needless"}


def test_the_archive_has_topics_in_each_category_and_questions_of_each_level() -> None:
    facts, questions = archive()
    topics = Counter(category for category, _ in {(it.category, it.topic) for it in facts if not it.is_noise})
    assert min(topics.values()) >= 3
    assert {it.level for it in questions} == {"categories", "entities", "resources"}
    assert len(words(" ".join(it.text for it in facts))) > 800


def test_what_the_memory_decides_meets_every_target() -> None:
    rows = list(metrics.rows_of_memory())
    assert sum(it.met is not None for it in rows) >= 7
    assert [it for it in rows if it.met is False] == []


def test_a_share_is_met_above_its_target_only() -> None:
    count = Count.of([("a", True)] * 4 + [("b", False)])
    assert (str(count), count.others) == ("80.0 % (4 of 5)", ("b",))
    assert Row.share("m", "by", count, 80).met is False
    assert Row.share("m", "by", count, 79).met is True


def test_the_table_of_the_page_is_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, row = tmp_path / "page.md", Row("m", "by", "1 ms", "< 2 ms", True)
    page.write_text(f"before\n{metrics.BEGIN}old\n{metrics.END}after\n")
    monkeypatch.setattr(metrics, "PAGE", page)
    monkeypatch.setattr(metrics, "rows_of_memory", lambda: iter([row]))
    monkeypatch.setattr(metrics, "rows_of_model", lambda given: iter(()))
    assert metrics.main(["--write"]) == 0
    assert "old" not in page.read_text()
    assert "| m | by | 1 ms | < 2 ms | yes |\n" in page.read_text()


@pytest.mark.parametrize("url", ["ftp://x", "http://localhost:1/v1"])
def test_an_address_that_is_none_is_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert metrics.main(["--model", url]) == 2
    assert "is no address of a model" in capsys.readouterr().err
