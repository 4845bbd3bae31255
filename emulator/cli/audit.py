"""``rebalance audit``: count what real consumers reprocessed or lost."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import (
    EngineName,
    Examples,
    HtmlOption,
    JsonOption,
    MasterOption,
    with_examples,
)
from emulator.cli.output import say_json, say_report
from emulator.cli.progress import Progress

if TYPE_CHECKING:
    from emulator.logs.auditing import Audit

EXPECTATION_FAILED = 1


class FormatName(StrEnum):
    """The format of a log."""

    PARQUET = "parquet"
    JSON = "json"
    CSV = "csv"
    TABLE = "table"


class UnitName(StrEnum):
    """The unit of times that are numbers."""

    S = "s"
    MS = "ms"
    US = "us"
    NS = "ns"


LogsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Processing logs: Parquet, JSON lines or CSV, folders of them, or URIs "
        "such as s3://bucket/logs; for Spark also s3a:// and, with --format table, names of tables.",
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=COLUMN",
        help="Name of a column in the log, such as offset=msg_offset; repeatable.",
    ),
]
TimeUnitOption = Annotated[
    UnitName | None,
    typer.Option("--time-unit", help="Unit of epoch numbers; by default inferred from their size."),
]
FormatOption = Annotated[
    FormatName | None,
    typer.Option("--format", help="Format of the logs; by default from the file names."),
]
EndsOption = Annotated[
    Path | None,
    typer.Option(
        "--ends", metavar="FILE", help="File with the end offset of each partition at the cut."
    ),
]
BeginsOption = Annotated[
    Path | None,
    typer.Option(
        "--begins",
        metavar="FILE",
        help="File with the beginning offsets; by default the lowest processed offset of each partition.",
    ),
]
CutOption = Annotated[
    str | None,
    typer.Option("--t-end", metavar="TIME", help="The cut: omit rows that finished later."),
]
CommitsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--commits",
        metavar="PATH",
        help="The offsets log, for causes: a folder of rebalance import, a file of rebalance "
        "log --columns, or segments; repeatable.",
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="ID",
        help="The group whose commits count, and whose events of a run; by default the only one.",
    ),
]
ExpectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--expect",
        metavar="BOUND",
        help='A bound such as "reprocessed <= 100"; if it fails, the exit status is 1; repeatable.',
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Folder for the ledger as tables and JSON."),
]
EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", help="One process (pool) or Spark; auto: by size."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "audit",
        help=with_examples(audit, EXAMPLES),
    )(audit)


EXAMPLES: Examples = (
    (
        "the events of an emulated run are a processing log, too, with all causes",
        "rebalance run member-crashes --events events.parquet; rebalance audit events.parquet",
    ),
    (
        "causes from the offsets log, as for a real cluster",
        """rebalance run member-crashes --events events.parquet --write-log log
rebalance audit events.parquet --commits log/__consumer_offsets-9 --expect 'lost == 0'""",
    ),
)


def audit(
    logs: LogsArgument,
    columns: ColumnsOption = None,
    time_unit: TimeUnitOption = None,
    format_: FormatOption = None,
    ends: EndsOption = None,
    begins: BeginsOption = None,
    cut: CutOption = None,
    commits: CommitsOption = None,
    group: GroupOption = None,
    expect: ExpectOption = None,
    output: OutputOption = None,
    engine: EngineOption = EngineName.AUTO,
    master: MasterOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit processing logs of real consumers: which records were reprocessed or lost, and why.

    Each row is a record, or a range of records, of a partition that a consumer processed. Columns
    are topic, partition, consumer, end (when it finished), start (when it began, optional), and
    offset, or lo and hi (exclusive), or first and last; --column names others. If a consumer keeps
    its name over a restart, a column incarnation (or --column incarnation=pid) distinguishes its
    processes. Rows may be in any order. Times are timestamps, ISO 8601 (UTC without a zone) or
    epoch numbers.

    Lost records are the unprocessed ones between the beginning of a partition (--begins) and its
    highest processed offset or, with --t-end and --commits, the offset committed by then. Later
    records, up to --ends, are unread. --ends and --begins take lines topic:partition:offset, as
    kafka-get-offsets.sh prints them, or JSON such as {"orders": [471, 470]}.

    Without --commits most causes are unknown. Aborted transactions are known from a folder of
    rebalance import, not from segments. The events of an emulated run (rebalance run --events) give
    the ledger of that run with all its causes; they need neither --commits nor --begins nor --ends.

    -o writes entries.parquet, partitions.parquet, audit.json (the output of --json) and
    manifest.json after all is complete. It replaces an earlier audit in DIR, and nothing else.

    --html writes one page that opens without a network, with the affected partitions over time and
    what the logs show of each entry, in order of time.

    --json prints one line, one JSON object: audit (the options), group, rows, late, processed,
    distinct, reprocessed, lost, unread, by_cause, by_owners, ledger, partitions, expectations.

    Exit status: 0 success; 1 an expectation failed; 2 bad input.
    """
    from emulator.logs.audit.request import Request
    from emulator.logs.auditing import run_audit

    request = Request(
        logs=tuple(logs),
        columns=tuple(columns or ()),
        time_unit=None if time_unit is None else time_unit.value,
        format=None if format_ is None else format_.value,
        ends=ends,
        begins=begins,
        cut=cut,
        commits=tuple(commits or ()),
        group=group,
        expect=tuple(expect or ()),
        output=output,
        engine=engine.value,
        master=master,
    )
    if html is not None:
        from emulator.run_files import check_page

        check_page(html)
    with Progress("rows") as progress:
        done = run_audit(request, progress=progress.show)
    if html is not None:
        from emulator.run_files import write_text

        write_text("--html", html, [done.page()])
    if as_json:
        say_json(done.document())
    else:
        say_report([*done.lines(), "", f"Read by: {done.engine}", *_next_steps(done)])
    if not done.ok:
        raise typer.Exit(EXPECTATION_FAILED)


def _next_steps(done: Audit) -> Iterator[str]:
    """Yield the folder, and the commands to continue with."""
    from emulator.report.wording import counted

    request, ledger = done.request, done.ledger
    if request.output is not None:
        yield f"Tables:  {request.output}"
    if not ledger.entries:
        return
    if request.output is None:
        ranges = counted(len(ledger.entries), "range")
        yield f"Next:    -o DIR writes the {ranges} as Parquet and JSON"
    logs = [path for path in request.commits if path.suffix != ".parquet"]
    if len(logs) == 1:
        source, group = shlex.quote(str(logs[0])), shlex.quote(ledger.group)
        yield "To try out remedies, with this group as a scenario:"
        yield f"  rebalance import {source} --scenario {group} -o group.toml"
