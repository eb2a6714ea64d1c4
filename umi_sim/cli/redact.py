"""Options and output of the command redact. The work is done in umi_sim.runs.redacted."""

import os
from pathlib import Path
from typing import Final

import click

from umi_sim.cli import recordings
from umi_sim.cli.console import refuse, shows
from umi_sim.kernel.report import Report, row, whole
from umi_sim.kernel.wording import plural

SECRET_BYTES: Final = 32


@click.command()
@click.argument("file")
@click.argument("out")
@shows()
def redact(file: str, out: str) -> Report:
    """Write a recording with other words in place of its texts, for those who may not read them.

    The same word becomes the same stand-in, of the same length, under a secret that is not kept. Then both
    are lived: exit 1 if the new one breaks another rule than the old one.

    \b
    umi-sim redact life.jsonl shared.jsonl
    """
    from umi_sim.runs import recorded
    from umi_sim.runs.redacted import redact_recording

    path = Path(out)
    # `lexists` is also True for a dangling link, which may point anywhere.
    if os.path.lexists(out) or not path.parent.is_dir():
        refuse(f"{out}: name a new file, in a folder that is there")
    if Path(file).is_file() and not recordings.is_recording(file):
        refuse(f"{file}: is no recording of umi_live, and this command reads nothing else")
    head, steps = recordings.readable(file)
    try:
        new_head, new_steps = redact_recording(head, steps, os.urandom(SECRET_BYTES))
    except RecursionError:
        refuse(f"{file}: a value in it is nested too deeply")
    before, after = recorded.run_recording(head, steps), recorded.run_recording(new_head, new_steps)
    recorded.write(path, new_head, new_steps)
    rules = [it.failure or "no rule" for it in (before, after)]
    is_same = rules[0] == rules[1]
    message = "as before" if is_same else f"before it was {rules[0]}: show this one only if it still helps"
    rows = (row("breaks", f"{rules[1]}, {message}"), whole("repeat", f"umi-sim replay {out}"))
    value = {"file": out, "steps": len(new_steps), "breaks": after.failure, "broke": before.failure}
    return Report(f"WROTE {out}: {plural(len(new_steps), 'step')}", rows, lambda: value, 0 if is_same else 1)


COMMANDS: Final = (redact,)
