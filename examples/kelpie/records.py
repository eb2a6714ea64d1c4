"""Records that are read for facts: one that is deleted takes with it what nobody else told.

python records.py
"""

import sys

from umi_core.kelpie.delegate import Delegate
from umi_core.messages.results import RecordForgotten
from umi_live import BlockingMemory, open_blocking

FILE = sys.argv[1] if len(sys.argv) > 1 else "agent.db"


def known(memory: BlockingMemory, query: str) -> str:
    return "; ".join(f"{hit.name}: {hit.content}" for hit in memory.recall(query))


if __name__ == "__main__":
    with open_blocking(FILE, user="ann", agent="helper") as memory:
        agent = Delegate(memory.drive)
        first = agent.add_archival("Tom likes tea. Tom likes chess.", extract=True)
        agent.add_archival("Tom likes chess.", tags=["club"], extract=True)
        print("told by two records:", known(memory, "Tom"))
        gone = agent.delete_archival(first.ids[0])
        assert isinstance(gone, RecordForgotten)
        print("what it told:", sorted(it.change for it in gone.entities))
        print("left:", known(memory, "Tom"))
