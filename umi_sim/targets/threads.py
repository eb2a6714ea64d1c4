"""Threads: which operations began one of their own. What it does follows from no seed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def notice_threads() -> Iterator[list[threading.Thread]]:
    """Until the block ends, the threads that the thread of this run begins, as they come."""
    real, own, begun = threading.Thread.start, threading.current_thread(), list[threading.Thread]()

    def start(self: threading.Thread) -> Any:
        if threading.current_thread() is own:
            begun.append(self)
        return real(self)

    threading.Thread.start = start  # type: ignore[method-assign] # every thread begins by this
    try:
        yield begun
    finally:
        threading.Thread.start = real  # type: ignore[method-assign] # as it was
