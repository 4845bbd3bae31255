"""Audit processing logs of real consumers: which records were reprocessed or lost, and why.

``audit`` is the library behind ``rebalance audit``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assignors.values import dataclass
from emulator.engines import (
    POOL,
    POOL_BEST_S,
    SPARK,
    EngineRequest,
    choose_engine,
    open_spark,
    refuse_master_without_spark,
    spark_words,
)
from emulator.errors import RefusedError, reason_of
from emulator.input_files import each_path
from emulator.logs.audit import passes
from emulator.logs.audit.commits import Committed
from emulator.logs.audit.ledger import (
    AuditLedger,
    check,
    draw_up,
    entries_table,
    partitions_table,
)
from emulator.logs.audit.output import audit_document, manifest, write
from emulator.logs.audit.passes import InProcess
from emulator.logs.audit.reading import Source, files_of, open_source
from emulator.logs.audit.request import (
    Parsed,
    Request,
    parse_request,
    refuse_other_topics,
    remarks,
)
from emulator.logs.audit.run_events import Played, RunEvents, audit_run, events_of, notes_on
from emulator.logs.errors import AuditError
from emulator.logs.remote_files import is_remote, is_uri, needs_java
from emulator.report.wording import file_width, printable
from emulator.spark.environment import is_decided
from emulator.tables import pandas_frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from emulator.metrics.checks import Expected

ROWS_PER_S: Final = 100_000_000 / POOL_BEST_S
"""About what one process reads of Parquet."""

BYTES_PER_S: Final = (1 << 32) / POOL_BEST_S
"""The same of text."""

READ_IN_ORDER: Final = "1 process, since the events of a run have one order"

OnProgress = Callable[[int, int], None]
"""Called with the rows that have been read, and with all of them."""


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """A finished audit: its ledger and the checked expectations."""

    request: Request
    """What was asked for: logs, columns, times, offsets."""

    ledger: AuditLedger
    """The ranges that were reprocessed or lost, and sums by partition, cause and owners."""

    expectations: tuple[Expected, ...]
    """Each bound of *expect*, with what was measured."""

    remarks: tuple[str, ...]
    """Remarks on what the audit does not count."""

    engine: str
    """Description of the engine that read the rows."""

    run: RunEvents | None = None
    """The events of the run, if the logs are such."""

    played: Played | None = None
    """The ledger of that run, with the evidence of its entries."""

    committed: Committed | None = None
    """The commits and assignments of the group, if its offsets log was given."""

    @property
    def ok(self) -> bool:
        """Whether all expectations are met."""
        return all(expected.ok for expected in self.expectations)

    @property
    def reprocessed(self) -> int:
        """Records that were reprocessed; each further processing counts one."""
        return self.ledger.total("reprocessed")

    @property
    def lost(self) -> int:
        """Records that were never processed, though a later offset was processed or committed."""
        return self.ledger.total("lost")

    def document(self) -> dict[str, Any]:
        """Return the audit as JSON values, as ``rebalance audit --json`` prints it."""
        return audit_document(self.request.document(), self.ledger, self.expectations)

    def to_arrow(self, table: str = "entries") -> pa.Table:
        """Return a table: ``entries`` (ranges reprocessed or lost) or ``partitions``."""
        tables = {"entries": entries_table, "partitions": partitions_table}
        if table not in tables:
            raise RefusedError(f"no table {table!r}; the tables are entries and partitions")
        return tables[table](self.ledger)

    def to_pandas(self, table: str = "entries") -> pd.DataFrame:
        """Return a table as a pandas data frame; raises ``RefusedError`` without pandas.

        The tables are those of ``to_arrow``.
        """
        return pandas_frame(self.to_arrow(table))

    def write(self, folder: str | Path) -> None:
        """Write tables, JSON and a manifest into a folder; replace an earlier audit in it.

        Raises ``RefusedError`` if that is not possible; the folder is then unchanged.
        """
        asked, path = self.request.document(), Path(folder)
        tables = {"entries": self.to_arrow(), "partitions": self.to_arrow("partitions")}
        try:
            write(path, tables, self.document(), manifest(asked, self.ledger))
        except OSError as error:
            raise RefusedError(
                f"`output={path}`: cannot be written: {reason_of(error)}; nothing was written"
            ) from None

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of at most 100 columns."""
        from emulator.logs.audit.screen import audit_screen  # noqa: PLC0415  only if shown

        logs = self.request.logs
        source = logs[0] + (f" and {len(logs) - 1} more" if len(logs) > 1 else "")
        has_commits = bool(self.request.commits)
        yield from map(
            printable,
            audit_screen(
                source,
                self.ledger,
                self.expectations,
                has_commits=has_commits,
                remarks=self.remarks,
            ),
        )

    @file_width()
    def page(self) -> str:
        """Return the audit as one HTML page, as ``rebalance audit --html`` writes it."""
        from emulator.logs.audit.page import (  # noqa: PLC0415  only if written
            AuditContent,
            audit_page,
        )

        content = AuditContent(
            logs=self.request.logs,
            ledger=self.ledger,
            screen=list(self.lines()),
            log=self.committed,
            run=self.run,
            played=self.played,
        )
        return audit_page(content)

    def __repr__(self) -> str:
        counts = f"reprocessed={self.reprocessed:,}, lost={self.lost:,}"
        return f"<Audit of {self.ledger.rows:,} rows: {counts}, {self.engine}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(chr(10).join(self.lines()))}</pre>"


def audit(  # noqa: PLR0913  one keyword an option
    logs: str | Path | Sequence[str | Path],
    *,
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    format: str | None = None,  # noqa: A002  the option's name
    ends: str | Path | None = None,
    begins: str | Path | None = None,
    t_end: str | datetime | None = None,
    commits: str | Path | Sequence[str | Path] = (),
    group: str | None = None,
    expect: str | Sequence[str] = (),
    output: str | Path | None = None,
    engine: str = "auto",
    master: str | None = None,
    progress: OnProgress | None = None,
) -> Audit:
    """Count which records real consumers reprocessed or lost, with causes.

    *logs*: Parquet, JSON lines or CSV, folders of them, or URIs; for Spark also tables.
    *columns*: the log's names of columns, such as ``{"offset": "msg_offset"}``. *time_unit*: of
    numeric times, ``s``, ``ms``, ``us`` or ``ns``. *ends*, *begins*: files with the end and begin
    offsets of partitions. *t_end*: rows that finished later are left out. *commits*: the offsets
    log, for causes; *group*: whose commits, or whose events of a run. *expect*: bounds such as ``"lost == 0"``. *output*: a
    folder for the tables. *engine*: ``auto``, ``pool`` (one process) or ``spark``.

    Raises ``RefusedError`` or ``AuditError`` for input that cannot be used.
    """
    request = Request(
        logs=each_path(logs),
        columns=tuple(map("=".join, (columns or {}).items())),
        time_unit=time_unit,
        format=format,
        ends=None if ends is None else Path(ends),
        begins=None if begins is None else Path(begins),
        cut=t_end.isoformat() if isinstance(t_end, datetime) else t_end,
        commits=tuple(map(Path, each_path(commits))),
        group=group,
        expect=(expect,) if isinstance(expect, str) else tuple(expect),
        output=None if output is None else Path(output),
        engine=engine,
        master=master,
    )
    return run_audit(request, progress=progress)


def run_audit(request: Request, *, progress: OnProgress | None = None) -> Audit:
    """Carry out an audit, and write its folder if the request names one.

    Raises ``RefusedError`` for input that cannot be used.
    """
    try:
        parsed = parse_request(request)
        chosen = engine_for(request, parsed)
        with _opened(chosen, request, parsed, progress) as opened:
            played = None
            if isinstance(opened, RunEvents):
                played = Played(opened, parsed.terms.end_us, _progress_of(opened.rows, progress))
                ledger, notes = _of_run(opened, played, request, parsed)
            else:
                ledger, notes = _of_log(opened, parsed)
    except AuditError as error:
        raise RefusedError(printable(str(error))) from None
    done = Audit(
        request=request,
        ledger=ledger,
        expectations=check(parsed.expectations, ledger),
        remarks=tuple(notes),
        engine=chosen.words,
        run=opened if isinstance(opened, RunEvents) else None,
        played=played,
        committed=parsed.committed,
    )
    if request.output is not None:
        done.write(request.output)
    return done


def _of_log(engine: passes.Engine, parsed: Parsed) -> tuple[AuditLedger, Iterable[str]]:
    """Return the ledger of a processing log, and remarks."""
    audited = passes.audit(engine, parsed.terms)
    refuse_other_topics(audited, parsed.terms, parsed.committed)
    group = parsed.committed.group if parsed.committed is not None else ""
    return draw_up(audited, parsed.committed, group), remarks(audited, parsed.terms)


def _of_run(
    run: RunEvents, played: Played, request: Request, parsed: Parsed
) -> tuple[AuditLedger, Iterable[str]]:
    """Return the ledger of the events of a run, and remarks."""
    given = {
        "begin offsets": request.begins,
        "end offsets": request.ends,
        "commits": request.commits,
    }
    group = parsed.committed.group if parsed.committed is not None else request.group
    ledger = audit_run(run, played, group)
    return ledger, notes_on(played, ledger.group, [name for name in given if given[name]])


# -- the engine --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that reads the logs."""

    name: str
    """``pool`` (one process) or ``spark``."""

    words: str
    log: Source | RunEvents | None
    """None where only Spark can reach the logs."""


def engine_for(request: Request, parsed: Parsed) -> Engine:
    """Return the engine that the user asked for, else the faster one.

    Raises ``AuditError`` if a log cannot be read, ``RefusedError`` if options conflict.
    """
    wanted = EngineRequest(request.engine, request.master, jobs=1)
    refuse_master_without_spark(wanted)
    remote = [log for log in request.logs if is_uri(log)]
    if request.format == "table" or _need_spark(remote, wanted):
        if request.engine == POOL:
            raise AuditError("only Spark reads tables and such URIs: omit `engine=pool`")
        return Engine(SPARK, spark_words(wanted, os.environ), None)
    files = files_of(request.logs, request.format)
    source = open_source(files, parsed.columns, request.time_unit)
    run = events_of(source)
    if run is not None:
        return Engine(POOL, READ_IN_ORDER, run)
    _refuse_group_alone(request)
    rows = source.rows
    work_s = source.size / BYTES_PER_S if rows is None else rows / ROWS_PER_S
    fits = not remote
    chosen = choose_engine(wanted, os.environ, work_s=work_s, max_jobs=1, spark_fits=fits)
    return Engine(chosen.name, chosen.words, source)


def _refuse_group_alone(request: Request) -> None:
    """Raise AuditError if a group is named for a processing log, and no commits of it are given."""
    if request.group is not None and not request.commits:
        raise AuditError(
            "`group` selects commits, so it needs `commits`; without them only the events of a run "
            "have groups"
        )


def _need_spark(uris: Sequence[str], wanted: EngineRequest) -> bool:
    """Return whether only Spark reads some URI, or the user chose Spark for it."""
    on_spark = wanted.engine == SPARK or bool(wanted.master) or is_decided(os.environ)
    chosen = on_spark and wanted.engine != POOL
    return any(chosen or (is_remote(uri) and needs_java(uri)) for uri in uris)


@contextmanager
def _opened(
    chosen: Engine, request: Request, parsed: Parsed, progress: OnProgress | None
) -> Iterator[passes.Engine | RunEvents]:
    """Open the engine that reads the rows, or the events of a run."""
    log = chosen.log
    if isinstance(log, RunEvents):
        yield log
    elif chosen.name == SPARK:
        with _on_spark(log, request, parsed) as engine:
            yield engine
    elif log is not None:
        yield InProcess(log, parsed.terms, _progress_of(log.rows, progress))


def _progress_of(total: int | None, progress: OnProgress | None) -> Callable[[int], None]:
    def on_rows(rows: int) -> None:
        if progress is not None and total:
            progress(min(rows, total), total)

    return on_rows


@contextmanager
def _on_spark(
    source: Source | None, request: Request, parsed: Parsed
) -> Iterator[passes.Engine | RunEvents]:
    from emulator.spark.audit_ranges import (  # noqa: PLC0415  only with Spark
        SETTINGS,
        OnSpark,
        event_rows,
        open_table,
    )
    from emulator.spark.audit_tables import SparkTable  # noqa: PLC0415

    with open_spark("rebalance audit", request.master, SETTINGS) as session:
        if source is not None:
            yield OnSpark(session, source, parsed.terms)
            return
        table = SparkTable(request.logs, request.format, parsed.columns, request.time_unit)
        opened = open_table(session, table)
        if opened.mapped.events:
            rows = event_rows(opened)
            yield RunEvents(request.logs[0], rows.to_batches, rows.num_rows)
            return
        _refuse_group_alone(request)
        yield OnSpark(session, opened, parsed.terms)
