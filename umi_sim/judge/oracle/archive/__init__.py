"""The model of the archive: what a memory may say about the entities that it was told.

context.py    what all parts share, and what a reply may show of an id in one state
possible.py   a possible state of one id, and what a write makes of it
tracks.py     the possible states of every id, narrowed by what replies show
evidence.py   what model and embedder answered, what may follow from it, and which degradations it causes
writes.py     judges remember and forget
relations.py  judges what a remember says about relations, and what reads show of them
reads.py      judges get_entity, count, archival records and list
searches.py   judges recall
retrievals.py judges retrieve and search
documents.py  judges memorize
summaries.py  judges summarise, evolve_category and upkeep
model.py      the model, composed of these
"""
