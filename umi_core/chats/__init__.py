"""Chats: conversations as other programs write them, read as messages with a role, a text and a time."""
