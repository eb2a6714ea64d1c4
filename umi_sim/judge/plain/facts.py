"""Facts that have no name of their own: what they are stored as, and where they belong if nobody says."""

from typing import Final

from umi_sim.judge.plain.extraction import UNSAID_PPM, Mention, name_of_note

HOME: Final = {
    "profile": "facts", "event": "context", "knowledge": "facts", "behavior": "preferences",
    "skill": "skills",
}  # fmt: skip
ENTITY_TYPE: Final = {
    "profile": "person", "behavior": "preference", "event": "event", "knowledge": "topic", "skill": "topic",
}  # fmt: skip


def given_fact(content: str, kind: str, categories: tuple[str, ...] | None) -> Mention:
    """Of a memory type, in the categories that are named or in that of its type."""
    homes = (HOME[kind],) if categories is None else tuple(dict.fromkeys(categories))
    return Mention(name_of_note(content), ENTITY_TYPE[kind], content, UNSAID_PPM, False, kind, homes)
