"""Chance, time, characters and wording: nothing here knows what a memory is."""
