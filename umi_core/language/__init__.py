"""What the memory says to a model, and how it reads replies: prompts, parsers that take any text, words."""
