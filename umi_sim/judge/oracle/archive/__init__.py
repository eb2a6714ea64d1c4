"""The model of the archive: what a memory may say about the entities that it was told.

context.py    what all parts share: whose archive it is, which rules are off, the time
possible.py   a possible state of one id, and what a write makes of it
tracks.py     the possible states of every id, narrowed by what replies show
evidence.py   what model and embedder answered to an operation, and what may follow from it
writes.py     judges remember and forget
relations.py  judges what a remember says about relations, and what reads show of them
reads.py      judges get_entity and count
searches.py   judges recall
documents.py  judges memorize
summaries.py  judges summarise
lists.py      judges list
showing.py    what a reply may show of an id in one state
model.py      the model, composed of these
"""
