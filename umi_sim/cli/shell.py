"""Options and output of the commands bisect and completion."""

from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from umi_sim.cli.arguments import readable
from umi_sim.cli.console import refuse, shows
from umi_sim.kernel.report import Report, row, whole
from umi_sim.kernel.wording import plural
from umi_sim.record.exit_codes import HARNESS

COMMIT_CHARS: Final = 12
VARIABLE: Final = "_UMI_SIM_COMPLETE"


@click.command()
@click.argument("file")
@click.argument("good")
@click.argument("bad")
@shows()
def bisect(file: str, good: str, bad: str) -> Report:
    """Find the commit that broke it: at GOOD the seed file passes, at BAD it fails.

    Replays the file with the code of one commit after the other, in a clone that is removed afterwards; your
    own files stay as they are. Commits that cannot judge the file are skipped. Run it inside the repository.

    \b
    umi-sim bisect scenarios/seeds/FILE.json v1.2 HEAD
    """
    from tempfile import TemporaryDirectory

    from umi_sim.runs import bisect as bisecting

    readable(file)
    try:
        with TemporaryDirectory(prefix="umi-sim-bisect-") as folder:
            done = bisecting.bisect(Path(file).resolve(), good, bad, Path(folder))
    except bisecting.CannotBisect as error:
        refuse(error)
    rows = [row("tried", plural(len(done.tried), "commit"))]
    rows += [row("", f"{one.commit[:COMMIT_CHARS]} {one.word}") for one in done.tried]
    value = {
        "commit": done.commit, "subject": done.subject,
        "tried": [{"commit": one.commit, "word": one.word} for one in done.tried],
    }  # fmt: skip
    if done.commit is None:
        return Report(
            "UNKNOWN the first bad commit: only skipped ones are left", rows, lambda: value, HARNESS
        )
    rows.append(whole("see it", f"git show {done.commit[:COMMIT_CHARS]}"))
    return Report(f"FOUND {done.commit[:COMMIT_CHARS]} {done.subject}", rows, lambda: value)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete the commands and options of umi-sim.

    \b
    umi-sim completion bash >> ~/.bashrc
    umi-sim completion fish > ~/.config/fish/completions/umi-sim.fish
    """
    maker = get_completion_class(shell)
    assert maker is not None, shell
    click.echo(maker(context.find_root().command, {}, "umi-sim", VARIABLE).source())


COMMANDS: Final = (bisect, completion)
