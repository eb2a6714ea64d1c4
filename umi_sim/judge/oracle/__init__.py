"""The oracle judges from outside: by what was asked, what the world answered, and what was replied.

model.py           base class of models: a model judges the replies of one memory to some kinds of request
judge.py           the oracle: composes the models of each agent, and passes each event to those that use it
promises.py        every reply: no failure or refusal without a reason, no wrong value in an error
agents.py          an agent as a whole: closed or open, older incarnations, tampering, commit keys
working.py         the working tier as a dict with deadlines, and its saved sessions
core_model.py      model of authored blocks: each is a register
migration_model.py model of rows that move between two stores
api_blocks.py      blocks of an agent server by their versions, and request keys
api_model.py       model of the agent server: blocks, logs by number, request keys
archive/           model of the archive: the states of each id, and the replies that show them
"""
