"""How a kind of fault is declared: one class says all of it, and everything else is derived from the class.

    @fault("storage.read", "quirk", guards=("RET-1", "RET-2"))    # where, of what class, what must hold
    class ShortPage:                                              # storage_short_page
        '''A page shorter than asked for, with a cursor.'''       # its row in docs/faults.md
        count: int = whole()                                      # an argument: what a seed file may hold

        @classmethod
        def draw(cls, call, luck): ...     # the fault about to strike; None if it would change nothing
        def strike(self, call): ...        # what it does, from its arguments alone

Law 1. A class is complete when it is made: what is missing or wrong is an `Incomplete` while it is imported.
Law 2. All that a fault does is in its arguments, drawn when it strikes and stored in its item.
Law 3. What is drawn for a kind is drawn by its name: one kind more moves nothing of the others.

What `draw` and `strike` get differs by place: the `Arrival` of a call at a service (service.py), the
`Passage` of a message over a link (network.py), the `Life` of an agent (agent.py), or the `Moment` of an
operation for its clock (clock.py).
A kind without arguments has nothing to draw. `may_strike(call)`, if there is one, says whether a kind can
strike here at all.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar, dataclass_transform, get_origin

import attrs

from umi_core.data import Data
from umi_sim.faults.luck import Luck
from umi_sim.formats import strict_json
from umi_sim.formats.strict_json import Reader
from umi_sim.formats.values import of_type
from umi_sim.record.items import Args

C = TypeVar("C")

FaultClass = Literal["before", "lost", "after", "torn", "window", "shape", "meaning", "quirk", "destroys"]
CLASSES: Final[Mapping[FaultClass, str]] = {
    "before": "nothing happened, and the memory is told so",
    "lost": "nothing happened, and nobody says so",
    "after": "it happened, and nobody says so",
    "torn": "storage dies in the middle and undoes it",
    "window": "lasts for a while",
    "shape": "the answer is malformed",
    "meaning": "the answer is well formed and wrong",
    "quirk": "legal, but rare",
    "destroys": "something is gone for good, and listed",
}
COUNT_MAX: Final = 2**53 - 1
REQUIRED: Final = object()


class Incomplete(TypeError):
    """A kind of fault lacks a part, or has a wrong one: the message names the kind, the part and the file."""


@attrs.frozen
class Place(Data):
    """Where faults strike. `group`: the first word of their names; `file` declares them.

    `has_one_site`: a kind that is on is active in all of the place. `is_explored`: `explore` plays what
    happens there as actions.
    """

    name: str
    group: str
    file: str
    has_one_site: bool = False
    is_explored: bool = True


PLACES: Final[Mapping[str, Place]] = {
    place.name: place
    for place in (
        Place("model.ask", "model", "model"),
        Place("embedder.embed", "embed", "embedder"),
        Place("storage.any", "storage", "storage"),
        Place("storage.read", "storage", "storage"),
        Place("storage.commit", "storage", "storage"),
        Place("link.any", "link", "network", is_explored=False),
        Place("agent.event", "agent", "agent", has_one_site=True),
        Place("agent.clock", "clock", "clock", has_one_site=True),
    )
}
GROUPS: Final = tuple(dict.fromkeys(place.group for place in PLACES.values()))


# Arguments.


@attrs.frozen
class Argument(Data):
    """What an argument may be, and what it is if a seed file does not say it. `words`: of which it is one."""

    read: Reader
    default: object = REQUIRED
    words: tuple[str, ...] = ()


def whole(low: int = 0, high: int = COUNT_MAX, *, default: object = REQUIRED) -> Any:
    return Argument(strict_json.whole(low, high), default)


def flag(*, default: object = REQUIRED) -> Any:
    return Argument(strict_json.flag, default)


def string(*, default: object = REQUIRED) -> Any:
    return Argument(of_type(str), default)


def one_of(*words: str, default: object = REQUIRED) -> Any:
    """The first word is the simplest: a failure shrinks to it."""
    return Argument(strict_json.one_of(words, "value"), default, words)


# Kinds.


@attrs.frozen
class Kind(Data):
    """What is known of a kind of fault, all of it from its class."""

    name: str
    place: Place
    fault_class: FaultClass
    what: str
    guards: tuple[str, ...]
    arguments: Mapping[str, Argument]
    is_explored: bool
    cls: Any = attrs.field(repr=False)

    @property
    def group(self) -> str:
        return self.place.group

    @property
    def destroys(self) -> bool:
        return self.fault_class == "destroys"

    @property
    def is_quirk(self) -> bool:
        return self.fault_class == "quirk"

    @property
    def file(self) -> str:
        return file_of(self.cls)

    @property
    def needs(self) -> tuple[str, ...]:
        """The arguments that a file must say."""
        return tuple(name for name, argument in self.arguments.items() if argument.default is REQUIRED)

    def is_at(self, verb: str) -> bool:
        """Whether it strikes this call, or any of its service."""
        return self.place.name in (verb, f"{verb.partition('.')[0]}.any")

    def whole_args(self, given: Args) -> Args:
        """All arguments, in order. Raises TypeError if one is missing, or there is no such argument."""
        args = {name: each.default for name, each in self.arguments.items()} | dict(given)
        if len(args) > len(self.arguments) or REQUIRED in args.values():
            wanted, told = (", ".join(names) or "none" for names in (self.arguments, given))
            raise TypeError(f"{self.name} has these arguments: {wanted}; given were: {told}")
        return args

    def draw(self, here: object, luck: Luck, without_effect: Counter[str]) -> Args | None:
        """The arguments of a fault that is about to strike here.

        None if this kind cannot strike here, or would change nothing; the latter is counted.
        """
        if hasattr(self.cls, "may_strike") and not self.cls.may_strike(here):
            return None
        drawn = self.cls.draw(here, luck) if hasattr(self.cls, "draw") else self.cls()
        if drawn is None:
            without_effect[self.name] += 1
        return None if drawn is None else vars(drawn)

    def strike(self, args: Args, here: object) -> Any:
        """What comes of a fault of this kind that strikes here."""
        return self.cls(**args).strike(here)


KINDS: Final[dict[str, Kind]] = {}


class ArgsMaker(Protocol):
    """Draws the arguments of a fault about to strike; None if it would change nothing."""

    def __call__(self, kind: str, luck: Luck, /) -> Args | None: ...


def args_maker(here: Callable[[], object], without_effect: Counter[str]) -> ArgsMaker:
    """`here` makes what is struck, if something is: few events are."""
    return lambda kind, luck: KINDS[kind].draw(here(), luck, without_effect)


# Declaring.


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(whole, flag, string, one_of)
)
def family(cls: type[C]) -> type[C]:
    """What several kinds have in common. It is no kind itself."""
    return cls


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(whole, flag, string, one_of)
)
def fault(
    place: str, fault_class: FaultClass, *, guards: Sequence[str], explored: bool | None = None
) -> Callable[[type[C]], type[C]]:
    """Declare a kind: where it strikes, of what class it is, and the ids of the rules that must hold.

    `explored`: whether a state fingerprint tells all that it leaves behind, so that `explore` may play it;
    unless it is said, that is so of all but what lasts or destroys.
    """

    def declare(cls: type[C]) -> type[C]:
        kind = kind_of(cls, place, fault_class, tuple(guards), explored)
        KINDS[kind.name] = kind
        for name, value in (("kind", kind.name), ("__init__", initialiser(kind))):
            setattr(cls, name, value)
        return cls

    return declare


def initialiser(kind: Kind) -> Callable[..., None]:
    def init(self: object, **given: object) -> None:
        vars(self).update(kind.whole_args(given))

    return init


def kind_of(
    cls: type, place: str, fault_class: FaultClass, guards: tuple[str, ...], explored: bool | None
) -> Kind:
    """All that the class says. Raises Incomplete."""
    if place not in PLACES:
        known = ", ".join(PLACES)
        raise Incomplete(
            f"{cls.__name__} in {file_of(cls)} strikes at no known place: {place} is not in {known}"
        )
    at, words = PLACES[place], re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
    members = {name: value for base in ancestry(cls) for name, value in vars(base).items()}
    arguments = {name: value for name, value in members.items() if value.__class__ is Argument}
    is_short = fault_class not in ("window", "destroys")
    is_explored = at.is_explored and (is_short if explored is None else explored)
    what = (cls.__doc__ or "").partition("\n")[0]
    kind = Kind(f"{at.group}_{words}", at, fault_class, what, guards, arguments, is_explored, cls)
    for problem in problems(kind, words, members):
        raise Incomplete(f"{kind.name} in {kind.file} {problem}")
    return kind


def problems(kind: Kind, words: str, members: Mapping[str, object]) -> Iterator[str]:
    """What is missing or wrong, each as the end of a sentence."""
    cls, place = kind.cls, kind.place
    own_file, other = f"{PACKAGE}.{place.file}", words.partition("_")[0]
    if other in GROUPS:
        yield f"has a name of the group {other}: {cls.__name__} strikes {place.name}"
    if cls.__module__.startswith(f"{PACKAGE}.") and cls.__module__ != own_file:
        yield f"belongs into {path_of(own_file)}, with all that strikes {place.name}"
    if kind.name in KINDS:
        yield f"has the name of a kind in {KINDS[kind.name].file}"
    if kind.fault_class not in CLASSES:
        yield f"is of no known class: {kind.fault_class} is not in {', '.join(CLASSES)}"
    if not kind.what:
        yield "has no docstring: its first line says what happens"
    if not kind.guards:
        yield "guards nothing: name the ids of the rules that must hold all the same"
    if "strike" not in members:
        yield "has no strike(self, here): it does what the fault does"
    if kind.arguments and "draw" not in members:
        yield f"has no draw(cls, here, luck): it draws {', '.join(kind.arguments)}"
    hints = {name: hint for base in ancestry(cls) for name, hint in base.__annotations__.items()}
    for name, hint in hints.items():
        is_constant = hint is ClassVar or get_origin(hint) is ClassVar
        if not is_constant and name not in kind.arguments:
            ranges = "whole(low, high), flag(), string() or one_of()"
            yield f"has the argument {name} without a range: give it one, {ranges}"
        if is_constant and name not in members and name != "kind":
            yield f"has no {name}: {LEFT_OPEN}"
    for name, member in members.items():
        if getattr(member, "__isabstractmethod__", False):
            yield f"has no {name}: {LEFT_OPEN}"


def ancestry(cls: type) -> Sequence[type]:
    """The families of a class and then itself."""
    return cls.__mro__[-2::-1]


LEFT_OPEN: Final = "the classes that it is made of leave that to it"


def check_guards(rule_ids: Container[str]) -> None:
    """Raises Incomplete for a kind that guards what is no rule."""
    for kind in KINDS.values():
        for each in kind.guards:
            if each not in rule_ids:
                raise Incomplete(f"{kind.name} in {kind.file} guards {each}, and no rule has this id")


PACKAGE: Final = "umi_sim.faults"


def file_of(cls: type) -> str:
    return path_of(cls.__module__)


def path_of(module: str) -> str:
    return f"{module.replace('.', '/')}.py"
