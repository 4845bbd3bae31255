"""``rebalance log``: what real segments of the offsets topic say, record by record or group by group."""

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
        "every record of a partition, in the words of Kafka's dump tool",
        "rebalance log examples/__consumer_offsets-4",
    ),
    (
        "what became of one group, record by record",
        "rebalance log examples/__consumer_offsets-4 --group kip848-crash-1-cad7p --follow-state",
    ),
    ("which groups there are in the end", "rebalance log examples/__consumer_offsets-4 --table"),
    (
        "all commits as a table for pandas, DuckDB or Spark",
        "rebalance log examples/__consumer_offsets-4 --columns commits.parquet",
    ),
)


FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Segments (.log, also gzipped), folders of segments, a broker's data folder, "
        "or - for the input.",
    ),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="ID", help="Only records about this group; repeatable."),
]
FollowStateOption = Annotated[
    bool,
    typer.Option(
        "--follow-state", help="Show with each record what its group looked like after it."
    ),
]
StateOnlyOption = Annotated[
    bool,
    typer.Option("--state-only", help="Show no records but each group, as it is in the end."),
]
TableOption = Annotated[
    bool, typer.Option("--table", help="The same as --state-only, as a table for people.")
]
BatchesOption = Annotated[
    bool, typer.Option("--batches", help="Show the headers of record batches, too.")
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
    """Show what segments of __consumer_offsets hold, as JSON lines, one a record.

    Segments of one partition are one log and are read in order of their base offsets, whatever
    their order here. Names, order and values are those of kafka-dump-log.sh --offsets-decoder;
    payload is "<DELETE>" for a tombstone. With several logs, log says which one a line is of.

    What a Kafka 4.4.0 does not know is shown as hexadecimal digits under raw, and unknown says
    what it is; key or value that cannot be decoded likewise, and error says why. Bytes that are
    no batch of records have a line with gap, position, size and reason, and the rest is read:
    nothing is left out. What was wrong is told on stderr at the end.

    --follow-state adds after, by group id: what a coordinator that loads the log up to here knows
    of the group (type, state, epochs or generation, members with what they have and shall have,
    committed and pending offsets); loadFails says why it could not load it. --state-only prints
    a line a group: group, and the same.

    --columns prints no records: it writes a row a committed offset or tombstone, in the order of
    the logs, with the types of docs/offsets-log.md, and says what was left out.

    Exit status: 0 fine; 1 not all could be read: gaps, records that cannot be decoded or that
    4.4.0 does not know, a log that no coordinator could load; 2 bad input: a file that is
    missing, no log, or a log of another topic. An empty segment is fine.
    """
    if columns is not None:
        if groups or follow_state or state_only or table or batches:
            raise RefusedError("--columns writes all commits and prints nothing: give it alone")
        _write(files, columns)
    else:
        _print(files, _wanted(groups, follow_state, state_only or table, batches), table)


def _wanted(
    groups: list[str] | None, follow_state: bool, only_groups: bool, batches: bool
) -> Wanted:
    """Return what is to be shown of the logs."""
    from emulator.logs.offsets_log.dumping import Wanted

    if only_groups and batches:
        raise RefusedError(
            "--batches shows batches, where --state-only and --table show groups only"
        )
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
