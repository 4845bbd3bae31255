"""What holds for all tests."""

from __future__ import annotations

import hypothesis
import pytest

from emulator.report.wording import WIDTH

# How long a test takes depends on who else uses the machine; what it draws depends on nothing.
# New examples are looked for with --hypothesis-profile=exploring.
hypothesis.settings.register_profile("settled", deadline=None, derandomize=True)
hypothesis.settings.register_profile("exploring", deadline=None, derandomize=False)
hypothesis.settings.load_profile("settled")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports be as wide as they can be, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
