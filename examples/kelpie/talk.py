"""A range of messages becomes one conversation of the archive, with the facts in it; told again it is once.

python talk.py
"""

import json
import sys

from umi_core.kelpie.delegate import Delegate
from umi_core.kelpie.rows import Message
from umi_live import BlockingMemory, open_blocking

FILE = sys.argv[1] if len(sys.argv) > 1 else "agent.db"


def memorize(memory: BlockingMemory, messages: tuple[Message, ...]) -> str:
    """What became of the text, and how many it told of. Their numbers are its address: it is there once."""
    text = json.dumps([{"role": it.role, "content": it.content} for it in messages])
    uri = f"messages/{messages[0].seq}-{messages[-1].seq}"
    told = memory.memorize(text, modality="conversation", uri=uri).value
    return f"{told.change}, {len(told.entities)} told of"


if __name__ == "__main__":
    with open_blocking(FILE, user="ann", agent="helper") as memory:
        agent = Delegate(memory.drive)
        agent.add_message("user", "Tom likes tea.")
        agent.add_message("assistant", "Tom likes coffee, I guess.")  # nobody said so
        agent.add_message("user", "Tom lives in Lisbon.")
        page = agent.list_messages(limit=3).messages
        print("told:", memorize(memory, page))
        print("again:", memorize(memory, page))
        print(sorted(hit.content for hit in memory.recall("Tom")))
