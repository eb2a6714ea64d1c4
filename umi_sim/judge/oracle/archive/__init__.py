"""The model of the archive: what a memory may reply about its facts and texts.

states.py        what is stored under each id at each position, and what a write makes of a fact
operations.py    a request, its questions and answers, and the batches that were sent for it
log.py           which batch became durable, what it stored, and what reads may show of it
context.py       what all parts share
degradations.py  which degradations a reply must name
writes.py        judges what writes reply, whatever they write
reads.py         judges get_entity, count and lists
searches.py      judges recall, retrieve and search
model.py         the model, composed of these
"""
