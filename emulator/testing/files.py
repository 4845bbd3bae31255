"""Collect scenario files with ``[expect]`` as tests: ``*.scenario.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from emulator.errors import EmulatorError
from emulator.metrics.checks import Expected
from emulator.scenario.load import read_toml, text_of
from emulator.testing.stash import player_of

_EXPECT = re.compile(r"^\s*\[?\s*expect\b", re.MULTILINE)


class ScenarioFile(pytest.File):
    """A scenario file: one test if it has expectations, and none otherwise."""

    def collect(self) -> Iterator[ScenarioItem]:
        """Yield the test of the file; raise ``pytest.Collector.CollectError`` if it is not TOML."""
        try:
            document = read_toml(text_of(str(self.path)), self.path.name)
        except EmulatorError as error:
            raise self.CollectError(str(error)) from None
        if document.get("expect"):
            yield ScenarioItem.from_parent(self, name="expect")


class ExpectationError(AssertionError):
    """An expectation of a scenario does not hold."""


def _failed(expectations: Iterable[Expected]) -> Iterator[str]:
    """Yield a line for each expectation that does not hold; the same reason is said once."""
    said = set[str]()
    for each in expectations:
        if not each.ok:
            yield each.undecided if each.why in said else each.reported
            said.add(each.why)


class ScenarioItem(pytest.Item):
    """The expectations of one scenario file."""

    def runtest(self) -> None:
        """Play the scenario under the seeds; raise ExpectationError if an expectation fails."""
        results = player_of(self)(self.path)
        if not results.ok:
            raise ExpectationError("\n".join(_failed(results.expectations)))

    def repr_failure(  # type: ignore[override]  # a text is enough
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> str:
        """Return the failed expectations, or the problems of the file, without a traceback."""
        if isinstance(excinfo.value, ExpectationError | EmulatorError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file, the line of ``[expect]`` and the name of the test."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        found = _EXPECT.search(text)
        line = None if found is None else text.count("\n", 0, found.end())
        return self.path, line, f"{self.path.name}: {self.name}"
