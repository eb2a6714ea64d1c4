"""Decisions: a model's reply on whether to search further, and with which query.

Law 1. Total: any string gives a decision. Law 2. A reply stops the search only if it has exactly one closed
pair of decision tags, with exactly the words of that decision inside. Any other reply means: search.
"""

import re
from typing import Final, Literal, get_args

from umi_core.data import Data
from umi_core.json_text import whole
from umi_core.language.tagged import pairs, read_tagged
from umi_core.limits import REPLY_BYTES_MAX
from umi_core.text import size

Undecided = Literal["empty", "too_long", "no_tag", "two_tags", "unknown_word"]
UNDECIDED: Final[tuple[str, ...]] = get_args(Undecided)
# "NO_RETRIEVE", "no retrieve" and "No-Retrieve." have the same two words.
WORD: Final = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")  # letters and digits, and whatever is not ASCII
STOPS: Final = {("retrieve",): False, ("no", "retrieve"): True}
PLACEHOLDER: Final = "{query}"


class Decision(Data):
    """The decision of a reply. `is_enough`: the search may stop. `rewrite`: another query, or None. `why`:
    the reason why the reply could not be read, or None."""

    is_enough: bool
    rewrite: str | None = None
    why: Undecided | None = None


def parse_decision(reply: str) -> Decision:
    text = whole(reply)
    if not text.strip():
        return Decision(False, None, "empty")
    if size(text) > REPLY_BYTES_MAX:
        return Decision(False, None, "too_long")
    insides = list(pairs(text, "decision"))
    rewrite = read_tagged(text, ("rewritten_query", "decision")).get("rewritten_query", "").strip()
    rewrite_or_none = rewrite if rewrite not in ("", PLACEHOLDER) else None
    if len(insides) != 1:
        return Decision(False, rewrite_or_none, "two_tags" if insides else "no_tag")
    is_enough = STOPS.get(tuple(WORD.findall(insides[0].lower())))
    return Decision(bool(is_enough), rewrite_or_none, "unknown_word" if is_enough is None else None)
