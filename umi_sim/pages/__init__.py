"""Pages: a run, or a sweep, as one file for a browser, that asks no network for anything."""
