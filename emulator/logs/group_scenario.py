"""Write a group of a real cluster as a scenario: ``rebalance import --scenario``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.logs.errors import NoScenarioError
from emulator.logs.importing import OnProgress, run_import
from emulator.logs.imports.folder import AGAIN, explore_group, groups_in
from emulator.logs.imports.marker import is_import
from emulator.logs.imports.request import Request
from emulator.logs.imports.scenario_file import scenario_text
from emulator.logs.imports.scenario_sketch import sketch
from emulator.report.wording import printable


@dataclass(frozen=True, slots=True)
class GroupScenario:
    """A group of a real cluster as a scenario."""

    group: str
    """Its id."""

    text: str
    """TOML, with a comment on what was measured and what is assumed."""

    complete: bool
    """Whether all of the log could be read."""

    def __str__(self) -> str:
        return self.text


def group_scenario(
    source: str | Path, group: str, *, generation: int | None = None
) -> GroupScenario:
    """Return a group of an offsets log as a scenario.

    *source*: the folder of an import, or segments. *generation*: its number; None: the newest one
    that was not short-lived. Raises ``RefusedError`` if there is no such group, or it cannot be
    simulated.
    """
    request = Request(sources=(str(source),), output=None)
    return run_scenario(request, group, generation)


def run_scenario(
    request: Request,
    group: str,
    generation: int | None,
    *,
    progress: OnProgress | None = None,
) -> GroupScenario:
    """Return a group as a scenario; tables that are read for it are deleted afterwards."""
    if len(request.sources) == 1 and is_import(Path(request.sources[0])):
        imported = Path(request.sources[0])
        with _damage_refused(imported):
            text = _scenario_text(imported, group, generation, lambda: groups_in(imported))
        return GroupScenario(group, text, complete=True)
    with TemporaryDirectory(prefix="rebalance-import-") as folder:
        only = replace(request, output=Path(folder) / "tables", groups=(escape(group),))
        done = run_import(only, with_findings=False, progress=progress)

        def all_groups() -> list[str]:
            every = replace(request, output=Path(folder) / "all")
            return groups_in(run_import(every, with_findings=False, progress=progress).folder)

        text = _scenario_text(done.folder, group, generation, all_groups)
        return GroupScenario(group, text, done.complete)


@contextmanager
def _damage_refused(folder: Path) -> Iterator[None]:
    """Turn errors of reading damaged tables into a RefusedError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise RefusedError(f"{folder}: cannot be read: {reason}; {AGAIN}") from None


def _scenario_text(
    folder: Path, group: str, generation: int | None, all_groups: Callable[[], list[str]]
) -> str:
    found = explore_group(folder, group)
    if found is None:
        reason = f"group {group}: no such group{_hint(group, all_groups())}"
        raise RefusedError(printable(reason))
    try:
        return scenario_text(sketch(*found, generation))
    except NoScenarioError as error:
        raise RefusedError(printable(str(error))) from None


MAX_NAMED = 5
"""Groups that a message names, the nearest first; of more groups only the nearest, if any is near."""


def _hint(group: str, known: list[str]) -> str:
    if not known:
        return "; what was read has no groups"
    near = get_close_matches(group, known, 3)
    if not near or len(known) <= MAX_NAMED:
        near = [*near, *(name for name in known if name not in near)][:MAX_NAMED]
    more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
    return f"; there are {', '.join(near)}{more}"
