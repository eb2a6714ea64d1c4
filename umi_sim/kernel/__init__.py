"""Chance, time, characters and wording: what has no idea of a memory."""
