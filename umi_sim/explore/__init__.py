"""Explore: every list of a few actions (requests, faults, moves of time) up to a length.

play.py                lists the actions that are possible in a world, and plays one
state_fingerprint.py   equal digests for worlds that differ only in time, or in exchangeable names
symmetry.py            the keys, values and agents that can be exchanged
search.py              breadth first, each world once, or depth first, with only the path in memory
migration.py           all short runs of a migration, with the model in one_row.py

The table [explore] of a scenario names the actions (umi_sim/scenario/action_set.py).
"""

__all__: list[str] = []
