"""The engine: workflows as tables, their revisions, and what runs their rows. Each file uses those above it.

facts          the facts of an operation, each under a key that knows its type
workflow       the parts of a table: steps, the results of their functions, failure policies
middleware     interceptors: which steps and effects added code may see and change
prompt_blocks  an interceptor that changes the fixed blocks of a prompt
registry       the validation of tables; every revision of every table, every set of interceptors
engine         operations from begin to end: ask, wait, learn, retry, plan again, reply
"""
