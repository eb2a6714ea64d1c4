"""Folders: where the two packages lie, and the scenarios that come with them."""

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent.parent
PROJECT: Final = PACKAGE.parent  # a checkout, or where packages are installed
SHIPPED: Final = PACKAGE / "_scenarios"  # in an installed package
DOCS: Final = PACKAGE / "_docs" if SHIPPED.is_dir() else PROJECT / "docs"
SCENARIOS: Final = SHIPPED if SHIPPED.is_dir() else PROJECT / "scenarios"
