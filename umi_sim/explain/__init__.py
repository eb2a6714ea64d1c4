"""Explains the result of a run or a failure, for people and for programs."""
