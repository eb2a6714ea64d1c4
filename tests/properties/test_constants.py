"""Goal: words, defaults and prompts that stored rows and callers rely on stay as they are.

tests/golden/constants.json has them; `UMI_REWRITE=1` writes it anew, and the diff is read in review. A word
is never renamed: rows that were stored years ago hold it, and so do the programs of callers. The limits are
in a table of docs/spec/memory.md (tests/unit/core/test_limits.py), and so are the settings.
"""

import json
import os
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from umi_core import conditions, domains, rows, values
from umi_core.data import list_fields
from umi_core.declared import list_tagged
from umi_core.domains import plain_type
from umi_core.kelpie import domains as kelpie_domains
from umi_core.kelpie import results as kelpie_results
from umi_core.kelpie import rows as kelpie_rows
from umi_core.language.prompts import FIXED
from umi_core.messages import answers, effects, results
from umi_core.messages.requests import ALL
from umi_core.migration import rows as migration_rows

GOLDEN: Final = Path(__file__).resolve().parent.parent / "golden" / "constants.json"
ROOMS: Final = (results, kelpie_results, effects, answers, rows, kelpie_rows)
WORDS: Final[dict[str, tuple[Any, ...]]] = {
    "failures": get_args(effects.FailureKind),
    **{
        f"{module.__name__.removeprefix('umi_core.')}.{name}": tuple(getattr(module, name))
        for module, names in (
            (values, "BLOCK_KINDS ENTITY_TYPES EVOLUTION_KINDS MEMORY_TYPES MODALITIES"),
            (values, "CATEGORIES"),
            (domains, "ROLES FORMS LISTED"),
            (domains, "JUDGES RANKERS"),
            (conditions, "NUMBERS LISTS TEXTS"),
            (kelpie_domains, "AUTHORS PROMPT_FORMS CHANGES LOGS ROLES DETAILS"),
            (migration_rows, "MOVED_KINDS PHASES"),
        )
        for name in names.split()
    },
    "values.LEVELS": tuple(f"{level}: {kind}" for level, kind in values.LEVELS.items()),
    **{
        f"effects.{asked.__name__}": (asked.word, asked.service, asked.verb, *asked.failures)
        for asked in (effects.AskModel, effects.Embed, effects.Read, effects.Commit)
    },
}


def is_nothing(field: Any) -> bool:
    """Return whether a default is empty: None where the type allows it, else an empty value."""
    kind = plain_type(field.type)
    empty = kind() if kind in (str, int, bool) else () if get_origin(kind) is tuple else None
    return bool(type(field.default) is type(empty) and field.default == empty)


def defaults() -> dict[str, str]:
    """Return the defaults of all requests, results, effects, answers and rows that say something."""
    classes: tuple[Any, ...] = (*ALL, *list_tagged(ROOMS))
    fields = [(cls, field) for cls in classes for field in list_fields(cls)]
    return {
        f"{cls.__name__}.{field.name}": repr(field.default)
        for cls, field in fields
        if not field.required and not is_nothing(field)
    }


def found() -> dict[str, dict[str, str]]:
    words = {name: " ".join(map(str, known)) for name, known in WORDS.items()}
    digests = {
        task: blake2b("\n\n".join(blocks).encode(), digest_size=8).hexdigest()
        for task, blocks in FIXED.items()
    }
    return {"words": words, "defaults": defaults(), "prompts": digests}


def test_what_others_rely_on_is_as_it_was() -> None:
    if os.environ.get("UMI_REWRITE"):
        GOLDEN.write_text(json.dumps(found(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert found() == json.loads(GOLDEN.read_text("utf-8"))
