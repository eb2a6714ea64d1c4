"""Paging: the rows of a read, compared with what was asked, page by page.

Law 1. Rows that were not asked for never count: a search goes on without them, any other read has failed.
Law 2. A step that asks for all rows gets one answer: every page in order, each row once.
Law 3. The count of attempts begins anew with each page. A page that brings nothing new is a failed attempt,
       and so is one beyond READ_PAGE_COUNT_MAX: a store that repeats itself, or invents a row a page, cannot
       keep a read going for ever.
"""

import attrs

from umi_core.answer_checks import has_more, in_order, judged_rows
from umi_core.engine.engine import Engine
from umi_core.engine.workflow import Step
from umi_core.limits import READ_PAGE_COUNT_MAX
from umi_core.messages.answers import EffectFailed, ReadDone
from umi_core.messages.effects import ByFilter, Read
from umi_core.state import Operation


def collected(
    engine: Engine, operation: Operation, row: Step, asked: Read, answer: ReadDone
) -> ReadDone | EffectFailed | None:
    """All rows so far as one answer, or what failed; None if the next page is to be asked for."""
    known_count = len(operation.pages)
    checked = checked_rows(engine, operation, row, asked, answer)
    if isinstance(checked, EffectFailed) or not has_more(asked, checked):
        return checked
    operation.asked = next_page(asked, checked)
    is_beyond = operation.page_count >= READ_PAGE_COUNT_MAX
    operation.page_count += not is_beyond
    if len(operation.pages) == known_count or is_beyond:
        return EffectFailed(answer.request_id, "unavailable")
    operation.attempt = 0
    return None


def checked_rows(
    engine: Engine, operation: Operation, row: Step, asked: Read, answer: ReadDone
) -> ReadDone | EffectFailed:
    """The rows that were asked for, with those of earlier pages; what is left out is told."""
    judged = judged_rows(asked, answer, row.spares)
    engine.marks += [f"read: {reason} row" for reason, _ in judged.left_out[:1]]
    if judged.failure:
        return EffectFailed(answer.request_id, judged.failure)
    for reason, count in judged.left_out:
        engine.degraded(operation, f"read:{reason}_rows", reason, count)
    operation.pages = in_order(asked, operation.pages + judged.rows)
    return ReadDone(answer.request_id, operation.pages, answer.cursor, answer.count)


def next_page(asked: Read, answer: ReadDone) -> Read:
    """The same question, from where this page ended."""
    assert isinstance(asked.query, ByFilter)
    return attrs.evolve(asked, query=attrs.evolve(asked.query, cursor=answer.cursor))
