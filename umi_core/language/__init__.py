"""The language spoken with models: prompts, parsers that take any text, words."""
