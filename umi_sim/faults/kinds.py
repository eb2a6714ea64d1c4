"""Fault kinds: what can go wrong in a world, where, and what must hold all the same.

Law 1. A row here is the only declaration of a kind; docs and scenarios are checked against it.
Law 2. A kind is active at a site or not, once per run; at an active site each event decides by its own name.
A world with faults everywhere has them at every site: only there do several meet in one operation often.
Law 3. Everything that a fault does is in its args, drawn when it fires and stored in its item.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import attrs

from umi_core.data import Data
from umi_sim.kernel.prng import Keyed, Ratio, stream_key
from umi_sim.record.items import Args

Draw = Callable[[str, int], int]
"""(label, n) -> a whole number in 0 .. n-1 that belongs to one event."""


class ArgsMaker(Protocol):
    """Draws the args of a fault about to strike; None if it would change nothing (blunt)."""

    def __call__(self, kind: str, draw: Draw, /) -> Args | None: ...


@attrs.frozen
class Kind(Data):
    """`letter`: Before, Lost, After, Torn, Window, Shape, Meaning, Quirk or Destroys.

    `verb`: the call it strikes.
    """

    name: str
    letter: str
    verb: str
    what: str
    guards: str

    @property
    def group(self) -> str:
        return self.name.split("_", 1)[0]


def kinds(*rows: tuple[str, str, str, str, str]) -> dict[str, Kind]:
    return {name: Kind(name, letter, verb, what, guards) for name, letter, verb, what, guards in rows}


KINDS: Final[Mapping[str, Kind]] = kinds(
    ("model_timeout", "B", "model.ask",
     "no answer is made; the failure comes before the memory's own time-out", "EXT-3 STO-7"),
    ("model_reply_lost", "A", "model.ask", "the model answers, the answer is lost", "IDEM-1 STO-7"),
    ("model_rate_limited", "B", "model.ask", "refused for now, with a time to wait", "BND-1 STO-7"),
    ("model_unavailable", "W", "model.ask", "every question fails for a while", "EXT-3 WF-1"),
    ("model_overflow", "B", "model.ask", "a prompt that fits is called too long", "WF-1 EXT-3"),
    ("model_slow", "Q", "model.ask",
     "the true answer just before, at, just after or long after the time-out", "DET-4"),
    ("model_cut", "S", "model.ask", "a slow stream: the first part of the answer at the last moment",
     "EXT-1 EXT-2"),
    ("model_empty", "S", "model.ask", "nothing, blanks, null, {} or []", "EXT-1 WF-1"),
    ("model_refusal", "S", "model.ask", "a polite refusal", "EXT-1 WF-1"),
    ("model_truncated", "S", "model.ask", "the answer stops in the middle", "EXT-1 EXT-2"),
    ("model_wrong_type", "S", "model.ask", "one value has another type", "EXT-1 EXT-2"),
    ("model_missing_field", "S", "model.ask", "one key is gone, null or renamed", "EXT-1 EXT-2"),
    ("model_duplicate_key", "S", "model.ask", "one key twice, with different values", "EXT-1 EXT-2"),
    ("model_prose", "S", "model.ask", "prose or code fences around the answer", "EXT-1 EXT-2"),
    ("model_text_damage", "S", "model.ask", "broken characters in one value", "EXT-1 REN-1 CAP-1"),
    ("model_wrong_language", "S", "model.ask", "a value in another language", "EXT-1 EXT-2"),
    ("model_oversize", "S", "model.ask", "far too many elements, or one far too long", "CAP-4 EXT-1"),
    ("model_partial_call", "S", "model.ask", "an unfinished tool call", "EXT-1 EXT-2"),
    ("model_template_echo", "S", "model.ask", "the prompt's own template comes back", "EXT-1 EXT-2"),
    ("model_unknown_id", "M", "model.ask", "a reference to something that never was", "ROU-2 EVO-1"),
    ("model_stale_id", "M", "model.ask", "a reference to something that was forgotten", "ROU-2 STO-3"),
    ("model_contradiction", "M", "model.ask", "one fact negated, or with another value", "EVO-2 CORE-3"),
    ("model_paraphrase", "M", "model.ask", "one fact again, in other words and spelling", "EVO-2 CORE-1"),
    ("model_swapped", "M", "model.ask", "source and target exchanged", "EVO-1"),
    ("model_wrong_date", "M", "model.ask", "a day, a month or a year is another one", "EXT-1 SCO-1"),
    ("model_number_drift", "M", "model.ask", "a number that is a little wrong", "EXT-1 SCO-1"),
    ("model_injection", "M", "model.ask",
     "a value that tries to be markup, an order or a template", "REN-1 EXT-4 CORE-5"),
    ("model_repeats", "M", "model.ask", "elements again and again", "ROU-1 RET-1"),
    ("model_bad_block", "M", "model.ask",
     "a route to system, to persona, or to a block that is none", "CORE-5 ROU-1"),
    ("model_overconfident", "M", "model.ask", "confidence outside all bounds", "SCO-1 ROU-1"),
    ("model_varies", "M", "model.ask", "asked again, it answers in another order or with less",
     "IDEM-1 STO-2"),
    ("model_misdirected", "M", "model.ask", "the answer to somebody else's question", "ISO-1 ROU-2 RES-2"),
    ("embed_timeout", "B", "embedder.embed",
     "no vectors; the failure comes before the memory's own time-out", "EXT-3 WF-1"),
    ("embed_unavailable", "W", "embedder.embed", "every call fails for a while", "EXT-3 WF-1"),
    ("embed_rate_limited", "B", "embedder.embed", "refused for now, with a time to wait", "BND-1 WF-1"),
    ("embed_reply_lost", "A", "embedder.embed", "the vectors are lost on the way", "EXT-3 WF-1"),
    ("embed_zero", "S", "embedder.embed", "a vector of zeros", "STO-4 WF-1"),
    ("embed_wrong_dims", "S", "embedder.embed", "a vector of another length", "STO-4 WF-1"),
    ("embed_short", "S", "embedder.embed", "one vector too few or too many", "STO-4 WF-1"),
    ("embed_not_finite", "S", "embedder.embed", "a component that is no number", "STO-4 RET-1"),
    ("embed_out_of_range", "S", "embedder.embed", "a component too large, too small or not whole",
     "STO-4 RET-1"),
    ("embed_drift", "M", "embedder.embed",
     "a new version of the model: from now on every vector is turned by one component", "RET-1 STO-4"),
    ("embed_collision", "M", "embedder.embed", "two texts of a batch get one vector", "RET-1 STO-4"),
    ("embed_permuted", "M", "embedder.embed", "the vectors of a batch in another order", "RET-1 STO-4"),
    ("storage_unavailable", "W", "storage.any",
     "commits and reads fail for a while, definitely", "STO-2 RET-4"),
    ("storage_refused", "B", "storage.commit", "one commit is refused", "STO-2 RET-4"),
    ("storage_lost", "L", "storage.commit", "the batch never happens; nobody says so", "IDEM-1 STO-1 STO-2"),
    ("storage_reply_lost", "A", "storage.commit",
     "the batch is durable; nobody says so", "IDEM-1 STO-1 STO-2"),
    ("storage_torn", "T", "storage.commit", "storage dies in the middle of a batch and undoes it", "STO-2"),
    ("storage_crash", "W", "storage.any",
     "what was not durable vanishes; no answers until it is back", "STO-1 STO-7"),
    ("storage_conflict", "B", "storage.commit", "a conflict although the versions agree", "STO-5 STO-7"),
    ("storage_full", "W", "storage.commit",
     "for a while there is room for no more than there is, or for one byte less than a batch needs",
     "CAP-3 STO-2"),
    ("storage_slow", "Q", "storage.any",
     "the answer just before, at or just after the time-out", "DET-4 IDEM-1"),
    ("storage_read_failed", "B", "storage.read", "one read fails", "RET-4"),
    ("storage_damaged", "B", "storage.read",
     "one row comes back as damaged: once, or for good if the atlas allows it", "STO-6 RET-4"),
    ("storage_bit_flip", "S", "storage.read",
     "one bit of a saved session is another one: in this answer, or for good under loss", "SER-4 SER-2"),
    ("storage_misdirected", "M", "storage.read",
     "one row of the answer is another row of the store, or has the body of another", "ISO-1 WF-1"),
    ("storage_index_lag", "W", "storage.read",
     "for a while searches do not know what was told lately", "RET-1 STO-4"),
    ("storage_short_page", "Q", "storage.read",
     "a page shorter than asked for, with a cursor", "RET-1 RET-2 PRO-2"),
    ("storage_repeat_row", "Q", "storage.read", "a row twice", "RET-1 RET-2 PRO-2"),
    ("storage_shuffled", "Q", "storage.read", "rows in another order", "RET-1 RET-2 PRO-2"),
    ("storage_ack_early", "D", "storage.commit",
     "only with loss: storage says that a batch is durable, and dies before it is", "STO-6 RET-4"),
    ("storage_wiped", "D", "storage.any",
     "only with loss: storage restarts empty, and every memory with it", "STO-6 RET-4"),
    ("link_delay", "Q", "link.any", "a message takes ten times as long", "DET-4 STO-5"),
    ("link_reorder", "Q", "link.any", "a message comes behind the next one of its link", "DET-4 STO-5"),
    ("link_clog", "W", "link.any", "messages of one direction are held, then come together", "DET-4 STO-5"),
    ("link_loss", "L", "link.any", "one message never comes", "IDEM-1 STO-7"),
    ("link_partition", "W", "link.any", "no message of one direction comes", "IDEM-1 STO-7"),
    ("link_duplicate", "Q", "link.any", "a message comes twice", "IDEM-1 DET-4"),
    ("agent_crash", "W", "agent.event",
     "memory and everything volatile are gone; a new life recovers later", "STO-1 SER-5 LIVE-4"),
    ("agent_crash_again", "W", "agent.event", "the same, during recovery", "LIVE-4 IDEM-1"),
    ("agent_lower_limit", "W", "agent.event",
     "a crash, and later lives have room for fewer entries in core", "CORE-2 STO-1 LIVE-4"),
    ("agent_pause", "W", "agent.event",
     "nothing reaches the agent for a while; its clock runs on, or stands and catches up", "TTL-1 DET-4"),
    ("clock_jump_forward", "Q", "agent.clock", "the clock jumps ahead", "TTL-1 STO-7"),
    ("clock_jump_back", "Q", "agent.clock", "the clock jumps back", "TTL-3 STO-7"),
    ("clock_freeze", "W", "agent.clock",
     "the clock stands for a while, then runs on or catches up", "TTL-1 STO-7"),
    ("clock_drift", "W", "agent.clock", "the clock is fast or slow for a while", "TTL-2 SER-5"),
)  # fmt: skip

ACTIVE_SITES: Final = 4  # a kind is active at one site in so many
EVERYWHERE: Final = ("agent", "clock")  # groups with a single site


class Dice:
    """Decides which kinds strike which events. The same event has the same luck whatever else happens."""

    def __init__(self, seed: int, rates: Mapping[str, Ratio], *, is_everywhere: bool = False) -> None:
        self._seed = seed
        self._is_everywhere = is_everywhere
        self._rates = {name: rates[name] for name in KINDS if name in rates}
        self._at_site: dict[tuple[str, str], tuple[tuple[str, Keyed, int, int], ...]] = {}

    def struck(self, verb: str, site: str, data: str) -> str | None:
        """The first kind of the registry that strikes the event `data` at this site, or None."""
        kinds_here = self._at_site.get((verb, site))
        if kinds_here is None:
            kinds_here = self._at_site[(verb, site)] = tuple(self._active(verb, site))
        for name, keyed, n, d in kinds_here:
            if keyed.draw(data) * d < n << 64:
                return name
        return None

    def _active(self, verb: str, site: str) -> "list[tuple[str, Keyed, int, int]]":
        found = []
        for name, (n, d) in self._rates.items():
            kind = KINDS[name]
            if kind.verb not in (verb, f"{verb.split('.')[0]}.any"):
                continue
            draw = Keyed(stream_key(self._seed, ("site", name))).draw
            is_active = self._is_everywhere or kind.group in EVERYWHERE
            if is_active or draw(site) % ACTIVE_SITES == 0:
                found.append((name, Keyed(stream_key(self._seed, ("fault", name, site))), n, d))
        return found

    def draw(self, name: str, site: str, data: str) -> Draw:
        keyed = Keyed(stream_key(self._seed, ("fault", name, site)))
        return lambda label, n: keyed.draw(f"{data}/{label}") * n >> 64


WINDOW_MS_MAX: Final = 60_000


def log_uniform(draw: Draw, label: str, high: int) -> int:
    """1 .. high, every power of two as likely."""
    bits = 1 + draw(f"{label}.bits", high.bit_length())
    return min(high, (1 << (bits - 1)) + draw(label, 1 << (bits - 1)))
