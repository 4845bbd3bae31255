"""Each promise of the page on reliability names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROMISES = re.findall(
    r"^- \*\*(.+?)\*\*(.*?)(?=^- |\Z|\n\n)",
    (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(("name", "text"), PROMISES, ids=[name for name, _ in PROMISES])
def test_a_promise_names_the_tests_that_hold_it(name, text):
    """A test that was renamed is named anew."""
    tests = re.findall(r"`(tests/\S+)`", text)

    assert tests, name
    assert [] == [test for test in tests if not (ROOT / test).is_file()]


def test_every_promise_is_found():
    """A page in another form would be checked no more."""
    assert len(PROMISES) == 6
