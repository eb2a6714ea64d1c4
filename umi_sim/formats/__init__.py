"""Files from strangers, read with suspicion: JSON, TOML, transcripts."""
