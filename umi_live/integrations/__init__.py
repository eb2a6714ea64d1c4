"""The memory in agent frameworks (docs/hosting.md). Import a module by its name; each needs an extra.

langgraph_store.py  a store
langgraph_saver.py  a checkpointer
openai_agents.py    a session
pydantic_ai.py      a history of messages
llama_index.py      a memory of a chat
records.py          logs of JSON values in archival records, which all of them use
"""
