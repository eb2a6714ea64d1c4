"""Files from strangers, checked before they are believed: JSON, TOML, transcripts."""
