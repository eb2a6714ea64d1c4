"""What somebody says of themselves, under their own name, as M10.20 says."""

from typing import Final

import attrs

from umi_core.invariants.limits import EXTRACT_CONTENT_BYTES_MAX
from umi_sim.judge.plain.extraction import UNSAID_PPM, Extracted, Mention, told_by, whole_note
from umi_sim.judge.plain.persons import ME, MY, OUR, WE
from umi_sim.judge.plain.sentences import passed_over
from umi_sim.judge.plain.text import byte_count, folded, tidy, words

OWN: Final = (*ME, *MY, *WE, *OUR)


def with_speaker(found: Extracted | None, text: str, speaker: str | None) -> Extracted | None:
    """What was extracted, and with it what the speaker said of themselves that was told nowhere."""
    if found is None or speaker is None:
        return found
    mentions = [it for it in found.mentions if it.named]
    lost = passed_over(text, told_by(mentions))
    known = [n for n, it in enumerate(mentions) if it.type == "person" and folded(it.name) == folded(speaker)]
    said = mentions[known[0]] if known else Mention(tidy(speaker), "person", "", UNSAID_PPM)
    rest = list(lost)
    for sentence in [it for it in lost if any(word in OWN for word in words(it))]:
        content = f"{said.content}\n{sentence}" if said.content else sentence
        if byte_count(content) > EXTRACT_CONTENT_BYTES_MAX:
            break
        said = attrs.evolve(said, content=content)
        rest.remove(sentence)
    if rest == lost:
        return found
    mentions[known[0] if known else len(mentions) :] = [said, *mentions[known[0] + 1 :]] if known else [said]
    mentions += [whole_note("\n".join(rest))] if rest else []
    return attrs.evolve(found, mentions=tuple(mentions), uncovered_count=len(lost))
