"""The examples of ``docs/how-to/pytest.md`` are tests that pass."""

from __future__ import annotations

import re
from pathlib import Path

import emulator.testing.files

pytest_plugins = ["pytester"]

PRELOADED = emulator.testing.files
"""pytester forgets modules that were first imported in its runs."""

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "pytest.md").read_text(encoding="utf-8")
PLUGIN = ROOT / "pytest_rebalance.py"


def test_the_examples_are_tests_that_pass(pytester):
    """Each block of Python is a module, each of TOML a scenario file."""
    for number, (kind, text) in enumerate(
        re.findall(r"```(python|toml)\n(.*?)```", PAGE, re.DOTALL)
    ):
        name = f"test_{number}.py" if kind == "python" else f"example_{number}.scenario.toml"
        (pytester.path / name).write_text(text, encoding="utf-8")
    options = ("-p", "pytest_rebalance", "-p", "no:cacheprovider", "--rebalance-update")
    result = pytester.runpytest_inprocess(*options)

    result.assert_outcomes(passed=5)


def test_every_option_is_listed(pytestconfig):
    """With its key of the ini file."""
    options = re.findall(r'"(--rebalance-[a-z]+)"', PLUGIN.read_text())

    assert options
    assert [] == [option for option in options if f"`{option}" not in PAGE]
