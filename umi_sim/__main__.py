"""The command `umi-sim`: the entry point.

The garbage collector runs rarely here, because a command makes hardly any reference cycles. At Python's
default frequency it takes 5 % of the time of a replay. A last collection at exit takes another 10 %, although
the process frees all memory anyway.
"""

import atexit
import gc
import sys
from typing import Final

GC_OBJECTS_MIN: Final = 200_000
INTERRUPTED: Final = 130  # as in umi_sim.record.exit_codes, which is not imported yet


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    gc.set_threshold(GC_OBJECTS_MIN)
    atexit.register(gc.freeze)
    try:
        from umi_sim.cli.root import cli  # the slow import, which Ctrl-C may interrupt
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    cli(prog_name="umi-sim")


if __name__ == "__main__":
    main()
