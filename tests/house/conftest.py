"""Fixtures that several tests of the house share."""

import fcntl
import os
import zipfile
from pathlib import Path

import pytest

from tests.house.wheel import ROOT, run_python


@pytest.fixture(scope="session")
def unzipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel, built without a network from the checkout.

    One for all processes of a run: to build it, and to compile what is in it, takes seconds.
    """
    is_alone = "PYTEST_XDIST_WORKER" not in os.environ
    base = tmp_path_factory.getbasetemp()
    folder = (base if is_alone else base.parent) / "unzipped"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            build(tmp_path_factory.mktemp("built"), folder)
    return folder


def build(built: Path, folder: Path) -> None:
    command = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(built)]
    run_python(["-m", *command, str(ROOT)], built)
    (wheel,) = built.glob("umi_sim-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(built / "unzipped")
    (built / "unzipped").rename(folder)  # at once: a build that failed is none for the next process
