"""Worlds: a copy of one with all that watches it, and what both share."""

from umi_sim.explore.play import Explored, Untraced
from umi_sim.kernel import fork
from umi_sim.kernel.prng import Keyed
from umi_sim.world.agent import Tally


def fork_world(world: Explored) -> Explored:
    """Return a copy of a world that goes its own way from here."""
    return fork.fork_graph(world)


fork.copied_by(fork.share, Untraced, Tally, Keyed)  # they only watch, or only say what they always say
