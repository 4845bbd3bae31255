"""``rebalance log``: show real segments of the offsets topic, record by record or group by group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import Examples, with_examples
from emulator.cli.output import BAD_INPUT
from emulator.errors import RefusedError

if TYPE_CHECKING:
    from emulator.logs.offsets_log.dumping import Wanted

NOT_ALL_READ = 1


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "log",
        help=with_examples(log, EXAMPLES),
    )(log)


EXAMPLES: Examples = (
    (
        "the offsets log of a run: every record, as Kafka's dump tool names it",
        "rebalance run member-crashes --write-log offsets; rebalance log offsets",
    ),
    (
        "the history of one group, record by record",
        "rebalance log offsets --group billing --follow-state",
    ),
    ("the groups at the end of the log", "rebalance log offsets --table"),
    (
        "all commits as a table for pandas, DuckDB or Spark",
        "rebalance log offsets --columns commits.parquet",
    ),
)


FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Segments (.log, also gzipped), folders of segments, a broker's data folder, "
        "or - for standard input.",
    ),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="ID", help="Only records about this group; repeatable."),
]
FollowStateOption = Annotated[
    bool,
    typer.Option("--follow-state", help="Show with each record the state of its group after it."),
]
StateOnlyOption = Annotated[
    bool,
    typer.Option("--state-only", help="Show each group at the end of the log instead of records."),
]
TableOption = Annotated[bool, typer.Option("--table", help="As --state-only, as a table.")]
BatchesOption = Annotated[
    bool, typer.Option("--batches", help="Also show the headers of record batches.")
]
ColumnsOption = Annotated[
    Path | None,
    typer.Option(
        "--columns", metavar="FILE.parquet", help="Write offset commits to this file instead."
    ),
]


def log(
    files: FilesArgument,
    groups: GroupsOption = None,
    follow_state: FollowStateOption = False,
    state_only: StateOnlyOption = False,
    table: TableOption = False,
    batches: BatchesOption = False,
    columns: ColumnsOption = None,
) -> None:
    """Show the content of segments of __consumer_offsets, one JSON line per record.

    Segments of one partition are one log and are read in the order of their base offsets. Names,
    order and values are those of kafka-dump-log.sh --offsets-decoder; payload is "<DELETE>" for a
    tombstone. With several logs, the field log names the log of a line.

    Keys and values that Kafka 4.4.0 does not know or that cannot be decoded are shown as
    hexadecimal digits under raw, with the reason under unknown or error. Bytes that are not a
    record batch have a line with gap, position, size and reason, and reading continues after
    them. A summary of all problems is printed on stderr at the end.

    --follow-state adds after, by group id: the state of the group in a coordinator that has loaded
    the log up to this record (type, state, epochs or generation, members with their current and
    target partitions, committed and pending offsets); loadFails is the reason if the load would
    fail. --state-only prints one line per group: group, and the same fields.

    --columns prints no records: it writes a row for each committed offset or tombstone, in log
    order, with the types that the documentation lists, and reports the number of omitted records.

    Exit status: 0 success; 1 not everything could be read: gaps, records that cannot be decoded or
    that 4.4.0 does not know, a log that no coordinator could load; 2 bad input: a file that is
    missing, not a log, or a log of another topic. An empty segment is no error.
    """
    if columns is not None:
        if groups or follow_state or state_only or table or batches:
            raise RefusedError(
                "--columns cannot be combined with other options: it writes all commits and prints none"
            )
        _write(files, columns)
    else:
        _print(files, _wanted(groups, follow_state, state_only or table, batches), table)


def _wanted(
    groups: list[str] | None, follow_state: bool, only_groups: bool, batches: bool
) -> Wanted:
    """Return the requested parts of the logs."""
    from emulator.logs.offsets_log.dumping import Wanted

    if only_groups and batches:
        raise RefusedError("--batches shows batches, but --state-only and --table show groups only")
    return Wanted(
        group_ids=frozenset(groups or ()),
        batches=batches,
        records=not only_groups,
        states=follow_state or only_groups,
    )


def _print(files: list[Path], wanted: Wanted, as_table: bool) -> None:
    from emulator.cli.log_printing import print_logs

    printed = print_logs(files, wanted, as_table=as_table)
    if printed.has_bad_files:
        raise typer.Exit(BAD_INPUT)
    if printed.has_faults:
        raise typer.Exit(NOT_ALL_READ)


def _write(files: list[Path], columns: Path) -> None:
    from emulator.cli.log_columns import write_columns

    if not write_columns(files, columns):
        raise typer.Exit(NOT_ALL_READ)
