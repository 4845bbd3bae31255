"""The scenario player of a test, kept with the test until its report is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.errors import EmulatorError
from emulator.testing.fixture import ScenarioPlayer, seeds_of

PLAYER: pytest.StashKey[ScenarioPlayer] = pytest.StashKey()


def player_of(item: pytest.Item) -> ScenarioPlayer:
    """Return the scenario player of a test."""
    if PLAYER not in item.stash:
        item.stash[PLAYER] = ScenarioPlayer(
            folder=item.path.parent,
            cwd=item.config.invocation_params.dir,
            seeds=seeds_of(item),
            update=item.config.getoption("rebalance_update"),
        )
    return item.stash[PLAYER]


def report_of(item: pytest.Item) -> str | None:
    """Write the files of a failed test and return what is printed; None: it played nothing.

    The failure of a scenario file consists of its comparisons; an assertion may be about one of them.
    """
    if PLAYER not in item.stash or not item.stash[PLAYER].played:
        return None
    from emulator.testing.failure import Reporting, failure_lines  # noqa: PLC0415  rarely needed

    config = item.config
    folder = config.getoption("rebalance_artefacts") or config.getini("rebalance_artefacts")
    limit = config.getoption("rebalance_shrink")
    reporting = Reporting(
        folder=config.rootpath / Path(folder),
        cwd=config.invocation_params.dir,
        tests=item.path.parent,
        shrink_s=float(config.getini("rebalance_shrink") if limit is None else limit),
        is_stated=not isinstance(item, pytest.Function),
    )
    try:
        return "\n".join(failure_lines(item.nodeid, item.stash[PLAYER].played, reporting))
    except (EmulatorError, OSError) as error:
        return f"The files of this failure could not be written: {error}"
