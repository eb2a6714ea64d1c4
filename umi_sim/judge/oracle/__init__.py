"""The oracle judges from outside: by what was asked, what the world answered, and what was replied.

model.py           what a model is: it knows what one memory must answer to some kinds of request
judge.py           the oracle: composes models for each agent, and hands events to those that want them
promises.py        every reply: no failure and no refusal without a reason, no wrong value in an error
agents.py          an agent as a whole: closed or open, older incarnations, tampering, keys of commits
working.py         the working tier as a dict with deadlines, and the sessions that pack and replace it
core_model.py      model of authored blocks: each is a register
migration_model.py model of rows that move between two stores
api_blocks.py      blocks of an agent server by their versions, and request keys
api_model.py       model of the agent server: blocks, logs by number, request keys
archive/           model of the archive: what each id may be, and what is shown of it
"""
