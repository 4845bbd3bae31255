"""A fresh machine: what is installed is whole, and works away from the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from emulator.scenario import catalogue

ROOT = Path(__file__).parents[1]
ROOMS = ("assignors", "emulator", "protocols")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Build a wheel from a copy of the sources, and unpack it."""
    folder = tmp_path_factory.mktemp("fresh")
    sources = folder / "sources"
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for room in ROOMS:
        shutil.copytree(ROOT / room, sources / room, ignore=leave)
    for name in ("pyproject.toml", "README.md", "pytest_rebalance.py"):
        shutil.copy(ROOT / name, sources)
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(sources)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


@pytest.mark.long
def test_a_wheel_holds_everything_that_is_not_python_too(unpacked):
    """Every module, the catalogue, and the marks that say it is typed."""
    wanted = {
        path.relative_to(ROOT)
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    wanted.add(Path("pytest_rebalance.py"))

    assert set() == {path for path in wanted if not (unpacked / path).exists()}
    (entry_points,) = unpacked.glob("*.dist-info/entry_points.txt")
    assert "[pytest11]\npytest_rebalance = pytest_rebalance\n" in entry_points.read_text()


@pytest.mark.long
def test_an_installation_works_outside_the_repository(unpacked, tmp_path):
    """Every scenario is listed, and one is played."""
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}

    def rebalance(*arguments: str) -> str:
        command = [sys.executable, "-P", "-m", "emulator", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    assert set(catalogue.names()) <= set(rebalance("scenarios").split())
    assert "reprocessed" in rebalance("run", "member-crashes")
