"""The page of a seed file, or of a seed: repeats its run, and explains its failure."""

from collections.abc import Sequence
from functools import partial
from shlex import join
from typing import Final

from umi_sim.explain import why as asking
from umi_sim.explain.playback import Playback
from umi_sim.pages.lives import PageRun, play_steps
from umi_sim.pages.page_data import About, failure_facts, page_data, why_data
from umi_sim.record.items import Item
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure
from umi_sim.seedfile.files import SeedFile

ITEM_COUNT_MAX: Final = 60  # finding the needed items of a longer run takes too many runs


def data_of(file: str, seed: SeedFile, runs: int) -> dict[str, object]:
    """Return all data of the page. `runs`: the number of runs that `why` draws after each item."""
    playback = Playback(seed.config, seed.items)
    verdict, _ = playback.run_to_end()
    failure = verdict.failure
    found, remark = found_why(seed, failure, runs)
    passing = nearest_life(seed, found) if found else None
    facts = [*(failure_facts(failure) if failure else ()), *seed_facts(seed, remark)]
    about = About(
        title_of(seed.config, failure), join(["umi-sim", "replay", file]), "FAIL" if failure else "PASS",
        tuple(facts), needed_items(seed, found), failure.rule if failure else "",
        why_data(found, passing) if found else {},
    )  # fmt: skip
    return page_data(about, partial(play_steps, playback), verdict.steps)


def drawn_data(config: RunConfig, repeat: str) -> dict[str, object]:
    """Return the data of the page of a seed, without an analysis of its failure."""
    verdict, _ = Playback(config).run_to_end()
    failure = verdict.failure
    about = About(
        title_of(config, failure), repeat, "FAIL" if failure else "PASS",
        failure_facts(failure) if failure else (), rule=failure.rule if failure else "",
    )  # fmt: skip
    return page_data(about, partial(play_steps, Playback(config, verdict.items)), verdict.steps)


def title_of(config: RunConfig, failure: Failure | None) -> str:
    where = f"{config.scenario} seed {config.seed}"
    return f"{failure.named} at step {failure.step}, {where}" if failure else where


def life_of(config: RunConfig, items: Sequence[Item] | None) -> PageRun:
    """Return the whole run, without its states."""
    return play_steps(Playback(config, items), ())


def seed_facts(seed: SeedFile, remark: str) -> list[tuple[str, str]]:
    history = seed.history.notes
    facts = [("planted", seed.config.planted), ("notes", history), ("why", remark)]
    return [(label, text) for label, text in facts if text]


def found_why(seed: SeedFile, failure: Failure | None, runs: int) -> tuple[asking.Analysis | None, str]:
    """Return the result of `why`; else None, and a remark with the reason."""
    if failure is None or seed.failure is None:
        return None, ""
    if len(seed.items) > ITEM_COUNT_MAX:
        return None, f"not asked of {len(seed.items)} items: umi-sim shrink FILE, then write the page again"
    try:
        return asking.why(seed, runs), ""
    except asking.NothingToExplain as error:
        return None, str(error)


def needed_items(seed: SeedFile, found: asking.Analysis | None) -> tuple[str, ...]:
    if found is not None:
        return tuple(part.name for part in found.parts if part.is_needed)
    return tuple(seed.minimised.needed) if seed.minimised else ()


def nearest_life(seed: SeedFile, found: asking.Analysis) -> PageRun | None:
    """Return the nearest run that passes, without its states."""
    if found.nearest is None:
        return None
    items = [item for item in seed.items if item.id != found.nearest.name]
    return life_of(seed.config, items)
