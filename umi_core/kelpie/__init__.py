"""The API of an agent server (Letta's): its requests and replies, what serves them, and its wire format."""
