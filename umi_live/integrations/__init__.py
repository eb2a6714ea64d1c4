"""Adapters of a memory for agent frameworks (docs/hosting.md). Import the module; each needs an extra.

langgraph_store.py  a store
langgraph_saver.py  a checkpointer
openai_agents.py    a session
pydantic_ai.py      a history of messages
llama_index.py      a memory of a chat
records.py          logs of JSON values in archival records, used by all of them
"""
