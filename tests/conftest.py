"""What holds for all tests."""

from __future__ import annotations

import hypothesis
import pytest

from emulator.report.wording import WIDTH

# How long a test takes depends on who else uses the machine.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports be as wide as they can be, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
