"""What a report says of groups whose handler is code of the user."""

from __future__ import annotations

from pathlib import Path

from emulator.loading import load_named
from emulator.subjects import subject_of

CHUNKS = Path(__file__).parents[3] / "examples" / "handlers" / "chunks.toml"


def test_the_handler_commits_by_itself():
    """Nobody is told to switch automatic commits on."""
    (group,) = subject_of(load_named(str(CHUNKS), (), allow_large=True)).groups

    assert "commits of the handler" == group.commits
