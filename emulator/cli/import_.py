"""``rebalance import``: import real offsets logs, from a cluster or from segments, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.options import (
    EngineName,
    Examples,
    JobsOption,
    JsonOption,
    MasterOption,
    with_examples,
)
from emulator.cli.output import say, say_json
from emulator.cli.progress import Progress
from emulator.errors import RefusedError, reason_of

if TYPE_CHECKING:
    from emulator.logs.importing import Import
    from emulator.logs.imports.request import Request

INCOMPLETE = 1
"""Exit status if something could not be read."""


SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Segments (.log, also gzipped), folders of segments, a broker's data folder; "
        "a path, a pattern, or a URI: s3:// and gs:// directly, hdfs://, s3a://, abfss:// and "
        "others through Spark.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="A new folder for the tables."),
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
    typer.Option(
        "--set", metavar="KEY=VALUE", help="One setting, overriding the file; repeatable."
    ),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group", metavar="PATTERN", help="Only groups whose id matches, such as 'billing-*'."
    ),
]
FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only records from this time on."),
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Only records before this time.")
]
EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", help="Processes (pool) or Spark; auto: by the size of the sources."),
]
ScenarioOption = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="GROUP",
        help="Write this group as a scenario: to -o FILE.toml, or print it. SOURCE "
        "may also be the DIR of an import.",
    ),
]
GenerationOption = Annotated[
    int | None,
    typer.Option(
        "--generation",
        min=0,
        help="With --scenario: the generation to use, of the consumer protocol the epoch; by default the "
        "newest long-lived one.",
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
        "the offsets log of a run, as tables",
        "rebalance run member-crashes --write-log offsets; rebalance import offsets -o imported",
    ),
    ("some groups only", "rebalance import offsets --group 'bill*' -o some-groups"),
    (
        "one group as a scenario, to replay and to vary",
        "rebalance import offsets --scenario billing",
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
    """Import the offsets log of a real cluster: commits, groups, and gaps that could not be read.

    DIR gets three tables as Parquet files: commits (each committed offset and each deletion),
    groups (each other record about a group: its members, subscriptions, assignments, epochs) and
    gaps (bytes and records that could not be read, with the reason), and manifest.json. findings/
    has an analysis of each group: how often it commits and rebalances, and why; offsets that went
    backwards or expire soon; flapping and idle members. report.html has charts. The folder is
    complete or absent; repeating the command resumes an interrupted import.

    Commits of a transaction are marked committed, aborted or pending; only committed ones count.
    In an import from a live cluster, undecided means that an earlier transaction was still open.

    A live cluster is read through consumers that join no group and commit nothing. Settings are
    librdkafka's (security.protocol, sasl.mechanism, sasl.username, ssl.ca.location, ...), from a
    properties file or --set. The user needs Read on the topic __consumer_offsets.

    TIME has a form such as 2026-05-04 or 2026-05-04T09:00:00+02:00; without an offset it is UTC.

    --json prints one line, one JSON object: folder, engine, and the content of manifest.json.

    Exit status: 0 success; 1 something could not be read, see gaps; 2 bad input, or a full disk.
    """
    from emulator.logs.imports.request import Request, retention_ms_of

    request = Request(
        retention_ms=retention_ms_of(retention),
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
            raise RefusedError("--scenario reads one group: omit --group")
        complete = _scenario(request, scenario, generation, as_json=as_json)
    elif generation is not None:
        raise RefusedError("--generation needs --scenario GROUP")
    else:
        complete = _import(request, as_json=as_json)
    if not complete:
        raise typer.Exit(INCOMPLETE)


def _import(request: Request, *, as_json: bool) -> bool:
    """Import, and print the result; return whether everything could be read."""
    from emulator.logs.importing import run_import

    with _progress(request) as progress:
        done = run_import(request, progress=progress.show)
    if as_json:
        say_json({"folder": str(done.folder), "engine": done.engine.name, **done.manifest})
    else:
        say(*_lines(done))
    return done.complete


def _lines(done: Import) -> Iterator[str]:
    from emulator.logs.importing import FINDINGS, PAGE
    from emulator.logs.imports.screen import findings_screen, import_lines, next_steps
    from emulator.report.wording import printable

    yield from import_lines(done.planned, done.manifest)
    yield f"Read by: {done.engine.words}"
    yield f"Tables:  {done.folder}"
    if done.shortlist is None:
        return
    yield from ("", *map(printable, findings_screen(done.shortlist)), "")
    yield f"Findings: {done.folder / FINDINGS}"
    yield f"Page:     {done.folder / PAGE}"
    yield from map(printable, next_steps(done.shortlist, done.folder))


def _scenario(request: Request, group: str, generation: int | None, *, as_json: bool) -> bool:
    """Write a group as a scenario; return whether everything could be read."""
    from emulator.logs.group_scenario import run_scenario

    output = request.output
    if output is not None and (output.exists() or output.is_symlink()):
        raise RefusedError(f"-o {output}: exists already; name a new file")
    with _progress(request) as progress:
        found = run_scenario(request, group, generation, progress=progress.show)
    if output is not None:
        _write(output, found.text)
    if as_json:
        file = None if output is None else str(output)
        say_json({"group": group, "file": file, "text": found.text})
    elif output is None:
        say(found.text.removesuffix("\n"))
    else:
        say(f"{output}: {group} as a scenario; run it with: rebalance run {output}")
    return found.complete


def _write(path: Path, text: str) -> None:
    from emulator.output_files import put

    try:
        put(path, text.encode())
    except (OSError, ValueError) as error:
        raise RefusedError(f"-o {path}: cannot be written: {reason_of(error)}") from None


def _progress(request: Request) -> Progress:
    unit = "bytes" if request.bootstrap is None else "log offsets"
    return Progress(f"{unit} read")
