"""What agents share: storage, a model, an embedder; each answers truthfully unless a fault is injected."""
