"""Vectors: an embedder is asked for vectors of the right texts, and its answers are stored.

Law 1. The texts are those of the rows that get the vectors, in their order; for a recall they are its
variants.
Law 2. A vector is used and written as in the answer. An invalid vector counts as missing; if there are too
few or too many, all count as missing.
Law 3. The counters have the number of missing vectors.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final

from umi_core.limits import EMBED_TEXT_BYTES_MAX
from umi_core.messages.answers import Embedded
from umi_core.messages.effects import Embed, Write
from umi_core.rows import Category, Ended, Entity, Vector
from umi_core.state import Operation
from umi_sim.judge.plain.scores import find_missing, sound_vectors
from umi_sim.record import rules
from umi_sim.record.broken import demand

RULE: Final = rules.VECTORS_AS_ANSWERED
NAMED: Final = "degraded embed"  # a prefix: also `embed_captions` and so on
BY_HOOK: Final = ":hook:"  # in the name of a degradation: an interceptor gave a substitute in that step


def list_owed(facts: Mapping[str, object]) -> list[Entity] | None:
    """Return the entities that must each get a vector, in order; None for other operations."""
    drafts, lacking = facts.get("drafts"), facts.get("lacking")
    if isinstance(drafts, tuple):
        return [draft.entity for draft in drafts if draft.old is None]
    return [row.body for row in lacking] if isinstance(lacking, tuple) else None


# Questions.


def check_texts(operation: Operation) -> None:
    """Check the question that this operation has just asked, if it is for the embedder."""
    asked = operation.asked
    if isinstance(asked, Embed) and (expected := expect_texts(operation)) is not None:
        demand(
            asked.texts == expected, RULE, f"texts that {operation.workflow} embeds", expected, asked.texts
        )


def expect_texts(operation: Operation) -> tuple[str, ...] | None:
    variants = operation.facts.get("variants")
    if operation.workflow == "recall" and isinstance(variants, tuple):
        return variants
    texts = operation.facts.get("to_embed")
    if isinstance(texts, tuple) and "vectors" in operation.facts:  # the vectors of facts exist already
        return tuple(text for _, text in texts)
    entities = list_owed(operation.facts)
    return None if entities is None else tuple(map(text_of, entities))


def text_of(entity: Entity) -> str:
    """Return names and content, cut at the limit for an embedder, after a complete character."""
    text = f"{', '.join((entity.name, *entity.others))}\n{entity.content}".encode()
    return text[:EMBED_TEXT_BYTES_MAX].decode(errors="ignore")


# Answers.


def check_learnt(texts_count: int, answer: Embedded, operation: Operation | None, dims: int) -> None:
    """Check the vectors that an operation has taken from `answer`.

    `operation`: the one that asked for `texts_count` vectors; None if it ended in the same step.
    """
    if operation is None or "vectors" not in operation.facts:
        return
    expected = sound_vectors(answer.vectors, texts_count, dims) or (None,) * texts_count
    got = operation.facts.get("caption_vectors") or operation.facts["vectors"]
    demand(got == expected, RULE, f"vectors that {operation.workflow} learnt", expected, got)


def check_counted(texts_count: int, answer: Embedded, counted: int, is_alone: bool, dims: int) -> None:
    """Check how many vectors are reported missing.

    `counted`: missing vectors by the counters of this step. `is_alone`: no other operation can have increased
    them.
    """
    lacking = find_missing(answer.vectors, texts_count, dims)[1]
    holds = counted == lacking if is_alone else counted >= lacking
    demand(holds, rules.DEGRADATION_NAMED, "how many vectors are missing", lacking, counted)


def count_named(counters: Mapping[str, int]) -> int:
    """Count the missing vectors in the counters, without those for which an interceptor gave a substitute."""
    named = [name for name in counters if name.startswith(NAMED) and BY_HOOK not in name]
    return sum(counters[name] for name in named)


# Written rows.


def check_written(facts: Mapping[str, object], writes: Sequence[Write]) -> None:
    """Demand that each current row gets the vector of its text with its version, or none."""
    entities, vectors = list_owed(facts), facts.get("vectors")
    if entities is None or not isinstance(vectors, tuple):
        return
    message = "the number of vectors, each of them possibly None"
    demand(len(entities) == len(vectors), RULE, message, len(entities), len(vectors))
    # With entities [a, b] and vectors [(1, 2), None], only a gets a vector row.
    past = {write.address.id for write in writes if isinstance(write.body, Ended)}  # stored as ended
    pairs = [(it, one) for it, one in zip(entities, vectors, strict=True) if it.id not in past]
    expected = [Vector(it.id, it.version, one) for it, one in pairs if one]
    texts, others = facts.get("to_embed"), facts.get("caption_vectors")
    if isinstance(texts, tuple) and isinstance(others, tuple):
        rows = {write.address.id for write in writes if isinstance(write.body, Category)}
        # A new category whose only fact has ended gets no row.
        keys = [key if key in rows or not key.startswith("cat_") else "" for key, _ in texts]
        expected += [Vector(key, 1, one) for key, one in zip(keys, others, strict=True) if key and one]
    got = [write.body for write in writes if isinstance(write.body, Vector)]
    # Sorted by id: a category that loses a member and gets another one is written at its first change.
    expected, got = (sorted(vectors, key=attrgetter("entity_id")) for vectors in (expected, got))
    demand(got == expected, RULE, "vectors that are written", expected, got)
