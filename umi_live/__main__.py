"""Run the command `umi-live`, also as `python -m umi_live`; without its extra, print one line, status 2."""

import sys

from umi_live.errors import needs_extra


def main() -> None:
    """Run the command line, and end the process with its status."""
    try:
        from umi_live.command import main as run  # imported here, as its dependencies may be missing
    except ModuleNotFoundError as error:
        print(f"umi-live: {needs_extra(error)}", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
