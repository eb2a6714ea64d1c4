"""What the memory says to a model, and how it reads what the model says: prompts, total parsers, words."""
