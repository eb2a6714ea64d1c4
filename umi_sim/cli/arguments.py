"""Arguments: what commands are given, a world or files to read and to write, or one clear line.

Law 1. Whatever cannot be read or written is refused before anything is run.
Law 2. A file is read only if it is one: a pipe would be waited for, and a device is never written over.
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
    """Return what --set and --mode say, by key of the scenario."""
    for setting in settings:
        if "=" not in setting:
            refuse(f"--set {setting}: write TABLE.KEY=VALUE, as in --set agents.count=2")
    pairs = [setting.split("=", 1) for setting in settings]
    # The last one of a key wins, and --mode over all: it is the shorter way to say one of these keys.
    return dict(pairs) | ({"scenario.swarm.mode": mode} if mode else {})


def config_of(
    name: str, seed: int, overrides: Mapping[str, str], conversation: str | None = None
) -> "RunConfig":
    """Draw a configuration from a seed: with settings, and a conversation instead of drawn requests."""
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
    # Unless the user has set a number of operations, a conversation is told to its end.
    return config if {"workload", "workload.operations"} & overrides.keys() else talking.whole(config)


def command_of(name: str, seed: int, overrides: Mapping[str, str], conversation: str | None = None) -> str:
    """The command that makes this run again."""
    options = [part for key, value in overrides.items() for part in ("--set", f"{key}={value}")]
    spoken = ["--transcript", conversation] if conversation else []
    return shlex.join(["umi-sim", "run", name, "--seed", str(seed), *options, *spoken])


def config_named(context: click.Context, text: str) -> "RunConfig":
    """The configuration of a seed, written as SCENARIO:SEED or as for `run`."""
    # Parsed by the command `run` itself, so "smoke --seed 42 --set x=y" means here what it means there.
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
    """Return what follows `umi-sim run` for a seed, written as SCENARIO:SEED or as for `run`."""
    words = words_of(text)
    name, colon, seed = words[0].rpartition(":") if words else ("", "", "")
    return [name, "--seed", seed, *words[1:]] if colon else words


def words_of(text: str) -> list[str]:
    """The words of a command; a file with a seed is one of them, whatever blanks are in its path."""
    # "my worlds/storm.toml:42": the part before the seed is a file, so the blank in it separates nothing.
    # In "storm.toml:42 --set agents.count=2" the blanks do, for no seed has one.
    file, _, seed = text.rpartition(":")
    if is_file(file) and len(seed.split()) == 1:
        return [text]
    try:
        return shlex.split(text)
    except ValueError as error:
        refuse(f"{text}: {error}")


# Files to read.


def readable(file: str) -> "SeedFile":
    """The run in a seed file."""
    from umi_sim.seedfile import files as seed_file

    try:
        return seed_file.read(Path(file))
    except seed_file.BadSeedFile as error:
        refuse(error)


def readable_trace(file: str) -> "SavedTrace":
    """The records in a trace file, each of which can be decoded."""
    from umi_sim.record import trace

    try:
        saved = trace.read(Path(file))
        for record in saved.kept:
            trace.decode(record)
    except (AssertionError, IndexError, TypeError, ValueError) as error:
        refuse(f"{file}: neither a seed file nor a trace: {error}")
    return saved


def is_seed_file(file: str) -> bool:
    """Check the first character; any other file may be a trace."""
    if Path(file).exists() and not Path(file).is_file():
        refuse(f"{file}: cannot be read: not a file")
    with Path(file).open("rb") as opened:
        # A seed file is JSON, a trace is msgpack and begins otherwise.
        return opened.read(1) == b"{"


# Files to write.


def must_take_trace(file: str, *read: str | None) -> None:
    """The same for a trace, which replaces nothing but a trace."""
    from umi_sim.record import trace

    must_be_writable(file, *read)
    if Path(file).exists():
        with Path(file).open("rb") as opened:
            # An empty file may be replaced: a shell has made it, or a test.
            if (begins := opened.read(trace.HEAD_BYTES)) and not trace.is_trace(begins):
                refuse(f"{file}: is no trace, and would be written over: name another file")


def must_take_history(option: str, file: str, *read: str | None) -> None:
    """The same for a history, which replaces nothing but a history of the same form."""
    from umi_sim.record.history import FORMS, is_history

    suffix = Path(file).suffix
    if suffix not in FORMS:
        refuse(f"{option} {file}: a history is a file of {' or '.join(FORMS)}")
    must_be_writable(file, *read)
    if Path(file).exists() and not is_history(Path(file).read_bytes(), suffix):
        refuse(f"{option} {file}: is no history, and would be written over: name another file")


def must_be_writable(file: str, *read: str | None) -> None:
    """Refuse at once what could not be written in the end, and what would replace a file that is read."""
    path = Path(file)
    # `samefile`, not equal names: a link or ./x would be written over just the same.
    if path.exists() and any(each and Path(each).exists() and path.samefile(each) for each in read):
        refuse(f"{file}: is read, and would be written over: name another file")
    if path.exists() and not path.is_file():
        refuse(f"{file}: cannot be written: there is something that is no file, name another one")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        refuse(f"{file}: cannot be written, name a file in a folder that is there")


def must_take_script(option: str, out: str) -> None:
    """Refuse what is no .py file in a folder that is there, and a file that was not written by us."""
    path = Path(out)
    if path.suffix != ".py" or not path.parent.is_dir():
        refuse(f"{option} {out}: name a .py file in a folder that is there")
    if path.exists() and SCRIPT_MARK not in path.read_text(errors="replace")[:2_000]:
        refuse(f"{option} {out}: there is a file that was not written by this command, name another one")


# Code of the user.


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
    # As `python -m` would find it: an installed command does not look into the current folder.
    sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(path), attribute
    except ModuleNotFoundError as error:
        refuse(f"{name}: no module {error.name}")
    except (Exception, SystemExit) as error:  # whatever their module raises is theirs
        frames = extract_tb(error.__traceback__)
        lines = [it.lineno for it in frames if Path(it.filename).stem == path.split(".")[-1]]
        where = f"line {lines[-1]}: {type(error).__name__}" if lines else type(error).__name__
        refuse(f"{name}: cannot be imported: {where}{f': {error}' if str(error) else ''}")
