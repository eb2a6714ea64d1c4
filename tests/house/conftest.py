"""Fixtures that several tests of the house share."""

import zipfile
from pathlib import Path

import pytest

from tests.house.wheel import ROOT, run_python


@pytest.fixture(scope="session")
def unzipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel, built without a network from the checkout."""
    built = tmp_path_factory.mktemp("built")
    command = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(built),
        str(ROOT),
    ]
    run_python(command, built)
    (wheel,) = built.glob("umi_sim-*.whl")
    folder = tmp_path_factory.mktemp("unzipped")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
