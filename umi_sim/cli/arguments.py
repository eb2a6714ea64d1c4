"""Arguments of commands: worlds, files to read and files to write. An error is one clear line.

Law 1. A file that cannot be read or written is refused before anything runs.
Law 2. Only regular files are read or replaced: a pipe could block forever, and a device must stay unchanged.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from os.path import isfile as is_file  # unlike a Path, it knows no name that is too long
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Final

import click

from umi_sim.cli.console import refuse

if TYPE_CHECKING:
    from umi_sim.record.run_config import RunConfig
    from umi_sim.record.trace import SavedTrace
    from umi_sim.seedfile.files import SeedFile


SCRIPT_MARK: Final = "Written by `umi-sim "

# Worlds.


def overrides_of(settings: Sequence[str], mode: str | None) -> dict[str, str]:
    """Return the values of --set and --mode, by key of the scenario."""
    for setting in settings:
        if "=" not in setting:
            refuse(f"--set {setting}: write TABLE.KEY=VALUE, as in --set agents.count=2")
    pairs = [setting.split("=", 1) for setting in settings]
    # The last value of a key wins. --mode is short for one of these keys, and overrides it.
    return dict(pairs) | ({"scenario.swarm.mode": mode} if mode else {})


def config_of(
    name: str, seed: int, overrides: Mapping[str, str], conversation: str | None = None
) -> "RunConfig":
    """Draw a configuration from a seed. `conversation`: a transcript to tell instead of drawn requests."""
    from umi_sim.formats import transcripts as transcript
    from umi_sim.scenario import files as scenario

    try:
        config = scenario.draw(scenario.find(name), seed, overrides)
        if conversation is None:
            return config
        transcript.load(conversation)
    except (scenario.BadScenario, transcript.BadTranscript) as error:
        refuse(error)
    from umi_sim.workload import conversations as talking

    config = talking.with_conversation(config, conversation)
    # A conversation is told to its end, unless the user has set a number of operations.
    return config if {"workload", "workload.operations"} & overrides.keys() else talking.whole(config)


def command_of(name: str, seed: int, overrides: Mapping[str, str], conversation: str | None = None) -> str:
    """Return the command that repeats this run."""
    options = [part for key, value in overrides.items() for part in ("--set", f"{key}={value}")]
    spoken = ["--transcript", conversation] if conversation else []
    return shlex.join(["umi-sim", "run", name, "--seed", str(seed), *options, *spoken])


def config_named(context: click.Context, text: str) -> "RunConfig":
    """Return the configuration of a seed, written as SCENARIO:SEED or like the arguments of `run`."""
    # The command `run` parses the text, so "smoke --seed 42 --set x=y" has the same meaning in both places.
    run = context.find_root().command.commands["run"]  # type: ignore[attr-defined]  # a group
    try:
        given = run.make_context("run", run_words(text)).params
    except click.UsageError as error:
        refuse(f"{text}: {error.message}")
    if given["seed"] is None:
        refuse(f"{text}: neither a file nor a seed, write SCENARIO:SEED, as in smoke:42")
    overrides = overrides_of(given["settings"], given["mode"])
    return config_of(given["scenario"], given["seed"], overrides, given["transcript"])


def run_words(text: str) -> list[str]:
    """Return the arguments of `run` for a seed, written as SCENARIO:SEED or like those arguments."""
    words = words_of(text)
    name, colon, seed = words[0].rpartition(":") if words else ("", "", "")
    return [name, "--seed", seed, *words[1:]] if colon else words


def words_of(text: str) -> list[str]:
    """Split a text into words as a shell does; FILE:SEED is one word, even if the path has blanks."""
    # In "my worlds/storm.toml:42" the part before the seed is a file, so its blank separates nothing.
    # In "storm.toml:42 --set agents.count=2" blanks separate words, because a seed has no blank.
    file, _, seed = text.rpartition(":")
    if is_file(file) and len(seed.split()) == 1:
        return [text]
    try:
        return shlex.split(text)
    except ValueError as error:
        refuse(f"{text}: {error}")


# Files to read.


def readable(file: str) -> "SeedFile":
    """Return the run in a seed file, or refuse the file."""
    from umi_sim.seedfile import files as seed_file

    try:
        return seed_file.read(Path(file))
    except seed_file.BadSeedFile as error:
        refuse(error)


def readable_trace(file: str) -> "SavedTrace":
    """Return a trace file of which each record can be decoded, or refuse the file."""
    from umi_sim.record import trace

    try:
        saved = trace.read(Path(file))
        for record in saved.kept:
            trace.decode(record)
    except (AssertionError, IndexError, TypeError, ValueError) as error:
        refuse(f"{file}: neither a seed file nor a trace: {error}")
    return saved


def is_seed_file(file: str) -> bool:
    """Return True if the first character is that of a seed file; any other file may be a trace."""
    if Path(file).exists() and not Path(file).is_file():
        refuse(f"{file}: cannot be read: not a file")
    with Path(file).open("rb") as opened:
        # A seed file is a JSON object; a trace is msgpack and never begins with "{".
        return opened.read(1) == b"{"


# Files to write.


def must_take_trace(file: str, *read: str | None) -> None:
    """Refuse a file for a trace that cannot be written, or that exists and is not a trace."""
    from umi_sim.record import trace

    must_be_writable(file, *read)
    if Path(file).exists():
        with Path(file).open("rb") as opened:
            # An empty file may be replaced: a shell or `mktemp` may have created it.
            if (begins := opened.read(trace.HEAD_BYTES)) and not trace.is_trace(begins):
                refuse(f"{file}: is no trace, and would be written over: name another file")


def must_take_history(option: str, file: str, *read: str | None) -> None:
    """Refuse a file for a history that cannot be written, or that exists and is no history of that form."""
    from umi_sim.record.history import FORMS, is_history

    suffix = Path(file).suffix
    if suffix not in FORMS:
        refuse(f"{option} {file}: a history is a file of {' or '.join(FORMS)}")
    must_be_writable(file, *read)
    if Path(file).exists() and not is_history(Path(file).read_bytes(), suffix):
        refuse(f"{option} {file}: is no history, and would be written over: name another file")


def must_be_writable(file: str, *read: str | None) -> None:
    """Refuse a file that cannot be written, or that is one of the files `read` by the command."""
    path = Path(file)
    # `samefile` instead of equal names, because a link or ./x would overwrite the same file.
    if path.exists() and any(each and Path(each).exists() and path.samefile(each) for each in read):
        refuse(f"{file}: is read, and would be written over: name another file")
    if path.exists() and not path.is_file():
        refuse(f"{file}: cannot be written: there is something that is no file, name another one")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        refuse(f"{file}: cannot be written, name a file in a folder that is there")


def must_take_script(option: str, out: str) -> None:
    """Refuse a path that is no .py file in an existing folder, or a file that umi-sim did not write."""
    path = Path(out)
    if path.suffix != ".py" or not path.parent.is_dir():
        refuse(f"{option} {out}: name a .py file in a folder that is there")
    if path.exists() and SCRIPT_MARK not in path.read_text(errors="replace")[:2_000]:
        refuse(f"{option} {out}: there is a file that was not written by this command, name another one")


# Importing code of the user.


def import_named(name: str, example: str) -> tuple[ModuleType, str]:
    """Import the module of MODULE:NAME from the current folder; return it and NAME."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        refuse(f"{name or 'target'}: write {example}")
    path = module.removesuffix(".py").replace("/", ".")
    if path.startswith("."):
        refuse(
            f"{name}: write the module as Python imports it from the current folder; go to its folder first"
        )
    # An installed command does not import from the current folder by itself, unlike `python -m`.
    sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(path), attribute
    except ModuleNotFoundError as error:
        refuse(f"{name}: no module {error.name}")
    except (Exception, SystemExit) as error:  # an error in the user's module, not in ours
        frames = extract_tb(error.__traceback__)
        lines = [it.lineno for it in frames if Path(it.filename).stem == path.split(".")[-1]]
        where = f"line {lines[-1]}: {type(error).__name__}" if lines else type(error).__name__
        refuse(f"{name}: cannot be imported: {where}{f': {error}' if str(error) else ''}")
