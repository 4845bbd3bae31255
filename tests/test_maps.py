"""The maps at the top of ``protocols`` and ``emulator`` name what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import emulator
import protocols

ROOT = Path(__file__).parents[1]
PACKAGES = {"protocols": protocols, "emulator": emulator}
JOURNEY = re.compile(r"``((?:protocols|emulator)/[\w/]+(?:\.py|/))``")
ROOM = re.compile(r"``([\w/]+/)``")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_file_on_a_journey_exists(name):
    """A file that moves takes its name in the map along."""
    named = JOURNEY.findall(PACKAGES[name].__doc__)

    assert len(named) >= 8
    assert [] == [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_room_is_on_the_map(name):
    """Each package below it, and no other."""
    text = PACKAGES[name].__doc__
    rooms = {path.parent.name for path in (ROOT / name).glob("*/__init__.py")}
    named = set(re.findall(r"^``(\w+)/``", text, re.MULTILINE))

    assert rooms == named


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_inside_rooms_exist_too(name):
    """``classic/`` and the like exist somewhere below."""
    folders = {f"{path.parent.name}/" for path in (ROOT / name).rglob("__init__.py")}
    named = {
        found.rstrip("/").rpartition("/")[2] + "/" for found in ROOM.findall(PACKAGES[name].__doc__)
    }

    assert set() == named - folders
