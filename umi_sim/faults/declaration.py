"""How a kind of fault is declared: as one class, from which everything else is derived.

    class ShortPage(FaultKind, at="storage.read", is_a="quirk", guards=("RET-1", "RET-2")):
        '''A page shorter than asked for, with a cursor.'''

        count: int = below(row_count)      # an argument: its possible values, and how it is drawn

        def apply(self, call): ...         # the effect, from the arguments alone

is the kind `storage_short_page`; `umi-sim faults` shows the first line of its docstring. If a class needs a
name that another class has, it begins with its group or ends with `Fault`: `StorageCrash` is the kind
`storage_crash`, `StorageFullFault` is `storage_full`.

Law 1. Each class is checked when it is defined: a missing or wrong part raises `IncompleteFault` at import.
Law 2. The effect of a fault follows from its arguments, drawn when it is injected and stored in its item.
Law 3. The draws of a kind depend on its own name, so adding a kind changes no draw of another.
Law 4. At most one fault window is open per place. A kind with an argument `for_ms` is not drawn until the
last window of its place has rested.

The object that a kind is applied to differs by place: the `Arrival` of a call at a service (service.py), the
`Passage` of a message over a link (network.py), the `AgentEvent` of an agent (agent.py), the `Moment` of an
operation for its clock (clock.py).

Two methods are optional: `draw(cls, here, draws)` makes the fault if its arguments depend on each other, and
returns None if it would change nothing; `can_apply(cls, here)` returns whether it can be applied at all.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Self, cast, dataclass_transform, get_origin

from umi_core.data import Data
from umi_sim.faults.arguments import (
    REQUIRED,
    FaultArgument,
    among,
    below,
    flag,
    one_of,
    span_ms,
    string,
    whole,
)
from umi_sim.faults.draws import Draws
from umi_sim.faults.window import Window
from umi_sim.record.items import Args

FaultClass = Literal["before", "lost", "after", "torn", "window", "shape", "meaning", "quirk", "destroys"]
CLASSES: Final[Mapping[FaultClass, str]] = {
    "before": "nothing happened, and the answer says so",
    "lost": "nothing happened, and no answer says so",
    "after": "it happened, and no answer says so",
    "torn": "storage dies in the middle and undoes it",
    "window": "lasts for a while",
    "shape": "the answer is malformed",
    "meaning": "the answer is well formed and wrong",
    "quirk": "legal, but rare",
    "destroys": "something is gone for good, and listed",
}


class IncompleteFault(TypeError):
    """A part of a kind of fault is missing or wrong: the message names the kind, the part and the file."""


class FaultPlace(Data):
    """A place where faults are injected. `group`: the first word of their names; `file`: their module.

    `has_one_site`: a kind that is switched on is always active in this place. `is_explored`: `explore` may
    use the faults of this place as actions.
    """

    name: str
    group: str
    file: str
    has_one_site: bool = False
    is_explored: bool = True


PLACES: Final[Mapping[str, FaultPlace]] = {
    place.name: place
    for place in (
        FaultPlace("model.ask", "model", "model"),
        FaultPlace("embedder.embed", "embed", "embedder"),
        FaultPlace("storage.any", "storage", "storage"),
        FaultPlace("storage.read", "storage", "storage"),
        FaultPlace("storage.commit", "storage", "storage"),
        FaultPlace("link.any", "link", "network", is_explored=False),
        FaultPlace("agent.event", "agent", "agent", has_one_site=True),
        FaultPlace("agent.clock", "clock", "clock", has_one_site=True),
    )
}
GROUPS: Final = tuple(dict.fromkeys(place.group for place in PLACES.values()))


ArgsMaker = Callable[[str, Draws], Args | None]
"""(kind, draws) -> the arguments of a fault to be injected, or None if it would change nothing."""


@dataclass_transform(
    kw_only_default=True, field_specifiers=(whole, below, among, span_ms, flag, string, one_of)
)
class FaultKind:
    """Base of all kinds, and of families with the common parts of several kinds.

    `at`: the place; a class without it is a family. `is_a`: its class of faults. `guards`: the ids of the
    rules that must hold in spite of the fault. `explored`: whether a state fingerprint contains all lasting
    effects of the fault, so that `explore` may use it; by default false for windows and kinds that destroy.
    """

    name: ClassVar[str] = ""
    place: ClassVar[FaultPlace]
    group: ClassVar[str]
    fault_class: ClassVar[FaultClass]
    what: ClassVar[str]
    guards: ClassVar[tuple[str, ...]]
    arguments: ClassVar[Mapping[str, FaultArgument]]
    is_explored: ClassVar[bool]

    def __init_subclass__(
        cls,
        at: str = "",
        is_a: FaultClass = "quirk",
        guards: Sequence[str] = (),
        explored: bool | None = None,
    ) -> None:
        if not at:
            return
        cls.place, cls.fault_class, cls.guards = place_of(cls, at), is_a, tuple(guards)
        cls.group = cls.place.group
        words = words_of(cls.__name__, cls.group)
        cls.name = f"{cls.group}_{words}"
        cls.what = (cls.__doc__ or "").partition("\n")[0]
        # From the most general class down, so that a class overrides the members of its families.
        members = {name: value for base in ancestry(cls) for name, value in vars(base).items()}
        cls.arguments = {name: value for name, value in members.items() if value.__class__ is FaultArgument}
        # The fingerprint of a state does not contain open windows, so different states would look alike.
        is_short = is_a not in ("window", "destroys")
        cls.is_explored = cls.place.is_explored and (is_short if explored is None else explored)
        for problem in problems(cls, words.partition("_")[0], members):
            raise IncompleteFault(f"{cls.name} in {path_of(cls)} {problem}")
        # Registered last, so that a class with a problem is no kind even if the error is caught.
        KINDS[cls.name] = cls

    def __init__(self, **given: object) -> None:
        vars(self).update(self.whole_args(given))

    @classmethod
    def is_at(cls, verb: str) -> bool:
        """Return whether this kind is applied to calls with this verb."""
        # A call "storage.commit" may meet kinds of storage.commit and of storage.any.
        return cls.place.name in (verb, f"{verb.partition('.')[0]}.any")

    @classmethod
    def whole_args(cls, given: Args) -> Args:
        """Return all arguments, in order. Raises TypeError for a missing or unknown one."""
        args = {name: each.default for name, each in cls.arguments.items()} | dict(given)
        # `args` contains all known names, so if it is longer one name is unknown.
        if len(args) > len(cls.arguments) or REQUIRED in args.values():
            wanted, got = (", ".join(names) or "none" for names in (cls.arguments, given))
            raise TypeError(f"{cls.name} has these arguments: {wanted}; given were: {got}")
        return args

    @classmethod
    def args_for(cls, here: Any, draws: Draws, without_effect: Counter[str]) -> Args | None:
        """Draw the arguments of a fault to be injected here.

        Return None if this kind cannot be applied here, if its window has not rested, or if it would change
        nothing; only the last is counted, so that a sweep can report a kind that never has an effect.
        """
        window = cls.window(here)
        if not cls.can_apply(here) or not (window is None or window.is_rested(here.now_ms)):
            return None
        drawn = cls.draw(here, draws)
        if drawn is None:
            without_effect[cls.name] += 1
        return None if drawn is None else vars(drawn)

    @classmethod
    def window(cls, here: Any) -> Window | None:
        """Return the window of the place, if this kind lasts and the place has one."""
        return getattr(here, "window", None) if "for_ms" in cls.arguments else None

    @classmethod
    def can_apply(cls, here: Any) -> bool:
        """Return whether this kind can be applied here; if not, it does not count as without effect."""
        return True

    @classmethod
    def draw(cls, here: Any, draws: Draws) -> Self | None:
        """Draw the fault to be injected, argument by argument; None if it would change nothing."""
        args: dict[str, Any] = {}
        for name, argument in cls.arguments.items():
            assert argument.draw is not None, name
            args[name] = argument.draw(here, draws, name)
            if args[name] is None:
                return None
        return cls(**args)

    def inject(self, here: Any) -> Any:
        """Open the window of this fault, if it has one; apply the fault and return its effect."""
        window, fault = self.window(here), cast(Any, self)
        if window is not None:
            # Before `apply`, which may read the window: a clog holds its first message until the window ends.
            window.begin(here.now_ms, fault.for_ms, fault)
        return fault.apply(here)


KINDS: Final[dict[str, type[FaultKind]]] = {}


def args_maker(here: Callable[[], object], without_effect: Counter[str]) -> ArgsMaker:
    """Return the function that draws arguments. `here` makes the object for `apply`; few events need it."""
    return lambda kind, draws: KINDS[kind].args_for(here(), draws, without_effect)


# Checks of a declaration.


def problems(cls: type[FaultKind], other: str, members: Mapping[str, object]) -> Iterator[str]:
    """Yield each problem of a kind, as the rest of a sentence that begins with the kind and its file."""
    place, own_file = cls.place.name, f"{PACKAGE}.{cls.place.file}"
    # A kind in a user's own package may be declared in any file.
    is_astray = cls.__module__.startswith(f"{PACKAGE}.") and cls.__module__ != own_file
    namesake = path_of(KINDS[cls.name]) if cls.name in KINDS else ""
    undrawn = [it for it in cls.arguments if cls.arguments[it].draw is None and "draw" not in members]
    # The duration of a crash is its `down_ms`, that of any other window its `for_ms`.
    is_endless = cls.fault_class == "window" and not {"for_ms", "down_ms"} & cls.arguments.keys()
    for is_wrong, problem in (
        (other in GROUPS, f"has a name of the group {other}: {cls.__name__} is applied at {place}"),
        (is_astray, f"stands in the wrong file: what is applied at {place} belongs into {own_file}"),
        (namesake, f"has the name of a kind in {namesake}"),
        (cls.fault_class not in CLASSES, f"is of no known class: is_a is one of {', '.join(CLASSES)}"),
        (not cls.what, "has no docstring: its first line says what happens"),
        (not cls.guards, "guards nothing: name the ids of the rules that must hold all the same"),
        ("apply" not in members, "has no apply(self, here): it does what the fault does"),
        (is_endless, "is a window and does not say how long: give it for_ms = span_ms(1, WINDOW_MS_MAX)"),
        (undrawn, f"has no draw(cls, here, draws): nothing draws {', '.join(undrawn)}"),
    ):
        if is_wrong:
            yield problem
    hints = {name: hint for base in ancestry(cls) for name, hint in base.__annotations__.items()}
    for name, hint in hints.items():
        is_constant = hint is ClassVar or get_origin(hint) is ClassVar
        if not is_constant and name not in cls.arguments:
            yield f"has the argument {name} without a range: give it one of arguments.py, like whole(0, 9)"
        if is_constant and name not in members:
            yield f"has no {name}: {LEFT_OPEN}"
    for name, member in members.items():
        if getattr(member, "__isabstractmethod__", False):
            yield f"has no {name}: {LEFT_OPEN}"


def words_of(class_name: str, group: str) -> str:
    """Return the name of a kind within its group: `short_page` of ShortPage, `full` of StorageFullFault."""
    # "ShortPage" -> "short_page": an underscore before each capital but the first.
    words = re.sub("(?<!^)(?=[A-Z])", "_", class_name).lower()
    return words.removeprefix(f"{group}_").removesuffix("_fault")


def place_of(cls: type, at: str) -> FaultPlace:
    if at not in PLACES:
        raise IncompleteFault(
            f"{cls.__name__} in {path_of(cls)} is applied nowhere: at={at} is none of {', '.join(PLACES)}"
        )
    return PLACES[at]


def check_kinds(rule_ids: Container[str]) -> None:
    """Check that all rules in `guards` exist and every leaf class has a place. Raises IncompleteFault."""
    for kind in KINDS.values():
        for each in kind.guards:
            if each not in rule_ids:
                raise IncompleteFault(
                    f"{kind.name} in {path_of(kind)} guards {each}, and no rule has this id"
                )
    known: list[type[FaultKind]] = [FaultKind]
    # The loop appends to the list that it walks, so it reaches all classes below FaultKind.
    for cls in known:
        known += cls.__subclasses__()
        if not cls.__subclasses__() and not cls.name:
            place_of(cls, "")


def ancestry(cls: type) -> Sequence[type]:
    """Return the families of a class, the most general first, and then the class itself."""
    # (Cut, CutShort, ReplyEdit, FaultKind, object) -> ReplyEdit, CutShort, Cut.
    return cls.__mro__[-3::-1]


def path_of(cls: type) -> str:
    return f"{cls.__module__.replace('.', '/')}.py"


PACKAGE: Final = "umi_sim.faults"
LEFT_OPEN: Final = "its base classes leave that to it"
