"""Tagged texts: the elements of a reply, such as `<summary>...</summary>`, and common variants of them.

    <summary lang="en">Ann naps.        without an end tag: up to the next tag, or to the end of the reply
    {"summary": "Ann naps."}            the same in JSON

Law 1. Total: any string gives a text for some of the names, perhaps for none.
"""

import re
from collections.abc import Iterator
from typing import Final

from umi_core.language.replies import field, find_objects
from umi_core.loose_json import unescape_text
from umi_core.text import REFERENCE, resolve_reference, resolve_references


def read_tagged(reply: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the texts that the reply has, by name: of the first elements, or else of members in JSON."""
    found = dict[str, str]()
    for name, text in list_elements(reply, names):
        found.setdefault(name, resolve_references(text))
    if not found:
        rows = find_objects(reply, names[:1])
        members = {name: field(rows[-1], name) for name in names} if rows else {}
        found = {name: text for name, text in members.items() if isinstance(text, str)}
    return found


def list_elements(reply: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the name and text of at most one element per name; its start or end tag may be missing."""
    tags = list(
        re.finditer(rf"<(?P<slash>/?)(?P<name>{'|'.join(names)})(?:\s[^<>]*)?>", reply, re.IGNORECASE)
    )
    for name in names:
        marks = [it for it in tags if it["name"].lower() == name and not it[0].endswith("/>")]
        opened = next((it for it in marks if not it["slash"]), None)
        start = opened.end() if opened else 0
        closed = next((it for it in marks if it["slash"] and it.start() >= start), None)
        later = next((it for it in tags if it.start() >= start and it["name"].lower() != name), None)
        if closed is not None and opened is not None:
            yield name, reply[start : closed.start()]
        elif opened is not None:
            yield name, reply[start : later.start() if later else len(reply)]
        elif closed is not None:
            before = [it.end() for it in tags if it.end() <= closed.start()]
            yield name, reply[max(before, default=0) : closed.start()]


# Characters.


def restore_characters(text: str, source: str) -> str:
    """Return a text with references (`&amp;`) and codes decoded, unless its source has them, too."""
    if "&" in text:
        text = REFERENCE.sub(lambda it: it[0] if it[0] in source else resolve_reference(it), text)
    return CODES.sub(lambda it: unescape_text(it[0]), text) if "\\u" in text and "\\u" not in source else text


CODES: Final = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
