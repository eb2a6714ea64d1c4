"""Measures the six success metrics of a memory on a labelled corpus.

    python tools/metrics.py          with the simulated model and embedder
    python tools/metrics.py --model https://HOST/v1#MODEL --embedder https://HOST/v1#MODEL:DIMS

The key for an endpoint is read from UMI_LIVE_KEY. Decisions of the memory are measured separately from
answers of a model, with rewrites, verdicts and vectors that equal the labels. The status is 1 if a target is
missed, and 2 if an endpoint does not answer. docs/metrics.md explains the rows.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from msgspec import structs

from tools.measured.archive import DIMS, Archive, labelled_vectors, word_vectors
from tools.measured.evolving import evolution_rows
from tools.measured.lab import Embedder, Model
from tools.measured.labelled import queries
from tools.measured.rewriting import (
    detection_rows,
    gate_rows,
    latency_rows,
    real_latency_rows,
    resolution_rows,
)
from tools.measured.searching import search_rows
from tools.measured.table import Row, as_page, as_text
from umi_core.data import Data
from umi_live.errors import LiveError
from umi_live.openai import ChatModel, TextEmbedder
from umi_live.services import ServiceFailed
from umi_sim.services.model import truth

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
WORDS: Final = "vectors of words"
BEGIN, END = "<!-- table: written by tools/metrics.py --write -->\n", "<!-- end of table -->\n"
SIMULATED: Final = "the simulated model"
TIMEOUT_MS: Final = 60_000
ATTEMPTS, PAUSE_MS = 4, 2_000

Answer = TypeVar("Answer")


def rows_of_memory() -> Iterator[Row]:
    """Yield the rows of decisions of the memory."""
    some, close, closer = queries(), labelled_vectors(4), labelled_vectors(6)
    yield from detection_rows(some)
    yield from gate_rows(some)
    yield from latency_rows(some)
    archive = Archive.filled(closer, truth)
    yield from search_rows(archive, "score", "memory, by scores, cosine 0.85", True)
    yield from search_rows(Archive.filled(close, truth), "score", "memory, by scores, cosine 0.72", False)
    yield from search_rows(archive, "label", "memory, if the model is right", True)
    yield from evolution_rows(Archive.empty(closer, truth), "memory, cosine 0.85", True)
    yield from evolution_rows(Archive.empty(close, truth), "memory, cosine 0.72", False)


class Services(Data):
    """A model and an embedder; simulated ones unless endpoints are given."""

    model: Model = truth
    name: str = SIMULATED
    embedder: Embedder = word_vectors
    vectors: str = WORDS
    dims: int = DIMS


def rows_of_model(given: Services) -> Iterator[Row]:
    """Yield the rows of answers of the model and the embedder."""
    some = queries()
    yield from resolution_rows(some, given.model, given.name)
    if given.name != SIMULATED:
        yield from real_latency_rows(some, given.model, given.name)
    archive = Archive.filled(given.embedder, given.model, given.dims)
    empty = Archive.empty(given.embedder, given.model, given.dims)
    yield from evolution_rows(empty, f"memory, {given.vectors}", False)
    yield from search_rows(archive, "score", f"memory, by scores, {given.vectors}", False)
    yield from search_rows(archive, "model", f"{given.name}, {given.vectors}", False)


def page_with(page: str, rows: list[Row]) -> str:
    """Return the page with this table, without the row of simulated vectors, which means little."""
    rows = [row for row in rows if not row.by.endswith(WORDS)]
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{as_page(rows)}\n{END}{rest.partition(END)[2]}"


async def patient(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Return the answer of an endpoint, and retry while it is busy. Raises ServiceFailed."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await ask()
        except ServiceFailed as failed:
            await asyncio.sleep(max(PAUSE_MS, min(failed.retry_after_ms, TIMEOUT_MS)) / 1_000)
    return await ask()


def services(model_url: str | None, embedder_url: str | None, runner: asyncio.Runner) -> Services:
    """Return the services at these addresses, or simulated ones. Raises LiveError for a bad address."""
    key, given = os.environ.get("UMI_LIVE_KEY"), Services()
    if model_url is not None:
        chat = ChatModel(model_url, key)

        def ask(task: str, prompt: str) -> str:
            return runner.run(patient(partial(chat.ask, task, prompt, TIMEOUT_MS)))

        given = structs.replace(given, model=ask, name=chat.name)
    if embedder_url is not None:
        texts = TextEmbedder(embedder_url, key)

        def embed(text: str) -> tuple[int, ...]:
            return runner.run(patient(partial(texts.embed, (text,), TIMEOUT_MS)))[0]

        given = structs.replace(given, embedder=embed, vectors=f"vectors of {texts.name}", dims=texts.dims)
    return given


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The success metrics, measured on a labelled corpus.")
    parser.add_argument("--model", metavar="URL", help="https://HOST/v1#MODEL; else the simulated one")
    parser.add_argument("--embedder", metavar="URL", help="https://HOST/v1#MODEL:DIMS; else a hash of words")
    parser.add_argument("--write", action="store_true", help="write the table to docs/metrics.md")
    parser.add_argument("-v", "--verbose", action="store_true", help="tell what went wrong")
    given = parser.parse_args(arguments)
    try:
        with asyncio.Runner() as runner:
            named = services(given.model, given.embedder, runner)
            rows = [*rows_of_memory(), *rows_of_model(named)]
    except LiveError as error:
        print(f"metrics: {error}", file=sys.stderr)
        return 2
    except ServiceFailed as error:
        print(f"metrics: the endpoint failed: {error}", file=sys.stderr)
        return 2
    for row in rows if given.verbose else ():
        if row.others:
            print(f"{row.metric} ({row.by}), not so:", *row.others, sep="\n    ")
    print(as_text(rows))
    if given.write:
        PAGE.write_text(page_with(PAGE.read_text("utf-8"), rows), "utf-8")
    return 0 if all(it.met is not False for it in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
