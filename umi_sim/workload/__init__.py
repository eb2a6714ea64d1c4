"""Users of a memory: what they ask, and the values they give."""
