"""Check every page and every row of a file."""

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

from umi_core.policies.term_scores import count_terms
from umi_core.rows import BODIES, Entity
from umi_core.values import Scope
from umi_live.columns import body_of, list_tokens, ties_of
from umi_live.errors import FileTampered
from umi_live.seal import SealState
from umi_live.storage import SqlStorage

SHOWN_MAX: Final = 20  # lines of a report about changes
BODIES_OF_ALL: Final = "select number, scope, kind, id, body, components from row where body is not null"
TIES: Final = "select scope, kind, field, value from tie where number = ?"
TIES_OF_NONE: Final = (
    "select count(*) from tie where number not in (select number from row where body is not null)"
)


def examine_file(storage: SqlStorage) -> tuple[list[str], int]:
    """Return lines that describe a file, and the number of damages and changes in it. Writes nothing."""
    # The database checks pages and indexes; `count_rows` decodes each body.
    size, damaged = storage.describe_pages()
    lines = [size, *(f"damaged  {line}" for line in damaged)]
    sql = 'select "user", agent, embedder from scope order by 1, 2'
    scopes: list[Any] = storage.connection.execute(sql).fetchall()
    for user, agent, embedder in scopes:
        try:
            counts, missing_count, bad = count_rows(storage, Scope(user, agent))
        except UnicodeDecodeError:
            counts, missing_count, bad = {}, 0, ["a text of it is no UTF-8"]
        contents = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        lines.append(f"scope    user {user!r}, agent {agent!r}: {contents}; embedder {embedder}")
        if missing_count:
            lines.append(f"missing  {missing_count} vectors; they come while the memory is open")
        lines += [f"damaged  {place}" for place in bad]
        damaged += bad
    if not damaged:
        differing = list(find_index_changes(storage))
        lines += show_lines("damaged", differing)
        damaged += differing
    if not damaged:
        lines.append("damaged  nothing")
    changes = find_seal_changes(storage)
    if storage.seal is not None and storage.seal.last.number:
        lines.append(describe_seal(storage.seal.last))
    return [*lines, *show_lines("changed", changes)], len(damaged) + len(changes)


def show_lines(what: str, found: list[str]) -> list[str]:
    shown = found if len(found) <= SHOWN_MAX else [*found[:SHOWN_MAX], f"and {len(found) - SHOWN_MAX:,} more"]
    return [f"{what:<7}  {line}" for line in shown]


def describe_seal(state: SealState) -> str:
    return f"sealed   commit {state.number:,}, {state.row_count:,} rows"


def find_seal_changes(storage: SqlStorage) -> list[str]:
    """Return a line for each change by another program in a sealed file; no lines for other files."""
    if storage.seal is None:
        return []
    found = list[str]()
    try:
        anchor = storage.seal.read_anchor()
        with storage.reading():
            found += storage.seal.find_changes(anchor)
    except FileTampered as error:
        found.append(str(error))
    return found


def find_index_changes(storage: SqlStorage) -> Iterator[str]:
    """Yield each difference between the rows and the indexes of ids and words. No row may be damaged."""
    connection = storage.connection
    # Compares sums of digests, since the word index lists the rows of a word, not the words of a row.
    sums = Counter[int]()
    with storage.reading():
        names = dict[int, str]()
        for number, scope, kind, row_id, data, components in storage.stream_rows(BODIES_OF_ALL):
            body, names[number] = body_of(data, components), f"{kind} {row_id}"
            ties = [(scope, kind, *tie) for tie in ties_of(body)]
            if sorted(connection.execute(TIES, (number,))) != sorted(ties):
                yield f"the references of {kind} {row_id} are not those of its index"
            if isinstance(body, Entity):
                for term in list_tokens(scope, count_terms(*body.name_and_text())):
                    sums[number] += digest_term(storage.spell_token(term))
        for term, number in storage.list_words():
            sums[number] -= digest_term(term)
        [(count,)] = connection.execute(TIES_OF_NONE)
    if count:
        yield f"the index of references has {count:,} of rows that are not there"
    for number, left in sums.items():
        if left:
            yield f"the words of {names.get(number, 'a row that is not there')} are not those of its index"


def digest_term(term: str) -> int:
    return int.from_bytes(blake2b(term.encode()).digest())


def count_rows(storage: SqlStorage, scope: Scope) -> tuple[dict[str, int], int, list[str]]:
    """Return the number of rows by kind, the number of facts without a vector, and the damaged rows."""
    counts, missing_count, bad = dict.fromkeys(BODIES, 0), 0, list[str]()
    for row in storage.read_all(scope, tuple(BODIES)):
        counts[row.address.kind] += 1
        missing_count += isinstance(row.body, Entity) and row.body.vector_missing
        if row.body is None:
            bad.append(f"{row.address.kind} {row.address.id}")
    return counts, missing_count, bad
