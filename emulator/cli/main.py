"""The command ``rebalance``: one application; each command is a module, imported when it is used.

=========== ================================================================
exit status meaning
=========== ================================================================
0           success
1           an expectation failed, a figure is outside its interval in
            ``verify``, or a log could not be read completely
2           bad input: one message on stderr, no traceback, no partial output
130         interrupted by Ctrl-C
143, 129    ended by SIGTERM or SIGHUP
=========== ================================================================
"""

from __future__ import annotations

import gc
import os
import signal
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from emulator import __version__
from emulator.cli.options import Examples, input_options, limit_options, with_examples
from emulator.cli.output import BAD_INPUT, DISK_FULL, flush, message_of, open_streams, say
from emulator.errors import RefusedError

COMMANDS: Final = {
    "run": "Play a scenario: what is reprocessed, what is lost, and why.",
    "compare": "Compare protocols or settings under the same seeds.",
    "study": "Vary settings over many seeds: curves, rankings, trade-offs.",
    "explain": "Explain how one entry of a ledger came about.",
    "ledger": "List all entries of a ledger.",
    "assign": "Ask an assignor which member gets which partition.",
    "log": "Show the records in segments of __consumer_offsets.",
    "import": "Import the offsets log of a real cluster as tables.",
    "audit": "Count what real consumers reprocessed or lost.",
    "blame": "Search for what explains the logs of a real incident.",
    "capture": "Run experiments on a real Kafka, and write what happened.",
    "verify": "Compare captured runs of a real Kafka with the emulator.",
    "scenarios": "List, show and copy the scenarios of the catalogue.",
    "init": "Write a first scenario of your own group from five answers.",
    "schema": "Print the JSON Schema of scenario files.",
}
"""Every command with its line in the help, in the order of the help."""

MODULES: Final = {"import": "import_", "ledger": "explain", "init": "scenarios"}
"""The modules of commands whose module has another name."""

READING_SCENARIOS: Final = (
    "run",
    "compare",
    "study",
    "explain",
    "ledger",
    "assign",
    "verify",
    "init",
)
"""The commands that read scenarios, captures or questions, and may run code of the user."""

LIMITED: Final = (*READING_SCENARIOS, "import", "audit", "blame", "log")
"""The commands whose input has limits of its own: logs, tables, and the nesting of files."""

COMPLETION_HELP: Final = {
    "install_completion": "Install completion for the current shell, or for a named one, as in "
    "--install-completion fish: bash, fish, powershell, pwsh or zsh.",
    "show_completion": "Print what --install-completion would install, to copy or change it; "
    "takes the name of a shell, too.",
}
"""The help of the options of completion, by the name of the parameter."""

MEANT_OPTIONS: Final = {
    "--trace": "--perfetto",
    "--chrome-trace": "--perfetto",
    "--report": "--html",
    "--output-html": "--html",
    "--override": "--set",
    "--runs": "--seeds",
}
"""Options that people look for, and those that are meant."""

UNANSWERED: Final = (
    "the input ended before all questions were answered; give the answers as options, see --help"
)
"""What a command says that asks, such as ``init``, where nobody answers."""

SIGNAL_STATUS = 128
"""Added to the number of the signal that ends the process, as shells do."""

GC_THRESHOLD = 50_000
"""New objects between two runs of the cyclic garbage collector."""


class TerminatedError(KeyboardInterrupt):
    """A signal ends the process: files are closed and removed on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = SIGNAL_STATUS + number


class Commands(TyperGroup):
    """The group of all commands: imports them when used, and reports their errors."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # only the names are used

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command's module and return the command; None if there is none."""
        return _command(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; those of completion may name a shell."""
        if args and args[0].startswith(("--install-completion", "--show-completion")):
            from emulator.cli.completion import complete_for_named_shell

            complete_for_named_shell(ctx, args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> Any:
        """Return the options; the help of those of completion names the shells."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            if param.name in COMPLETION_HELP:
                param.help = COMPLETION_HELP[param.name]
        return params

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the names that complete a command, without importing the commands."""
        names = [TyperCommand(name, short_help=line) for name, line in COMMANDS.items()]
        ctx.command = TyperGroup(name=self.name, commands=names, params=self.params)
        return ctx.command.shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of the user is printed and ends with status 2."""
        try:
            return super().invoke(ctx)
        except TerminatedError as ended:
            raise typer.Exit(ended.status) from None
        except typer.Abort as ended:
            raise typer.Exit(_status_of_unanswered(ended)) from None
        except BrokenPipeError:
            raise typer.Exit from None
        except Exception as error:
            if meant := MEANT_OPTIONS.get(getattr(error, "option_name", None) or ""):
                error.possibilities = [meant]  # type: ignore[attr-defined]  # NoSuchOption has them
            message = message_of(error)
            if message is None:
                raise
            typer.echo(message, err=True)
            raise typer.Exit(BAD_INPUT) from None


def _command(name: str) -> Any:
    """Import a command's module and return the command, made anew: click keeps options of a call in it."""
    module = import_module(f"emulator.cli.{MODULES.get(name, name)}")
    _collect_garbage_from_now_on()
    one = typer.Typer(rich_markup_mode=None, add_completion=False)
    module.register(one)
    command = typer.main.get_group(one).commands[name]
    if name in READING_SCENARIOS:
        command.params.extend(input_options())
    if name in LIMITED:
        command.params.extend(limit_options())
    return command


def _status_of_unanswered(ended: typer.Abort) -> int:
    """Return the exit status of a command that was ended at one of its questions."""
    why = ended.__context__
    if isinstance(why, TerminatedError):
        return why.status
    if not isinstance(why, EOFError):
        return SIGNAL_STATUS + signal.SIGINT
    typer.echo(f"\n{UNANSWERED}", err=True)
    return BAD_INPUT


EXAMPLES: Examples = (
    ("list the scenarios of the catalogue", "rebalance scenarios"),
    ("what one failure costs, and why", "rebalance run member-crashes"),
    ("how the first entry of its ledger came about", "rebalance explain member-crashes D1"),
    ("compare eager, cooperative and static", "rebalance compare rolling-restart-eager"),
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from emulator.versions import KAFKA

        say(f"rebalance {__version__}, follows Apache Kafka {KAFKA}")
        raise typer.Exit


def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Replay failures of Kafka consumer groups; count what is reprocessed and lost, with causes.

    rebalance COMMAND --help describes a command.

    Exit status: 0 success; 1 an expectation of the scenario failed, a figure is outside its
    interval in verify, or a log could not be read completely; 2 bad input, with one message on
    stderr and no partial output; 130 interrupted.
    """
    del version


app = typer.Typer(
    name="rebalance",
    cls=Commands,
    callback=about,
    help=with_examples(about, EXAMPLES),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line and end the process with its exit status.

    Plugins of pydantic are not searched for among the installed packages, which takes 10 ms.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.disable()
    open_streams()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _terminate)
    try:
        try:
            app(prog_name="rebalance")
        finally:
            flush()
    except (OSError, RefusedError) as error:
        if isinstance(error, OSError) and error.errno not in DISK_FULL:
            raise
        typer.echo(str(error), err=True)
        raise SystemExit(BAD_INPUT) from None


def _collect_garbage_from_now_on() -> None:
    """Start the cyclic garbage collector; what has been imported is no garbage."""
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    gc.enable()


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    raise TerminatedError(number)
