"""One run in progress: agents, a network, virtual time, one queue of events."""
