"""Adapters to begin with, which run and pass: `umi-sim target --init kv mine.py`."""

from typing import Final

from umi_sim.targets.adapter import CONTRACTS, CURSOR, PAGED
from umi_sim.targets.model import Contract

HEAD: Final = '''\
"""An adapter of a store for umi-sim. Run it: umi-sim target {module}:Mine --seconds 30

Put your store in the place of the dict. An operation that you leave out is not asked for; nor is an argument,
which is found by its name, so their order is yours; one with a default is not always given. What is not there
is None or MISSING; a time `ttl` is in seconds, or in milliseconds as `ttl_ms`. Names of helpers begin with _.
{ops}
"""

from umi_sim.targets import {names}


class Mine({base}):
    durable = False  # True if all of it is in self.folder, a pathlib.Path, and is there after a restart
'''
TAIL: Final = """

TestMine = Mine.pytest(seconds=20)  # pytest {module}.py; plain pytest collects test_*.py only
"""
KV: Final = """    values = "json"  # "text": no numbers, lists or objects

    def make(self):
        self.rows = {}

    def close(self):
        pass

    def put(self, key, value, ttl=None):  # ttl in seconds; time.time() and self.now() are the time of the run
        self.rows[key] = value, None if ttl is None else self.now() + ttl

    def get(self, key):
        value, until = self.rows.get(key, (MISSING, None))
        return value if until is None or self.now() < until else MISSING

    def delete(self, key):
        existed = self.get(key) is not MISSING
        self.rows.pop(key, None)
        return existed

    def keys(self):
        return [key for key in self.rows if self.get(key) is not MISSING]
"""
SESSIONS: Final = """    values = "text"  # of messages; "json": numbers, lists and objects too

    def make(self):
        self.rows = {}

    def close(self):
        pass

    async def add(self, session, items):  # without `async` too
        self.rows.setdefault(session, []).extend(items)

    async def get(self, session, limit=None):
        items = self.rows.get(session, [])
        return list(items if limit is None else items[max(0, len(items) - limit) :])

    async def pop(self, session):
        return self.rows[session].pop() if self.rows.get(session) else None

    async def clear(self, session):
        self.rows.pop(session, None)
"""
MEMORY: Final = """
    def make(self):
        self.rows = {}

    def close(self):
        pass

    def add(self, text, user):
        name = f"id{len(self.rows)}"
        self.rows[name] = [user, text]
        return name

    def get(self, id):
        return self.rows[id][1] if self.rows.get(id) else None

    def delete(self, id):
        if id in self.rows:
            self.rows[id] = None  # its name is not given to another one

    def search(self, query, user, limit=10):  # pairs of id and text
        return [pair for pair in self.list(user) if pair[1] == query][:limit]

    def list(self, user):
        return [(name, row[1]) for name, row in self.rows.items() if row and row[0] == user]
"""
BODIES: Final = {
    "kv": ("MISSING, Kv", KV),
    "sessions": ("Sessions", SESSIONS),
    "memory": ("MemoryStore", MEMORY),
}


OPTIONAL: Final = {  # arguments that not every request has, with their defaults
    **dict.fromkeys(("ttl", "limit", "cursor", "agent", "run", "metadata", "where"), "None"),
    "prefix": '""', "by": "1",
}  # fmt: skip
NEEDED: Final = {"touch": ("ttl",), "scan": ("limit",)}


def list_parameters(contract: Contract, name: str) -> list[str]:
    """Return the parameters of a method for an operation; those with defaults come last."""
    own = [each for each in contract.ops[name] if each != contract.made.get(name)]
    own += [CURSOR] if name == PAGED else []
    defaults = {**OPTIONAL, "limit": "10"} if name == "search" else OPTIONAL
    optional = [each for each in own if each in defaults and each not in NEEDED.get(name, ())]
    return [each for each in own if each not in optional] + [f"{each}={defaults[each]}" for each in optional]


def skeleton(kind: str, module: str) -> str:
    names, body = BODIES[kind]
    base = CONTRACTS[kind]
    contract = base.contract
    ops = "\n".join(f"    {name}({', '.join(list_parameters(contract, name))})" for name in contract.ops)
    return (
        HEAD.format(module=module, names=names, base=base.__name__, ops=ops)
        + body
        + TAIL.format(module=module)
    )
