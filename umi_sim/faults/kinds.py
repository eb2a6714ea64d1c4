"""All kinds of faults: those of the model first, then embedder, storage, network, agents and clocks.

A kind is a class in the file of its place; declaration.py describes how to declare one.
"""

from umi_sim.faults import agent, clock, embedder, model, network, storage
from umi_sim.faults.declaration import CLASSES, GROUPS, KINDS, FaultKind, check_kinds

__all__ = ["CLASSES", "FILES", "KINDS", "FaultKind", "check_kinds"]

FILES = model, embedder, storage, network, agent, clock

# If two kinds match an event, `Dice.find_fault` takes the first
# one, so the order must not depend on the order of imports.
for name in sorted(KINDS, key=lambda name: GROUPS.index(KINDS[name].group)):
    KINDS[name] = KINDS.pop(name)
