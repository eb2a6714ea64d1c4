"""Invalid replies of a model: a true reply with a change, or a useless one.

Law 1. Pure: the reply follows from the task, the prompt and the stream.
Law 2. A reply is invalid in one of six ways, each as likely: useless for any task, or for this one; with a
word or some fields changed; with a list that is too long; edited as the faults of a world do, once or twice.
"""

import re
from typing import Any, Final

from umi_core.limits import QUERY_BYTES_MAX, REPLY_BYTES_MAX
from umi_sim.faults import edits
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.model import Repeats
from umi_sim.kernel.prng import Stream
from umi_sim.services.model import truth

FaultEdit = type[edits.WholeEdit | edits.ValueEdit | edits.CutShort]

DECISIONS: Final = tuple(
    f"<decision>{word}</decision>"
    for word in (
        "retrieve", "RETRIEVE", "perhaps", "retrieve</decision><decision>no retrieve", " " * REPLY_BYTES_MAX,
        "retrieve</decision><rewritten_query>And she?</rewritten_query><decision>",
    )
)  # fmt: skip
USELESS: Final = ("", " ", "no", "{}", "<xml>", "x" * (REPLY_BYTES_MAX + 1), "<notes>", "I see.")
USELESS_OF: Final = {
    "decide_need": DECISIONS, "decide_enough": DECISIONS,
    "rewrite": ("x " * QUERY_BYTES_MAX,),
    "rank": (
        '{"ids": [7, "c99", "c2", "c2", "c1", "c3"]}',
        '{"ids": [' + ", ".join(f'"c{number}"' for number in range(1, 100)) + "]}",
    ),
    "expand": ('["tea", " ", 7, "TEA", "what else", "who else", "where else", "tea or coffee"]',),
    "evolve": ('[{}, 7, "x", null]',),
    "extract": ('{"entities": [7, {}, {"name": "it"}, {"name": "x"}], "relations": [7]}',),
}  # fmt: skip
"""Useless replies to one task; those to any task are in USELESS."""
WORDS: Final = ("she", "they", "you", "your", "I", "zebra", "Zed", "not", "<decision>", "<rewritten_query>")
"""Words that a true reply has no reason to use: a reference, another person, an unknown name, a tag."""
FIELDS: Final = (  # patterns of fields in JSON, and their replacements
    (r'"block":"\w+"', '"block":"scratch"'), (r'"promote":false', '"promote":true'),
    (r'"confidence":[0-9.]+', '"confidence":0.6'),
    (r'"turn": [0-9]+', '"turn": 9'), (r'"reference": "[^"]*"', '"reference": "zebra"'),
    (r'"source":("[^"]*"),"target":"[^"]*"', r'"source":\1,"target":\1'),
)  # fmt: skip
MANY: Final = 101  # one more than any list may have
FAULT_EDITS: Final[tuple[FaultEdit, ...]] = tuple(
    kind for kind in KINDS.values() if issubclass(kind, edits.WholeEdit | edits.ValueEdit | edits.CutShort)
)


def make_invalid_reply(task: str, prompt: str, draw: Stream) -> str:
    reply = truth(task, prompt)
    match draw.below(6):
        case 0:
            return draw.pick((*USELESS, *USELESS_OF.get(task, ())))
        case 1:
            return draw.pick(USELESS_OF.get(task, USELESS))
        case 2:
            if task == "rewrite" and draw.chance(2, 3):
                return change_rewrite(reply, prompt, draw)
            is_json = reply[:1] in ("[", "{")
            return change_fields(reply, draw) if is_json else change_word(reply, draw)
        case 3:
            return repeat_element(reply, draw)
        case 4:
            return apply_fault_edit(reply, draw)
        case _:
            return apply_fault_edit(apply_fault_edit(reply, draw), draw)


def change_rewrite(reply: str, prompt: str, draw: Stream) -> str:
    """Change a word of the rewrite; the references in the reply stay, so they may not fit any more."""
    line = re.match(r'\{"query": "([^"]*)"', reply)
    words = (*WORDS, *(word for turn in re.findall(r'"text":"([^"]*)"', prompt) for word in turn.split()))
    if line is None:
        return change_word(reply, draw, words)
    return reply[: line.start(1)] + change_word(line[1], draw, words) + reply[line.end(1) :]


def change_word(reply: str, draw: Stream, others: tuple[str, ...] = WORDS) -> str:
    """Leave out a word, replace it, or put another one before it."""
    words = reply.split()
    at = draw.below(len(words) + 1)
    # At 1 of "she likes tea" this gives "she tea", "she zebra tea", "she zebra likes tea", or no change.
    words[at : at + draw.below(2)] = [draw.pick(others)] * draw.below(2)
    return " ".join(words)


def change_fields(reply: str, draw: Stream) -> str:
    """Change some of the fields that a reply has, in all rows."""
    changed = reply
    for field, other in draw.subset(FIELDS, 1, 2):
        changed = re.sub(field, other, changed)
    return changed


def repeat_element(reply: str, draw: Stream) -> str:
    """Repeat one element of one of the lists of a reply until the list is too long."""
    lists = [path for path, old in edits.values(reply) if isinstance(old, list) and old]
    if not lists:
        return reply
    return Repeats(path=draw.pick(lists), at=draw.below(MANY), times=MANY).edit_reply(reply)


def apply_fault_edit(reply: str, draw: Stream) -> str:
    """Return the reply with one edit of a fault of models; unchanged if no edit fits."""
    kinds: list[Any] = draw.shuffle(FAULT_EDITS)
    for kind in kinds:
        if args := kind.draw_edit(reply, lambda label, n: draw.below(n), None):
            return str(kind(**args).edit_reply(reply))
    return reply
