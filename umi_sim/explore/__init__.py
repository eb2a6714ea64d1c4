"""Explore: every list of letters of a small alphabet, up to a depth, over worlds that can be copied.

table.py      the [explore] table of a scenario: which letters there are
play.py       letters, and what each does to a world; what was done is kept as items
fork.py       a copy of a world with everybody who watches it
likeness.py   when two worlds are the same but for the time, and for names that could be exchanged
symmetry.py   which keys, values and agents these names are
search.py     breadth first with each world once, or depth first with only the path
"""

__all__: list[str] = []
