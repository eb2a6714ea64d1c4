"""Dating: the day on which a question was asked, and the texts by which its words are searched.

    What did Ann do last Friday?      as it is, and: What did Ann do last Friday (2026-11-20)?

A fact that was told on that Friday says `today (2026-11-20)`, so only the date of the question finds it.

Law 1. Every row that the question finds as it is stays a hit; the date decides which of them comes first.
Law 2. Vectors are of the question as it is: an embedder knows little of numbers.
"""

from typing import Final

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Step
from umi_core.language.dates import day_of, list_dated
from umi_core.limits import QUERY_BYTES_MAX

ASKED_ON: Final = Fact("asked_on", int)  # the day, since 1970


def take_day(facts: Facts, answer: None, view: View) -> Learned:
    return Learned(ASKED_ON(day_of(view.now_ms, view.config)))


# First, so that the words count from the day on which the request came, however long its questions take.
DATE: Final = Step("date", produces=(ASKED_ON,), take=take_day)


def list_texts(query: str, day: int) -> tuple[str, ...]:
    """Return the texts by which a query is searched for words: as it is, then with its dates, if any."""
    # `yesterday (2026-11-28)` already has its date, so it is one text.
    return tuple(dict.fromkeys((query, *list_dated(query, day, QUERY_BYTES_MAX))))
