"""How far searches of the labelled archive go until it is enough, and whether they find what answers."""

from collections.abc import Iterator

from tools.measured.archive import Archive, Judge
from tools.measured.labelled import Question
from tools.measured.table import Count, Row, mean
from umi_core.messages.results import Retrieved

LEVELS_MAX, SAVED_PERCENT_MIN = 2.5, 30


def search_rows(archive: Archive, judge: Judge, by: str, is_aim: bool) -> Iterator[Row]:
    """`is_aim`: whether the targets are about this judge and these vectors."""
    short, full = archive.searched(judge), archive.searched("all")
    levels = mean(len(it.tried) for it in short)
    saved = 100 * (1 - sum(map(archive.work, short)) / sum(map(archive.work, full)))
    measured = f"{levels:.2f} of {archive.level_count}"
    if is_aim:
        yield Row("**levels searched**", by, measured, f"< {LEVELS_MAX}", levels < LEVELS_MAX)
        metric, target = "**rows not looked through**", f"> {SAVED_PERCENT_MIN} %"
        yield Row(metric, by, f"{saved:.1f} %", target, saved > SAVED_PERCENT_MIN)
    else:
        yield Row("levels searched", by, measured)
        yield Row("rows not looked through", by, f"{saved:.1f} %")
    found, most = answers(archive, short), answers(archive, full)
    yield Row.share("answer among the hits", by, found, note=f"; with all levels {most.holds}")


def answers(archive: Archive, values: list[Retrieved]) -> Count:
    pairs: zip[tuple[Question, Retrieved]] = zip(archive.questions, values, strict=True)
    return Count.of((question.text, archive.has_answer(question, value)) for question, value in pairs)
