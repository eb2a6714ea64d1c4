"""Mutants of the working tier, of snapshots and of sessions."""

from collections.abc import Callable
from typing import Any, Final

import attrs

from umi_core.config import Config
from umi_core.engine.facts import Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import OUTCOME, Learned, Refuse, Taken
from umi_core.errors import SessionNotFound, SnapshotDamaged
from umi_core.ids import pack
from umi_core.limits import I64_MAX, I64_MIN, TTL_MS_MAX, WORKING_KEY_BYTES_MAX
from umi_core.memory import Memory
from umi_core.messages import requests
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Commit, Done, Outcome
from umi_core.messages.results import SessionLoaded, SessionSaved
from umi_core.text import size
from umi_core.tiers import session, working
from umi_core.tiers.session import Loaded
from umi_core.tiers.working import WorkingTier
from umi_core.values import Scope
from umi_core.workflows import sessions
from umi_core.workflows.commits import PLAN, STORED, Plan
from umi_sim.mutants import Mutant, Original, Patch, row_of

# Working tier.


def expires_one_later(original: Original) -> Original:
    return lambda tier, now_ms: original(tier, now_ms - 1) if tier.due_ms != now_ms else None


def overwrite_charges_again(original: Original) -> Original:
    def put(tier: WorkingTier, key: str, value: bytes, *rest: Any) -> object:
        old = tier.entries.get(key)
        done = original(tier, key, value, *rest)
        if old is not None and tier.entries[key][0] != old[0]:
            tier.used_bytes += len(old[0])
        return done

    return put


def zero_is_the_longest(original: Original) -> Original:
    def answer(tier: WorkingTier, request: Any, *rest: Any) -> object:
        if isinstance(request, requests.Set) and type(request.ttl_ms) is int and request.ttl_ms == 0:
            request = attrs.evolve(request, ttl_ms=TTL_MS_MAX)
        return original(tier, request, *rest)

    return answer


def incr_begins_anew(original: Original) -> Original:
    def answer(tier: WorkingTier, request: Any, now_ms: int, config: Config, info: Any) -> object:
        outcome = original(tier, request, now_ms, config, info)
        if isinstance(request, requests.Incr) and isinstance(outcome, Done):
            expires_ms = now_ms + config.working_ttl_ms_default
            tier.entries[request.key] = tier.entries[request.key][0], expires_ms
            tier.due_ms = min(tier.due_ms, expires_ms)
        return outcome

    return answer


def clock_believed(original: Original) -> Original:
    def step(self: Memory, now_ms: int, value: Any) -> object:
        self.state.seen_ms = now_ms
        return original(self, now_ms, value)

    return step


def unswept_by_set(original: Original) -> Original:
    def answer(tier: WorkingTier, request: Any, *rest: Any) -> Outcome:
        is_new = isinstance(request, requests.Set) and not requests.bad_request(request)
        if is_new and request.key not in tier.entries:
            return working.ANSWERS[requests.Set](tier, request, *rest)
        done: Outcome = original(tier, request, *rest)
        return done

    return answer


def keys_by_character(original: Original) -> Original:
    return lambda text: len(text) if size(text) <= WORKING_KEY_BYTES_MAX else size(text)


def any_number(original: Original) -> Original:
    def i64(value: bytes) -> int | None:
        try:
            number = int(value.decode())
        except ValueError:
            return None
        return number if I64_MIN <= number <= I64_MAX else None

    return i64


WORKING: Final = (
    Mutant("get-alive-at-expiry", "working",
           "in the millisecond now == expires_ms a get still returns the entry",
           ("ttl-boundary", "reference-agrees", "no-spurious-refusal"), "working",
           (Patch(working, "drop_expired", expires_one_later),)),
    Mutant("ttl-zero-is-forever", "working", "a time to live of 0 is accepted, and the entry stays",
           ("ttl-range",), "working", (Patch(working, "answer", zero_is_the_longest),)),
    Mutant("incr-shortens-life", "working", "incr sets the default life even if the entry had longer to live",
           ("ttl-contract", "reference-agrees"), "working", (Patch(working, "answer", incr_begins_anew),)),
    Mutant("clock-back-revives", "working", "after the clock has moved back, what has expired is read again",
           ("time-never-revives", "ttl-contract", "ttl-range", "reference-agrees"), "all_faults",
           (Patch(Memory, "step", clock_believed),), kind="clock_jump_back"),
    Mutant("dead-entries-hold-space", "working", "a write that fits beside the living is refused",
           ("no-spurious-refusal",), "working", (Patch(working, "answer", unswept_by_set),)),
    Mutant("space-in-characters", "working", "the room that a key takes is counted in characters",
           ("space-accounting", "reference-agrees"), "working",
           (Patch(working, "size", keys_by_character),)),
    Mutant("lenient-counter-text", "working", "incr takes ` 5`, `1_0` or foreign digits for a number",
           ("reference-agrees",), "working", (Patch(working, "i64", any_number),)),
    Mutant("overwrite-leaks-space", "working", "an overwritten value keeps taking its room",
           ("space-accounting", "reference-agrees", "no-spurious-refusal"), "working",
           (Patch(working, "put", overwrite_charges_again),)),
)  # fmt: skip


# Snapshots.


def last_entry_dropped(original: Original) -> Original:
    def encode(tier: WorkingTier, info: Any, now_ms: int) -> object:
        kept = dict(sorted(tier.entries.items())[:-1]) if len(tier.entries) > 1 else tier.entries
        used_bytes = sum(len(key.encode()) + len(value) for key, (value, _) in kept.items())
        return original(WorkingTier(dict(kept), used_bytes), info, now_ms)

    return encode


def never_rests(original: Original) -> Original:
    return lambda rows, info, rest_ms, now_ms, config: original(rows, info, 0, now_ms, config)


def load_taken_by(change: Any) -> Any:
    """Tables in which a load takes its row as `change(taken, before, view)` makes of it."""

    def tables(registry: Registry) -> Registry:
        row = row_of(registry, "load_session", "read")

        def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
            before = view.tiers.working
            taken: Taken = change(row.take(facts, answer, view), before, view)
            return taken

        return registry.replace("load_session", "read", attrs.evolve(row, take=take))

    return tables


def cleared_first(taken: Taken, before: WorkingTier, view: View) -> Taken:
    if isinstance(taken, Refuse) and isinstance(taken.error, SnapshotDamaged):
        before.entries.clear()
        before.used_bytes = 0
    return taken


def merged(taken: Taken, before: WorkingTier, view: View) -> Taken:
    if isinstance(taken, Learned):
        now = view.tiers.working
        now.entries = {**before.entries, **now.entries}
        now.used_bytes = sum(size(key) + len(value) for key, (value, _) in now.entries.items())
    return taken


def sealed_anew(original: Original) -> Original:
    def decode(data: bytes, now_ms: int, config: Config) -> object:
        match session.unpacked(data):
            case [_, _, bytes(body), bytes()]:
                return original(session.sealed(body), now_ms, config)
        return original(data, now_ms, config)

    return decode


def expiry_kept(original: Original) -> Original:
    def opened(body: bytes, now_ms: int, config: Config) -> object:
        loaded = original(body, now_ms, config)
        if not isinstance(loaded, Loaded):
            return loaded
        saved_ms = session.unpacked(body)[0]
        behind_ms = max(0, saved_ms - now_ms)
        for key, (value, expires_ms) in loaded.tier.entries.items():
            loaded.tier.entries[key] = value, expires_ms + behind_ms
        return loaded

    return opened


def as_they_came(original: Original) -> Original:
    def encode(tier: WorkingTier, info: Any, now_ms: int) -> bytes:
        rows = [[key, value, ms - now_ms] for key, (value, ms) in tier.entries.items() if now_ms < ms]
        return session.sealed(pack([now_ms, rows, session.fields(info)]))

    return encode


def saved_by(wrong: Callable[[Original], Original]) -> tuple[Patch, ...]:
    """Whoever encodes a session: the tier itself, and the workflow that saves."""
    return Patch(session, "encode", wrong), Patch(sessions, "encode", wrong)


def any_order(original: Original) -> Original:
    return lambda rows: original(sorted(rows, key=str))


SNAPSHOT: Final = (
    Mutant("load-clears-first", "snapshot", "a load that meets damage has emptied the tier by then",
           ("load-or-nothing",), "sessions", tables=load_taken_by(cleared_first)),
    Mutant("load-merges", "snapshot", "entries from before survive a load among those of the snapshot",
           ("snapshot-roundtrip",), "sessions", tables=load_taken_by(merged)),
    Mutant("checksum-unread", "snapshot", "a flipped byte within a value goes unnoticed",
           ("snapshot-guarded",), "all_faults", (Patch(sessions, "decode", sealed_anew),),
           kind="storage_bit_flip"),
    Mutant("rest-costs-nothing", "snapshot", "time at rest is not deducted from what is left to live",
           ("rest-time", "ttl-contract", "reference-agrees"), "sessions",
           (Patch(session, "fitted", never_rests),)),
    Mutant("loads-absolute-expiry", "snapshot", "a loading clock that is behind prolongs every life",
           ("rest-time", "ttl-contract", "ttl-range", "reference-agrees"), "sessions",
           (Patch(session, "opened", expiry_kept),)),
    Mutant("snapshot-in-arrival-order", "snapshot", "equal states that came about in another order differ",
           ("snapshot-canonical",), "sessions",
           (*saved_by(as_they_came), Patch(session, "bad_rows", any_order))),
    Mutant("snapshot-drops-an-entry", "snapshot", "a saved session lacks the last of its entries",
           ("snapshot-roundtrip", "ttl-contract", "reference-agrees"), "sessions",
           saved_by(last_entry_dropped)),
)  # fmt: skip


# Sessions.


def missing_is_empty(taken: Taken, before: WorkingTier, view: View) -> Taken:
    if isinstance(taken, Refuse) and isinstance(taken.error, SessionNotFound):
        return Learned(OUTCOME(Done(SessionLoaded(1, 0))))
    return taken


def expects_nothing(original: Original) -> Original:
    return lambda *args: attrs.evolve(original(*args), expects=())


def by_clock_alone(original: Original) -> Original:
    return lambda scope, created_ms, n: original(Scope(scope.user, ""), created_ms, 0)


def expects_no_first(original: Original) -> Original:
    def plan_of(info: Any, *rest: Any) -> Plan:
        plan: Plan = original(info, *rest)
        return plan if info.version else attrs.evolve(plan, expects=())

    return plan_of


def cut_by_bytes(original: Original) -> Original:
    def cut(text: str, limit_bytes: int) -> str:
        kept = text.encode()[:limit_bytes]
        whole = kept.decode(errors="ignore")
        return whole + "?" * (len(kept) - size(whole))

    return cut


def counted_early(registry: Registry) -> Registry:
    row = row_of(registry, "remember", "commit")

    def ask(facts: Facts, view: View) -> Commit | None:
        assert row.ask is not None
        commit, plan = row.ask(facts, view), facts[PLAN]
        assert isinstance(commit, Commit | None)
        if commit is not None and plan.spoken is not None:
            view.tiers.session = session.remembered(view.tiers.session, *plan.spoken)
        return commit

    def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
        counted = view.tiers.session
        taken = row.take(facts, answer, view)
        view.tiers.session = counted
        return taken

    return registry.replace("remember", "commit", attrs.evolve(row, ask=ask, take=take))


def answered_late(registry: Registry) -> Registry:
    """The version that a save was told counts for whatever session is open by then."""
    row = row_of(registry, "save_session", "commit")

    def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
        taken = row.take(facts, answer, view)
        stored = taken.facts[STORED.name] if isinstance(taken, Learned) else None
        if isinstance(stored, SessionSaved):
            view.tiers.session = attrs.evolve(view.tiers.session, version=stored.version)
        return taken

    return registry.replace("save_session", "commit", attrs.evolve(row, take=take))


SESSION: Final = (
    Mutant("missing-session-succeeds", "session", "loading what was never saved replies success",
           ("session-or-error",), "sessions", tables=load_taken_by(missing_is_empty)),
    Mutant("session-last-writer-wins", "session", "of two agents the later overwrites the earlier unnoticed",
           ("session-versions",), "handoff", (Patch(sessions, "plan_of", expects_nothing),)),
    Mutant("save-answered-after-load", "session",
           "a save that is answered after a load tells its version to what was loaded",
           ("session-versions",), "sessions", tables=answered_late),
    Mutant("session-id-from-clock-alone", "session", "sessions opened in one millisecond get one id",
           ("session-versions", "reference-agrees"), "sessions",
           (Patch(sessions, "session_id", by_clock_alone), Patch(sessions, "plan_of", expects_no_first))),
    Mutant("last-text-splits-character", "session", "the last text is cut inside a character",
           ("session-keys-true",), "languages", (Patch(session, "cut", cut_by_bytes),)),
    Mutant("interaction-counted-early", "session", "the counter rises before the commit is answered",
           ("session-keys-true",), "languages", tables=counted_early),
)  # fmt: skip

ROWS: Final = (*WORKING, *SNAPSHOT, *SESSION)
