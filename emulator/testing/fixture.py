"""The fixture ``scenario``: load a scenario, change some keys, and play it under the test's seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from shlex import quote
from typing import Any, Final

import pytest

from assignors.values import dataclass
from emulator.errors import EmulatorError, RefusedError
from emulator.input_files import nearest_file
from emulator.loading import Overrides, load, loads, written_overrides
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError, hint
from emulator.sweeps import seeds_from
from emulator.testing.ledger_files import LedgerFiles
from emulator.testing.playing import play_seeds
from emulator.testing.results import Results

Subject = Scenario | str | Path | Mapping[str, Any]
"""A scenario, a file or a name of the catalogue, or the tables of a file."""


KEYS: Final = Scenario.model_fields.keys() | {"act"}
"""The keys at the top of a scenario file."""

PATHS: Final = (
    "Keyword arguments are keys at the top of a scenario file, such as run_for. Write the path of any other "
    'key: scenario(…, {"group[billing].settings[session.timeout.ms]": "10s"}).'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlayer:
    """Plays scenarios for one test; call it with a scenario."""

    folder: Path
    """The folder of the test: paths are relative to it, and own assignors are found there."""

    cwd: Path
    """The folder in which pytest was started, for the commands that are printed."""

    seeds: int | tuple[int, ...]
    """Their number, or the seeds themselves."""

    update: bool = False
    """Write the files of ledgers instead of comparing with them."""

    played: list[Results] = field(default_factory=list)
    """Everything that the test has played."""

    def __call__(
        self,
        subject: Subject | Callable[[], Subject],
        overrides: Overrides = (),
        *,
        seeds: int | Iterable[int] | None = None,
        **changes: Any,
    ) -> Results:
        """Play a scenario under every seed of the test and return the results.

        *subject*: a path (relative to the test's folder), a name of the catalogue, the tables of a
        scenario file as a dict, a ``Scenario``, or a function that returns one of these.
        *overrides*: keys to change, as ``{path: value}``, ``path=value`` or a list of these. *seeds*:
        their number or the seeds themselves; by default those of ``@pytest.mark.seeds``. *changes*:
        keys at the top of a scenario file, such as ``run_for="10min"``.

        Raises ``ScenarioError``, which lists all problems of the scenario.
        """
        __tracebackhide__ = True
        given = subject() if callable(subject) else subject
        sets = [*written_overrides(overrides), *written_overrides(changes)]
        try:
            scenario, replay = self._load(given, sets)
        except EmulatorError as error:
            if not changes.keys() <= KEYS:
                error.add_note(PATHS)
            raise error.with_traceback(None) from None
        chosen = self.seeds if seeds is None else seeds
        numbers = seeds_from(scenario, None, chosen) if isinstance(chosen, int) else list(chosen)
        if not numbers:
            raise RefusedError("no seeds; give at least one")
        files = LedgerFiles(self.folder, self.update)
        results = Results(scenario, play_seeds(scenario, numbers), replay, files)
        self.played.append(results)
        return results

    def _load(self, subject: Subject, sets: list[str]) -> tuple[Scenario, str]:
        """Return the scenario, and how ``rebalance run`` names it."""
        if isinstance(subject, Mapping):
            return loads(_toml(subject), "scenario", sets, folder=self.folder), ""
        if isinstance(subject, Scenario):
            return load(subject, sets), ""
        path = self._path_of(subject)
        options = "".join(f" --set {quote(each)}" for each in sets)
        return load(path, sets), quote(shown(path, self.cwd)) + options

    def _path_of(self, subject: str | Path) -> Path:
        """Return the path of a file, or the name of the catalogue: in this order, the test's folder first."""
        given, own = Path(subject), self.folder / subject
        if own.is_file() or given.is_file():
            return own if own.is_file() else given
        if given.suffix or len(given.parts) > 1:
            return own
        from emulator.scenario import catalogue  # noqa: PLC0415  most tests name a file

        names = catalogue.names()
        if str(subject) not in names:
            near = nearest_file(own) or hint(subject, names) or catalogue.with_word(str(subject))
            reason = f"no such file in {self.folder}, and no such scenario in the catalogue{near}"
            raise ScenarioError(str(subject), [Problem("", reason)])
        return given


def seeds_of(item: pytest.Item) -> int | tuple[int, ...]:
    """Return the seeds of a test: of ``@pytest.mark.seeds``, or of the command line or ini file.

    Raise ``pytest.UsageError`` if the marker cannot be used.
    """
    mark = item.get_closest_marker("seeds")
    if mark is None:
        given = item.config.getoption("rebalance_seeds") or item.config.getini("rebalance_seeds")
        return _counted(given, "rebalance_seeds")
    if len(mark.args) != 1 or mark.kwargs:
        raise pytest.UsageError(
            f"{item.nodeid}: write @pytest.mark.seeds(20), or the seeds: @pytest.mark.seeds([3, 7])"
        )
    (given,) = mark.args
    return _counted(given, "seeds") if isinstance(given, int | str) else tuple(given)


def _counted(given: int | str, name: str) -> int:
    try:
        number = int(given)
    except ValueError:
        number = 0
    if number < 1:
        raise pytest.UsageError(f"{name}: {given!r} is not a number of seeds; give 1 or more")
    return number


def shown(path: Path, cwd: Path) -> str:
    """Return a path relative to a folder, if it is below it."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _toml(tables: Mapping[str, Any]) -> str:
    from emulator.scenario.toml import document_to_toml  # noqa: PLC0415  most tests name a file

    return document_to_toml(dict(tables))
