"""The command ``rebalance``: one application, one command a file, one door for what goes wrong.

=========== ================================================================
exit status meaning
=========== ================================================================
0           fine
1           an expectation failed, or something lies outside in ``verify``
2           bad input: one message on stderr, no traceback, nothing half-written
130         interrupted by Ctrl-C
=========== ================================================================

Commands import what they need when they are called, so that ``rebalance --help`` needs nothing
and ``rebalance run`` no tables, no Parquet and no captures.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from emulator import __version__
from emulator.cli import assign, compare, explain, run, scenarios, schema, verify
from emulator.cli.refusals import BAD_INPUT, message_of


class Commands(TyperGroup):
    """All commands, behind one door: what the user got wrong becomes a message and a status."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a refusal is printed and ends with status 2."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            message = message_of(error)
            if message is None:
                raise
            typer.echo(message, err=True)
            raise typer.Exit(BAD_INPUT) from None


def _say_version(wanted: bool) -> None:
    if wanted:
        from emulator.scenario.manifest import KAFKA

        print(f"rebalance {__version__}, follows Apache Kafka {KAFKA}")
        raise typer.Exit


def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Replay failures of Kafka consumer groups; count what they repeat and lose, and say why.

    Example: rebalance run member-crashes
    """
    del version


app = typer.Typer(
    name="rebalance",
    cls=Commands,
    callback=about,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (run, compare, explain, assign, verify, scenarios, schema):
    command.register(app)


def main() -> None:
    """Run the command line and end the process with its exit status."""
    gc.freeze()
    try:
        app(prog_name="rebalance")
    finally:
        _flush()


def _flush() -> None:
    """Write what is left; a reader that has gone away (``| head``) is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
