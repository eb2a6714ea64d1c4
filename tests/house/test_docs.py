"""Goal: the docs tell the truth: tables are those of the code, links lead somewhere, commands exist."""

import importlib
import re
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, get_args

import click
import pytest

from tests.worlds import Pair, saying
from tools import site_links
from tools.tables import DOCS, PAGES
from umi_core.data import list_fields
from umi_core.messages.effects import Done
from umi_core.messages.requests import Remember
from umi_sim.cli.root import cli
from umi_sim.scenario import files as scenario

ROOT = Path(__file__).resolve().parent.parent.parent
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SKILL.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_table_in_the_docs_is_that_of_the_code(page: str) -> None:
    assert (DOCS / page).read_text() == PAGES[page](), f"run: python tools/tables.py ({page} is out of date)"


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    missing = [target for target in targets if not (path.parent / target).exists()]
    assert missing == []


NAMED: re.Pattern[str] = re.compile(
    r"`((?:umi_\w+|tests|tools|docs|scenarios|mutants|examples)/[\w./-]*(?:\.(?:py|md|toml)|/))`"
)


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_every_file_of_the_project_that_is_named_exists(path: Path) -> None:
    assert [name for name in NAMED.findall(path.read_text()) if not (ROOT / name).exists()] == []


def test_the_site_has_every_page() -> None:
    named = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = [path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")]]
    assert sorted(named) == sorted([*pages, "spec/README.md"])


def test_the_site_shows_a_link_into_the_source_as_what_it_names() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="tutorials/a.md"))
    text = (
        "[code](../../umi_core/ids.py#L), [page](../index.md#top), ![it](../pictures/a.svg), [it](../spec/)"
    )
    assert site_links.on_page_markdown(text, page) == (
        "code, [page](../index.md#top), ![it](../pictures/a.svg), it"
    )


REFERRED: tuple[str, ...] = tuple(re.findall(r"^::: (\S+)$", (DOCS / "reference.md").read_text(), re.M))


def find_named(dotted: str) -> object:
    """Return what a dotted name of the reference stands for."""
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError:
        parent, _, name = dotted.rpartition(".")
        return getattr(importlib.import_module(parent), name)


@pytest.mark.parametrize("dotted", REFERRED)
def test_every_name_of_the_reference_exists_and_is_described(dotted: str) -> None:
    found = find_named(dotted)
    assert (found.__doc__ or "").strip() or not isinstance(found, type | FunctionType | ModuleType)


@pytest.mark.parametrize(
    "package", ["umi_core", "umi_live", "umi_sim", "umi_sim.programs", "umi_sim.targets"]
)
def test_the_reference_has_every_name_that_a_package_exports(package: str) -> None:
    named, module = [find_named(dotted) for dotted in REFERRED], importlib.import_module(package)
    assert [name for name in module.__all__ if not any(getattr(module, name) is it for it in named)] == []


def test_classes_of_attrs_have_signatures_on_the_site() -> None:
    griffe = pytest.importorskip("griffe")  # of the extra `site`
    extension = ROOT / "tools" / "site_signatures.py"
    package = griffe.load("umi_core", search_paths=[ROOT], extensions=griffe.load_extensions(extension))
    made = package["messages.requests.Count.__init__"]
    assert [it.name for it in made.parameters] == ["self", "op_id", "types"]


def test_what_simulation_found_names_scenarios_and_seed_files() -> None:
    page = (DOCS / "found-by-simulation.md").read_text()
    sources = re.findall(r"^\*\*[^*]+\*\*\s+\(([^)]*)\)", page, re.M)
    named = {name for source in sources for name in re.findall(r"`([a-z][\w-]*)`", source)}
    seeds = {path.stem for path in (ROOT / "scenarios" / "seeds").glob("*.json")}
    assert len(named & seeds) >= 15
    assert sorted(named - seeds - set(scenario.list_shipped()) - {"displace_margin_ppm"}) == []


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_every_command_that_is_named_exists(path: Path) -> None:
    named, known = re.findall(r"umi-sim ([a-z]+)\b", path.read_text()), cli.list_commands(click.Context(cli))
    assert sorted(name for name in dict.fromkeys(named) if name not in known) == []


def run_examples(page: str) -> dict[str, Any]:
    """What a reader would run, one example after the other."""
    own: dict[str, Any] = {"__name__": "own"}
    for example in re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S):
        exec(compile(example, page, "exec"), own)
    return own


def test_the_examples_of_a_memorize_of_your_own_run(capsys: pytest.CaptureFixture[str]) -> None:
    own = run_examples("customising.md")
    refused, found = capsys.readouterr().out.splitlines()
    page = (DOCS / "customising.md").read_text()
    assert f"```text\n{refused}\n{found}\n```" in page
    assert own["usage"]["memories answered"] == 2
    assert "MissingFact" in own["why"]


def test_the_examples_of_rows_and_interceptors_of_your_own_run() -> None:
    own = run_examples("extending.md")
    pair = Pair(registry=own["registry"], model=saying(language="en")).run()
    for interceptor in (own["guard"], own["trace"]):
        pair.memory.intercept(interceptor)
    assert isinstance(pair.ask(Remember(1, "Alice likes tea. Bob snores")), Done)
    assert "remember.language: Facts" in own["seen"]
    outcome = pair.ask(Remember(2, "the password is on the table"))
    assert isinstance(outcome, Done)
    assert [lack.name for lack in outcome.degraded] == ["extract:notes", "language:unknown"]


OWN_WORLD = (DOCS / "scenario-files.md").read_text()


def test_the_docs_name_every_key_of_a_scenario_file() -> None:
    named = [key.removesuffix(".*") for key in re.findall(r"^\| `([a-z_.*]+)` \|", OWN_WORLD, re.M)]
    keys = []
    for field in list_fields(scenario.Scenario):
        keys += [
            ".".join(filter(None, (it.table, field.name)))
            for it in get_args(field.type)
            if isinstance(it, scenario.Key)
        ]
    assert sorted(named) == sorted(keys)


def test_the_example_of_a_scenario_file_is_one() -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```", OWN_WORLD, re.M | re.S)
    assert scenario.parse(example, "shared_desk.toml", None).id == "shared_desk"
