"""What ``rebalance run`` writes for continuous integration."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emulator.cli.output import say_all
from emulator.errors import RefusedError, reason_of
from emulator.loading import LoadedScenario

if TYPE_CHECKING:
    from emulator.metrics.checks import Expected

JunitOption = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE.xml", help="Write the expectations to this file, for CI servers."
    ),
]


def report_to_ci(
    loaded: LoadedScenario,
    expectations: Sequence[Expected],
    screen: Sequence[str],
    file: Path | None,
) -> None:
    """Write the JUnit file, if there is one to write, and GitHub's annotations on GitHub.

    Raise RefusedError if the file cannot be written. *screen*: the printed report; empty if JSON was
    printed, annotations then go to stderr.
    """
    on_github = os.environ.get("GITHUB_ACTIONS") == "true"
    if file is None and not on_github:
        return
    from emulator.output_files import put
    from emulator.report.ci import Suite, github_commands, junit

    path = Path(loaded.name)
    suite = Suite(
        name=loaded.name,
        title=loaded.scenario.title,
        expectations=expectations,
        screen=screen,
        file=path if path.is_file() else None,
    )
    if file is not None:
        try:
            put(file, junit(suite))
        except OSError as error:
            raise RefusedError(f"--junit {file}: cannot be written: {reason_of(error)}") from None
    if on_github and screen:
        say_all(github_commands(suite))
    elif on_github:
        sys.stderr.writelines(f"{line}\n" for line in github_commands(suite))
