"""The options of an import, checked, and the pieces that have to be read for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from assignors.values import dataclass
from emulator.errors import RefusedError, reason_of
from emulator.logs.errors import BrokerError, SettingError
from emulator.logs.imports.client_settings import merged, parse_setting, read_settings
from emulator.logs.imports.marker import is_import
from emulator.logs.imports.pieces import (
    Finder,
    Piece,
    Segment,
    Selection,
    is_empty,
    segments_of,
)
from emulator.logs.imports.reading import Task
from emulator.logs.imports.values import WEEK_MS
from emulator.logs.offsets_log.finding import LogFileError
from emulator.logs.remote_files import is_remote, is_uri
from emulator.report.wording import counted, printable
from emulator.scenario.units import parse_duration

MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of an import, as the user gives them."""

    sources: tuple[str, ...] = ()
    output: Path | None
    bootstrap: str | None = None
    config: Path | None = None
    settings: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    begin: str | None = None
    end: str | None = None
    engine: str = "auto"
    master: str | None = None
    jobs: int | None = None
    retention_ms: int = WEEK_MS
    """``offsets.retention.minutes`` of the brokers, for findings."""


@dataclass(frozen=True, slots=True)
class Planned:
    """An import that can be carried out."""

    folder: Path
    sources: tuple[str, ...]
    """As given by the user; for a live cluster its address."""

    pieces: tuple[Piece, ...]
    selection: Selection
    is_live: bool
    empty: tuple[str, ...] = ()
    """Paths of segments without a record."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def tasks(self) -> list[Task]:
        """Return one task for each piece."""
        return [Task(piece, self.selection, self.settings) for piece in self.pieces]


def planned(request: Request, far: Finder | None = None) -> Planned:
    """Return the pieces to read; raise RefusedError if there are none, or they cannot be read.

    *far*: lists segments on remote file systems, with their sizes; None: pyarrow does.
    """
    selection = selected(request)
    if request.bootstrap is None:
        return _from_files(request, selection, far)
    try:
        return _from_cluster(request, request.bootstrap, selection)
    except BrokerError as error:
        raise RefusedError(f"`bootstrap` {error}") from None
    except SettingError as error:
        raise RefusedError(str(error)) from None


def folder_of(request: Request, of: str) -> Path:
    """Return the folder for the tables; raise RefusedError, naming what they are of, if there is none."""
    if request.output is None:
        raise RefusedError(f"`output` is missing: a new folder for the tables of {of}")
    return request.output


def selected(request: Request) -> Selection:
    """Return the selection of records; raise RefusedError for options that conflict."""
    if bool(request.sources) == (request.bootstrap is not None):
        raise RefusedError(
            "give either `sources`, segment files or folders of them, or `bootstrap`, HOST:PORT"
        )
    if request.bootstrap is None and (request.config is not None or request.settings):
        raise RefusedError("`config` and `settings` are for a live cluster, with `bootstrap`")
    selection = Selection(
        request.groups, time_ms("begin", request.begin), time_ms("end", request.end)
    )
    begin_ms, end_ms = selection.begin_ms, selection.end_ms
    if begin_ms is not None and end_ms is not None and begin_ms >= end_ms:
        raise RefusedError(f"`begin={request.begin}` is not before `end={request.end}`")
    return selection


def _from_files(request: Request, selection: Selection, far: Finder | None) -> Planned:
    _refuse_imports(request.sources)
    try:
        segments = segments_of(request.sources, far)
        empty = {each for each in segments if _holds_nothing(each, far)}
    except LogFileError as error:
        raise RefusedError(printable(str(error))) from None
    return Planned(
        folder_of(request, counted(len(segments), "segment")),
        request.sources,
        tuple(each for each in segments if each not in empty),
        selection,
        is_live=False,
        empty=tuple(each.path for each in segments if each in empty),
    )


def _refuse_imports(sources: Iterable[str]) -> None:
    for source in sources:
        if not is_uri(source) and is_import(Path(source)):
            raise RefusedError(
                f"{printable(source)}: an import already: its tables are in this folder. To simulate one "
                f"of its groups: rebalance import {printable(source)} --scenario GROUP; to compare its commits with the logs of your "
                f"consumers: rebalance audit LOGS --commits {printable(source)}"
            )


def _holds_nothing(segment: Segment, far: Finder | None) -> bool:
    """Return whether a segment is empty; a remote one is opened only once, when it is read."""
    return not segment.size if far and is_remote(segment.path) else is_empty(segment)


def _from_cluster(request: Request, bootstrap: str, selection: Selection) -> Planned:
    folder = folder_of(request, f"the cluster at {bootstrap}")
    if find_spec("confluent_kafka") is None:
        raise RefusedError(
            "confluent-kafka is not installed: pip install 'rebalance-emulator[live]'; segment "
            "files can be imported without it"
        )
    from emulator.logs.imports.live import log_ranges  # noqa: PLC0415  needs confluent-kafka

    settings = merged(bootstrap, _given(request))
    pieces = log_ranges(settings, begin_ms=selection.begin_ms)
    return Planned(folder, (bootstrap,), tuple(pieces), selection, is_live=True, settings=settings)


def _given(request: Request) -> list[dict[str, str]]:
    given = []
    if request.config is not None:
        try:
            text = request.config.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise RefusedError(
                f"`config={request.config}`: cannot be read: {reason_of(error)}"
            ) from None
        given.append(read_settings(text, str(request.config)))
    given.append(dict(parse_setting(each, "`settings`") for each in request.settings))
    return given


def time_ms(name: str, text: str | None) -> int | None:
    """Return a time as epoch ms."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise RefusedError(
            f"`{name}={text}`: not a time; expected a form such as 2026-05-04 or 2026-05-04T09:00:00+02:00"
        ) from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1_000)


def retention_ms_of(text: str) -> int:
    """Return a retention such as ``7d`` in milliseconds; raise RefusedError if it is invalid."""
    try:
        retention_us = parse_duration(text)
    except ValueError as error:
        raise RefusedError(f"`offsets_retention={text}`: {error}") from None
    if retention_us < MINUTE_US:
        raise RefusedError(f"`offsets_retention={text}`: must be at least a minute, as in Kafka")
    return retention_us // 1_000
