"""What ``rebalance import`` does with its tables: findings, the page, and a group as a scenario."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from emulator.cli.output import say, say_json
from emulator.errors import RefusedError, reason_of

if TYPE_CHECKING:
    from emulator.logs.imports.screen import Shortlist
    from emulator.logs.imports.values import GroupFindings

FOLDER: Final = "findings"
PAGE: Final = "report.html"
SPARK_FROM_ROWS: Final = 50_000_000
"""Fewer commits are looked at sooner in one process, which needs no shuffle."""


def find(
    folder: Path, *, commits: int, on_spark: bool, master: str | None, retention_ms: int
) -> Shortlist:
    """Look at what is in an import's folder, and write there what is found.

    *commits*: rows of that table. *on_spark*: whether a large import may be looked at there.
    """
    from emulator.logs.imports.findings_tables import FindingsFiles
    from emulator.logs.imports.screen import Shortlist

    shortlist = Shortlist()
    large = on_spark and commits >= SPARK_FROM_ROWS
    found = _on_spark(folder, master, retention_ms) if large else _here(folder, retention_ms)
    with found as groups, FindingsFiles(folder / FOLDER) as files:
        for each in groups:
            shortlist.add(each)
            files.add(each)
    _write_page(folder / PAGE, shortlist)
    return shortlist


@contextmanager
def _here(folder: Path, retention_ms: int) -> Iterator[Iterator[GroupFindings]]:
    from emulator.logs.imports.folder import explore_folder

    yield explore_folder(folder, retention_ms=retention_ms)


@contextmanager
def _on_spark(
    folder: Path, master: str | None, retention_ms: int
) -> Iterator[Iterator[GroupFindings]]:
    from emulator.spark.errors import SparkError
    from emulator.spark.findings_runs import explore_on_spark
    from emulator.spark.session import open_session

    try:
        with open_session("rebalance import: findings", master=master) as session:
            yield explore_on_spark(session, folder, retention_ms=retention_ms)
    except SparkError as error:
        raise RefusedError(f"--engine spark: {error}") from None


def _write_page(path: Path, shortlist: Shortlist) -> None:
    """Write the page with pictures, if plotly is there."""
    try:
        from emulator.logs.imports.page import findings_page
    except ModuleNotFoundError as error:
        if error.name != "plotly":
            raise
        return
    from emulator.output_files import put

    put(path, findings_page(shortlist).encode())


def findings_lines(shortlist: Shortlist | None, folder: Path) -> Iterator[str]:
    """Yield what is said of the findings, if any were asked for; *folder*: of the import."""
    from emulator.logs.imports.screen import findings_screen
    from emulator.logs.offsets_log.words import printable

    if shortlist is None:
        return
    yield ""
    yield from map(printable, findings_screen(shortlist))
    yield ""
    yield f"Findings: {folder / FOLDER}"
    page = folder / PAGE
    missing = "none, plotly is missing: pip install 'rebalance-emulator[pictures]'"
    yield f"Page:     {page if page.is_file() else missing}"
    yield from map(printable, _next_steps(shortlist, folder))


def _next_steps(shortlist: Shortlist, folder: Path) -> Iterator[str]:
    """Yield what to do with a group: the one to look at first."""
    from emulator.logs.imports.values import State

    groups = [each for each in shortlist.first() if each.state is not State.OFFSETS_ONLY]
    if groups:
        named, group = quote(str(folder)), quote(groups[0].group)
        yield f"Next:     rebalance import {named} --scenario {group} -o group.toml"
        yield "          writes a group as a scenario, to play its next deploy or failure;"
        yield f"          rebalance audit LOGS --commits {named} --group {group}"
        yield "          tells what of its records was processed twice or never."


# -- a group as a scenario -------------------------------------------------------------------------


class Wanted(NamedTuple):
    """The group that becomes a scenario."""

    group: str
    epoch: int | None
    """Its generation; None: the newest one that lasted."""


def is_import(sources: Sequence[str]) -> bool:
    """Say whether what is named is the folder of an import made before."""
    if len(sources) != 1:
        return False
    try:
        manifest = json.loads((Path(sources[0]) / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == "import"


def write_scenario(folder: Path, wanted: Wanted, output: Path | None, *, as_json: bool) -> None:
    """Write the scenario of a group in an import's folder, or print it.

    Raise RefusedError if there is no such group, none that can be played, or no room.
    """
    from emulator.logs.errors import NoScenarioError
    from emulator.logs.imports.folder import explore_group, groups_in
    from emulator.logs.imports.scenario_file import scenario_text
    from emulator.logs.imports.scenario_sketch import sketch
    from emulator.logs.offsets_log.words import printable

    group = wanted.group
    found = explore_group(folder, group)
    if found is None:
        reason = f"--scenario {group}: no such group{_hint(group, groups_in(folder))}"
        raise RefusedError(printable(reason))
    try:
        drawn = sketch(*found, wanted.epoch)
    except NoScenarioError as error:
        raise RefusedError(printable(f"--scenario {error}")) from None
    text = scenario_text(drawn)
    if output is not None:
        _put(output, text)
    if as_json:
        say_json({"group": group, "file": None if output is None else str(output), "text": text})
    elif output is None:
        say(text.removesuffix("\n"))
    else:
        say(f"{output}: {group} as a scenario; play it with: rebalance run {output}")


def refuse_taken(output: Path | None) -> None:
    """Raise RefusedError if a file of that name is there: it may have been worked on."""
    if output is not None and (output.exists() or output.is_symlink()):
        raise RefusedError(f"-o {output}: is there already; name a file that is not")


def _hint(group: str, known: list[str]) -> str:
    if not known:
        return (
            " that was read; which there are: rebalance import with -o DIR and without --scenario"
        )
    near = get_close_matches(group, known, 3) or known[:5]
    more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
    return f"; in it there are {', '.join(near)}{more}"


def _put(path: Path, text: str) -> None:
    from emulator.output_files import put

    try:
        put(path, text.encode())
    except (OSError, ValueError) as error:
        raise RefusedError(f"-o {path}: cannot be written: {reason_of(error)}") from None
