"""What a run leaves behind: its items, its configuration, its trace and its verdict."""
