"""The pytest plugin of rebalance-emulator: hooks that import the emulator when a test needs it.

Installing the package registers this module with pytest. It imports nothing of ours by itself, so
that pytest starts as quickly as without it, and coverage sees the import of the packages.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emulator.testing.fixture import ScenarioPlayer

SUFFIX = ".scenario.toml"
"""How the names of files end that are collected as tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the keys of the ini file."""
    group = parser.getgroup("rebalance", "rebalance-emulator")
    group.addoption(
        "--rebalance-seeds",
        metavar="N",
        help="Seeds of each test that has no marker @pytest.mark.seeds; by default 1.",
    )
    group.addoption(
        "--rebalance-artefacts",
        metavar="DIR",
        help="The folder that keeps the files of failed tests; by default rebalance-failures.",
    )
    group.addoption(
        "--rebalance-shrink",
        metavar="SECONDS",
        type=float,
        help="Time to search the smallest scenario that still fails; by default 10, 0: none.",
    )
    group.addoption(
        "--rebalance-update",
        action="store_true",
        help="Write the ledger files that tests compare with, instead of comparing.",
    )
    group.addoption(
        "--rebalance-plugin",
        metavar="MODULE",
        action="append",
        default=[],
        help="Let scenarios name assignors of this module; repeatable.",
    )
    _add_ini(parser)


def _add_ini(parser: pytest.Parser) -> None:
    parser.addini(
        "rebalance_plugins",
        "Modules whose assignors and handlers scenarios may name.",
        type="args",
        default=[],
    )
    parser.addini("rebalance_seeds", "Seeds of each test without the marker seeds.", default="1")
    parser.addini(
        "rebalance_artefacts",
        "The folder, relative to rootdir, that keeps the files of failed tests.",
        default="rebalance-failures",
    )
    parser.addini(
        "rebalance_shrink",
        "Seconds to search the smallest scenario that still fails; 0: no search.",
        default="10",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and allow the plugins that the configuration names."""
    config.addinivalue_line(
        "markers",
        "seeds(n): play the scenarios of the test under n seeds, or under a list of seeds",
    )
    modules = [*config.getini("rebalance_plugins"), *config.getoption("rebalance_plugin")]
    if modules:
        from emulator.testing.own_code import allow  # noqa: PLC0415  few configurations have some

        allow(modules)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect scenario files."""
    if not file_path.name.endswith(SUFFIX):
        return None
    from emulator.testing.files import ScenarioFile  # noqa: PLC0415  only if there is such a file

    collector: pytest.Collector = ScenarioFile.from_parent(parent, path=file_path)
    return collector


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> ScenarioPlayer:
    """Return what a test calls to play a scenario under its seeds."""
    from emulator.testing.stash import player_of  # noqa: PLC0415  only if a test plays one

    try:
        return player_of(request.node)
    except (
        pytest.UsageError
    ) as error:  # the message is enough: the user's test is not in the traceback
        pytest.fail(str(error), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the causes, the sequence, the seed and the commands to the report of a failed test."""
    report = yield
    stash = sys.modules.get("emulator.testing.stash")
    if stash is not None and report.when == "call" and report.failed:
        try:
            text = stash.report_of(item)
        except Exception as error:  # noqa: BLE001  pytest would end, and run no further test
            text = f"The report of this failure could not be made: {type(error).__name__}: {error}"
        if text:
            report.sections.append(("rebalance-emulator", text))
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Say what was measured if a comparison with a figure fails."""
    figures: Any = sys.modules.get("emulator.testing.figures")
    if figures is None:
        return None
    message = figures.comparison_message(op, left, right)
    return None if message is None else [message]
