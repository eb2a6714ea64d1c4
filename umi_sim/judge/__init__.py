"""Who judges a run: the oracle from outside, invariants from inside, equivalences over whole lives."""
