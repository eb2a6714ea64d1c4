"""The move of an agent's rows from the store of an old server to the memory's own, phase by phase, and back.

    legacy -> dual_write -> dual_read -> umi_primary -> cleanup -> done: the memory has the rows
                  |             |  ^          |
               legacy        rolling_back <---+       rolling_back -> legacy

Law 1. One thing is done at a time, so a switch meets no write. Law 2. Every commit to main expects the
fence, the version of the row that holds the phase: what an earlier phase or life has on its way never lands.
Law 3. Until dual_read legacy leads, from then on main; the other store is updated later: legacy by the
outbox, which is written in the commit of the write, main by reconcile.
Law 4. A deleted row leaves a tombstone in main, so that legacy never brings it back.
Law 5. The lead changes only while both stores are equal, behind a new fence.

Legacy has no atomic batches and no versions: only a later read shows whether an uncertain write has happened.
Each machine is for one agent and one kind of row.

requests.py  what is asked of a migration, and its replies
rows.py      the rows that it stores
machine.py   its state, what it asks and hears
steps.py     what it does, step by step
migrator.py  it serves requests, and asks two stores
"""
