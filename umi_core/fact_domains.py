"""Single facts as domains: what their callers say, and the categories that they name."""

from typing import Annotated, Final

from umi_core import errors, limits
from umi_core.domains import Domain, bad_body, some_of
from umi_core.errors import Error
from umi_core.values import CATEGORIES

NAMES: Final = tuple(CATEGORIES)


def bad_fact(name: str, value: object) -> Error | None:
    limit_bytes = limits.EXTRACT_CONTENT_BYTES_MAX
    return bad_body(name, value, errors.EmptyText(), limit_bytes, errors.TextTooLong)


FactText = Annotated[str, Domain("fact", bad_fact)]
NewFactText = Annotated[str, Domain("new_fact", bad_fact)]  # of one that there is
CategoryNames = Annotated[tuple[str, ...], Domain("category_names", some_of("categories", NAMES))]
NewCategories = Annotated[tuple[str, ...], Domain("new_categories", some_of("categories", NAMES, least=0))]
