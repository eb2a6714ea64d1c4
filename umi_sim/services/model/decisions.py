"""Tasks decide_need, decide_enough and rank: is a search needed, are hits enough, which ones help most."""

from typing import Final

from umi_core.language.words import content, words
from umi_sim.services.model.prompts import Inputs, quote_json, whole
from umi_sim.services.model.rewriting import rewrite_line

GREETINGS: Final = frozenset("hi hello hey thanks thank ok okay bye hola danke gracias".split())
YES: Final = "<decision>RETRIEVE</decision>"
NO: Final = "<decision>NO_RETRIEVE</decision>"


def decide_need(given: Inputs) -> str:
    """Decide that a search is needed unless the query is a greeting; rewrite the query by the turns."""
    query = text_of(given.get("query"))
    words_of = content(words(query))
    is_needed = any(word not in GREETINGS for word in words_of)
    return f"{YES if is_needed else NO}\n<rewritten_query>{rewrite_line(given)}</rewritten_query>"


def decide_enough(given: Inputs) -> str:
    """Decide that the hits are enough if they contain each content word of the query; else ask for more."""
    query = text_of(given.get("query"))
    rows = [it for it in as_list(given.get("found")) if isinstance(it, dict)]
    found = [text_of(it.get("text")) for it in rows]
    there = frozenset(word for text in found for word in words(text))
    wanted = content(words(query)) or words(query)
    is_there = all(word in there for word in wanted)
    new = [word for text in found for word in content(words(text)) if word not in wanted]
    other = " ".join((query, *new[:1]))  # a new word from a hit may lead to more hits
    return f"{NO if is_there else YES}\n<rewritten_query>{query if is_there else other}</rewritten_query>"


def rank(given: Inputs) -> str:
    """Order the candidates that share words with the query, and return one more than was asked for."""
    wanted = frozenset(content(words(text_of(given.get("query")))))
    rows = [it for it in as_list(given.get("candidates")) if isinstance(it, dict)]
    texts = {str(it.get("id")): words(text_of(it.get("text"))) for it in rows}
    shares = {alias: sum(word in there for word in wanted) for alias, there in texts.items()}
    # `sorted` is stable: candidates with equal counts keep the order of the prompt.
    order = sorted((alias for alias in shares if shares[alias]), key=lambda alias: -shares[alias])
    count = given.get("count")
    limit = int(getattr(count, "text", "0"))
    return '{"ids":[' + ",".join(map(quote_json, order[: limit + 1])) + "]}"


def text_of(value: object) -> str:
    return whole(value) if isinstance(value, str) else ""


def as_list(value: object) -> list[object]:
    """Return a list as it is; empty for any other value."""
    return value if isinstance(value, list) else []
