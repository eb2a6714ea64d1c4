"""The move of an agent's rows from the store of an old server to the memory's own, phase by phase, and back.

    legacy -> dual_write -> dual_read -> umi_primary -> cleanup -> done (the memory has the rows)
                  |             |  ^          |
               legacy        rolling_back <---+       rolling_back -> legacy

Law 1. Requests run one at a time, so no write is in progress during a switch. Law 2. Every commit to main
expects the fence, which is the version of the phase row; a commit from an earlier phase or incarnation
therefore conflicts. Law 3. Legacy leads before dual_read, main from then on. The other store is updated
later: legacy by the outbox, which is part of the commit of each write, and main by reconcile.
Law 4. A deleted row leaves a tombstone in main, so that legacy never restores it.
Law 5. The lead changes only while both stores are equal, under a new fence.

Legacy has no atomic batches and no versions: only a later read shows whether an uncertain write has happened.
Each machine is for one agent and one kind of row.

requests.py  the requests to a migration, and their replies
rows.py      the rows that it stores
machine.py   its state, its questions to the stores, and their results
steps.py     the steps of all requests
migrator.py  serves requests and exchanges questions and answers with two stores
"""
