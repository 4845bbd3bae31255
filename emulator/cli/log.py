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
    (
        "the partition of __consumer_offsets that has the commits of a group",
        "rebalance log --where --group billing",
    ),
)


FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        show_default=False,
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
WhereOption = Annotated[
    bool,
    typer.Option(
        "--where", help="Read no file; print the partition of __consumer_offsets of each --group."
    ),
]
PartitionsOption = Annotated[
    int,
    typer.Option(
        "--partitions",
        min=1,
        metavar="N",
        help="With --where: offsets.topic.num.partitions of the cluster.",
    ),
]


def log(
    files: FilesArgument = None,
    groups: GroupsOption = None,
    follow_state: FollowStateOption = False,
    state_only: StateOnlyOption = False,
    table: TableOption = False,
    batches: BatchesOption = False,
    columns: ColumnsOption = None,
    where: WhereOption = False,
    partitions: PartitionsOption = 50,
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
    order (docs/how-to/offsets-log.md lists the columns), and reports the number of omitted records.

    --where needs no file: the leader of that partition is the coordinator of the group.

    Exit status: 0 success; 1 not everything could be read: gaps, records that cannot be decoded or
    that 4.4.0 does not know, a log that no coordinator could load; 2 bad input: a file that is
    missing, not a log, or a log of another topic. An empty segment is no error.
    """
    shows = follow_state or state_only or table or batches
    if where:
        if files or shows or columns is not None:
            meant = f"; did you mean --group {files[0]}?" if files and not groups else ""
            reason = "--where reads no file: it goes with --group and --partitions only"
            raise RefusedError(reason + meant)
        _print_partitions(groups, partitions)
    elif not files:
        raise RefusedError(
            "FILE is missing: name a segment, a folder of segments, or - for standard input"
        )
    elif columns is not None:
        if groups or shows:
            raise RefusedError(
                "--columns cannot be combined with other options: it writes all commits and prints none"
            )
        _write(files, columns)
    else:
        _print(files, _wanted(groups, follow_state, state_only or table, batches), table)


def _print_partitions(groups: list[str] | None, partitions: int) -> None:
    """Print the partition of the offsets topic of each group."""
    from emulator.report.wording import visible
    from protocols.offsets_topic import OFFSETS_TOPIC, partition_for

    if not groups:
        raise RefusedError("--where needs the id of a group: --group ID, as often as needed")
    for group in groups:
        typer.echo(f"{visible(group)}  {OFFSETS_TOPIC}-{partition_for(group, partitions)}")


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
