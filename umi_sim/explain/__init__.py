"""Tells what a run or a failure came to, for people and for programs."""
