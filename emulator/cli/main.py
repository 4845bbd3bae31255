"""The command ``rebalance``: one application, one command a file, one door for what goes wrong.

=========== ================================================================
exit status meaning
=========== ================================================================
0           fine
1           an expectation failed, something lies outside in ``verify``, or a log could not be
            read whole
2           bad input: one message on stderr, no traceback, nothing half-written
130         interrupted by Ctrl-C
143, 129    told to end (SIGTERM), or its terminal went away (SIGHUP)
=========== ================================================================

Commands import what they need when they are called, so that ``rebalance --help`` needs nothing
and ``rebalance run`` no tables, no Parquet and no captures.
"""

from __future__ import annotations

import gc
import signal
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from emulator import __version__
from emulator.cli import (
    assign,
    audit,
    compare,
    explain,
    import_,
    log,
    run,
    scenarios,
    schema,
    study,
    verify,
)
from emulator.cli.helping import Examples, with_examples
from emulator.cli.refusals import BAD_INPUT, RefusedError, message_of
from emulator.cli.saying import NO_ROOM, flush, open_streams, say

FATAL_SIGNAL = 128
"""A shell's status of a process that a signal ended: this and the signal's number."""

RARELY = 50_000
"""New objects between two looks of the cyclic collector: what a command imports is no garbage."""


class ToldToEndError(KeyboardInterrupt):
    """A signal asks the process to end: all that is open is closed on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = FATAL_SIGNAL + number


class Commands(TyperGroup):
    """All commands, behind one door: what the user got wrong becomes a message and a status."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a refusal is printed and ends with status 2."""
        try:
            return super().invoke(ctx)
        except ToldToEndError as told:
            raise typer.Exit(told.status) from None
        except BrokenPipeError:
            raise typer.Exit from None
        except Exception as error:
            message = message_of(error)
            if message is None:
                raise
            typer.echo(message, err=True)
            raise typer.Exit(BAD_INPUT) from None


EXAMPLES: Examples = (
    ("which scenarios there are to begin with", "rebalance scenarios"),
    ("what one failure costs, and why", "rebalance run member-crashes"),
    ("how the first entry of its ledger came about", "rebalance explain member-crashes D1"),
    ("eager, cooperative and static side by side", "rebalance compare rolling-restart-eager"),
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from emulator.scenario.manifest import KAFKA

        say(f"rebalance {__version__}, follows Apache Kafka {KAFKA}")
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

    rebalance COMMAND --help tells more of each command.

    Exit status: 0 fine; 1 an expectation of the scenario failed, something lies outside in
    verify, or a log could not be read whole; 2 bad input, with one message on stderr and nothing
    half-written; 130 interrupted.
    """
    del version


app = typer.Typer(
    name="rebalance",
    cls=Commands,
    callback=about,
    help=with_examples(about, EXAMPLES),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (
    *(run, compare, study, explain, assign),
    *(log, import_, audit, verify, scenarios, schema),
):
    command.register(app)


def main() -> None:
    """Run the command line and end the process with its exit status."""
    gc.freeze()
    gc.set_threshold(RARELY, *gc.get_threshold()[1:])
    open_streams()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _end)
    try:
        try:
            app(prog_name="rebalance")
        finally:
            flush()
    except (OSError, RefusedError) as error:
        if isinstance(error, OSError) and error.errno not in NO_ROOM:
            raise
        typer.echo(str(error), err=True)
        raise SystemExit(BAD_INPUT) from None


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise ToldToEndError(number)
