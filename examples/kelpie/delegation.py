"""An old class keeps its methods, and every one of them is a request to the memory.

python delegation.py
"""

import sys

from umi_core.kelpie.delegate import Delegate, DelegateError
from umi_live import open_blocking

FILE = sys.argv[1] if len(sys.argv) > 1 else "agent.db"


class CoreMemory:
    """As the server's code knows it: it need not change."""

    def __init__(self, store: Delegate) -> None:
        self.store = store

    def add_block(self, label: str, text: str) -> None:
        self.store.append_to_block(label, text)

    def get_block(self, label: str) -> str | None:
        try:
            return self.store.get_block(label).value
        except DelegateError:
            return None

    def render(self) -> str:
        return self.store.build_system_prompt()


if __name__ == "__main__":
    with open_blocking(FILE, user="ann", agent="helper") as memory:
        core = CoreMemory(Delegate(memory.drive))
        core.add_block("persona", "I am patient.")
        core.add_block("persona", "I am brief.")
        print(core.get_block("persona"), core.get_block("goals"), sep="\n")
        print(core.render())
