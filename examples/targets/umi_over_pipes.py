"""umi_core behind pipes, to be tested like another implementation:

    umi-sim target --contract umi --command "python umi_over_pipes.py"

Each line of standard input is a request, each line of standard output its answer; docs/targets.md has the
protocol. `begin` makes a memory, and `step` passes it an event; `save` and `restore` move it to another
process.
"""

import json
import sys
from typing import Any

from umi_core.config import Config
from umi_core.engine.registry import Registry
from umi_core.memory import Memory
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.machines.wire import from_json, read_tree, to_json


def serve(registry: Registry = BUILT_IN) -> None:
    lives: dict[int, Memory] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps({"id": asked["id"], "answer": answer(lives, asked, registry)}), flush=True)


def answer(lives: dict[int, Memory], asked: dict[str, Any], registry: Registry) -> dict[str, Any]:
    match asked:
        case {"op": "hello"}:
            return {"saves": True}
        case {"op": "begin", "life": life}:
            scope, config = from_json(asked["scope"], Scope), from_json(asked["config"], Config)
            lives[life] = Memory(scope, config, registry)
        case {"op": "step", "life": life, "now_ms": now_ms}:
            memory = lives[life]
            effects = memory.step(now_ms, read_tree(asked["value"]))
            return {"effects": [to_json(each) for each in effects], **standing(memory)}
        case {"op": "save", "life": life}:
            return {"saved": to_json(lives[life].snapshot())}
        case {"op": "restore", "life": life, "saved": saved}:
            lives[life] = Memory.restore(read_tree(saved), registry, life=0)  # the saved memory, continued
            return standing(lives[life])
    return {}


def standing(memory: Memory) -> dict[str, Any]:
    """Return what the simulator reads of a memory between two steps."""
    state = memory.state
    operations = [
        {
            "number": number, "workflow": it.workflow, "op": None if it.op_id is None else str(it.op_id),
            "step": memory.registry.at(it.workflow, it.revision).steps[it.row].id,
            "asks": it.waiting, "due_ms": it.due_ms,
        }
        for number, it in state.operations.items()
    ]  # fmt: skip
    return {
        "operations": operations, "recovering": state.phase == "recovering",
        "deadline_ms": memory.deadline_ms(), "marks": memory.marks, "digest": memory.digest().hex(),
    }  # fmt: skip


if __name__ == "__main__":
    serve()
