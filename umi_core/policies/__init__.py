"""Policies: pure functions that choose. No state, no clock, no effects."""
