"""The oracle judges from outside: by what was asked, what the world answered, and what was replied.

model.py           what a model is: it knows what one memory must answer to some kinds of request
judge.py           the oracle: composes models for each agent, and hands events to those that want them
old_lives.py       lives that go on beside the one that took their place
promises.py        every reply: no failure and no refusal without a reason
twin.py            the working tier as a dict and a deadline for each key
working.py         model of the working tier: the twins that may be true
sessions.py        what all agents know of all sessions
session_model.py   model of one agent's sessions
core_model.py      model of authored blocks: each is a register
archive/           model of the archive: what each id may be, and what is shown of it
error_values.py    what an error names was asked for, and its numbers hold
times.py           what was done was done between request and reply
commit_keys.py     no two operations send batches under one key
"""
