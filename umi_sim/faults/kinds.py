"""All kinds of faults: those of the model first, then embedder, storage, network, agents and clocks.

A kind is a class in the file of its place, declared as declaration.py says.
"""

from umi_sim.faults import agent, clock, embedder, model, network, storage
from umi_sim.faults.declaration import CLASSES, GROUPS, KINDS, FaultKind, check_kinds

__all__ = ["CLASSES", "FILES", "KINDS", "FaultKind", "check_kinds"]

FILES = model, embedder, storage, network, agent, clock

# The order decides which of two kinds an event meets first
# (`Dice.find_fault`), so it must not depend on imports.
for name in sorted(KINDS, key=lambda name: GROUPS.index(KINDS[name].group)):  # whichever was imported first
    KINDS[name] = KINDS.pop(name)
