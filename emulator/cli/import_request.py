"""What a user asks of ``rebalance import``, and what there is to read for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from emulator.errors import RefusedError, reason_of
from emulator.logs.errors import BrokerError, SettingError
from emulator.logs.imports.client_settings import merged, parse_setting, read_settings
from emulator.logs.imports.pieces import (
    Finder,
    Piece,
    Segment,
    Selection,
    is_empty,
    is_far,
    segments_of,
)
from emulator.logs.imports.reading import Task
from emulator.logs.imports.values import WEEK_MS
from emulator.logs.offsets_log.finding import LogFileError
from emulator.logs.offsets_log.words import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of the command."""

    sources: tuple[str, ...]
    output: Path | None
    bootstrap: str | None
    config: Path | None
    settings: tuple[str, ...]
    groups: tuple[str, ...]
    begin: str | None
    end: str | None
    engine: str
    master: str | None
    jobs: int | None
    retention_ms: int = WEEK_MS
    """``offsets.retention.minutes`` of the brokers, for findings."""


@dataclass(frozen=True, slots=True)
class Planned:
    """An import that can be made."""

    folder: Path
    sources: tuple[str, ...]
    """As the user named them; of a live cluster its address."""

    pieces: tuple[Piece, ...]
    selection: Selection
    is_live: bool
    empty: tuple[str, ...] = ()
    """Segments that nothing is in."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def tasks(self) -> list[Task]:
        """What is to be read, piece by piece."""
        return [Task(piece, self.selection, self.settings) for piece in self.pieces]


def planned(request: Request, far: Finder | None = None) -> Planned:
    """Return what is to be read; raise RefusedError if it cannot be.

    *far*: finds segments on other file systems than this machine's, and has seen to their sizes.
    """
    folder, selection = checked(request)
    if request.bootstrap is None:
        return _from_files(request, folder, selection, far)
    try:
        return _from_cluster(request, folder, request.bootstrap, selection)
    except BrokerError as error:
        raise RefusedError(f"--bootstrap {error}") from None
    except SettingError as error:
        raise RefusedError(str(error)) from None


def checked(request: Request) -> tuple[Path, Selection]:
    """Return the folder, and what is wanted; raise RefusedError for options that make no sense."""
    if request.output is None:
        raise RefusedError("-o DIR is missing: a folder for the tables, such as -o imported")
    if bool(request.sources) == (request.bootstrap is not None):
        raise RefusedError(
            "give either SOURCE, segment files or folders of them, or --bootstrap HOST:PORT"
        )
    if request.bootstrap is None and (request.config is not None or request.settings):
        raise RefusedError("--config and --set are for a live cluster, with --bootstrap")
    selection = Selection(
        request.groups, _time_ms("--from", request.begin), _time_ms("--to", request.end)
    )
    begin_ms, end_ms = selection.begin_ms, selection.end_ms
    if begin_ms is not None and end_ms is not None and begin_ms >= end_ms:
        raise RefusedError(f"--from {request.begin} is not before --to {request.end}")
    return request.output, selection


def _from_files(
    request: Request, folder: Path, selection: Selection, far: Finder | None
) -> Planned:
    try:
        segments = segments_of(request.sources, far)
        empty = {each for each in segments if _holds_nothing(each, far)}
    except LogFileError as error:
        raise RefusedError(printable(str(error))) from None
    return Planned(
        folder,
        request.sources,
        tuple(each for each in segments if each not in empty),
        selection,
        is_live=False,
        empty=tuple(each.path for each in segments if each in empty),
    )


def _holds_nothing(segment: Segment, far: Finder | None) -> bool:
    """Say whether a segment is empty; what is far is opened once only, by who reads it."""
    return not segment.size if far and is_far(segment.path) else is_empty(segment)


def _from_cluster(request: Request, folder: Path, bootstrap: str, selection: Selection) -> Planned:
    if find_spec("confluent_kafka") is None:
        raise RefusedError(
            "confluent-kafka is not installed: pip install 'rebalance-emulator[live]'; segment "
            "files can be imported without it"
        )
    from emulator.logs.imports.live import stretches_of

    settings = merged(bootstrap, _given(request))
    pieces = stretches_of(settings, begin_ms=selection.begin_ms)
    return Planned(folder, (bootstrap,), tuple(pieces), selection, is_live=True, settings=settings)


def _given(request: Request) -> list[dict[str, str]]:
    given = []
    if request.config is not None:
        try:
            text = request.config.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise RefusedError(
                f"--config {request.config}: cannot be read: {reason_of(error)}"
            ) from None
        given.append(read_settings(text, str(request.config)))
    given.append(dict(parse_setting(each, "--set") for each in request.settings))
    return given


def _time_ms(option: str, text: str | None) -> int | None:
    """Return a time as epoch ms."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise RefusedError(
            f"{option} {text}: no time; one is 2026-05-04 or 2026-05-04T09:00:00+02:00"
        ) from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1_000)
