"""Find copies of deleted rows that SQLite leaves in the pages of a file even with `secure_delete`.

When SQLite splits or merges pages, it copies rows to another page and may leave the old copy in the unused
space of a page, between the list of cells and the cells. If the row is deleted later, SQLite overwrites only
its newest place. Format of pages: https://www.sqlite.org/fileformat2.html
"""

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

import apsw
from msgspec import structs

from umi_core.data import is_struct
from umi_core.policies.term_scores import count_terms
from umi_core.rows import Body, Entity

TABLE_LEAF: Final = 13  # the type of pages with rows; pages of indexes contain only ids
LEAF_HEADER_BYTES: Final = 8
FILE_HEADER_BYTES: Final = 100  # before the header of the first page
CHUNK_BYTES: Final = 1 << 20
PIECE_BYTES: Final = 12  # texts are searched in pieces, since a copy may be overwritten in part
PIECE_BYTES_MIN: Final = 6  # shorter pieces occur in any file
NO_TEXT: Final = re.compile(r"([a-z]+(_[0-9a-f]{12,})?)?")  # an empty text, an id, or a word such as a type
READ_ONLY: Final = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY


def pieces_of(body: Body | None) -> frozenset[bytes]:
    """Return pieces of the texts of a row, and of its terms as the word index spells them."""
    texts = [text.encode(errors="surrogatepass") for text in list_texts(body)]
    pieces = {text[at : at + PIECE_BYTES] for text in texts for at in range(0, len(text), PIECE_BYTES)}
    if isinstance(body, Entity):
        # The index stores only the part of a term that differs from the term before it, so take the ends.
        terms = count_terms(*body.name_and_text())
        pieces |= {term.encode().hex().encode()[-PIECE_BYTES:] for term in terms}
    return frozenset(piece for piece in pieces if len(piece) >= PIECE_BYTES_MIN)


def list_texts(value: Any) -> Iterator[str]:
    """Yield all texts of a row except ids and names of types."""
    match value:
        case str():
            if not NO_TEXT.fullmatch(value):
                yield value
        case tuple():
            for each in value:
                yield from list_texts(each)
        case _ if is_struct(type(value)):
            yield from list_texts(structs.astuple(value))


def has_remains(path: str, vfs: str | None, page_bytes: int, pieces: Collection[bytes]) -> bool:
    """Check whether the unused space of a page contains one of these pieces. Raises apsw.Error, OSError."""
    return bool(pieces) and any(
        piece in space for space in unused_spaces(path, vfs, page_bytes) for piece in pieces
    )


def unused_spaces(path: str, vfs: str | None, page_bytes: int) -> Iterator[bytes]:
    """Yield the unused space of each page with rows, unless it is all zeros.

    Opens the file through SQLite: closing another descriptor of it would release the locks of this process.
    """
    flags: Any = [READ_ONLY, 0]
    file = apsw.VFSFile(vfs or "", path, flags)
    try:
        size = file.xFileSize()
        for start in range(0, size, CHUNK_BYTES):
            data = file.xRead(min(CHUNK_BYTES, size - start), start)
            for at in range(0, len(data), page_bytes):
                space = unused_in(data, at, at + (0 if start + at else FILE_HEADER_BYTES))
                if space.count(0) < len(space):
                    yield space
    finally:
        file.xClose()


def unused_in(data: bytes, page: int, header: int) -> bytes:
    """Return the unused space of the page that begins at `page`; nothing if the page contains no rows."""
    if data[header] != TABLE_LEAF:
        return b""
    cell_count = int.from_bytes(data[header + 3 : header + 5], "big")
    content = int.from_bytes(data[header + 5 : header + 7], "big") or 1 << 16
    return data[header + LEAF_HEADER_BYTES + 2 * cell_count : page + content]
