"""A store in a process of its own, in any language: JSON lines over its standard input and output.

The simulator writes a line, and the process answers with a line (docs/targets.md has the protocol):

    {"id": 1, "op": "put", "key": "a", "value": 7, "now_ms": 1767225600000}
    {"id": 1, "answer": null}

Law 1. A process that ends, does not answer or writes nonsense is a finding, and never crashes the simulator.
"""

import tempfile
from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any

from umi_sim.kernel.child_process import Process, ProcessBroken
from umi_sim.kernel.wording import show_value
from umi_sim.targets.adapter import CURSOR, PAGED, Adapter, BadAdapter
from umi_sim.targets.values import MISSING


class ProcessRefused(Exception):
    """The process has refused a request."""


class ProcessFailed(Exception):
    """The process has answered with an error."""


def ask(process: Process, request: Mapping[str, Any]) -> Any:
    """Return the answer of the process. Raises ProcessRefused, ProcessFailed, ProcessBroken."""
    reply = process.ask(request)
    if "refused" in reply:
        raise ProcessRefused(show_value(reply["refused"]))
    if "error" in reply:
        raise ProcessFailed(show_value(reply["error"]))
    return MISSING if reply.get("missing") is True else reply.get("answer")


def adapter_of(command: str, base: type[Adapter]) -> type[Adapter]:
    """Return an adapter class whose operations are requests to a process. Raises BadAdapter."""
    reply = hello(command, base.contract.name)
    ops, flags = reply.get("ops"), reply.get("flags", {})
    if not isinstance(ops, dict) or not isinstance(flags, dict) or not ops:
        raise BadAdapter(f"{command}: says no `ops` in its answer to hello: {show_value(reply)}")
    if unknown := [name for name in ops if name not in base.contract.ops]:
        known = ", ".join(base.contract.ops)
        raise BadAdapter(f"{command}: unknown operation {show_value(unknown[0])}, known are {known}")
    body = {name: asking(command, name, args, base.contract.ops[name]) for name, args in ops.items()}
    settable = (*base.contract.flags, *base.contract.settings, "durable", "odd", "values")
    body |= {name: flags[name] for name in settable if name in flags}
    return type("Piped", (Piped, base), {**body, "command": command})


class Piped(Adapter):
    """Base of adapters whose operations are requests to a process."""

    command: str
    process: Process
    refuses = (ProcessRefused,)

    def make(self) -> None:
        self.process = Process(self.command, str(self.folder))
        ask(self.process, {"op": "hello", "contract": self.contract.name, "version": 1})

    def close(self) -> None:
        self.process.end()

    def killed(self) -> None:
        self.process.kill()


def asking(command: str, name: str, args: Any, known: Sequence[str]) -> Any:
    """Return a method with these arguments that sends a request. Raises BadAdapter."""
    if not isinstance(args, list) or any(each not in known for each in args):
        raise BadAdapter(f"{command}: {name} has {show_value(args)}, expected a list of {', '.join(known)}")

    def ask_process(self: Piped, **args: Any) -> Any:
        return ask(self.process, {"op": name, **args, "now_ms": self.clock.now_ms})

    names = ["ttl_ms" if each == "ttl" else each for each in dict.fromkeys(args)]
    names += [CURSOR] if name == PAGED else []
    vars(ask_process)["__signature__"] = Signature(
        [Parameter(each, Parameter.KEYWORD_ONLY, default=None) for each in names]
    )
    return ask_process


def hello(command: str, contract: str) -> dict[str, Any]:
    """Return the first message of a process. Raises BadAdapter, saying why, if it does not start."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            process = Process(command, folder, errors=None)
            try:
                reply = ask(process, {"op": "hello", "contract": contract, "version": 1})
            finally:
                process.kill()
        except (ProcessBroken, ProcessRefused, ProcessFailed) as error:
            raise BadAdapter(f"{command}: {error}") from None
    return reply if isinstance(reply, dict) else {}
