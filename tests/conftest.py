"""What holds for all tests."""

from __future__ import annotations

import pytest

from emulator.report.wording import WIDTH


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports be as wide as they can be, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
