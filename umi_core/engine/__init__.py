"""The engine: workflows as tables, their revisions, and what runs their rows. Each file uses those above it.

facts          what an operation knows, each under a key that knows its type
workflow       what tables are made of: steps, what their functions return, what a failure means
validation     what is wrong with a table, all findings together
middleware     interceptors: what added code may see and change of steps and effects
prompt_blocks  an interceptor that changes the fixed blocks of a prompt
registry       every revision of every table, every set of interceptors
engine         operations from begin to end: ask, wait, learn, retry, plan again, reply
"""
