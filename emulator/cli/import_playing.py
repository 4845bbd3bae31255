"""``rebalance import``: read what is missing, put it together, and say what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from emulator.cli.import_engines import Engine, choose_engine, spark_for_far
from emulator.cli.import_findings import (
    Wanted,
    find,
    findings_lines,
    is_import,
    refuse_taken,
    write_scenario,
)
from emulator.cli.import_request import Planned, Request, checked, planned
from emulator.cli.output import Progress, say, say_json
from emulator.errors import RefusedError, reason_of
from emulator.logs.errors import BrokerError, OtherFolderError
from emulator.logs.imports import store
from emulator.logs.imports.pieces import log_name
from emulator.logs.imports.store import Receipt, import_manifest, plan_of
from emulator.logs.offsets_log.finding import LogFileError
from emulator.logs.offsets_log.words import printable
from emulator.report.wording import counted

if TYPE_CHECKING:
    from emulator.logs.imports.pieces import Finder
    from emulator.logs.imports.screen import Shortlist
    from emulator.spark.session import Session

MOST_GAPS = 3
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Imported(NamedTuple):
    """An import that was made."""

    asked: Planned
    engine: Engine
    manifest: dict[str, Any]
    shortlist: Shortlist | None
    """What was found out about its groups, if that was asked for."""


def play_import(request: Request, *, as_json: bool) -> bool:
    """Make an import and print what came of it; return whether all could be read."""
    made = _imported(request, with_findings=True)
    if as_json:
        say_json({"folder": str(made.asked.folder), "engine": made.engine.name, **made.manifest})
    else:
        say(*_lines(made), *findings_lines(made.shortlist, made.asked.folder))
    return not made.manifest["tables"]["gaps"]


def play_scenario(request: Request, wanted: Wanted, *, as_json: bool) -> bool:
    """Write a group as a scenario; return whether all could be read.

    What is read for it is kept nowhere; a folder that an import has made is read as it is.
    """
    refuse_taken(request.output)
    if is_import(request.sources):
        write_scenario(Path(request.sources[0]), wanted, request.output, as_json=as_json)
        return True
    with TemporaryDirectory(prefix="rebalance-import-") as folder:
        only = replace(request, output=Path(folder) / "tables", groups=(escape(wanted.group),))
        made = _imported(only, with_findings=False)
        write_scenario(made.asked.folder, wanted, request.output, as_json=as_json)
    return not made.manifest["tables"]["gaps"]


def _imported(request: Request, *, with_findings: bool) -> Imported:
    """Make an import; with findings about its groups too."""
    folder, _ = checked(request)
    try:
        asked, engine, receipts = _received(request)
        return _completed(asked, engine, receipts, request if with_findings else None)
    except OtherFolderError as error:
        raise RefusedError(f"-o {folder}: {error}; take another folder") from None
    except BrokerError as error:
        raise RefusedError(f"--bootstrap {error}. {_GOES_ON}") from None
    except LogFileError as error:
        raise RefusedError(printable(f"{error}. {_GOES_ON}")) from None
    except OSError as error:
        raise RefusedError(
            f"-o {folder}: cannot be written: {reason_of(error)}. {_GOES_ON}"
        ) from None


_GOES_ON = "What has been read is kept beside it, and the same command goes on from there"


def _received(request: Request) -> tuple[Planned, Engine, list[Receipt]]:
    """Find and read all pieces."""
    with spark_for_far(request, os.environ) as session:
        asked = planned(request, None if session is None else _finder(session))
        engine = choose_engine(asked, request, os.environ, session)
        store.begin(asked.folder, plan_of(asked.sources, asked.pieces, asked.selection))
        return asked, engine, [*_read(asked, engine, store.part_of(asked.folder))]


def _finder(session: Session) -> Finder:
    from emulator.spark.segment_finding import find_segments

    return partial(find_segments, session)


def _completed(
    asked: Planned, engine: Engine, receipts: list[Receipt], look: Request | None
) -> Imported:
    """Look at what was read, and complete the folder; *look*: find out about groups, as asked."""
    part = store.part_of(asked.folder)
    logs = sorted({log_name(each.log_partition) for each in receipts})
    decided = [store.decide_transactions(part, log) for log in logs]
    manifest = import_manifest(
        asked.sources, asked.selection, receipts, decided, is_live=asked.is_live
    )
    shortlist = None
    if look is not None:
        shortlist = find(
            part,
            commits=manifest["tables"]["commits"],
            on_spark=engine.name == "spark",
            master=look.master,
            retention_ms=look.retention_ms,
        )
    store.finish(asked.folder, manifest)
    return Imported(asked, engine, manifest, shortlist)


def _read(asked: Planned, engine: Engine, part: Path) -> Iterator[Receipt]:
    """Yield what came of each piece; start no one for nothing."""
    tasks = []
    for task in asked.tasks:
        receipt = store.receipt_of(part, task.piece.name, task.piece.key)
        if receipt is None:
            tasks.append(task)
        else:
            yield receipt
    if not tasks:
        return
    total, done = sum(task.piece.size for task in tasks), 0
    what = "log offsets read" if asked.is_live else "bytes read"
    with engine.open() as player, Progress(what, time_left=True) as progress:
        for receipt in player(tasks, part):
            done += receipt.size
            progress.show(done, total)
            yield receipt


# -- what came of it ---------------------------------------------------------------------------


def _lines(made: Imported) -> Iterator[str]:
    asked, manifest = made.asked, made.manifest
    rows, times = manifest["tables"], manifest["times_ms"]
    yield (
        f"{counted(rows['commits'], 'commit')} and {counted(rows['groups'], 'other record')} of "
        f"{counted(manifest['groups'], 'group')}, in "
        f"{counted(manifest['log_partitions'], 'partition')} of the offsets topic"
    )
    if times is not None:
        yield f"from {_clock(times[0])} to {_clock(times[1])}"
    yield from _odd(manifest, asked)
    yield f"Read by: {made.engine.told}"
    yield f"Tables:  {asked.folder}"


def _odd(manifest: dict[str, Any], asked: Planned) -> Iterator[str]:
    """Yield what else should be known of the rows."""
    if not manifest["groups"] and not asked.selection.is_everything:
        yield "nothing of what was read is asked for by --group, --from and --to"
    transactions = manifest["transactions"]
    if transactions:
        told = ", ".join(f"{number:,} {how}" for how, number in transactions.items())
        yield f"commits in transactions: {told}; aborted and pending ones do not count"
    if manifest["tables"]["gaps"]:
        yield from _gaps(asked, manifest["tables"]["gaps"])
    if manifest["unknown_parts"]:
        rows = counted(manifest["unknown_parts"], "commit")
        yield f"{rows} hold more than the columns do: headers, or what a newer Kafka adds"
    for path in asked.empty:
        yield printable(f"{path}: an empty segment")


def _gaps(asked: Planned, number: int) -> Iterator[str]:
    """Yield that not all could be read, and where the first gaps are."""
    from emulator.logs.imports.folder import rows_in

    yield f"{counted(number, 'gap')}: not all could be read"
    for gap in rows_in(asked.folder, "gaps").head(MOST_GAPS).to_pylist():
        yield printable(f"  {gap['source']}{_place(gap, asked)}: {gap['reason']}")
    if number > MOST_GAPS:
        yield f"  and {number - MOST_GAPS:,} more; the table gaps has all"


def _place(gap: Mapping[str, Any], asked: Planned) -> str:
    """Say where a gap is: a stretch of the log, or of the file; of one record the reason tells."""
    if not gap["length"]:
        return ""
    if asked.is_live:
        return f", {counted(gap['length'], 'log offset')} from {gap['position']:,} on"
    return f", {counted(gap['length'], 'byte')} from byte {gap['position']:,} on"


def _clock(time_ms: int) -> str:
    """Return a time for people; records can have any."""
    try:
        return (EPOCH + timedelta(milliseconds=time_ms)).strftime("%Y-%m-%d %H:%M:%S UTC")
    except OverflowError:
        return f"{time_ms} ms"
