"""Goal: what a class declares is what is tested; a name or value that is not read is refused in one line."""

import re
from pathlib import Path

import pytest

from tests.unit.sim.targets.test_contracts import Dict, Lists, Notes
from umi_sim.targets import Adapter, Known, Kv, MemoryStore, Sessions
from umi_sim.targets.adapter import BadAdapter
from umi_sim.targets.as_test import failure_of
from umi_sim.targets.declarations import check_declared, check_judged
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp
from umi_sim.targets.life import run
from umi_sim.targets.reports import as_taken


class Mine(Kv):
    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value

    def get(self, key: str) -> object:
        return self.rows.get(key)


def method(self: Adapter) -> None:
    """A method of nothing."""


class Foreign:
    """A store that an adapter inherits from: its methods are its own affair."""

    def ping(self) -> None:
        pass


class Inherits(Foreign, Mine):
    """It has no more to say than what it inherits."""


@pytest.mark.parametrize("store", [Mine, Inherits])
def test_an_adapter_that_says_what_is_read_is_taken(store: type[Kv]) -> None:
    check_judged(store)
    assert hunt(store, range(5)).first is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"set": method}, "Mine.set: is no operation of kv; begin the names of helpers with _"),
        ({"remove": method}, "Mine.remove: is no operation of kv; did you mean delete? Begin the names of"),
        ({"clos": staticmethod(method)}, "did you mean close?"),
        ({"durabel": True}, "Mine.durabel: is no attribute of kv; did you mean durable?"),
        ({"delete_report": "existed"}, "did you mean delete_reports?"),
        ({"limit_zero": "all"}, "is a flag of sessions, and none of kv"),
        ({"durable": "yes"}, "Mine.durable: is 'yes', expected False or True"),
        ({"sees_expired": 1}, "expected False or True or 'all'"),
        ({"fails": ("commits",)}, "a tuple of some of 'statement', 'commit'"),
        ({"fails": "commit"}, "Mine.fails: is 'commit', expected a tuple"),
        ({"values": "txt"}, "expected 'text' or 'json'"),
        ({"refuses": ValueError}, "expected a tuple of errors"),
        ({"tick_ms": 0}, "expected a whole number above 0"),
        ({"default_ttl_ms": "5"}, "Mine.default_ttl_ms: is '5', expected a whole number"),
        ({"known": Known("here")}, "a tuple of Known(...)"),
        ({"known": (Known("here", rule="answers"),)}, "known: rule='answers': did you mean answer?"),
        ({"known": (Known("here", op="get+gett"),)}, "known: op='gett': did you mean get?"),
        ({"known": (Known(None),)}, "Mine.known: address=None: expected a text"),  # type: ignore[arg-type] # so
        ({"clear": None}, "Mine.clear: is None, expected a method; leave the name out where"),
        ({"put": "put"}, "Mine.put: is 'put', expected a method"),
        ({"get": len}, "Mine.get: is <built-in function len>, expected a method"),
        ({"get": property(method)}, "Mine.get: is <property object>, expected a method"),
        ({"get": dict}, "Mine.get: is <class 'dict'>, expected a method"),
        ({"make": None}, "Mine.make: is None, expected a method"),
        ({"close": 3}, "Mine.close: is 3, expected a method"),
        ({"killed": None}, "Mine.killed: is None, expected a method"),
        ({"now": 5}, "Mine.now: is 5, expected a method"),
        ({"contract": None}, "Mine.contract: is None, expected what Kv, Sessions or Memory say"),
        ({"folder": "x"}, "Mine.folder: is 'x', expected no value here"),
        ({"outside": None}, "Mine.outside: is None, expected no value here"),
    ],
)
def test_a_meaningless_declaration_is_refused(body: dict[str, object], message: str) -> None:
    with pytest.raises(BadAdapter) as refused:
        check_declared(type("Mine", (Mine,), body))
    assert message in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("base", [Dict, Lists, Notes])
@pytest.mark.parametrize("value", [None, 7, "text", object(), [], lambda: None, int])
def test_each_attribute_of_another_type_is_one_line(base: type[Adapter], value: object) -> None:
    """Whatever stands there: taken, or refused in one line that names the attribute and the value."""
    attributes = {*vars(Adapter), *Adapter.__annotations__, *base.contract.ops, *base.contract.flags}
    names = [name for name in (*attributes, *base.contract.settings) if not name.startswith("_")]
    assert {"durable", "known", "contract", "folder", "make", "add"} <= {*names}
    for name in names:
        message = refusal_of(type("Mine", (base,), {name: value}))
        if is_right(base, name, value):
            assert message == ""
        else:
            assert re.fullmatch(rf"Mine\.{name}: is (.*, expected .*|no operation of .*)", message)


def is_right(base: type[Adapter], name: str, value: object) -> bool:
    """Whether it is one of the few that fit."""
    flags, settings = base.contract.flags, base.contract.settings
    if value is None:
        return None in flags.get(name, ()) or name in settings
    fits = {"tick_ms": 7, "values": "text", "fails": [], "known": [], **dict.fromkeys(settings, 7)}
    return name in fits and value == fits[name]


def refusal_of(adapter: type[Adapter]) -> str:
    """Return the refusal of an adapter that cannot be run; empty if it can."""
    try:
        check_judged(adapter)
    except BadAdapter as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("base", "name", "lacking"), [
    (Kv, "get", "key"), (Sessions, "add", "session, items"), (MemoryStore, "search", "query"),
])  # fmt: skip
def test_a_method_without_an_argument_that_is_needed_is_refused(
    base: type[Adapter], name: str, lacking: str
) -> None:
    adapter = type("Mine", (base,), {name: method})
    assert refusal_of(adapter) == f"Mine.{name}: lacks an argument: {lacking}"


class WithoutDefaults(MemoryStore):
    """Has no default for any argument, so it gets None where a request names no agent."""

    def make(self) -> None:
        self.rows: dict[str, tuple[str, str | None, str, float | None]] = {}

    def add(self, user: str, agent: str | None, text: str, ttl: float | None) -> str:
        until = None if ttl is None else self.now() + ttl
        self.rows[f"{len(self.rows)}"] = user, agent, text, until
        return f"{len(self.rows) - 1}"

    def get(self, id: str) -> str | None:
        _, _, text, until = self.rows.get(id, ("", None, None, None))
        return text if until is None or self.now() < until else None

    def list(self, user: str, agent: str | None) -> list[tuple[str, str]]:
        own = [id for id, row in self.rows.items() if row[0] == user and agent in (None, row[1])]
        return [(id, text) for id in own if (text := self.get(id))]


def test_an_argument_without_a_default_is_none_where_a_request_has_none() -> None:
    found = hunt(WithoutDefaults, range(60))
    assert (found.small and found.small.broken) is None
    add = ContractOp("add", {"id": "m1", "user": "u", "text": "tea"})
    assert str(as_taken(WithoutDefaults, add)) == "add(id='m1', user='u', text='tea', agent=None, ttl=None)"


def test_a_word_for_what_is_lacking_is_known() -> None:
    with pytest.raises(BadAdapter, match="did you mean put"):
        check_judged(type("Mine", (Kv,), {"make": method, "get": method, "set": method}))


WHOLE: dict[type[Adapter], type[Adapter]] = {Kv: Dict, Sessions: Lists, MemoryStore: Notes}


@pytest.mark.parametrize(
    ("base", "names", "message"),
    [
        (Kv, ("make", "get"), "nothing can be written to it, so nothing could be lost: add one of put"),
        (Sessions, ("make", "get", "clear"), "add one of add, append, put_state"),
        (MemoryStore, ("add", "list"), "has no make, which opens the store"),
    ],
)
def test_a_store_that_nothing_can_be_seen_of_is_refused(
    base: type[Adapter], names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadAdapter) as refused:
        check_judged(type("Mine", (base,), {name: getattr(WHOLE[base], name) for name in names}))
    assert message in str(refused.value)


class Unopened(Mine):
    def make(self) -> None:
        raise OSError("no such server")


class Unmade(Mine):
    def __init__(self) -> None:
        raise OSError("no such server")


@pytest.mark.parametrize(("store", "name"), [(Unopened, "make"), (Unmade, "__init__")])
def test_a_store_that_cannot_be_opened_is_no_broken_promise(store: type[Kv], name: str) -> None:
    with pytest.raises(BadAdapter) as refused:
        run(store, ())
    message = str(refused.value)
    assert message.startswith(
        f"{store.__name__}.{name}: raised OSError: no such server (test_declarations.py, line "
    )


def test_a_test_checks_before_it_runs_what_is_kept(tmp_path: Path) -> None:
    with pytest.raises(BadAdapter):
        failure_of(type("Mine", (Mine,), {"durabel": True}), 0, tmp_path)
