"""The oracle: the outside judge of what a memory may say, tier by tier."""
