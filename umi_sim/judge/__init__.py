"""What decides whether a run kept its promises: oracle outside, invariants inside, equivalences over lives."""
