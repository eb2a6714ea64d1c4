"""The server keeps its handlers and its API; behind them the memory stores, and it also understands.

python hybrid.py
"""

import sys

from umi_core.kelpie.delegate import Delegate
from umi_live import BlockingMemory, open_blocking

FILE = sys.argv[1] if len(sys.argv) > 1 else "agent.db"


class Server:
    """Two handlers of an agent server, as it has always had them."""

    def __init__(self, memory: BlockingMemory) -> None:
        self.memory, self.store = memory, Delegate(memory.drive)

    def send_message(self, said: str) -> str:
        """One turn: what was said, what is known about it, what the model would be asked."""
        self.store.add_message("user", said)
        self.memory.remember(said, speaker="Ann")
        known = "\n".join(f"- {hit.name}: {hit.content}" for hit in self.memory.recall(said))
        return f"{self.store.build_system_prompt('You are a helper.', 'tagged')}\nKnown:\n{known}"

    def patch_block(self, label: str, value: str, version: int) -> int:
        return self.store.update_block(label, value, expected_version=version).version


if __name__ == "__main__":
    with open_blocking(FILE, user="ann", agent="helper") as memory:
        server = Server(memory)
        server.store.create_block("human", "Ann is new here.")
        server.patch_block("human", "Ann drinks tea.", version=1)
        print(server.send_message("I like green tea."))
        print(server.store.list_messages().total, "message")
