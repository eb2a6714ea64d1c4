"""A look at every page and every row of a file."""

from typing import Any

from umi_core.messages.effects import ByFilter
from umi_core.rows import BODIES, Entity
from umi_core.values import Scope
from umi_live.sqlite import SqliteStorage


def examine_file(storage: SqliteStorage) -> tuple[list[str], int]:
    """Describe a file in lines, and count its damaged pages or rows. Changes nothing."""
    connection = storage.connection
    found = [row for (row,) in connection.execute("pragma integrity_check(20)")]
    lines = [f"pages    {connection.pragma('page_count')} of {connection.pragma('page_size')} bytes"]
    # SQLite checks pages and indexes; whether a body can be read only decoding it tells, below.
    damaged_count = 0 if found == ["ok"] else len(found)
    lines += [f"damaged  {line}" for line in found if line != "ok"]
    scopes: list[Any] = connection.execute("select user, agent, embedder from scope order by 1, 2").fetchall()
    for user, agent, embedder in scopes:
        counts, missing_count, bad = count_rows(storage, Scope(user, agent))
        told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        lines.append(f"scope    user {user!r}, agent {agent!r}: {told}; embedder {embedder}")
        if missing_count:
            lines.append(f"missing  {missing_count} vectors; they come while the memory is open")
        lines += [f"damaged  {place}" for place in bad]
        damaged_count += len(bad)
    if not damaged_count:
        lines.append("damaged  nothing")
    return lines, damaged_count


def count_rows(storage: SqliteStorage, scope: Scope) -> tuple[dict[str, int], int, list[str]]:
    """Rows by kind, entities without a vector that want one, and the places of damaged rows."""
    counts, missing_count, bad = dict.fromkeys(BODIES, 0), 0, list[str]()
    cursor, is_left = None, True
    while is_left:
        page = storage.read(0, ByFilter(scope, tuple(BODIES), cursor=cursor))
        for row in page.rows:
            counts[row.address.kind] += 1
            missing_count += isinstance(row.body, Entity) and row.body.vector_missing
            if row.body is None:
                bad.append(f"{row.address.kind} {row.address.id}")
        cursor = page.cursor
        is_left = cursor is not None
    return counts, missing_count, bad
