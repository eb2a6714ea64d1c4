"""Rules: the promises that each run must keep, whatever is injected. A rule is a function of an outcome.

A rule returns one line that says what is broken, or None. A program may add rules of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from umi_core.data import Data
from umi_sim.programs.places import find_first
from umi_sim.programs.program import Program
from umi_sim.programs.services import BadProgram
from umi_sim.programs.simulation import ProgramOutcome

ProgramRule = Callable[[ProgramOutcome], str | None]
"""A function from an outcome to one line that says what is wrong with it, or None."""


# The field with the id of a tool call or result, for each kind of message of several libraries.
CALLS: Final = {"function_call": "call_id", "tool_use": "id", "tool-call": "tool_call_id"}
RESULTS: Final = {
    "function_call_output": "call_id", "tool_result": "tool_use_id", "tool-return": "tool_call_id",
    "retry-prompt": "tool_call_id",
}  # fmt: skip


class BrokenRule(Data):
    """A rule that a run broke: its name, its promise, and what happened instead.

    `error`: the class of the error, if an error broke the rule. `place`: where the program raised it.
    """

    rule: str
    promised: str
    message: str
    error: str = ""
    place: str = ""
    uncompared = ("error", "place")


def ends(outcome: ProgramOutcome) -> str | None:
    """Require that main, resume and verify end: nothing hangs, and nothing goes on for ever."""
    return next((str(each) for each in outcome.endings if each.how == "hung"), None)


def continues(outcome: ProgramOutcome) -> str | None:
    """Require that main succeeds where nothing is injected, and resume after every injection."""
    processes = [each for each in outcome.endings if each.what == "main"]
    for ending, is_disturbed in zip(processes, outcome.disturbed, strict=True):
        if ending.how in ("raised", "cancelled") and not is_disturbed:
            return str(ending)
    failed = (it for it in outcome.endings if it.what == "resume" and it.how in ("raised", "cancelled"))
    return next(map(str, failed), None)


def leaks_no_task(outcome: ProgramOutcome) -> str | None:
    """Require that no task goes on when main has ended."""
    more = f", and {len(outcome.leaked) - 1} more" if outcome.leaked[1:] else ""
    return f"goes on after main: {outcome.leaked[0]}{more}" if outcome.leaked else None


def settles_calls(outcome: ProgramOutcome) -> str | None:
    """Require that each tool call of the final history has exactly one result, after it."""
    calls, results = Counter[str](), Counter[str]()
    for kind, call_id in list_calls(outcome.history):
        (calls if kind == "call" else results)[call_id] += 1
        if kind == "result" and not calls[call_id]:
            return f"the result of {call_id!r} has no call before it"
        if results[call_id] > calls[call_id]:
            return f"call {call_id!r} has more than one result"
    left = [call_id for call_id in calls if calls[call_id] > results[call_id]]
    return f"call {left[0]!r} has no result" if left else None


def keeps_acknowledged(outcome: ProgramOutcome) -> str | None:
    """Require that what was acknowledged is there in a new process: verify raises nothing."""
    failed = (it for it in outcome.endings if it.what == "verify" and it.how in ("raised", "cancelled"))
    return next(map(str, failed), None)


def ends_when_cancelled(outcome: ProgramOutcome) -> str | None:
    """Require that main, when it is cancelled, raises CancelledError or calls `uncancel`.

    It is not in RULES, because asyncio permits a cancelled main to clean up and return, and no rule can tell
    whether main only cleaned up or continued its work.
    """
    processes = (each for each in outcome.endings if each.what == "main")
    return next((f"{each}, although it was cancelled" for each in processes if each.has_ignored), None)


RULES: Final[Mapping[str, ProgramRule]] = {
    each.__name__: each for each in (ends, continues, leaks_no_task, settles_calls, keeps_acknowledged)
}
"""The rules of every program, by name: docs/programs.md."""


def judge(program: Program, outcome: ProgramOutcome) -> BrokenRule | None:
    """Return the first rule that is broken, or None. Raises BadProgram if a rule itself is wrong."""
    if unknown := [name for name in program.without if name not in RULES]:
        raise BadProgram(f"without: unknown rule {unknown[0]!r}, expected some of {', '.join(RULES)}")
    own = {rule.__name__: rule for rule in program.rules}
    for name, rule in ({name: it for name, it in RULES.items() if name not in program.without} | own).items():
        try:
            message = rule(outcome)
        except AssertionError as error:
            message = str(error) or f"{name} does not hold"
        except BadProgram:
            raise
        except Exception as error:  # an error in a rule of the program
            raise BadProgram(f"rule {name}: raised {type(error).__name__}: {error}") from error
        if not isinstance(message, str | None):
            raise BadProgram(f"rule {name}: expected what is wrong as a text, or None, got {message!r}")
        if message is not None:
            return BrokenRule(name, show_promise(rule) or name, message, *find_error(outcome, message))
    return None


def find_error(outcome: ProgramOutcome, message: str) -> tuple[str, str]:
    """Return the class and the place of the error that a message reports; "" if it reports none."""
    for each in outcome.endings:
        if each.error is not None and each.raised_at and str(each) == message:
            return type(find_first(each.error)).__name__, each.raised_at
    return "", ""


def show_promise(rule: ProgramRule) -> str:
    """Return the promise of a rule: the first line of its docstring."""
    return (rule.__doc__ or "").strip().partition("\n")[0].removeprefix("Require that ").rstrip(".")


def find_promise(name: str) -> str:
    """Return the promise of the rule of this name; "" if it is not in RULES."""
    return show_promise(RULES[name]) if name in RULES else ""


# Tool calls in a history: chat completions, the Responses API and Anthropic's messages as dicts; messages of
# pydantic-ai and LangChain.


def list_calls(history: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yield ("call", id) and ("result", id) in the order of the messages."""
    if isinstance(history, str) or not isinstance(history, Iterable):
        raise BadProgram(f"run.history: expected a list of messages, got {history!r:.100}")
    for message in history:
        yield from calls_of(message)


def calls_of(message: Any) -> Iterator[tuple[str, str]]:
    match read(message, "type") or read(message, "part_kind") or read(message, "kind"):
        case str(kind) if kind in CALLS:
            yield "call", str(read(message, CALLS[kind]))
        case str(kind) if kind in RESULTS and (kind != "retry-prompt" or read(message, "tool_name")):
            yield "result", str(read(message, RESULTS[kind]))
    if read(message, "tool_call_id") and (read(message, "role") == "tool" or read(message, "type") == "tool"):
        yield "result", str(read(message, "tool_call_id"))
    ids = [str(read(each, "id")) for each in as_list(read(message, "tool_calls")) if read(each, "id")]
    yield from (("call", each) for each in ids)
    for name in ("parts", "content"):
        for part in as_list(read(message, name)):
            if read(part, "id") not in ids:  # LangChain stores each call twice
                yield from calls_of(part)


def read(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
