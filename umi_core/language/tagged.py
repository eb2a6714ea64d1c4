"""Tagged texts: the elements of a reply, such as `<summary>...</summary>`, and common variants of them.

    <summary lang="en">Ann naps.        without an end tag: up to the next tag, or to the end of the reply
    {"summary": "Ann naps."}            the same in JSON
    **Summary:** Ann naps.              the same behind a label

Law 1. Total: any string gives a text for some of the names, perhaps for none.
"""

import re
from collections.abc import Iterator
from typing import Final

from umi_core.language.replies import field, find_objects
from umi_core.loose_json import unescape_text
from umi_core.text import REFERENCE, resolve_reference, resolve_references


def read_tagged(reply: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the texts that the reply has, by name: of elements, else of members in JSON, else of labels."""
    found = {name: resolve_references(text) for name, text in list_elements(reply, names)}
    if not found:
        rows = find_objects(reply, names[:1])
        members = {name: field(rows[-1], name) for name in names} if rows else {}
        found = {name: text for name, text in members.items() if isinstance(text, str)}
    return found or dict(list_labelled(reply.strip(), names))


def list_labelled(reply: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the name and text behind each label at the start of a line, if the reply begins with one."""
    label = rf"^[#*_>\s]*({'|'.join(names)})[*_]*[:：][*_]*"
    marks = list(re.finditer(label, reply, re.IGNORECASE | re.MULTILINE))
    ends = [*(it.start() for it in marks[1:]), len(reply)]
    for mark, end in zip(marks, ends, strict=True) if marks and not marks[0].start() else ():
        yield mark[1].lower(), reply[mark.end() : end].strip()


def list_elements(reply: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the name and text of at most one element per name; its start or end tag may be missing.

    Of several, the last one counts that is not blank, because a model may correct itself.
    """
    tags = list(
        re.finditer(rf"<(?P<slash>/?)(?P<name>{'|'.join(names)})(?:\s[^<>]*)?>", reply, re.IGNORECASE)
    )
    for name in names:
        marks = [it for it in tags if it["name"].lower() == name and not it[0].endswith("/>")]
        opened = next((it for it in marks if not it["slash"]), None)
        insides = list(pairs(reply, name))
        if insides:
            yield name, next((it for it in reversed(insides) if it.strip()), "")
        elif opened is not None:
            later = (it.start() for it in tags if it.start() > opened.start() and it["name"].lower() != name)
            yield name, reply[opened.end() : next(later, len(reply))]
        elif marks:
            before = [it.end() for it in tags if it.end() <= marks[0].start()]
            yield name, reply[max(before, default=0) : marks[0].start()]


def pairs(text: str, name: str) -> Iterator[str]:
    """Yield the text between each opening tag and the next closing one."""
    begin: int | None = None
    for tag in re.finditer(rf"<(/?){name}(?:\s[^<>]*)?>", text, re.IGNORECASE):
        if tag[0].endswith("/>"):
            continue  # a self-closing tag is a blank
        if not tag[1]:
            # A second opening tag before the closing one is text of the first.
            begin = tag.end() if begin is None else begin
        elif begin is not None:
            yield text[begin : tag.start()]
            begin = None


REFUSAL: Final = re.compile(
    r"""\W*(?:(?:(?:(?:i(?:['’]m|\ am)?\ (?:\w+\ )?)?(?:sorry|apologi[sz]e)|apologies|unfortunately
          | as\ an?\ (?:ai|language)\b[^.,\n]{0,30})\W+(?:but\ )?)?
        i(?:['’]m|\ am)?\ (?:\w+\ )?(?:can(?:no|['’])t|unable|not\ able)\b
        [^.\n]{0,60}?\b(?:help|assist|comply|fulfil|provid|process|view|see|access|describ|transcrib
        | summari|request|generat|creat|answer|name)
      | (?:es\ tut\ mir\ leid|lo\ siento|(?:je\ suis\ )?désolé|mi\ dispiace|desculpe|к\ сожалению|извините)
        [^.\n]{0,40}?\b(?:kann|puedo|peux|posso|могу)\b
      | (?:很?抱歉|对不起)[^。\n]{0,20}?(?:无法|不能) | 申し訳[^。\n]{0,30}?ません | 죄송[^.\n]{0,30}?없)""",
    re.IGNORECASE | re.VERBOSE,
)
"""The start of a reply that only says that the model cannot or will not answer."""


# Characters.


def restore_characters(text: str, source: str) -> str:
    """Return a text with references (`&amp;`) and codes decoded, unless its source has them, too."""
    if "&" in text:
        text = REFERENCE.sub(lambda it: it[0] if it[0] in source else resolve_reference(it), text)
    return CODES.sub(lambda it: unescape_text(it[0]), text) if "\\u" in text and "\\u" not in source else text


CODES: Final = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
