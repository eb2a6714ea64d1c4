"""The tiers of a memory: immutable values and the transitions between them."""
