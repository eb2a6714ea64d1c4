"""The engine: workflows as tables, their revisions, and what runs their rows."""
