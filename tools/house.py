"""House rules that no linter knows, as code: `python tools/house.py` prints findings; status 1 if any.

Each file of the packages is parsed and walked once, and every message names the replacement. To make an
exception, change the table that forbids it, with a reason on the same line.

  direction   the packages import downwards through LAYERS, and umi_core imports nothing impure
  judges      judges of the memory import only those parts of it that make no decisions
  banned      calls, modules, methods and floats that make two runs differ are forbidden
  sets        no ordered value is made from a set
  asserts     an assert makes one claim
  lengths     functions and files have a limit; records of longer ones may only fall
  words       names keep to the glossary
  classes     class names are unique in the packages
  wording     docstrings and functions begin with a verb; the numbers of exceptions may only fall
  docs        the README and the docs together have a limit of words
  paths       no text contains a path of a machine
  exports     __all__ of a package lists its public names
  unused      every file is imported by another one
  circles     imports have no cycles, including those inside functions
"""

import ast
import contextlib
import os
import re
import sys
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

# direction: a file may import its own row and the rows above it; a row of umi_sim is one room.
# `kelpie.rows` is one file of a room whose files are in several rows.
LAYERS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "umi_core": (
        ("data", "characters"),
        (
            "limits",
            "text",
            "json_text",
            "loose_json",
            "language.reasoning",
            "language.sentences",
            "language.tables",
            "language.times",
            "chats",
            "conversations",
        ),
        ("errors", "kelpie.errors", "declared"),
        ("config", "values"),
        (
            "body",
            "domains",
            "kelpie.domains",
            "ids",
            "kelpie.rows",
            "migration.rows",
            "rows",
        ),
        ("conditions",),
        ("messages", "kelpie.requests", "kelpie.results", "migration.requests"),
        ("policies", "language", "tiers"),
        ("state",),
        ("codec", "core_reads", "answer_checks", "shapes", "row_bytes"),
        ("engine",),
        ("workflows", "kelpie.blocks", "kelpie.logs", "kelpie.agents", "kelpie.moved"),
        ("background",),
        ("state_checks",),
        ("recordings", "saved_state", "kelpie.delegate", "kelpie.wire", "migration"),
        ("memory",),
    ),
    "umi_sim": tuple(
        (room,)
        for room in (
            "kernel formats record services faults machines workload world judge mutants scenario seedfile "
            "runs explore shrink explain sweep pages targets programs testing disk cli __main__"
        ).split()
    ),
    "umi_live": (
        (
            "casual",
            "english",
            "errors",
            "fact_order",
            "files",
            "phrases",
            "places",
            "questions",
            "results",
            "services",
            "usage",
        ),
        ("rules", "arguments"),
        ("batches", "changes", "concepts", "deadlines", "first_person", "references"),
        (
            "anchor",
            "claims",
            "columns",
            "conditions",
            "local",
            "payloads",
            "reads",
            "recorder",
            "remains",
            "schema",
            "seal",
            "search",
            "topics",
            "upgrade",
        ),
        ("storage",),
        ("postgres", "sqlite"),
        ("doctor", "store", "transfer"),
        ("openai", "contents"),
        ("anthropic",),
        ("host",),
        ("memory",),
        ("blocking", "mcp", "chats", "readable", "access", "openapi"),
        ("integrations.records",),
        ("integrations", "serve"),
        ("command",),
        ("__main__",),
    ),
}
# judges: a judge imports only vocabulary and pure functions of the memory, and tests/properties compare these
# functions with references. A reference imports only vocabulary, so that no mistake is on both sides.
DISK: Final = "umi_sim/disk/"  # the only room that runs code of umi_live
JUDGES: Final = ("umi_sim/judge/oracle/", "umi_sim/judge/plain/")
REFERENCE: Final = re.compile(
    r"tests/properties/(?!wire)\w+_reference\.py"
)  # of HTTP the client is the memory's
SPOKEN_OF: Final = (  # words for what is asked, answered, stored and wrong
    "umi_core.answer_checks.is_valid_body",  # domains of fields: tests/properties compares each value
    "umi_core.characters",
    "umi_core.config",
    "umi_core.data",
    "umi_core.declared",
    "umi_core.errors",
    "umi_core.kelpie.errors",
    "umi_core.kelpie.requests",
    "umi_core.kelpie.results",
    "umi_core.kelpie.rows",
    "umi_core.json_text",
    "umi_core.language.names",  # names: data, no decisions
    "umi_core.language.replies",  # one reader of JSON: test_loose_json.py writes values and reads them back
    "umi_core.language.tables",  # words of the specification: data, no decisions
    "umi_core.language.tagged",
    "umi_core.text.resolve_references",
    "umi_core.messages",
    "umi_core.migration.requests",
    "umi_core.migration.rows",
    "umi_core.rows",
    "umi_core.shapes",  # the domains again
    "umi_core.values",
    "umi_core.limits",
    "umi_sim.judge.oracle",
    "umi_sim.judge.plain",
    "umi_sim.record",
    "umi_sim.services.atlas",  # what the world owns up to have lost
    "umi_sim.services.calls",
)
PURE: Final = (  # functions of values, which judges may import as well
    "umi_core.conversations",
    "umi_core.ids",
    "umi_core.language.dates",
    "umi_core.language.decisions",
    "umi_core.language.descriptions",
    "umi_core.language.evolution",
    "umi_core.language.extraction",
    "umi_core.language.keywords",
    "umi_core.language.memories",
    "umi_core.language.persons.is_first_person",
    "umi_core.language.pronouns",
    "umi_core.language.ranks",
    "umi_core.language.rewriting",
    "umi_core.language.routing",
    "umi_core.language.segments",
    "umi_core.language.sentences.divide_line",
    "umi_core.language.summaries",
    "umi_core.language.terms",
    "umi_core.language.times",
    "umi_core.language.wordings",
    "umi_core.language.words",
    "umi_core.policies.ranking.united_ppm",
    "umi_core.policies.routing",
    "umi_core.policies.similarity.vector_relevance_ppm",
    "umi_core.policies.ranking.union",
    "umi_core.policies.term_scores",
    "umi_core.text",
)
CORE_PACKAGES: Final = {"msgpack", "msgspec", "numpy", "snowballstemmer"}
CORE_STDLIB: Final = set(
    "__future__ abc base64 binascii bisect collections contextlib copy csv dataclasses enum fractions "
    "functools hashlib heapq html itertools json math operator re string struct textwrap types typing "
    "unicodedata urllib zlib".split()
)
FOR_TYPES: Final = {"typing_extensions"}  # only for type checkers, so only under TYPE_CHECKING
NUMPY_FILE: Final = "umi_core/policies/similarity.py"  # numpy is most of a start-up: one file, loaded late
MATH_EXACT: Final = {
    "isqrt",
    "gcd",
    "lcm",
    "comb",
    "perm",
    "factorial",
}  # libm rounds differently per machine

# banned: sources of differences between two runs, each with its replacement
CORE_CALLS: Final = {
    "hash": "a blake2b digest of the encoding",
    "id": "an id derived in ids.py",
    "open": "an effect",
    "print": "a mark or a reply",
    "input": "a request",
    "eval": "a total parser of language/",
    "exec": "a table",
    "float": "a whole number, in ppm",
}
SIM_CALLS: Final = {"hash": "a blake2b digest", "id": "a name or a counter"}
EXEMPT: Final = {
    ("id", "umi_sim/kernel/fork.py"),  # a copy of a graph must recognise objects that it has copied
    ("id", "umi_sim/programs/module_state.py"),  # and a walk through one, objects that it has met
    ("hash", "umi_core/data.py"),  # only for keys of dicts
}
CORE_MODULES: Final = {
    "time": "now_ms of the step",
    "datetime": "whole milliseconds",
    "random": "the order of ids",
    "secrets": "an id derived in ids.py",
    "uuid": "an id derived in ids.py",
    "os": "an effect",
    "threading": "an operation",
    "asyncio": "a workflow",
}
CLOCK_FILES: Final = {  # S1.5: budgets, time elapsed, the fresh seed or secret
    "umi_sim/cli/progress.py",
    "umi_sim/cli/redact.py",
    "umi_sim/cli/root.py",
    "umi_sim/cli/scoreboard.py",  # the day of a table
    "umi_sim/runs/mutation_run.py",
    "umi_sim/sweep/outside.py",
    "umi_sim/shrink/search.py",
    "umi_sim/targets/hunt.py",
    "umi_sim/kernel/child_process.py",
    "umi_sim/programs/search.py",
    "umi_sim/targets/shrinking.py",
    "umi_sim/targets/whole_memory.py",
}
FENCE_FILES: Final = {  # S1.8: must name what it stubs
    "umi_sim/programs/simulation.py",
    "umi_sim/machines/fence.py",
    "umi_sim/targets/clocks.py",
    "umi_sim/targets/faults.py",
    "umi_sim/targets/threads.py",
    "umi_sim/targets/world.py",
}
SIM_MODULES: Final = {  # module: (replacement, files that may import it all the same)
    "random": ("umi_sim.kernel.prng.Stream", FENCE_FILES),
    "secrets": ("umi_sim.kernel.prng.Stream", FENCE_FILES),
    "uuid": ("an item id or a digest", FENCE_FILES),
    "time": ("umi_sim.kernel.clock", CLOCK_FILES | FENCE_FILES),
    "datetime": ("whole milliseconds of umi_sim.kernel.clock", CLOCK_FILES | FENCE_FILES),
    "unicodedata": (
        "the frozen tables of umi_sim.kernel.characters (rule R4)",
        set[str](),
    ),
}
SIM_ATTRIBUTES: Final = {
    "urandom": ("umi_sim.kernel.prng.Stream", CLOCK_FILES | FENCE_FILES),
    **dict.fromkeys(
        ("isalpha", "isalnum", "isupper", "islower", "istitle"),
        (
            "the frozen tables of umi_sim.kernel.characters (rule R4)",
            {"umi_sim/kernel/characters.py"},
        ),
    ),
}
FLOAT_FILES: Final = {
    "umi_sim/cli/root.py",
    "umi_sim/explain/report.py",
    "umi_sim/targets/values.py",  # values that a third party's store is given
}  # rates and seconds for the eye

# lengths
FUNCTION_LINES_MAX: Final = 70
FILE_LINES_MAX: Final = 900  # one machine or one vocabulary; split where a purpose ends, not for this
RECORDS: Final[dict[str, int]] = {}  # "file" or "file::function": lines it has today. May shrink, never grow

# words, unused, paths
BAD_WORDS: Final = {
    "util": "the noun of what it does",
    "helper": "the noun of what it does",
    "manager": "policy, or the noun of what it keeps",
    "common": "the file that owns it",
    "tenant": "scope",
    "sut": "target",
}
BY_OTHERS: Final = (  # imported by users, by pytest, or by the name in a registry
    "umi_core.row_bytes",
    "umi_core.kelpie.delegate",
    "umi_core.engine.prompt_blocks",
    "umi_sim.explore.migration",  # by tools/explore_migration.py
    "umi_core.kelpie.wire",
    "umi_sim.__main__",
    "umi_live.__main__",
    "umi_live.integrations.",  # by users, for one framework each
    "umi_sim.cli.root",
    "umi_sim.cli.",
    "umi_sim.testing.conformance",
    "umi_sim.testing.hypothesis_machine",
    "umi_sim.sweep.child",
    "umi_sim.testing.pytest_plugin",
    "umi_sim.machines.subject",
)
LATE: Final = {  # who imports what in a function although that imports him: why
    ("umi_sim.mutants", "umi_sim.mutants.registry"): "all planted bugs, where one is planted",
    ("umi_sim.sweep.executors", "umi_sim.sweep.dask_cluster"): "it is found by its name",
    ("umi_sim.targets.adapter", "umi_sim.targets.as_test"): "an adapter gives the test of itself",
}
TOPS: Final = {
    "umi_core": "umi_core/memory.py",
    "umi_sim": "umi_sim/cli/root.py",
    "umi_live": "umi_live/command.py",
}
NAME_OF_MODULE: Final = re.compile(r"(umi_core|umi_sim|umi_live|)(\.\w+)+(:\w+)?")
DOCS_PAGE: Final = re.compile(r"docs/.*\.md$")
MACHINE_PATH: Final = re.compile(r"/(work|farm)/|/tmp/[a-z]+/")
SKIPPED_FOLDER: Final = re.compile(r"\.|(__pycache__|build|dist|htmlcov)$")
ME: Final = "tools/house.py"
PYTHON_OLDEST: Final = (3, 11)  # requires-python of pyproject.toml
ROOT: Final = Path(__file__).resolve().parent.parent
TEXT_BYTES_MAX: Final = 4 * 1024 * 1024

# wording: counts over all packages, which may only fall
QUESTION_WORDS: Final = re.compile(r"(What|Whether|Of|Who|Whoever)\b")
PARTICIPLES: Final = set(
    "begun born bought broken brought built caught chosen done drawn driven fallen forgotten found given "
    "gone grown heard held hidden kept known laid led left lent lived lost made meant met paid risen said "
    "sent seen shaken shown shrunk spent spoken stood struck sunk swept taken taught thrown told torn "
    "understood undone woken won worn written".split()
)
VERBS_IN_ED: Final = set("embed exceed feed need proceed seed shed speed succeed".split())
DOCSTRINGS_MAX: Final = 9  # begin with a question word
FUNCTIONS_MAX: Final = 10  # are named by a bare participle
# "`seed`: where it begins", at the beginning of a docstring or of a sentence in it
DESCRIBED: Final = re.compile(r"(?:^|[.;:] |\n)`([a-z_]\w*)`: ")
DOCS_WORDS_MAX: Final = 85_900  # of README.md and docs/; lines and bars of tables are no words

SET_TYPES: Final = {"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"}
SET_METHODS: Final = {"union", "intersection", "difference", "symmetric_difference"}
SET_OPERATORS: Final = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
ORDER_KEEPING: Final = set("list tuple iter enumerate zip map deque join fromkeys extend".split())
ORDER_FREE: Final = {"sorted", "set", "frozenset", "any", "all", "sum", "min", "max", "len"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    findings = check_files(read_files(ROOT))
    print("\n".join(findings) or "house rules: nothing found")
    return 1 if findings else 0


def check_files(files: Mapping[str, str]) -> list[str]:
    """Return sorted findings, each as `path:line: message`; `files`: texts by path."""
    findings: list[str] = []
    trees: dict[str, ast.Module] = {}
    for path, text in files.items():
        findings += check_paths(path, text)
        if REFERENCE.fullmatch(path):
            findings += check_reference(path, text)
        if path.endswith(".py") and path.startswith(("umi_core/", "umi_sim/", "umi_live/", "tools/")):
            try:
                trees[path] = ast.parse(text, path, feature_version=PYTHON_OLDEST)
            except SyntaxError as error:
                findings.append(f"{path}:{error.lineno}: not Python 3.11 ({error.msg}), use older syntax")
        if path in trees and not path.startswith("tools/"):
            findings += check_length(path, path, 1, text.count("\n"), FILE_LINES_MAX)
            findings += check_words(path, 1, path.removesuffix(".py"))
            if path.count("/") == 1 and path.endswith("/__init__.py") and (text or has_top(path, files)):
                findings += check_exports(path, trees[path])
            walk = Walk(path)
            walk.visit(trees[path])
            findings += walk.findings
    nodes = {path: list(ast.walk(tree)) for path, tree in trees.items()}  # once, since it takes a second
    findings += check_classes(nodes)
    findings += check_wording(nodes)
    for path, inside in nodes.items():
        findings += check_described(path, inside)
    findings += check_docs(files)
    findings += check_circles(nodes)
    return sorted({*findings, *check_unused(nodes, files.get("pyproject.toml", ""))})


def has_top(path: str, files: Container[str]) -> bool:
    """Return True if the files include the one that, directly or not, imports all others of the package."""
    return TOPS.get(path.split("/")[0]) in files


def read_files(root: Path) -> dict[str, str]:
    files: dict[str, str] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name == ".ci" or not SKIPPED_FOLDER.match(name))
        for path in (Path(folder, name) for name in sorted(names) if name != ".git"):  # a linked work tree
            if path.is_file() and path.stat().st_size <= TEXT_BYTES_MAX:
                with contextlib.suppress(UnicodeDecodeError):  # not a text file
                    files[path.relative_to(root).as_posix()] = path.read_text("utf-8")
    return files


def check_reference(path: str, text: str) -> list[str]:
    """Return findings for a reference that imports the code with which it is compared."""
    found = list[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        deciding = [it for it in names if it.split(".")[0] in LAYERS and not is_within(it, SPOKEN_OF)]
        found += [
            f"{path}:{node.lineno}: {it} decides what this is compared with, write it anew" for it in deciding
        ]
    return found


def is_within(name: str, modules: Iterable[str]) -> bool:
    """Return True if a name is one of these modules, or inside one of them."""
    return any(f"{name}.".startswith(f"{module}.") for module in modules)


class Walk(ast.NodeVisitor):
    """The walk over a file. `sets` is a stack of scopes, each with the names known to hold a set."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_core = path.startswith("umi_core/")
        self.is_live = path.startswith("umi_live/")  # umi_live may use clocks and floats
        self.findings: list[str] = []
        self.sets: list[set[str]] = [set()]
        self.excused: set[ast.AST] = set()  # comprehensions whose order has no effect
        self.is_for_types = False

    def find(self, node: ast.expr | ast.stmt, message: str) -> None:
        self.findings.append(f"{self.path}:{node.lineno}: {message}")

    # direction, banned modules

    def visit_If(self, node: ast.If) -> None:
        """Visit the body under TYPE_CHECKING as code that never runs, and its `else` as normal code."""
        before, self.is_for_types = self.is_for_types, self.is_for_types or is_for_types(node.test)
        for statement in node.body:
            self.visit(statement)
        self.is_for_types = before
        for other in (node.test, *node.orelse):
            self.visit(other)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.check_import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = absolute(self.path, node)
        for alias in node.names:
            self.check_import(node, source, alias.name)

    def check_import(self, node: ast.stmt, source: str, name: str = "") -> None:
        top = source.split(".")[0]
        if source == "math" and name and name not in MATH_EXACT and not self.is_live:
            self.find(node, f"math.{name} rounds per machine, use whole numbers (MATH_EXACT in {ME})")
        if top in ("tests", "tools"):
            self.find(node, f"{top} is not shipped, move what you need into umi_core or umi_sim")
        elif self.is_core:
            self.check_core_import(node, top, source, name)
        elif self.is_live:
            self.check_live_import(node, top, source, name)
        elif top in LAYERS and name != "__version__":
            is_whole = source == top  # from umi_sim import record
            module = f"{source}.{name}" if name and is_whole else source
            if top == "umi_sim" and module != top:
                self.check_direction(node, module)
            if top == "umi_live" and not self.path.startswith(DISK):
                self.find(node, f"umi_live needs an extra, import it in {DISK} alone, and that late")
            self.check_judge(node, module, name)
        elif top in SIM_MODULES and self.path not in SIM_MODULES[top][1]:
            self.find(node, f"{top} is banned in umi_sim, use {SIM_MODULES[top][0]}")
        elif name in SIM_ATTRIBUTES and self.path not in SIM_ATTRIBUTES[name][1]:
            self.find(node, f"{name} is banned in umi_sim, use {SIM_ATTRIBUTES[name][0]}")

    def check_core_import(self, node: ast.stmt, top: str, source: str, name: str) -> None:
        if top == "umi_sim":
            self.find(node, "umi_core never imports umi_sim, ask the world by an effect")
        elif top in CORE_MODULES:
            self.find(node, f"{top} is banned in umi_core, use {CORE_MODULES[top]}")
        elif top == "numpy" and self.path != NUMPY_FILE:
            self.find(node, f"numpy is imported in {NUMPY_FILE} only, call a function of that file")
        elif top == "umi_core":
            self.check_direction(node, f"{source}.{name}" if name and is_split(source) else source)
        elif top not in CORE_PACKAGES | CORE_STDLIB and not (self.is_for_types and top in FOR_TYPES):
            self.find(node, f"{top} is not on the list of pure modules, use one of CORE_STDLIB in {ME}")

    def check_live_import(self, node: ast.stmt, top: str, source: str, name: str) -> None:
        if top == "umi_sim":
            self.find(node, "umi_live never imports umi_sim, which runs its storage on a simulated disk")
        elif top == "umi_live" and name != "__version__":
            self.check_direction(node, f"{source}.{name}" if name and source == top else source)

    def check_direction(self, node: ast.stmt, module: str) -> None:
        if self.path.count("/") == 1 and self.path.endswith("/__init__.py"):
            return  # the layout of a package re-exports from every row
        here, there = layer(module_of(self.path)), layer(module)
        if here is None:
            self.findings.append(f"{self.path}:1: this file is in no layer, use a row of LAYERS in {ME}")
        elif there is None:
            self.find(node, f"{module} is in no layer, import from a file that is in LAYERS of {ME}")
        elif there > here:
            self.find(node, f"{module} is a layer above this file, move what both need down (LAYERS in {ME})")

    def check_judge(self, node: ast.expr | ast.stmt, module: str, name: str) -> None:
        if not self.path.startswith(JUDGES):
            return
        if not is_within(f"{module}.{name}", (*SPOKEN_OF, *PURE)):
            self.find(node, f"{module} decides what is judged here, use a reader of umi_sim/judge/plain")

    # banned calls, methods, numbers

    def visit_Call(self, node: ast.Call) -> None:
        banned = CORE_CALLS if self.is_core else SIM_CALLS
        name = called(node)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is None and name in banned and (name, self.path) not in EXEMPT:
            self.find(node, f"{name}() is banned here, use {banned[name]}")
        if name in ORDER_FREE or (owner and self.is_set(owner)):
            self.excused.update(arg for arg in node.args if isinstance(arg, ast.GeneratorExp | ast.ListComp))
        if name in ORDER_KEEPING:
            for arg in node.args:
                self.check_order(arg, f"{name}() of")
        if name == "pop" and owner and self.is_set(owner):
            self.find(node, "pop() of a set takes any element, use min() and remove()")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        excused = self.is_core or self.is_live or self.path in SIM_ATTRIBUTES.get(node.attr, ("", ()))[1]
        if not excused and node.attr in SIM_ATTRIBUTES:
            self.find(node, f".{node.attr} is banned in umi_sim, use {SIM_ATTRIBUTES[node.attr][0]}")
        is_math = isinstance(node.value, ast.Name) and node.value.id == "math" and not self.is_live
        if is_math and node.attr not in MATH_EXACT:
            self.find(node, f"math.{node.attr} rounds per machine, use whole numbers (MATH_EXACT in {ME})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if not self.is_live and isinstance(node.value, float | complex) and self.path not in FLOAT_FILES:
            self.find(node, f"the float {node.value} is banned, use a whole number (ppm, or a ratio of two)")

    def visit_operator(self, node: ast.BinOp | ast.AugAssign) -> None:
        if self.is_core and isinstance(node.op, ast.Div):
            self.find(node, "true division gives a float, use // on whole numbers")
        self.generic_visit(node)

    visit_BinOp = visit_AugAssign = visit_operator

    # sets

    def visit_For(self, node: ast.For) -> None:
        self.check_order(node.iter, "for over")
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        if isinstance(node.ctx, ast.Load):
            self.check_order(node.value, "* of")
        self.generic_visit(node)

    def visit_comprehension_in_order(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> None:
        for part in node.generators if node not in self.excused else ():
            self.check_order(part.iter, "comprehension over")
        self.generic_visit(node)

    visit_ListComp = visit_GeneratorExp = visit_DictComp = visit_comprehension_in_order

    def check_order(self, node: ast.expr, where: str) -> None:
        if self.is_set(node):
            self.find(node, f"{where} a set has no order, use sorted(...)")

    def is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Name(id=name):
                return name in self.sets[-1]
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return f"self.{name}" in self.sets[-1]
            case ast.Call(func=ast.Name(id="set" | "frozenset")):
                return True
            case ast.Call(func=ast.Subscript(value=ast.Name(id="set" | "frozenset"))):
                return True
            case ast.Call(func=ast.Attribute(attr=name)):
                return name in SET_METHODS
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, SET_OPERATORS):
                return any(self.is_set(side) or is_keys(side) for side in (left, right))
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_set(body) or self.is_set(orelse)
        return False

    def visit_Module(self, node: ast.Module) -> None:
        self.enter(node.body, ())

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.check_name(node)
        fields = {f"self.{name}" for name in self.bound_sets(node.body)}
        fields |= {name for name in self.bound_sets(ast.walk(node)) if name.startswith("self.")}
        self.sets.append(self.sets[-1] | fields)
        self.generic_visit(node)
        self.sets.pop()

    def visit_function(self, node: Function) -> None:
        self.check_name(node)
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        self.findings += check_length(
            self.path, f"{self.path}::{node.name}", node.lineno, lines, FUNCTION_LINES_MAX
        )
        given = node.args
        args = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        for other in [*node.decorator_list, *given.defaults, *filter(None, given.kw_defaults)]:
            self.visit(other)
        self.enter(node.body, args)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_function

    def enter(self, body: list[ast.stmt], args: Iterable[ast.arg]) -> None:
        given = {arg.arg: is_set_type(arg.annotation) for arg in args}
        self.sets.append(self.sets[-1] - given.keys() | {name for name, is_set in given.items() if is_set})
        inside = own_nodes(body)
        bound = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.sets[-1] -= {name for name in bound if name not in given}
        self.sets[-1] |= self.bound_sets(inside)
        for statement in body:
            self.visit(statement)
        self.sets.pop()

    def bound_sets(self, nodes: Iterable[ast.AST]) -> set[str]:
        """Return the names, also `self.name`, that these statements bind to a set and to nothing else."""
        sets, others = set[str](), set[str]()
        self.sets.append(set(self.sets[-1]))  # a later statement may build on an earlier one
        for node in nodes:
            names, annotation, value = bindings(node)
            if not names:
                continue
            is_set = is_set_type(annotation) or (value is not None and self.is_set(value))
            (sets if is_set else others).update(names)
            self.sets[-1] |= sets
        self.sets.pop()
        return sets - others

    # asserts, words

    def visit_Assert(self, node: ast.Assert) -> None:
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
            self.find(node, "one claim per assert, use two asserts")
        self.generic_visit(node)

    def check_name(self, node: Function | ast.ClassDef) -> None:
        self.findings += check_words(self.path, node.lineno, node.name)


# sets: bindings of statements, and types that are sets


def own_nodes(body: Sequence[ast.AST]) -> list[ast.AST]:
    """Return all nodes in source order, without those inside nested functions, classes and lambdas."""
    found, waiting = list[ast.AST](), list(reversed(body))
    while waiting:
        found.append(node := waiting.pop())
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += reversed([*ast.iter_child_nodes(node)])
    return found


def bindings(node: ast.AST) -> tuple[list[str], ast.expr | None, ast.expr | None]:
    """Return the names that a statement binds, the annotation, and the value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [name for target in targets for name in target_names(target)], None, value
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            return target_names(target), annotation, value
        case ast.NamedExpr(target=target, value=value):
            return target_names(target), None, value
        case ast.For(target=target) | ast.comprehension(target=target):
            return target_names(target), None, None
    return [], None, None


def target_names(target: ast.expr) -> list[str]:
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return [f"self.{name}"]
    return []


def is_set_type(annotation: ast.expr | None) -> bool:
    match annotation:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in SET_TYPES
        case ast.Subscript(value=ast.Name(id="Final" | "ClassVar"), slice=inner):
            return is_set_type(inner)
        case ast.Subscript(value=outer):
            return is_set_type(outer)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return is_set_type(left) or is_set_type(right)
    return False


def is_keys(node: ast.expr) -> bool:
    """Return True for a view of keys, which is ordered, but whose operators return sets."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"


def called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


# direction


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def layer(module: str) -> int | None:
    """Return the row of a module, or of its room if no row names it; None if it has none."""
    package, _, rest = module.partition(".")
    names = (".".join(rest.split(".")[:2]), rest.split(".")[0])
    rows = {name: index for index, row in enumerate(LAYERS[package]) for name in row}
    return next((rows[name] for name in names if name in rows), None)


def is_split(package: str) -> bool:
    """Check whether LAYERS has rows for single files of this package of umi_core."""
    names = (f"umi_core.{name}" for row in LAYERS["umi_core"] for name in row)
    return any(name.startswith(f"{package}.") for name in names)


def absolute(path: str, node: ast.ImportFrom) -> str:
    """Return the full name of the module that a `from` names, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    package = path.split("/")[: -node.level]
    return ".".join([*package, *filter(None, [node.module])])


# lengths, words, paths


def check_length(path: str, key: str, line: int, lines: int, lines_max: int) -> Iterator[str]:
    allowed = max(RECORDS.get(key, 0), lines_max)
    if lines > allowed:
        yield f"{path}:{line}: {key} has {lines} lines, at most {allowed}, split it where a purpose ends"


def check_words(path: str, line: int, name: str) -> Iterator[str]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    for word in (word.lower().removesuffix("s") for word in words):
        if word in BAD_WORDS:
            yield f"{path}:{line}: {name} says {word}, which is not in the glossary, use {BAD_WORDS[word]}"


def check_classes(nodes: Mapping[str, Sequence[ast.AST]]) -> Iterator[str]:
    """Find duplicate class names: a search for a name must find one class."""
    first: dict[str, str] = {}
    for path, inside in nodes.items():
        packaged = inside if path.startswith(tuple(LAYERS)) else ()
        for node in (node for node in packaged if isinstance(node, ast.ClassDef)):
            here = f"{path}:{node.lineno}"
            if first.setdefault(node.name, here) != here:
                yield f"{here}: {first[node.name]} is named {node.name} too, say what this one is"


def check_wording(nodes: Mapping[str, Sequence[ast.AST]]) -> Iterator[str]:
    """Check both budgets; a finding names no line, because any of the counted ones may be new."""
    packaged = [node for path, inside in nodes.items() if path.startswith(tuple(LAYERS)) for node in inside]
    named = [node for node in packaged if isinstance(node, Function | ast.ClassDef)]
    asking = sum(bool(QUESTION_WORDS.match(ast.get_docstring(node) or "")) for node in named)
    bare = sum(isinstance(node, Function) and is_bare_participle(node) for node in named)
    if asking > DOCSTRINGS_MAX:
        rule = "docstrings begin with What, Whether, Of or Who"
        yield f"{ME}:1: {asking} {rule}, at most {DOCSTRINGS_MAX}, begin yours with a verb (`Return whether`)"
    if bare > FUNCTIONS_MAX:
        rule = "functions are named by a bare participle"
        yield f"{ME}:1: {bare} {rule}, at most {FUNCTIONS_MAX}, name yours by verb and object (`draw_batch`)"


def check_described(path: str, inside: Sequence[ast.AST]) -> Iterator[str]:
    """Find names that a docstring describes but its function or class does not have, after a rename."""
    for node in (node for node in inside if isinstance(node, Function | ast.ClassDef)):
        docstring = re.sub(r"\s+", " ", ast.get_docstring(node) or "")
        if described := DESCRIBED.findall(docstring):
            # a parameter, field, method, or a value of a Literal
            own = {
                getattr(each, key, None)
                for each in ast.walk(node)
                for key in ("arg", "attr", "id", "name", "value")
            }
            for name in (name for name in described if name not in own):
                yield f"{path}:{node.lineno}: the docstring of {node.name} describes {name}, which it lacks"


def check_docs(files: Mapping[str, str]) -> Iterator[str]:
    pages = [text for path, text in files.items() if path == "README.md" or DOCS_PAGE.match(path)]
    count = sum(any(map(str.isalnum, word)) for text in pages for word in text.split())
    if count > DOCS_WORDS_MAX:
        yield f"{ME}:1: README.md and docs have {count} words, at most {DOCS_WORDS_MAX}, say it in fewer"


def is_bare_participle(node: Function) -> bool:
    """Return True if a function, other than a property, has a name like `told` or `checked`."""
    name = node.name.strip("_")
    is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
    is_regular = name.endswith("ed") and "_" not in name and name not in VERBS_IN_ED
    return not is_property and (is_regular or name in PARTICIPLES)


def check_paths(path: str, text: str) -> Iterator[str]:
    if path.startswith("tests/"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if found := MACHINE_PATH.search(line):
            yield f"{path}:{number}: {found.group()} is a machine's path, use one relative to the project"


# exports


def check_exports(path: str, tree: ast.Module) -> Iterator[str]:
    """Check that `__all__` of both packages lists their public names literally (`__getattr__` may add)."""
    listed: list[str] | None = None
    bound: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ImportFrom() if absolute(path, node).startswith(("umi_core", "umi_sim", "umi_live")):
                bound |= {alias.asname or alias.name for alias in node.names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Assign(value=value) | ast.AnnAssign(value=value):
                bound.update(bindings(node)[0])
                listed = names_listed(value) if bindings(node)[0] == ["__all__"] else listed
    public = {name for name in bound if not name.startswith("_")}
    if listed is None:
        yield f"{path}:1: no __all__, write one out as a literal: {sorted(public)}"
        return
    for name in sorted(public.difference(listed)):
        yield f"{path}:1: {name} is bound in public and not in __all__, add it or call it _{name}"
    for name in sorted(set(listed) - bound) if "__getattr__" not in bound else ():
        yield f"{path}:1: __all__ lists {name}, which is not here, import it or take it out"
    if len(listed) != len(set(listed)):
        yield f"{path}:1: __all__ lists a name twice, take one out"


def names_listed(value: ast.expr | None) -> list[str] | None:
    """Return the strings of a literal list or tuple; None for anything else."""
    try:
        names = ast.literal_eval(value or "")
    except (ValueError, SyntaxError):
        return None
    return list(names) if isinstance(names, list | tuple) else None


# unused


def check_unused(nodes: Mapping[str, Sequence[ast.AST]], pyproject: str) -> Iterator[str]:
    """Yield source files that no source file or tool imports; imports of tests do not count."""
    used = entry_points(pyproject)
    for path, inside in nodes.items():
        own = module_of(path)
        used |= {module for node in inside for module in imported(path, node) if module != own}
    for path in nodes:
        module = module_of(path)
        is_checked = has_top(path, nodes) and not path.endswith("/__init__.py")
        by_others = any(
            module == name or (name.endswith((".", "_")) and module.startswith(name)) for name in BY_OTHERS
        )
        if is_checked and not by_others and module not in used and path not in TOPS.values():
            yield f"{path}:1: nobody imports this file, delete it or use it (BY_OTHERS in {ME})"


def check_circles(nodes: Mapping[str, Sequence[ast.AST]]) -> Iterator[str]:
    """Yield one cycle of files of which each imports the next, at the top or inside a function."""
    paths = {module_of(path): path for path in nodes}
    needs = {module: dict.fromkeys(needed(path, nodes[path], paths)) for module, path in paths.items()}
    for who, what in (*LATE, *zip(paths, paths, strict=True)):  # itself is no circle
        needs.get(who, {}).pop(what, None)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        ring = error.args[1][::-1]
        circle = " -> ".join(ring)
        yield f"{paths[ring[0]]}:1: imports in a circle, give what all need a file of its own: {circle}"


def needed(path: str, nodes: Sequence[ast.AST], known: Container[str]) -> Iterator[str]:
    """Yield the modules that a file imports when it runs, without those for type checkers."""
    for_types = {
        inner for node in nodes if isinstance(node, ast.If) and is_for_types(node.test)
        for inner in ast.walk(node)
    }  # fmt: skip
    for node in nodes:
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            source = absolute(path, node)
            parts = [f"{source}.{alias.name}" for alias in node.names]
            yield from (part for part in parts if part in known)
            if source in known and not all(part in known for part in parts):
                yield source


def is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def imported(path: str, node: ast.AST) -> Iterator[str]:
    """Yield modules that a node may load: by import, or by `umi_sim.module` or `.module` in a table."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(names=names):
            source = absolute(path, node)
            yield source
            yield from (f"{source}.{alias.name}" for alias in names)
        case ast.Constant(value=str(text)) if NAME_OF_MODULE.fullmatch(text):
            module = text.split(":")[0]
            yield module_of(path.rpartition("/")[0]) + module if module.startswith(".") else module


def entry_points(pyproject: str) -> set[str]:
    project = tomllib.loads(pyproject).get("project", {})
    tables = [project.get("scripts", {}), *project.get("entry-points", {}).values()]
    return {target.split(":")[0] for table in tables for target in table.values()}


if __name__ == "__main__":
    sys.exit(main())
