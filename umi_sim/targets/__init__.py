"""Somebody else's store under our worlds: inherit from `Kv`, `Sessions` or `Memory` (docs/targets.md)."""

from umi_sim.targets.adapter import MISSING, Adapter, Known, Kv, Memory, Sessions

__all__ = ["MISSING", "Adapter", "Known", "Kv", "Memory", "Sessions"]
