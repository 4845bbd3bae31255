"""``rebalance scenarios`` lists, shows and copies the catalogue; ``rebalance init`` writes a first one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer
from typer.core import TyperGroup

from emulator.cli.options import Examples, catalogue_names, with_examples
from emulator.cli.output import say, say_all, say_notes, say_report
from emulator.errors import EmulatorError, RefusedError, reason_of
from emulator.scenario.families import SUBJECTS, Family
from emulator.scenario.problems import nearest

if TYPE_CHECKING:
    from emulator.scenario.catalogue import Entry

Name = Annotated[str, typer.Argument(help="A name from the list.", autocompletion=catalogue_names)]


def register(app: typer.Typer) -> None:
    """Add both commands to the application."""
    scenarios = typer.Typer(
        name="scenarios",
        cls=Searching,
        help=with_examples(list_all, EXAMPLES),
        short_help="List, show and copy the scenarios of the catalogue.",
        invoke_without_command=True,
    )
    scenarios.callback()(list_all)
    scenarios.command("list", short_help="List the scenarios; the default.")(list_again)
    scenarios.command("show")(show)
    scenarios.command("copy")(copy)
    app.add_typer(scenarios)
    app.command("init", help=with_examples(init, INIT_EXAMPLES))(init)


EXAMPLES: Examples = (
    ("all scenarios, each with the question it answers", "rebalance scenarios"),
    (
        "those about a word, or a family",
        "rebalance scenarios crash; rebalance scenarios --family deploys",
    ),
    ("those of a protocol, with a setting", "rebalance scenarios max.poll --protocol consumer"),
    ("one of them", "rebalance scenarios show member-crashes"),
    ("copy one, to change and run it", "rebalance scenarios copy member-crashes my-crash.toml"),
)
AsLines = Annotated[bool, typer.Option("--json", help="Print one JSON line per scenario.")]


Word = TypeVar("Word", bound=StrEnum)


def _one_of(words: type[Word]) -> Callable[[str], Word]:
    """Return a parser that names the allowed words, and the nearest one, for any other word."""

    def parse(text: str) -> Word:
        try:
            return words(text.lower())
        except ValueError:
            near = nearest(text, words)
            meant = f"; did you mean '{near[0]}'?" if near else ""
            reason = f"{text!r} is not one of {', '.join(words)}{meant}"
            raise typer.BadParameter(reason) from None

    return parse


FamilyOption = Annotated[
    Family | None,
    typer.Option(
        "--family",
        metavar="FAMILY",
        parser=_one_of(Family),
        autocompletion=lambda: [*Family],
        help=f"Only a family: {', '.join(Family)}.",
    ),
]


class Protocol(StrEnum):
    """The values of group.protocol."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


ProtocolOption = Annotated[
    Protocol | None,
    typer.Option(
        "--protocol",
        metavar="[classic|consumer]",
        parser=_one_of(Protocol),
        autocompletion=lambda: [*Protocol],
        help="Only scenarios with this group.protocol.",
    ),
]


class Searching(TyperGroup):
    """A group of commands that takes other words as words to search for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names, or the list with all words."""
        known = args[0] in self.commands or args[0].startswith("-")
        return super().resolve_command(ctx, args if known else ["list", *args])


def list_all(
    context: typer.Context,
    family: FamilyOption = None,
    protocol: ProtocolOption = None,
    as_json: AsLines = False,
) -> None:
    """List, show and copy the scenarios of the catalogue; words after it search them.

    rebalance scenarios WORD... lists those whose name or file has all the words, or shows a symptom
    (doubled, missing, overload) or an error of Kafka (REBALANCE_IN_PROGRESS).
    """
    if context.invoked_subcommand is None:
        _list((), family, protocol, as_json)


def list_again(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Words of the name or the file, all of them."),
    ] = None,
    family: FamilyOption = None,
    protocol: ProtocolOption = None,
    as_json: AsLines = False,
) -> None:
    """List the scenarios by family, each with the question it answers."""
    _list(words or (), family, protocol, as_json)


def _list(words: Sequence[str], family: Family | None, protocol: str | None, as_json: bool) -> None:
    from emulator.scenario import catalogue

    entries = catalogue.search(words, family, protocol)
    if as_json:
        say_all(json.dumps(asdict(entry)) for entry in entries)
    else:
        say_report(_for_people(entries))


def _for_people(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the entries below the headings of their families."""
    from emulator.report.wording import paragraph

    for family, members in groupby(entries, key=lambda entry: entry.family):
        yield from paragraph(f"{family}: {SUBJECTS[family]}", "", " " * 6)
        for entry in members:
            yield f"  {entry.name}"
            yield from paragraph(" ".join(entry.about), " " * 6)


def show(name: Name) -> None:
    """Print a scenario of the catalogue."""
    from emulator.scenario import catalogue

    say(catalogue.read(name).removesuffix("\n"))


def copy(
    name: Name,
    destination: Annotated[Path, typer.Argument(help="A folder or a file.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Copy a scenario of the catalogue, to change it and run it.

    Prints its path. An existing file is replaced only with --force.
    """
    from emulator.scenario import catalogue

    say(str(catalogue.copy(name, destination, overwrite=force)))


# -- a first scenario ------------------------------------------------------------------------

INIT_EXAMPLES: Examples = (
    (
        "answer without being asked",
        "rebalance init mine.toml --members 3 --partitions 6 --rate 60/s --work 4ms --config none",
    ),
)
NO_FILE = "none"
SETTINGS_HELP = (
    "The client's settings: .properties, .conf, .json or application.yml; none: without."
)


def _a_duration(text: str) -> str:
    from emulator.scenario.units import parse_duration

    return _as_given(parse_duration, text)


def _a_rate(text: str) -> str:
    """Return a rate; a number alone is one per second."""
    from emulator.scenario.units import parse_rate

    return _as_given(parse_rate, f"{text}/s" if re.fullmatch(r"\s*[\d.]+\s*", text) else text)


def _a_topic(text: str) -> str:
    from emulator.scenario.short_forms import LEGAL_NAME

    return _a_name(text, LEGAL_NAME, "letters, digits, dots, underscores and hyphens")


def _a_group(text: str) -> str:
    """Return a group id; empty: none is given."""
    from emulator.scenario.short_forms import PARTY_NAME

    return _a_name(text, PARTY_NAME, "characters without brackets") if text else text


def _a_name(text: str, pattern: str, allowed: str) -> str:
    """Return a name; raise typer.BadParameter if a scenario cannot have it."""
    if not re.fullmatch(pattern, text):
        raise typer.BadParameter(
            f"{text!r} is not a name we can use; allowed are 1 to 249 {allowed}"
        )
    return text


def _as_given(parse: Callable[[str], object], text: str) -> str:
    """Return a text that can be parsed; raise typer.BadParameter, after which it is asked again."""
    try:
        parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return text


FIRST: Final = Path("scenario.toml")


def _file(known: Mapping[str, Any]) -> Path:
    """Return the file to write; raise RefusedError if two are named."""
    file, output = known["file"], known["output"]
    if output is not None and file not in (FIRST, output):
        raise RefusedError(f"{file} and -o {output}: one scenario is written, name one file")
    return Path(file if output is None else output)


def _refuse_existing(context: typer.Context, option: typer.CallbackParam, given: Any) -> Any:
    """Refuse a file that exists before the questions, when all that decides it is known."""
    known = {**context.params, str(option.name): given}
    if known.keys() >= {"file", "output", "force"} and not known["force"]:
        file = _file(known)
        if file.exists():
            raise RefusedError(f"{file}: exists already; use another name, or --force")
    return given


def _a_client_file(context: typer.Context, option: typer.CallbackParam, given: str) -> str:
    """Refuse a file that cannot be used: before the questions if an option names it, or ask again."""
    if given in ("", NO_FILE):
        return given
    from emulator.scenario.first_scenario import of_client

    try:
        of_client(given, _file(context.params))
    except EmulatorError as error:
        if context.get_parameter_source(str(option.name)) is None:
            raise typer.BadParameter(str(error).replace(f"`config={given}`", given)) from None
        raise
    return given


def init(
    file: Annotated[
        Path,
        typer.Argument(
            help="The scenario file to write.", is_eager=True, callback=_refuse_existing
        ),
    ] = FIRST,
    members: Annotated[
        int,
        typer.Option(min=1, max=1_000, prompt="Members of the group", help="Number of members."),
    ] = 3,
    partitions: Annotated[
        int,
        typer.Option(
            min=1,
            max=10_000,
            prompt="Partitions of the topic",
            help="Number of partitions of the topic.",
        ),
    ] = 6,
    rate: Annotated[
        str,
        typer.Option(
            prompt="Records of the whole topic",
            help="Records of the whole topic per time, such as 60/s; without a unit, per second.",
            callback=_a_rate,
        ),
    ] = "60/s",
    work: Annotated[
        str,
        typer.Option(
            prompt="Processing time of one record",
            help="Processing time of one record, such as 4ms.",
            callback=_a_duration,
        ),
    ] = "4ms",
    config: Annotated[
        str,
        typer.Option(
            prompt="File with the client's settings", help=SETTINGS_HELP, callback=_a_client_file
        ),
    ] = NO_FILE,
    topic: Annotated[str, typer.Option(help="Name of the topic.", callback=_a_topic)] = "orders",
    group: Annotated[
        str,
        typer.Option(
            help="The group id; by default that of the client's settings, or billing.",
            callback=_a_group,
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The scenario file to write, as an option.",
            is_eager=True,
            callback=_refuse_existing,
        ),
    ] = None,
    force: Annotated[  # noqa: ARG001  its callback looks at it
        bool,
        typer.Option(
            "--force",
            help="Replace a file that exists.",
            is_eager=True,
            callback=_refuse_existing,
        ),
    ] = False,
) -> None:
    """Ask five questions about a group, and write a first scenario: a crash, and a deploy with a backlog.

    Each answer can also be an option. The file of the client's settings is named relative to the
    scenario file; the scenario reads it at every run. The group has the file's group.id, unless --group
    names another.

    Exit status: 0 success; 2 bad input.
    """
    from emulator.loading import loads
    from emulator.output_files import put
    from emulator.scenario.first_scenario import Answers, first_scenario, of_client

    file = _file({"file": file, "output": output})
    client = None if config in ("", NO_FILE) else of_client(config, file)
    answers = Answers(
        members=members, partitions=partitions, rate=rate, work=work, topic=topic, group=group
    )
    text = first_scenario(answers if client is None else client.answers(answers))
    loads(text, str(file), folder=file.parent)
    try:
        put(file, text.encode())
    except OSError as error:
        raise RefusedError(f"{file}: cannot be written: {reason_of(error)}") from None
    say_notes(() if client is None else client.notes)
    say(f"{file}: written. Next: rebalance run {quote(str(file))}")
