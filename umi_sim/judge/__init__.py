"""What decides whether a run kept its promises: an oracle outside, invariants inside, equivalences."""
