"""Import the offsets log of a real cluster: read it, write its tables, and analyse its groups.

``import_log`` is the library behind ``rebalance import``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from assignors.values import dataclass
from emulator.engines import (
    AUTO,
    POOL,
    SPARK,
    EngineRequest,
    choose_engine,
    open_spark,
    refuse_master_without_spark,
    spark_words,
)
from emulator.errors import RefusedError, reason_of
from emulator.input_files import each_path
from emulator.logs.errors import BrokerError, OtherFolderError
from emulator.logs.imports import store
from emulator.logs.imports.findings_tables import FindingsFiles
from emulator.logs.imports.folder import explore_folder
from emulator.logs.imports.pieces import log_name
from emulator.logs.imports.reading import Task, keep
from emulator.logs.imports.request import (
    Planned,
    Request,
    folder_of,
    planned,
    retention_ms_of,
    selected,
)
from emulator.logs.imports.screen import Shortlist, findings_screen
from emulator.logs.imports.store import Receipt, import_manifest, plan_of
from emulator.logs.imports.values import GroupFindings
from emulator.logs.offsets_log.finding import LogFileError
from emulator.logs.remote_files import is_remote, needs_java
from emulator.output_files import put
from emulator.processes import parallel_map
from emulator.report.wording import counted, printable
from emulator.spark.environment import is_decided
from emulator.tables import pandas_frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from emulator.logs.imports.pieces import Finder
    from emulator.spark.session import Session

TITLE: Final = "rebalance import"
FINDINGS: Final = "findings"
PAGE: Final = "report.html"

ALONE_BELOW_S: Final = 4.0
"""Seconds of work below which one process is faster than several."""

BYTES_PER_S: Final = 40_000_000
OFFSETS_PER_S: Final = 100_000
"""Approximate speed of one core for files, and for a live log."""

CONNECTING_S: Final = 0.5
"""Connection time for each partition of a live log."""

SPARK_FROM_ROWS: Final = 50_000_000
"""Below this number of commits one process is faster, as it needs no shuffle."""

RESUME: Final = "The pieces read so far are kept beside it; the same command continues from there"

OnProgress = Callable[[int, int], None]
"""Called with the bytes, or log offsets, that have been read, and with all of them."""

Reader = Callable[[Sequence[Task], Path], Iterator[Receipt]]
"""Reads pieces and writes their rows into a folder; yields the receipt of each."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to read."""

    name: str
    """``pool`` or ``spark``."""

    words: str
    """Description for the user, with the option for the other engine."""

    open: Callable[[], AbstractContextManager[Reader]]


@dataclass(frozen=True, slots=True, repr=False)
class Import:
    """A finished import: its folder, its manifest, and the findings about its groups."""

    planned: Planned
    engine: Engine
    manifest: dict[str, Any]
    """The content of ``manifest.json``: counts, times, versions."""

    shortlist: Shortlist | None
    """The groups to look at first; None if findings were not requested."""

    @property
    def folder(self) -> Path:
        """The folder with the tables, ``findings/``, ``report.html`` and ``manifest.json``."""
        return self.planned.folder

    @property
    def complete(self) -> bool:
        """Whether everything could be read; else the table ``gaps`` lists the unreadable parts."""
        return not self.manifest["tables"]["gaps"]

    @property
    def groups(self) -> list[GroupFindings]:
        """The findings about the groups to look at first, the most urgent group first."""
        return [] if self.shortlist is None else self.shortlist.first()

    def to_arrow(self, table: str = "commits") -> pa.Table:
        """Return a table: ``commits``, ``groups``, ``gaps``, or of findings, ``findings/rewinds``.

        Raises ``RefusedError`` if there is none of that name.
        """
        path = self.folder / table
        path = path if path.is_dir() else path.with_name(f"{path.name}.parquet")
        if not path.exists() or self.folder not in path.parents:
            raise RefusedError(f"{self.folder}: no table {table!r}")
        return pq.read_table(path)

    def to_pandas(self, table: str = "commits") -> pd.DataFrame:
        """Return a table as a pandas data frame; raises ``RefusedError`` without pandas.

        The tables are those of ``to_arrow``.
        """
        return pandas_frame(self.to_arrow(table))

    def __repr__(self) -> str:
        rows = self.manifest["tables"]
        counts = ", ".join(f"{name}={number:,}" for name, number in rows.items())
        return f"<Import of {counted(self.manifest['groups'], 'group')} in {self.folder}: {counts}>"

    def _repr_html_(self) -> str:
        lines = [repr(self), ""]
        if self.shortlist is not None:
            lines += findings_screen(self.shortlist)
        return f"<pre>{escape(chr(10).join(map(printable, lines)))}</pre>"


def import_log(  # noqa: PLR0913  one keyword an option
    sources: str | Path | Sequence[str | Path] = (),
    output: str | Path | None = None,
    *,
    bootstrap: str | None = None,
    config: str | Path | None = None,
    settings: Mapping[str, str] | Sequence[str] = (),
    groups: str | Sequence[str] = (),
    begin: str | datetime | None = None,
    end: str | datetime | None = None,
    offsets_retention: str = "7d",
    engine: str = AUTO,
    master: str | None = None,
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> Import:
    """Import segments of ``__consumer_offsets``, or the topic of a live cluster, into a folder.

    *sources*: segment files, folders of them, patterns or URIs; none with *bootstrap*, a live
    cluster's ``host:port``. *output*: a new folder. *config* and *settings*: librdkafka's settings,
    as a properties file and one by one. *groups*: patterns of group ids. *begin*, *end*: times of
    records, ISO 8601. *offsets_retention*: ``offsets.retention.minutes`` of the brokers, such as
    ``"7d"``. *engine*: ``auto``, ``pool`` (processes) or ``spark``. An interrupted import is
    resumed by the same call.

    Raises ``RefusedError`` for input that cannot be used, or if there is no room.
    """
    given = (
        settings if not isinstance(settings, Mapping) else tuple(map("=".join, settings.items()))
    )
    request = Request(
        sources=each_path(sources),
        output=None if output is None else Path(output),
        bootstrap=bootstrap,
        config=None if config is None else Path(config),
        settings=tuple(given),
        groups=(groups,) if isinstance(groups, str) else tuple(groups),
        begin=begin.isoformat() if isinstance(begin, datetime) else begin,
        end=end.isoformat() if isinstance(end, datetime) else end,
        engine=engine,
        master=master,
        jobs=jobs,
        retention_ms=retention_ms_of(offsets_retention),
    )
    return run_import(request, progress=progress)


def run_import(
    request: Request, *, with_findings: bool = True, progress: OnProgress | None = None
) -> Import:
    """Carry out an import; raise ``RefusedError`` if that is not possible."""
    selected(request)
    if any(map(is_remote, request.sources)):
        folder_of(request, "remote segments")  # before Spark starts
    folder = request.output
    try:
        with ExitStack() as writing:
            plan, engine, receipts = _read_all(request, progress, writing)
            return _complete(plan, engine, receipts, request if with_findings else None)
    except OtherFolderError as error:
        raise RefusedError(f"`output={folder}`: {error}; give another folder") from None
    except BrokerError as error:
        raise RefusedError(f"`bootstrap` {error}. {RESUME}") from None
    except LogFileError as error:
        raise RefusedError(printable(f"{error}. {RESUME}")) from None
    except OSError as error:
        raise RefusedError(
            f"`output={folder}`: cannot be written: {reason_of(error)}. {RESUME}"
        ) from None


def _read_all(
    request: Request, progress: OnProgress | None, writing: ExitStack
) -> tuple[Planned, Engine, list[Receipt]]:
    """Find and read all pieces; *writing* ends the lock of the folder."""
    with spark_for_far(request, os.environ) as session:
        plan = planned(request, None if session is None else _finder(session))
        engine = engine_for(plan, request, os.environ, session)
        pieces = plan_of(plan.sources, plan.pieces, plan.selection)
        writing.enter_context(store.writing(plan.folder, pieces))
        return plan, engine, [*_receipts(plan, engine, store.part_of(plan.folder), progress)]


def _finder(session: Session) -> Finder:
    from emulator.spark.segment_finding import find_segments  # noqa: PLC0415  only where Spark is used

    return partial(find_segments, session)


def _receipts(
    plan: Planned, engine: Engine, part: Path, progress: OnProgress | None
) -> Iterator[Receipt]:
    """Yield the receipt of each piece; start the engine only if a piece is not read yet."""
    tasks = []
    for task in plan.tasks:
        receipt = store.receipt_of(part, task.piece.name, task.piece.key)
        if receipt is None:
            tasks.append(task)
        else:
            yield receipt
    if not tasks:
        return
    total, done = sum(task.piece.size for task in tasks), 0
    with engine.open() as reader:
        for receipt in reader(tasks, part):
            done += receipt.size
            if progress is not None:
                progress(done, total)
            yield receipt


def _complete(
    plan: Planned, engine: Engine, receipts: list[Receipt], findings_for: Request | None
) -> Import:
    """Decide transactions, write findings if requested, and give the folder its name."""
    part = store.part_of(plan.folder)
    logs = sorted({log_name(each.log_partition) for each in receipts})
    decided = [store.decide_transactions(part, log) for log in logs]
    manifest = import_manifest(
        plan.sources, plan.selection, receipts, decided, is_live=plan.is_live
    )
    shortlist = None
    if findings_for is not None:
        large = engine.name == SPARK and manifest["tables"]["commits"] >= SPARK_FROM_ROWS
        shortlist = _write_findings(part, findings_for, on_spark=large)
    store.finish(plan.folder, manifest)
    return Import(plan, engine, manifest, shortlist)


# -- the engine --------------------------------------------------------------------------------


@contextmanager
def spark_for_far(request: Request, environment: Mapping[str, str]) -> Iterator[Session | None]:
    """Start Spark if it has to list and read remote sources; else yield None.

    Remote sources decide the engine before their size is known: Spark reads them with its own file
    systems, processes open ``s3://`` and ``gs://`` themselves. Raises ``RefusedError`` if Spark
    fails.
    """
    far = [source for source in request.sources if is_remote(source)]
    wanted = request.engine
    if far and wanted == AUTO:
        on_cluster = request.master is not None or is_decided(environment)
        wanted = SPARK if on_cluster or any(map(needs_java, far)) else POOL
    if not far or wanted == POOL:
        yield None
        return
    with open_spark(TITLE, request.master) as session:
        yield session


def engine_for(
    plan: Planned,
    request: Request,
    environment: Mapping[str, str],
    session: Session | None = None,
) -> Engine:
    """Return the engine that reads; *session*: a running one, for remote sources."""
    wanted = EngineRequest(request.engine, request.master, request.jobs)
    if session is not None:
        refuse_master_without_spark(wanted)
        words = f"{spark_words(wanted, environment)}, through its own file systems"
        return Engine(SPARK, words, partial(_running_spark, session))
    chosen = choose_engine(
        wanted,
        environment,
        work_s=_work_s(plan),
        max_jobs=max(1, len(plan.pieces)),
        alone_below_s=ALONE_BELOW_S,
        spark_fits=not any(is_remote(piece.path) for piece in plan.pieces),
    )
    if chosen.name == SPARK:
        return Engine(SPARK, chosen.words, partial(_spark, request.master))
    return Engine(POOL, chosen.words, partial(_pool, chosen.jobs))


def _work_s(plan: Planned) -> float:
    """Return the estimated time of one process in seconds."""
    size = sum(piece.size for piece in plan.pieces)
    if plan.is_live:
        return size / OFFSETS_PER_S + CONNECTING_S * len(plan.pieces)
    return size / BYTES_PER_S


@contextmanager
def _pool(jobs: int) -> Iterator[Reader]:
    def read(tasks: Sequence[Task], part: Path) -> Iterator[Receipt]:
        yield from parallel_map(partial(keep, part=part), tasks, jobs=jobs)

    yield read


@contextmanager
def _spark(master: str | None) -> Iterator[Reader]:
    with open_spark(TITLE, master) as session, _running_spark(session) as reader:
        yield reader


@contextmanager
def _running_spark(session: Session) -> Iterator[Reader]:
    from emulator.spark.import_runs import read_on_spark  # noqa: PLC0415  only where Spark is used

    yield partial(read_on_spark, session)


# -- findings ----------------------------------------------------------------------------------


def _write_findings(folder: Path, request: Request, *, on_spark: bool) -> Shortlist:
    """Analyse the groups of an import, and write the findings into its folder."""
    shortlist = Shortlist()
    explore = partial(_on_spark, master=request.master) if on_spark else _in_process
    with explore(folder, request.retention_ms) as groups, FindingsFiles(folder / FINDINGS) as files:
        for each in groups:
            shortlist.add(each)
            files.add(each)
    _write_page(folder / PAGE, shortlist)
    return shortlist


@contextmanager
def _in_process(folder: Path, retention_ms: int) -> Iterator[Iterator[GroupFindings]]:
    yield explore_folder(folder, retention_ms=retention_ms)


@contextmanager
def _on_spark(
    folder: Path, retention_ms: int, master: str | None
) -> Iterator[Iterator[GroupFindings]]:
    from emulator.spark.findings_runs import explore_on_spark  # noqa: PLC0415  only where Spark is used

    with open_spark(f"{TITLE}: findings", master) as session:
        yield explore_on_spark(session, folder, retention_ms=retention_ms)


def _write_page(path: Path, shortlist: Shortlist) -> None:
    """Write the page with charts."""
    from emulator.logs.imports.page import findings_page  # noqa: PLC0415  only where it is written

    put(path, findings_page(shortlist).encode())
