"""What the memory and the plain readers are both given: texts of users, replies of models, odd ones too."""

import json
from typing import Any, Final, cast

from hypothesis import strategies as st

from tests.properties.text_reference import is_text
from umi_core.language.tables import NAME_PRONOUNS
from umi_core.messages.effects import AskModel
from umi_sim.faults.draws import Draws
from umi_sim.faults.edits import ReplyEdit
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.service import Arrival
from umi_sim.kernel.prng import Keyed, Stream, stream_key
from umi_sim.services.calls import Call, Services
from umi_sim.services.model import truth
from umi_sim.workload import pools

Texts = st.SearchStrategy[str]

KEY: Final = stream_key(42, ("plain", "readers"))
ANY_TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
HALF_TEXT: Final = st.text(st.characters(exclude_categories=[]), max_size=40)  # lone surrogates too

# Texts of users.


def of_pool(pool: pools.Pool) -> Texts:
    """The texts of a pool, each class as likely as the next."""
    classes = [[it for it in values if isinstance(it, str) and is_text(it)] for values in pool.values()]
    return st.one_of([st.sampled_from(texts) for texts in classes if texts])


def fill_templates(templates: tuple[str, ...]) -> Texts:
    """Some templates, their slots filled from the cast."""
    seeds = st.lists(st.integers(0, 2**32), min_size=1, max_size=3)
    return seeds.map(lambda them: " ".join(pools.filled_in(Stream(it, "told"), templates) for it in them))


TEXTS: Final = fill_templates(pools.TEMPLATES) | of_pool(pools.HOSTILE_TEXTS)
QUERIES: Final = (
    fill_templates(pools.REFERRING) | fill_templates(pools.QUESTIONS) | of_pool(pools.HOSTILE_QUERIES)
)
FEW_NAMES: Final = ("Alice", "ALICE ", "alice", "Zoë", "Zoe\u0308", "Bob", "Bob\x07", "a\tb", " ")
NAMES: Final = (
    st.sampled_from(FEW_NAMES)
    | st.sampled_from(FEW_NAMES)
    | st.lists(st.sampled_from(["He", *NAME_PRONOUNS]), min_size=1, max_size=2).map(" ".join)
    | st.sampled_from(pools.NAMES)
    | ANY_TEXT
)

# Replies of a model that was asked, as faults leave them.

EDITS: Final = [kind for kind in KINDS.values() if issubclass(kind, ReplyEdit)]
ASKING: Final = AskModel("extract", "")
CALL: Final = Arrival(
    Call("o1/extract#1", "a", 1, "o1", "remember", "extract", ASKING, 0), ASKING, Services({})
)


def draws(n: int) -> Draws:
    return lambda label, below: Keyed(KEY).draw(f"{n}/{label}") % below


def spoiled(reply: str, faults: list[tuple[type[ReplyEdit], int]]) -> str:
    for kind, n in faults:
        args = kind.draw_edit(reply, draws(n), CALL)
        reply = cast(Any, kind)(**args).edit_reply(reply) if args else reply
    return reply


def answers(task: str, prompt: str) -> Texts:
    """What SimLLM says to a prompt, after some faults."""
    faults = st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 2**32)), max_size=3)
    return faults.map(lambda them: spoiled(truth(task, prompt), them))


# Replies that no model was asked for: JSON with everything that can be wrong in it.

FLOORS: Final = ("0.3", "0.6", "0.8", "0.5", "0.9", "0.95")
NUMBERS: Final = st.one_of(
    st.sampled_from(FLOORS),
    st.sampled_from(FLOORS),
    st.sampled_from(["0", "1", "1.0", "-0.0", "1e-7", "1.01", "-0.1", "10e-1", "0.2999999", "0.29999950"]),
    st.integers(0, 10**7).map(lambda n: f"0.{n:07}"),
    st.from_regex(r"\A-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,9})?\Z"),
    st.integers(39, 41).map(lambda count: "0." + "9" * (count - 2)),
)
QUOTED: Final = HALF_TEXT.map(json.dumps) | ANY_TEXT.map(lambda text: json.dumps(text, ensure_ascii=False))
ODD: Final = (
    NUMBERS | QUOTED | st.sampled_from(["null", "true", "false", "[]", "{}", '["x"]', '{"a": 1}', "NaN"])
)


FRAMES: Final = (
    "{}", "```json\n{}\n```", "```\n{}", "Use [] or {{}} so: {} ok?", '{{"result": {}}}', '{{"n": NaN}} {}',
    "{} and {}", "[[{}]]", '"{{" {}', "\ud800{}", "[" * 40 + "{}" + "]" * 40,
)  # fmt: skip


def framed(payloads: Texts) -> Texts:
    """A payload somewhere in what else a model may say."""
    frames = st.sampled_from(FRAMES)
    return payloads | st.builds(
        lambda frame, it: frame.replace("{}", it).replace("{{", "{").replace("}}", "}"), frames, payloads
    )
