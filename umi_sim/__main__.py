"""The command `umi-sim`: the entry point.

Python's garbage collector runs seldom here: a command makes hardly any cycles. Looking for them as often as
Python does by default takes 5 % of a replay, and looking through everything at the end of the process, which
frees all of it anyway, another 10 %.
"""

import atexit
import gc
import sys
from typing import Final

GC_OBJECTS_MIN: Final = 200_000
INTERRUPTED: Final = 130  # as umi_sim.record.verdict has it, which is still to be imported


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    gc.set_threshold(GC_OBJECTS_MIN)
    atexit.register(gc.freeze)
    try:
        from umi_sim.cli.root import cli  # from here on it counts
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    cli(prog_name="umi-sim")


if __name__ == "__main__":
    main()
