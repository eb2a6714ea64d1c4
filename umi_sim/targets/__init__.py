"""Stores of others under our worlds: inherit from `Kv`, `Sessions` or `MemoryStore` (docs/targets.md)."""

from umi_sim.targets.adapter import MISSING, Adapter, Known, Kv, MemoryStore, Sessions

__all__ = ["MISSING", "Adapter", "Known", "Kv", "MemoryStore", "Sessions"]
