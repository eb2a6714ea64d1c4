"""Folders of the packages, and of the scenarios, planted bugs and pages that are shipped with them."""

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent.parent
PROJECT: Final = PACKAGE.parent  # a checkout, or where packages are installed
SHIPPED: Final = PACKAGE / "_scenarios"  # in an installed package
DOCS: Final = PACKAGE / "_docs" if SHIPPED.is_dir() else PROJECT / "docs"
SKILL: Final = (DOCS if SHIPPED.is_dir() else PROJECT) / "SKILL.md"
SCENARIOS: Final = SHIPPED if SHIPPED.is_dir() else PROJECT / "scenarios"
MUTANTS: Final = PACKAGE / "_mutants" if SHIPPED.is_dir() else PROJECT / "mutants"
