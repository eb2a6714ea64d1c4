"""Perturbations: faults that are injected into one run of a program. A case is a seed and a list of them.

{"kind": "cancel", "step": 7}                    cancel main before the seventh step of the event loop
{"kind": "cancel", "step": 7, "task": 2}         cancel task 2 there
{"kind": "kill", "step": 31}                     the process dies before this step
{"kind": "fail", "service": "model", "call": 2, "how": "timeout"}      the second call of a service fails
{"kind": "fail_site", "site": "commit", "call": 2}     the second commit of SQLite fails
{"kind": "kill_at", "site": "write", "call": 2, "part": 40}      the process dies in the second write to a
                                                 file, after 40 per cent of it were written
{"kind": "delay", "step": 31, "by": 2}           the callback of this step runs two callbacks later
{"kind": "jobs", "order": 7, "pauses": [3, 1]}   `order` seeds the choice of the executor job that continues;
                                                 a job pauses at the third point, another at the next point

A step is one callback run by the event loop. Steps are counted from 1 while main runs.

Law. Each kind is one class, which has its JSON (its fields), its line in a script and its simpler variants.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Final, Literal

from msgspec import structs

from umi_core.data import Data, list_fields
from umi_sim.formats.schema import Json, as_object, at, of_class, one_of, text, whole
from umi_sim.targets.items import SITES

DELAY_MAX: Final = 8
Count = Annotated[int, whole(1, 10**6)]
How = Literal["refused", "rate_limit", "timeout", "reset", "malformed", "slow", "cut"]
FAILURES: Final[Mapping[How, str]] = {
    "refused": "its connection is refused, and the request was not applied",
    "rate_limit": "it is refused with status 429, and was not applied",
    "timeout": "it times out: the request was applied, and its reply is lost",
    "reset": "its connection is reset: the request was applied, and its reply is lost",
    "malformed": "its reply is malformed",
    "slow": "its reply takes a minute, or longer than each timeout",
    "cut": "its stream breaks off in the middle",
}


class Perturbation(Data):
    """Base of all kinds. `kind`: its name in a file. `excuses`: whether main may raise once it is applied."""

    kind: ClassVar[str] = ""
    excuses: ClassVar[bool] = False

    def list_given(self) -> dict[str, object]:
        """Return the fields that differ from their default."""
        fields = list_fields(type(self))
        return {it.name: value for it in fields if (value := getattr(self, it.name)) != it.default}

    def show_script(self) -> str:
        """Return the Python expression that makes this perturbation."""
        given = (f"{name}={value!r}" for name, value in self.list_given().items())
        return f"{type(self).__name__}({', '.join(given)})"

    def to_json(self) -> dict[str, Json]:
        given = {name: [*it] if isinstance(it, tuple) else it for name, it in self.list_given().items()}
        return as_object({"kind": self.kind, **given})

    def list_simpler(self) -> Iterator["Perturbation"]:
        """Yield simpler variants, the simplest first."""
        yield from ()


class CancelTask(Perturbation):
    """Cancel a task of the current process before a step of its event loop. Task 0 is main."""

    kind = "cancel"
    excuses = True
    step: Count
    task: Annotated[int, whole(0, 10**6)] = 0

    def __str__(self) -> str:
        return f"{f'task {self.task}' if self.task else 'main'} is cancelled before step {self.step}"


class KillProcess(Perturbation):
    """Kill the process before a step of its event loop. Its store and its folder survive."""

    kind = "kill"
    step: Count

    def __str__(self) -> str:
        return f"the process dies before step {self.step}"


class FailCall(Perturbation):
    """Fail one call to a service, in one of FAILURES. Calls of each service are counted from 1."""

    kind = "fail"
    excuses = True
    service: Annotated[str, text(bytes_max=100)]
    call: Count
    how: How

    def __str__(self) -> str:
        return f"call {self.call} of {self.service}: {FAILURES[self.how]}"

    def list_simpler(self) -> Iterator[Perturbation]:
        yield from (
            structs.replace(self, how=how)
            for how in FAILURES
            if [*FAILURES].index(how) < [*FAILURES].index(self.how)
        )


class FailSite(Perturbation):
    """Fail an operation on SQLite, on files of the folder, or of the clients of httpx and redis.

    `site`: the kind of operation. `call`: which of that kind, from 1.
    """

    kind = "fail_site"
    excuses = True
    site: Annotated[str, one_of(SITES, "site")]
    call: Count
    part: Annotated[int, whole(0, 100)] = 0  # per cent of a write that is done

    def __str__(self) -> str:
        return f"{self.site} {self.call}{f' ({self.part} % done)' if self.part else ''} fails"

    def list_simpler(self) -> Iterator[Perturbation]:
        if self.part:
            yield structs.replace(self, part=0)


class KillAtSite(FailSite):
    """Kill the process at a site. Files keep what was written; data in buffers of Python is lost."""

    kind = "kill_at"

    def __str__(self) -> str:
        part = f" ({self.part} % done)" if self.part else ""
        return f"the process dies in {self.site} {self.call}{part}"


class DelayCallback(Perturbation):
    """Delay a callback within its round of the event loop. Asyncio never reorders; other loops may."""

    kind = "delay"
    step: Count
    by: Annotated[int, whole(1, DELAY_MAX)]

    def __str__(self) -> str:
        return f"the callback of step {self.step} runs {self.by} steps later"

    def list_simpler(self) -> Iterator[Perturbation]:
        yield from (structs.replace(self, by=by) for by in range(1, self.by))


class OrderJobs(Perturbation):
    """Choose which executor job continues, from the seed `order`, and after how many points a job pauses."""

    kind = "jobs"
    order: Annotated[int, whole(0, 2**32)] = 0
    pauses: tuple[Annotated[int, whole(1, 1_000)], ...] = ()

    def __str__(self) -> str:
        points = f", jobs pause after {', '.join(map(str, self.pauses))} points" if self.pauses else ""
        return f"jobs of executors go on in order {self.order}{points}"

    def list_simpler(self) -> Iterator[Perturbation]:
        yield from (structs.replace(self, pauses=self.pauses[:count]) for count in range(len(self.pauses)))
        yield from (structs.replace(self, order=order) for order in range(min(self.order, 3)))


KINDS: Final[Mapping[str, type[Perturbation]]] = {
    each.kind: each
    for each in (CancelTask, KillProcess, FailCall, FailSite, KillAtSite, DelayCallback, OrderJobs)
}


def read_perturbation(value: Json) -> Perturbation:
    """Read a perturbation. Raises Wrong, naming the field."""
    fields = as_object(value)
    kind: str = at("kind", one_of(KINDS, "kind").read, fields.get("kind"))
    found: Perturbation = of_class(KINDS[kind]).read({n: v for n, v in fields.items() if n != "kind"})
    return found
