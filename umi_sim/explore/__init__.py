"""Explore: every list of a few actions (requests, faults, moves of time) up to a length.

play.py                what each action does to a world, and a copy of a world with all that watches it
state_fingerprint.py   when two worlds are the same but for the time, and for names that could be exchanged
symmetry.py            which keys, values and agents these names are
search.py              breadth first with each world once, or depth first with only the path
migration.py           all short runs of a migration, whose parts are in one_row.py

The table [explore] of a scenario names the actions (umi_sim/scenario/action_set.py).
"""

__all__: list[str] = []
