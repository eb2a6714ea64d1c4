"""Commands that explain a failure: thin; the work is in explain.py, playback.py, difference.py and why.py."""

from typing import Final

import click

from umi_sim.console import output_options, refuse, say, say_json


@click.command()
@click.argument("name", required=False)
@output_options
def explain(name: str | None, as_json: bool, quiet: bool, no_color: bool) -> int:
    """Explain a rule by its name or id: what it promises, where it is checked, which planted bugs break it.

    Faults, planted bugs and marks have a page too. Without a name: all rules.

    \b
    umi-sim explain acknowledged-is-durable
    umi-sim explain TTL-1
    umi-sim explain storage_torn
    """
    from umi_sim import explain as explaining
    from umi_sim.report import escaped

    try:
        lines = explaining.page(name) if name else list(explaining.listed())
    except explaining.UnknownName as error:
        refuse(escaped(error.args[0]))
    if as_json:
        say_json(lines)
    elif not quiet:
        say(lines)
    return 0


COMMANDS: Final = (explain,)
