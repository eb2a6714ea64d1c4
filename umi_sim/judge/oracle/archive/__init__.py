"""The model of the archive: what a memory may say about the facts and texts that it was told.

states.py        what lies under each id at each position, and what a write makes of a fact
operations.py    a request, what was asked and answered for it, and the batches that were sent
log.py           which batch became durable, what it made, and what reads may show of it
context.py       what all parts share
degradations.py  which degradations a reply must name
writes.py        judges what writes reply, whatever they write
reads.py         judges get_entity, count and lists
searches.py      judges recall, retrieve and search
model.py         the model, composed of these
"""
