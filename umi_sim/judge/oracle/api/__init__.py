"""What the memory must answer to an agent server: blocks by version, logs by number, request keys."""

from umi_sim.judge.oracle.api.model import ApiModel

__all__ = ["ApiModel"]
