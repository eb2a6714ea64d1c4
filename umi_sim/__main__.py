"""The command `umi-sim`: the entry point.

A command makes values, hardly a cycle. Looking for some as often as Python does is 5 % of a replay, and
looking through all that is left at its end, when everything goes with the process, another 10 %.
"""

import atexit
import gc
from typing import Final

GC_OBJECTS_MIN: Final = 200_000


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    gc.set_threshold(GC_OBJECTS_MIN)
    atexit.register(gc.freeze)
    from umi_sim.cli.root import cli  # from here on it counts

    cli(prog_name="umi-sim")


if __name__ == "__main__":
    main()
