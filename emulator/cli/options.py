"""Arguments, options and help texts that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from inspect import getdoc
from os import environ
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer

MAX_SEEDS = 1_000_000
"""The largest ``--seeds``."""


class EngineName(StrEnum):
    """The engines that can play many runs."""

    AUTO = "auto"
    POOL = "pool"
    SPARK = "spark"


def catalogue_names(incomplete: str) -> list[str]:
    """Return the names of the catalogue that begin with what was typed."""
    from emulator.scenario.catalogue import names

    return [name for name in names() if name.startswith(incomplete)]


def scenarios(incomplete: str) -> list[str]:
    """Return the names of the catalogue, scenario files and folders that complete a word."""
    return _names_or_files(catalogue_names(incomplete), incomplete)


def studies(incomplete: str) -> list[str]:
    """Return the built-in studies, study files and folders that complete a word."""
    from emulator.study.model import names

    return _names_or_files([name for name in names() if name.startswith(incomplete)], incomplete)


def _names_or_files(names: list[str], incomplete: str) -> list[str]:
    """Return names, unless a path was begun, and the TOML files and folders that complete a word."""
    folder, slash, name = incomplete.rpartition("/")
    base = Path(f"{folder}{slash}" or ".")
    found = sorted(base.iterdir()) if base.is_dir() else []
    paths = [path for path in found if path.name.startswith(name)]
    files = [f"{folder}{slash}{path.name}" for path in paths if path.suffix == ".toml"]
    folders = [f"{folder}{slash}{path.name}/" for path in paths if path.is_dir() and name]
    return [*(() if slash else names), *files, *folders]


def paths_of_scenario(incomplete: str) -> list[str]:
    """Return the paths of the scenario on the command line that begin with what was typed.

    Values are not completed; nothing is, if the scenario cannot be read. An option without its value
    keeps click from parsing the line, so its words are those that the shell hands over.
    """
    from emulator.errors import EmulatorError
    from emulator.loading import read_text
    from emulator.scenario.act_tables import act_places, as_written
    from emulator.scenario.load import document_of
    from emulator.scenario.paths import all_paths

    line = environ.get("COMP_WORDS") or environ.get("_TYPER_COMPLETE_ARGS", "")
    known = catalogue_names("")
    named = [word for word in line.split() if word in known or word.endswith(".toml")]
    if not named or "=" in incomplete:
        return []
    try:
        text = read_text(named[0]).text
        document = document_of(text, named[0], ())
        places = act_places(text, document.get("fault", ()))
        paths = [as_written(path, places) for path in all_paths(document)]
        return [f"{path}=" for path in paths if path.startswith(incomplete)]
    except (EmulatorError, OSError):
        return []


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        autocompletion=scenarios,
        metavar="SCENARIO",
        help="A scenario file, a name of the catalogue (rebalance scenarios), or - for standard input.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**64 - 1, help="Seed; by default the scenario's own."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        autocompletion=paths_of_scenario,
        help="Change a key of the scenario: names of objects and of Kafka's settings are in "
        "brackets, as in group[billing].settings[session.timeout.ms]=10s, "
        "group[billing].member[billing-1].work=50ms, topic[orders].skew=[2, 1], "
        "fault[crash-1].at=2min; repeatable, the last one wins.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", min=1, max=1_024, help="Number of processes; by default one per core."),
]
YesOption = Annotated[
    bool,
    typer.Option("--yes", help="Run it even if it would take more than two hours of CPU time."),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE.html", help="Write the result as a page with a timeline."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
MasterOption = Annotated[
    str | None, typer.Option("--master", help="Spark's master; by default this machine.")
]


def _allow_plugins(modules: list[str] | None) -> None:
    if modules:
        from assignors.own_code import allow_plugins

        allow_plugins(*modules)


def _limit_files(size: str | None) -> None:
    from emulator.input_files import limit_files

    if size is None:
        limit_files(None)
        return
    from emulator.scenario.units import parse_size

    try:
        limit_files(parse_size(size))
    except ValueError as error:
        raise typer.BadParameter(f"{size!r}: {error}") from None


def _limit_input(pairs: list[str] | None) -> None:
    from emulator.limits import limit_input, parsed_limit

    for pair in pairs or ():
        try:
            limit_input(**dict([parsed_limit(pair)]))
        except ValueError as error:
            raise typer.BadParameter(f"{pair!r}: {error}") from None


def _allow_files(folders: list[Path] | None) -> None:
    if folders:
        from emulator.input_files import allow_files

        for folder in folders:
            if not folder.is_dir():
                raise typer.BadParameter(f"there is no folder {str(folder)!r}")
        allow_files(*folders)


def _declare(
    plugins: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="MODULE",
            callback=_allow_plugins,
            expose_value=False,
            help="Let the scenario name assignors and handlers of this module; repeatable. Modules beside the "
            "scenario file need no option; other code is not run.",
        ),
    ] = None,
    max_file_size: Annotated[
        str | None,
        typer.Option(
            "--max-file-size",
            metavar="SIZE",
            callback=_limit_files,
            expose_value=False,
            help="Read files of up to this size, as 100MiB; by default scenarios of 4 MiB and "
            "unpacked files of captures of 64 MiB.",
        ),
    ] = None,
    files_in: Annotated[
        list[Path] | None,
        typer.Option(
            "--files-in",
            metavar="FOLDER",
            callback=_allow_files,
            expose_value=False,
            help="Let the scenario name files in this folder; repeatable. Files beside the scenario "
            "file, or below, need no option.",
        ),
    ] = None,
) -> None:
    """Declare options whose callbacks do all of their work."""
    del plugins, max_file_size, files_in


def input_options() -> list[Any]:
    """Return the options of commands that read scenarios: what may be run, and read."""
    return _options_of(_declare)


def _options_of(declaration: Callable[..., None]) -> list[Any]:
    declaring = typer.Typer(add_completion=False)
    declaring.command()(declaration)
    return typer.main.get_command(declaring).params


def _declare_limits(
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="NAME=VALUE",
            callback=_limit_input,
            expose_value=False,
            help="Read input up to another limit: batch, unpacked, records (of segments), row, nesting "
            "(of JSON), toml (its nesting), entries (of its lists), rowgroup (of Parquet), as "
            "row=256MiB; repeatable.",
        ),
    ] = None,
) -> None:
    """Declare the option of the commands whose input has limits."""
    del limits


def limit_options() -> list[Any]:
    """Return the option that raises limits of an input."""
    return _options_of(_declare_limits)


VERBATIM = "\b"
"""Begins a paragraph that is not wrapped."""

Examples = tuple[tuple[str, str], ...]
"""The purpose of each example, and its shell command."""


def with_examples(command: Callable[..., Any], examples: Examples) -> str:
    """Return a command's docstring with examples after its first paragraph."""
    first, _, rest = (getdoc(command) or "").partition("\n\n")
    lines = [indent(f"# {what}\n{call}", "  ") for what, call in examples]
    return "\n\n".join([first, "\n".join([VERBATIM, "Examples:", *lines]), rest]).strip()


AdviseOption = Annotated[
    bool | None,
    typer.Option(
        "--advise/--no-advise",
        help="Try the first three changes that the hints recommend, with the same seeds as the run; or "
        "print the hints alone. [default: on a terminal, if about a second is enough]",
        show_default=False,
    ),
]
