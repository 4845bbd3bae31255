"""``rebalance import``: read what is missing, put it together, and say what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from emulator.cli.import_engines import Engine, choose_engine
from emulator.cli.import_findings import (
    Wanted,
    find,
    findings_lines,
    is_import,
    refuse_taken,
    write_scenario,
)
from emulator.cli.import_request import Planned, Request, planned
from emulator.cli.progress import Progress
from emulator.cli.refusals import RefusedError, reason_of
from emulator.cli.saying import say, say_json
from emulator.imported import store
from emulator.imported.manifest import import_manifest, plan_of
from emulator.imported.reading.errors import BrokerError
from emulator.imported.reading.segments import log_name
from emulator.imported.store import Receipt
from emulator.offsets_log.finding import LogFileError
from emulator.offsets_log.words import printable
from emulator.report.wording import counted

if TYPE_CHECKING:
    from emulator.imported.findings.screen import Shortlist

MOST_GAPS = 3
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def play_import(request: Request, *, as_json: bool) -> bool:
    """Make an import and print what came of it; return whether all could be read."""
    asked = planned(request)
    engine = choose_engine(asked, request, os.environ)
    manifest, shortlist = _imported(asked, engine, request)
    if as_json:
        say_json({"folder": str(asked.folder), "engine": engine.name, **manifest})
    else:
        say(*_lines(manifest, asked, engine), *findings_lines(shortlist, asked.folder))
    return not manifest["tables"]["gaps"]


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
        asked = planned(only)
        manifest, _ = _imported(asked, choose_engine(asked, only, os.environ), None)
        write_scenario(asked.folder, wanted, request.output, as_json=as_json)
    return not manifest["tables"]["gaps"]


def _imported(
    asked: Planned, engine: Engine, look: Request | None
) -> tuple[dict[str, Any], Shortlist | None]:
    """Make an import; *look*: find out about its groups too, as it is asked."""
    try:
        return _made(asked, engine, look)
    except store.OtherFolderError as error:
        raise RefusedError(f"-o {asked.folder}: {error}; take another folder") from None
    except BrokerError as error:
        raise RefusedError(f"--bootstrap {error}. {_GOES_ON}") from None
    except LogFileError as error:
        raise RefusedError(printable(f"{error}. {_GOES_ON}")) from None
    except OSError as error:
        raise RefusedError(
            f"-o {asked.folder}: cannot be written: {reason_of(error)}. {_GOES_ON}"
        ) from None


_GOES_ON = "What has been read is kept beside it, and the same command goes on from there"


def _made(
    asked: Planned, engine: Engine, look: Request | None
) -> tuple[dict[str, Any], Shortlist | None]:
    """Read all pieces, look at them, complete the folder; return its manifest and what is found."""
    store.begin(asked.folder, plan_of(asked.sources, asked.pieces, asked.selection))
    part = store.part_of(asked.folder)
    receipts = list(_read(asked, engine, part))
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
    return manifest, shortlist


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
            progress.tell(done, total)
            yield receipt


# -- what came of it ---------------------------------------------------------------------------


def _lines(manifest: dict[str, Any], asked: Planned, engine: Engine) -> Iterator[str]:
    rows, times = manifest["tables"], manifest["times_ms"]
    yield (
        f"{counted(rows['commits'], 'commit')} and {counted(rows['groups'], 'other record')} of "
        f"{counted(manifest['groups'], 'group')}, in "
        f"{counted(manifest['log_partitions'], 'partition')} of the offsets topic"
    )
    if times is not None:
        yield f"from {_clock(times[0])} to {_clock(times[1])}"
    yield from _odd(manifest, asked)
    yield f"Read by: {engine.told}"
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
    from emulator.imported.findings.folder import rows_in

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
