"""Worlds as TOML files, and how one run is drawn from a file and a seed."""
