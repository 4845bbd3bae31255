"""``rebalance import``: real offsets logs, from a cluster or from segment files, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.options import (
    EngineName,
    Examples,
    JobsOption,
    JsonOption,
    MasterOption,
    with_examples,
)

NOT_ALL_READ = 1
MINUTE_US = 60_000_000


SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Segments (.log, also gzipped), folders of segments, a broker's data folder; "
        "a path, a pattern, or a URI: s3:// and gs:// as they are, hdfs://, s3a://, abfss:// and "
        "others through Spark.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Folder for the tables; a new one."),
]
BootstrapOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap", metavar="HOST:PORT", help="Read from a live cluster, not from files."
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings of the cluster's client."),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One of them, over the file's; repeatable."),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="PATTERN", help="Only groups called so, as in 'billing-*'."),
]
FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only records from then on, by their time."),
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Only records before then.")
]
EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="Who reads; auto: by the size of the sources.")
]
ScenarioOption = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="GROUP",
        help="Write this group as a scenario to play: to -o FILE.toml, or print it. SOURCE "
        "may also be the DIR of an import.",
    ),
]
GenerationOption = Annotated[
    int | None,
    typer.Option(
        "--generation",
        min=0,
        help="With --scenario: the group as it was then; by default the newest that lasted.",
    ),
]
RetentionOption = Annotated[
    str,
    typer.Option(
        "--offsets-retention",
        metavar="TIME",
        help="How long the brokers keep offsets (offsets.retention.minutes), such as 7d.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "import",
        help=with_examples(import_, EXAMPLES),
    )(import_)


EXAMPLES: Examples = (
    (
        "the segments of a partition as tables",
        "rebalance import examples/__consumer_offsets-4 -o imported",
    ),
    (
        "one group's part of it",
        "rebalance import examples/__consumer_offsets-4 --group 'kip848-*' -o one-group",
    ),
    (
        "one group of it as a scenario, to replay and to vary",
        "rebalance import examples/__consumer_offsets-4 --scenario kip848-crash-1-cad7p",
    ),
)


def import_(
    sources: SourcesArgument = None,
    output: OutputOption = None,
    bootstrap: BootstrapOption = None,
    config: ConfigOption = None,
    setting: SettingOption = None,
    groups: GroupsOption = None,
    begin: FromOption = None,
    end: ToOption = None,
    engine: EngineOption = EngineName.AUTO,
    master: MasterOption = None,
    scenario: ScenarioOption = None,
    generation: GenerationOption = None,
    retention: RetentionOption = "7d",
    jobs: JobsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in the offsets log of a real cluster: commits, groups, and what could not be read.

    DIR gets three tables as Parquet files: commits (each committed offset and each deletion),
    groups (each other record about a group: its members, subscriptions, assignments, epochs) and
    gaps (bytes and records that could not be read: where, and why), and manifest.json. In findings/
    is what they come to: how often groups commit, rebalance and why, whose offsets went backwards
    or expire soon, who flaps or idles; report.html has the pictures. The folder is there
    whole or not at all; an import that was interrupted goes on where it was when the same command
    is given again.

    Commits of a transaction are marked committed, aborted or pending; only committed ones count.
    From a live cluster, undecided means that a transaction was open before them.

    A live cluster is read through consumers that join no group and commit nothing. Settings are
    librdkafka's (security.protocol, sasl.mechanism, sasl.username, ssl.ca.location, ...), from a
    properties file or --set. The user needs Read on the topic __consumer_offsets.

    A TIME is one such as 2026-05-04 or 2026-05-04T09:00:00+02:00; without an offset it is UTC.

    --json prints one line, one JSON object: folder, engine, and what manifest.json says.

    Exit status: 0 fine; 1 not all could be read, see gaps; 2 bad input, or no room.
    """
    from emulator.cli.import_findings import Wanted
    from emulator.cli.import_playing import play_import, play_scenario
    from emulator.cli.import_request import Request
    from emulator.errors import RefusedError

    request = Request(
        retention_ms=_retention_ms(retention),
        sources=tuple(sources or ()),
        output=output,
        bootstrap=bootstrap,
        config=config,
        settings=tuple(setting or ()),
        groups=tuple(groups or ()),
        begin=begin,
        end=end,
        engine=engine.value,
        master=master,
        jobs=jobs,
    )
    if scenario is not None:
        if request.groups:
            raise RefusedError("--scenario reads one group alone: leave --group out")
        all_read = play_scenario(request, Wanted(scenario, generation), as_json=as_json)
    elif generation is not None:
        raise RefusedError("--generation is for --scenario GROUP: give it, too")
    else:
        all_read = play_import(request, as_json=as_json)
    if not all_read:
        raise typer.Exit(NOT_ALL_READ)


def _retention_ms(text: str) -> int:
    """Return a time in milliseconds; raise RefusedError if it is none, or nothing."""
    from emulator.errors import RefusedError
    from emulator.scenario.units import parse_duration

    try:
        taken_us = parse_duration(text)
    except ValueError as error:
        raise RefusedError(f"--offsets-retention {text}: {error}") from None
    if taken_us < MINUTE_US:
        raise RefusedError(f"--offsets-retention {text}: Kafka keeps offsets for a minute at least")
    return taken_us // 1_000
