"""Task extract: an entity for each name, and the relations that cues state."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from umi_core.data import Data
from umi_sim.kernel.characters import lower, sentences, tokens
from umi_sim.services.model.cast import KNOWN
from umi_sim.services.model.cues import Cue, placed_cues
from umi_sim.services.model.names import TITLES, known_words, name_spans
from umi_sim.services.model.prompts import Inputs, fitting, quote_json, whole

ENTITY_COUNT_MAX: Final = 50
RELATION_COUNT_MAX: Final = 100
CONTENT_CHARS_MAX: Final = 400
SELF_CUES_MIN: Final = 4  # this many cues give any name the type self; fewer are not certain enough
OWN_CUES_MIN: Final = 2  # the same for an assistant of the cast; `my name is` contains two cues
OWN_WORDS: Final = frozenset(("i", "me", "my", "we", "our", "ich", "mich", "mein", "yo", "mi"))
ENTITIES_BYTES_MAX: Final = 32_000
RELATIONS_BYTES_MAX: Final = 7_900  # entities, relations and the JSON around them stay under 40 000 bytes

Mention = tuple["Sentence", int]  # a sentence, and the number of a name in it


class Sentence(Data):
    """A sentence, its names and its cues in order; gap i is before name i, the last gap after all names."""

    text: str
    names: tuple[str, ...]
    gaps: tuple[tuple[Cue, ...], ...]
    cues: tuple[Cue, ...]


def extract(given: Inputs) -> str:
    """Return an entity for each name, with the sentences that contain it, and the relations by cues."""
    text = given.get("text")
    found = [
        read_sentence(part) for part in join_titles(sentences(whole(text if isinstance(text, str) else "")))
    ]
    groups = mentions_by_name(found)
    elements = [entity(group) for group in groups.values()]
    speaker = given.get("speaker")
    if isinstance(speaker, str) and lower(speaker) not in groups:
        elements += own_element(whole(speaker), found)
    entities = fitting(elements[:ENTITY_COUNT_MAX], ENTITIES_BYTES_MAX)
    # A relation may name only returned entities, or the memory would drop it (law 3 of the package).
    retained = {key: name_of(group[0]) for key, group in list(groups.items())[: len(entities)]}
    links = list(dict.fromkeys(relations(found, retained)))[:RELATION_COUNT_MAX]
    relation_rows = fitting(links, RELATIONS_BYTES_MAX)
    return f'{{"entities":[{",".join(entities)}],"relations":[{",".join(relation_rows)}]}}'


def join_titles(parts: list[str]) -> list[str]:
    """Return the sentences, joining one that ends with a title and the next one: `I met Mr. Novak.`"""
    found: list[str] = []
    for part in parts:
        goes_on = bool(found) and found[-1].endswith(TITLES)
        found.append(f"{found.pop()} {part}" if goes_on else part)
    return found


def mentions_by_name(found: list[Sentence]) -> dict[str, list[Mention]]:
    """Return the mentions of each name, in order of appearance; names are compared without case."""
    groups: dict[str, list[Mention]] = {}
    for sentence in found:
        for at, name in enumerate(sentence.names):
            groups.setdefault(lower(name), []).append((sentence, at))
    return groups


def entity(group: list[Mention]) -> str:
    """Write one element of the answer from all mentions of its name."""
    by_text = {sentence.text: sentence for sentence, _ in group}
    content = "\n".join(by_text)[:CONTENT_CHARS_MAX]
    entity_type = next((found for mention in group if (found := type_of(mention)) != "note"), "note")
    cue_count = len({cue.phrase for sentence in by_text.values() for cue in sentence.cues})
    cue_count = max(cue_count, SELF_CUES_MIN) if entity_type == "self" else cue_count
    return (
        f'{{"name":{quote_json(name_of(group[0]))},"type":"{entity_type}",'
        f'"content":{quote_json(content)},"confidence":{confidence(cue_count)}}}'
    )


def own_element(speaker: str, found: list[Sentence]) -> list[str]:
    """Return the element of a speaker, from sentences with a cue and a word such as `I`, if there are any."""
    own = [it.text for it in found if it.cues and not OWN_WORDS.isdisjoint(tokens(it.text))]
    content = "\n".join(dict.fromkeys(own))[:CONTENT_CHARS_MAX]
    row = (
        f'{{"name":{quote_json(speaker)},"type":"person","content":{quote_json(content)},"confidence":0.80}}'
    )
    return [row] if own else []


def name_of(mention: Mention) -> str:
    return mention[0].names[mention[1]]


def type_of(mention: Mention) -> str:
    """Return the type by a word of the name, else a cue next to it, else the first cue of its sentence."""
    sentence, at = mention
    selves = [cue for cue in sentence.cues if cue.before == "self"]
    own = [KNOWN[word][0] for word in known_words(sentence.names[at])]
    own = [one for one in own if one != "self" or len(selves) >= OWN_CUES_MIN]
    behind = [cue.after for cue in sentence.gaps[at] if cue.is_directed][-1:]
    before = [cue.before for cue in sentence.gaps[at + 1] if cue.is_directed][:1]
    is_sure = len(sentence.cues) >= SELF_CUES_MIN
    near = [cue.before for cue in sentence.cues if not cue.is_directed and (cue not in selves or is_sure)]
    return (own + behind + before + near + ["note"])[0]


def confidence(cue_count: int) -> str:
    """Return 0.60 plus 0.05 for each cue, at most 0.95."""
    return f"0.{min(95, 60 + 5 * cue_count)}"


def relations(found: list[Sentence], retained: Mapping[str, str]) -> Iterator[str]:
    """Yield the relations between neighbouring names of a sentence that are both in `retained`."""
    for sentence in found:
        keys = [lower(name) for name in sentence.names]
        for source, target, gap in zip(keys, keys[1:], sentence.gaps[1:], strict=False):
            kind = next((cue.relation for cue in gap if cue.relation), None)
            if kind and source != target and source in retained and target in retained:
                yield (
                    f'{{"source":{quote_json(retained[source])},"target":{quote_json(retained[target])},'
                    f'"type":"{kind}","confidence":{confidence(len(sentence.cues))}}}'
                )


@lru_cache(maxsize=256)  # a text is shown once for each type of memory
def read_sentence(text: str) -> Sentence:
    spans, placed = name_spans(text), placed_cues(text)
    starts = [0, *(end for _, end, _ in spans)]
    ends = [*(start for start, _, _ in spans), len(text)]
    gaps: list[list[Cue]] = [[] for _ in starts]
    for start, end, cue in placed:
        # "Alice works at Globex and lives in Paris" has the gaps (), (works at), (lives in), (): one more
        # than names. A cue that overlaps a name is in no gap.
        at = bisect_right(starts, start) - 1
        if end <= ends[at]:
            gaps[at].append(cue)
    cues = {cue.phrase: cue for _, _, cue in placed}
    return Sentence(text, tuple(name for _, _, name in spans), tuple(map(tuple, gaps)), tuple(cues.values()))
