"""Upgrade a file from a release that stored one row for each name to one row for each statement.

    entity "Ann": a line for each statement   a fact for each line, stated at the time of its first version
    versions of the entity                    ended facts: lines that an update or a contradiction removed
    memberships of the entity                 a membership for each of its current facts
    link, such as "works_at"                  a fact about both entities, "Ann works at Acme"
    relations, access, entry in core          those of its first current fact, whose text core shows

Law 1. Each statement of the old rows becomes a current or an ended fact. A statement that an old release
dropped for lack of room becomes current again, since no other statement replaced it. Law 2. Rows of entities
are decoded here by position, so that changes in umi_core never change the meaning of an old file. Law 3.
Damaged rows stay as they are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import apsw
import msgpack
from msgspec import structs

from umi_core.codec import STRICT, UNREADABLE
from umi_core.ids import derived_id, entity_id, fact_id, membership_id, relation_id
from umi_core.language.keywords import key_words
from umi_core.language.words import words
from umi_core.limits import ENTRY_TEXT_BYTES_MAX
from umi_core.rows import (
    AccessRecord,
    Body,
    Category,
    Core,
    Ended,
    Entity,
    Membership,
    Relation,
    Vector,
)
from umi_core.text import core_text, norm, size, unique
from umi_core.values import Block, Entry, Scope
from umi_live.columns import body_of, put_row

ENTITY: Final = (  # the fields of an old entity, in order; still older rows lack the last five
    "id", "type", "name", "content", "version", "importance_ppm", "confidence_ppm", "block", "created_ms",
    "updated_ms", "event_time_ms", "metadata", "source", "vector_missing", "relation_count", "contradicts",
    "memory_type", "sources", "reinforced_count", "last_reinforced_ms", "given",
)  # fmt: skip
VERSION: Final = (
    "entity_id", "version", "mention", "kind", "content", "event_time_ms", "metadata", "source", "at_ms",
)  # fmt: skip
GIVEN: Final = ("id", "source", "entity_id", "content")
RELATION: Final = ("id", "kind", "source", "target", "confidence_ppm", "reason", "by", "at_ms")
LATER: Final = {
    "memory_type": None, "sources": (), "reinforced_count": 1, "last_reinforced_ms": None, "given": (),
}  # fmt: skip
REPLACING: Final = ("update", "contradict")
GONE: Final = ("version", "given")
NUMBERED: Final = ("entity", "relation", "membership", "access")
IN_SCOPE: Final = (
    "select id, version, body, components from row where scope = ? and kind = ? and body notnull"
)
NUMBER: Final = "select number from row where scope = ? and kind = ? and id = ?"
DROP: Final = "delete from row where scope = ? and kind = ? and id = ?"

Old = Mapping[str, Any]  # an old row, by field name
Stored = tuple[int, Body]  # the version of a row, and its body


def divide(connection: apsw.Connection) -> None:
    """Convert all rows of a file whose tables are upgraded already, and index their words."""
    scopes: list[Any] = connection.execute("select number, user, agent from scope").fetchall()
    for number, user, agent in scopes:
        ScopeUpgrade(ScopeRows(connection, number), Scope(user, agent)).write()
    drop_unreadable_receipts(connection)


class ScopeRows:
    """The rows of one scope in the file."""

    def __init__(self, connection: apsw.Connection, scope: int) -> None:
        self.connection, self.scope = connection, scope
        found: Any = connection.execute("select max(changed) from row where scope = ?", (scope,)).fetchone()
        self.changed = (found[0] or 0) + 1

    def raw(self, kind: str) -> list[tuple[str, int, bytes, bytes | None]]:
        return list(self.connection.execute(IN_SCOPE, (self.scope, kind)))

    def read(self, kind: str) -> dict[str, Stored]:
        """Return, by id, the rows of a kind that this release can decode; skips damaged ones."""
        found = {key: (version, body_of(data, parts)) for key, version, data, parts in self.raw(kind)}
        return {key: (version, body) for key, (version, body) in found.items() if body is not None}

    def read_old(self, kind: str, names: tuple[str, ...]) -> dict[str, Old]:
        """Return, by id, the rows of a kind in the old format; `names`: the names of their fields."""
        found = ((key, fields_of(data, kind, names)) for key, _, data, _ in self.raw(kind))
        return {key: fields for key, fields in found if fields is not None}

    def put(self, kind: str, key: str, body: Body, version: int = 1) -> None:
        place = self.scope, kind, key
        found: Any = self.connection.execute(NUMBER, place).fetchone()
        put_row(self.connection, place, version, body, self.changed, found[0] if found else 0)

    def drop(self, kind: str, key: str) -> None:
        self.connection.execute(DROP, (self.scope, kind, key))

    def drop_kind(self, kind: str) -> None:
        self.connection.execute("delete from row where scope = ? and kind = ?", (self.scope, kind))

    def drop_numbers(self) -> None:
        """Delete deleted rows whose ids are never used again, so that no later row needs their versions."""
        kinds = ", ".join(f"'{kind}'" for kind in NUMBERED)
        self.connection.execute(
            f"delete from row where scope = ? and body is null and (kind in ({kinds}) or id glob 'ent_*')",
            (self.scope,),
        )


def fields_of(data: bytes, kind: str, names: tuple[str, ...]) -> Old | None:
    """Return the fields of an old row by name; None if the row is damaged."""
    try:
        found_kind, _, tree = msgpack.unpackb(data, **STRICT)
        _, *values = msgpack.unpackb(tree, list_hook=as_tuple, **STRICT)
    except UNREADABLE:
        return None
    if found_kind != kind or len(values) < len(names) - len(LATER) * (kind == "entity"):
        return None
    return {**LATER, **dict(zip(names, values, strict=False))}


def as_tuple(raw: list[Any]) -> Any:
    """Return a list with the tag 0 as a tuple; other composites stay lists that begin with their tag."""
    return tuple(raw[1:]) if raw and raw[0] == 0 and type(raw[0]) is int else raw


# Old entities.


class OldEntity:
    """An old entity, divided into statements. A note is a single statement, even with several lines.

    `lines`: each current statement by key, with its first version. `past`: each ended statement by key, with
    its first version, the version that ended it, and the statement that replaced it.
    """

    def __init__(self, old: Old, versions: Iterable[Old], given: Iterable[Old], scope: Scope) -> None:
        self.old, self.scope = old, scope
        self.given = {it["source"]: unique(it["content"].split("\n")).keys() for it in given}
        self.is_named = old["id"] == id_of_old_entity(scope, old["type"], old["name"])
        self.about = (entity_id(scope, old["name"]),) if self.is_named else ()
        self.lines = dict[str, tuple[str, Old]]()
        self.past = dict[str, tuple[str, Old, Old, str]]()
        for version in sorted(versions, key=lambda it: it["version"]):
            self.follow(version)
        for key, line in self.statements(old["content"]).items():
            self.lines.setdefault(key, (line, self.as_version()))
            self.past.pop(key, None)
        order = dict.fromkeys([*self.statements(old["content"]), *self.lines])
        self.current = tuple(self.fact(*self.lines[key]) for key in order)
        self.ended = tuple(self.end(*it) for it in self.past.values())

    @property
    def is_one_statement(self) -> bool:
        """Check whether the entity has a single fact with the same text, so that its vector fits the fact."""
        return [it.content for it in self.current] == [self.old["content"]]

    def statements(self, content: str) -> dict[str, str]:
        lines = content.split("\n") if self.is_named else [content]
        return {key: line for key, line in unique(lines).items() if key}

    def as_version(self) -> Old:
        """Return the newest version, whose fields are those of the entity itself."""
        old = self.old
        at_ms = old["created_ms"] if old["version"] == 1 else old["updated_ms"]
        return {"at_ms": at_ms} | {it: old[it] for it in ("version", "event_time_ms", "metadata", "source")}

    def follow(self, version: Old) -> None:
        """Apply a version: an update or a contradiction ends all statements that it does not repeat."""
        statements = self.statements(version["content"])
        if version["kind"] in REPLACING:
            # The ended statements are replaced by the first new one or, if there is none, a repeated one.
            new = [line for key, line in statements.items() if key not in self.lines]
            successor = next(iter([*new, *statements.values()]), "")
            for key in [key for key in self.lines if key not in statements]:
                line, first = self.lines.pop(key)
                self.past[key] = line, first, version, successor
        for key, line in statements.items():
            self.lines.setdefault(key, (line, version))
            self.past.pop(key, None)

    def end(self, line: str, first: Old, version: Old, successor: str) -> Ended:
        fact = self.fact(line, first)
        by = successor or next((text for text, _ in self.lines.values()), line)
        return Ended(fact.id, fact, self.id_of(by), version["kind"], version["at_ms"])

    def id_of(self, line: str) -> str:
        return fact_id(self.scope, self.about, line)

    def fact(self, line: str, first: Old) -> Entity:
        """Return a line as a fact. Its sources are those that state it, as far as the old rows show that."""
        old, key = self.old, norm(line)
        version = self.as_version() if first["version"] == old["version"] else first
        sources = tuple(it for it in old["sources"] if it not in self.given or key in self.given[it])
        # `is_direct`: stated by `remember` and not only by texts, or without a known source.
        is_direct = key not in unique(old["given"]) or not sources
        count = min(old["reinforced_count"], max(1, len(sources) + is_direct))
        return Entity(
            self.id_of(line), old["type"], old["name"], line, 1, old["importance_ppm"], old["confidence_ppm"],
            old["block"], first["at_ms"], first["at_ms"], version["event_time_ms"], version["metadata"],
            version["source"], old["vector_missing"], 0, (), old["memory_type"], sources, count,
            old["last_reinforced_ms"] if count > 1 else None, self.about, is_direct,
        )  # fmt: skip


def id_of_old_entity(scope: Scope, entity_type: str, name: str) -> str:
    """Return the row id of an old entity, which depended on its type."""
    return derived_id("ent", "entity", scope, entity_type, "name", norm(name))


def unite_facts(one: Entity, other: Entity) -> Entity:
    """Merge equal facts of two old entities that have the same name and different types."""
    return structs.replace(
        one,
        sources=tuple(sorted({*one.sources, *other.sources})),
        is_direct=one.is_direct or other.is_direct,
        created_ms=min(one.created_ms, other.created_ms),
    )


# One scope.


class ScopeUpgrade:
    """Converts the entities of a scope, and all rows that refer to them, to facts."""

    def __init__(self, rows: ScopeRows, scope: Scope) -> None:
        self.rows, self.scope = rows, scope
        versions, given = defaultdict[str, list[Old]](list), defaultdict[str, list[Old]](list)
        for it in rows.read_old("version", VERSION).values():
            versions[it["entity_id"]].append(it)
        for it in rows.read_old("given", GIVEN).values():
            given[it["entity_id"]].append(it)
        old = rows.read_old("entity", ENTITY)
        self.divided = {key: OldEntity(it, versions[key], given[key], scope) for key, it in old.items()}
        self.facts = dict[str, Entity]()
        for divided in self.divided.values():
            for fact in divided.current:
                known = self.facts.get(fact.id)
                self.facts[fact.id] = fact if known is None else unite_facts(known, fact)

    def write(self) -> None:
        for kind in GONE:
            self.rows.drop_kind(kind)
        for key in self.divided:
            self.rows.drop("entity", key)
        self.rows.drop_numbers()
        # Memberships come before categories, which count the new memberships.
        for change in (
            self.vectors, self.relations, self.access, self.memberships, self.categories, self.core,
            self.ties,
        ):  # fmt: skip
            change()
        for key, fact in self.facts.items():
            self.rows.put("entity", key, fact)
        for it in (it for divided in self.divided.values() for it in divided.ended):
            # A statement may have ended for one old entity but be current for another of the same name: then
            # it is current.
            if it.id not in self.facts:
                self.rows.put("ended", it.id, it)

    def first(self, key: str) -> str | None:
        """Return the first current fact of an old entity; it gets whatever only one of the facts can have."""
        divided = self.divided.get(key)
        return divided.current[0].id if divided and divided.current else None

    def change(self, key: str, **changes: Any) -> None:
        self.facts[key] = structs.replace(self.facts[key], **changes)

    def vectors(self) -> None:
        """Keep the vector of an entity with one fact; mark the vectors of all other facts as missing."""
        kept = dict[str, None]()
        for key, (_, body) in self.rows.read("vector").items():
            divided = self.divided.get(key)
            if divided is None or not isinstance(body, Vector):
                continue
            self.rows.drop("vector", key)
            for fact in divided.current:
                if fact.id in kept:
                    continue
                is_its_own = divided.is_one_statement and body.version == divided.old["version"]
                self.change(fact.id, vector_missing=not is_its_own)
                if is_its_own:
                    kept[fact.id] = None
                    self.rows.put("vector", fact.id, Vector(fact.id, 1, body.components))

    def relations(self) -> None:
        """Convert relations; drop those between versions of one entity, and those that lack an end."""
        kept = dict[str, None]()
        for key, old in self.rows.read_old("relation", RELATION).items():
            self.rows.drop("relation", key)
            (source_id, version), (target_id, _) = old["source"], old["target"]
            # Version 0 of the source means a link between two names, whose ends have no versions.
            if not version:
                self.state(source_id, target_id, old)
                continue
            source, target = self.first(source_id), self.first(target_id)
            if source == target or source is None or target is None:
                continue
            ends = (source, 1), (target, 1)
            new_id = relation_id(self.scope, *ends, old["kind"])
            if new_id not in kept:
                kept[new_id] = None
                more = old["confidence_ppm"], old["reason"], old["by"], old["at_ms"]
                self.rows.put("relation", new_id, Relation(new_id, old["kind"], *ends, *more))
                for end in (source, target):
                    self.change(end, relation_count=self.facts[end].relation_count + 1)
        for key, divided in self.divided.items():
            own = self.first(key)
            others = (ref.partition("@")[0] for ref in divided.old["contradicts"])
            found = dict.fromkeys(it for other in others if other != key and (it := self.first(other)))
            if own is not None and found:
                self.change(own, contradicts=tuple(f"{it}@1" for it in found))

    def state(self, source_id: str, target_id: str, link: Old) -> None:
        """Add a fact for a link, unless a current or ended fact contains both names."""
        source, target = self.divided.get(source_id), self.divided.get(target_id)
        if source is None or target is None:
            return
        names = [it.old["name"] for it in (source, target)]
        wanted = {word for name in names for word in words(name)}
        ended = (it.fact for divided in self.divided.values() for it in divided.ended)
        if any(wanted.issubset(words(" ".join(it.name_and_text()))) for it in (*self.facts.values(), *ended)):
            return
        sentence = f"{names[0]} {link['kind'].replace('_', ' ')} {names[1]}"
        about = tuple(entity_id(self.scope, name) for name in names)
        key, at_ms = fact_id(self.scope, about, sentence), link["at_ms"]
        self.facts[key] = Entity(
            key, source.old["type"], names[0], sentence, 1, 500_000, link["confidence_ppm"],
            source.old["block"], at_ms, at_ms, vector_missing=True, about=about, is_direct=True,
            others=(names[1],),
        )  # fmt: skip

    def access(self) -> None:
        kept = dict[str, None]()
        for key, (_, body) in self.rows.read("access").items():
            if key in self.divided and isinstance(body, AccessRecord):
                self.rows.drop("access", key)
                own = self.first(key)
                if own is not None and own not in kept:
                    kept[own] = None
                    self.rows.put("access", own, structs.replace(body, entity_id=own))

    def memberships(self) -> None:
        """Put each fact into the categories and groups of its entity; the next grouping may move it."""
        kept = dict[str, None]()
        for key, (_, body) in self.rows.read("membership").items():
            divided = self.divided.get(body.entity_id) if isinstance(body, Membership) else None
            if divided is None or not isinstance(body, Membership):
                continue
            self.rows.drop("membership", key)
            for fact in divided.current:
                new_id = membership_id(self.scope, fact.id, body.category_id)
                if new_id not in kept:
                    kept[new_id] = None
                    terms = key_words(fact.content)
                    matched = tuple(word for word in body.keywords_matched if word in terms)
                    moved = structs.replace(
                        body, id=new_id, entity_id=fact.id, entity_version=1, keywords_matched=matched
                    )
                    self.rows.put("membership", new_id, moved)

    def categories(self) -> None:
        """Clear each summary that may contain an ended fact, which a later `forget` would leave in it."""
        members = [body for _, body in self.rows.read("membership").values()]
        counts = Counter(it.category_id for it in members if isinstance(it, Membership))
        for key, (version, body) in self.rows.read("category").items():
            assert isinstance(body, Category)
            sources = [self.divided.get(it) for it, _ in body.summary_sources]
            now = structs.replace(body, member_count=counts[key], summary_dirty=True, evolved_digest="")
            if all(it is not None and it.current and not it.ended for it in sources):
                ids = dict.fromkeys(fact.id for it in sources if it for fact in it.current)
                now = structs.replace(now, summary_sources=tuple((it, 1) for it in ids))
            elif body.summary:
                now = structs.replace(now, summary="", summary_sources=())
                self.rows.drop("vector", key)
            self.rows.put("category", key, now, version + 1)

    def core(self) -> None:
        """Replace each entry of core by an entry for a fact; drop blocks that become empty."""
        for key, (version, body) in self.rows.read("core").items():
            assert isinstance(body, Core)
            shown = dict[str, None]()
            blocks = tuple(
                structs.replace(block, entries=self.entries(block, shown)) for block in body.blocks
            )
            left = tuple(block for block in blocks if block.text is not None or block.entries)
            self.rows.put("core", key, Core(left), version + 1)

    def entries(self, block: Block, shown: dict[str, None]) -> tuple[Entry, ...]:
        """Return an entry for the first fact of each entity, unless it is in `shown` already, or too long.

        An old entry had all statements of its entity, cut off at a length: "likes tea. lives in Pa…".
        """
        found = list[Entry]()
        for entry in block.entries:
            own = self.first(entry.entity_id)
            if own is not None and own not in shown:
                shown[own], fact = None, self.facts[own]
                text = core_text(fact.content)
                if size(text) <= ENTRY_TEXT_BYTES_MAX:
                    found.append(Entry(own, 1, core_text(fact.name), text, entry.promoted_ms))
        return tuple(sorted(found, key=lambda it: (it.promoted_ms, it.entity_id)))

    def ties(self) -> None:
        """Write unchanged rows again, so that they get ties to the ids in them."""
        for kind in ("resource", "reflection"):
            for key, (version, body) in self.rows.read(kind).items():
                self.rows.put(kind, key, body, version)


def drop_unreadable_receipts(connection: apsw.Connection) -> None:
    """Delete receipts that this release cannot decode; their requests, if repeated, are done again."""
    for table, which in (("receipt", "body notnull"), ("row", "kind = 'receipt' and body notnull")):
        found: list[Any] = connection.execute(f"select number, body from {table} where {which}").fetchall()
        for number, data in found:
            if body_of(data, None) is None:
                connection.execute(f"delete from {table} where number = ?", (number,))
