"""The model of the archive: what a memory may reply about its facts and texts.

states.py        the state of each id at each position, and how writes change a fact
operations.py    a request, its questions and answers, and the batches that were sent for it
log.py           the durable batches, the rows that they stored, and the states that reads may show
context.py       scope, rules and time, which all parts share
degradations.py  the degradations that a reply must name
writes.py        judges the replies of writes
reads.py         judges get_entity, count and lists
sharing.py       which archives of other agents a recall may search
searches.py      judges recall, retrieve and search
model.py         the model, composed of these
"""
