"""The model of the archive: what a memory may say about the facts and texts that it was told.

operations.py  a request, what was asked and answered for it, and the batches that were sent
facts.py       the state of a fact, and what a statement, an update or a removal makes of it
timelines.py   what lies under each id at each position, and what one batch did
plain_memory.py what each batch makes of what lay there before
log.py         which batch became durable, and what reads and replies may show of it
context.py     what all parts share
evidence.py    which degradations an operation must name
writes.py      judges remember, forget, and facts of a caller's own
documents.py   judges memorize and forget_resource
reads.py       judges get_entity, count, archival records and list
searches.py    judges recall
retrievals.py  judges retrieve and search
summaries.py   judges summarise and evolve_category; says what upkeep begins
reflections.py judges end_session
model.py       the model, composed of these
"""
