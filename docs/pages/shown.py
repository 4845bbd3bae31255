"""Commands that pages show, and what they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from emulator.cli.main import app

ROOT = Path(__file__).parents[2]

SHOWN_IN = (
    "README.md",
    "docs/start/*.md",
    "docs/incidents/*.md",
    "docs/explanation/trust.md",
    "docs/explanation/measuring.md",
    "docs/how-to/audits.md",
    "docs/how-to/database.md",
    "docs/how-to/zookeeper.md",
    "docs/how-to/duplicates-after-a-deploy.md",
)
"""Pages whose examples show what their commands print."""

LEFT_OUT = "[...]"
"""Stands for paragraphs of the output that a page leaves out."""

_CONSOLE = re.compile(r"^(```console\n\$ rebalance )(.*)\n((?s:.*?))^```$", re.MULTILINE)
_FILE = re.compile(r"`([\w-]+\.(toml|csv))`[^\n]*:\n\n```\2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"What happened|Reprocessed|Lost|Hints|Expectations|Figures|Causes|\|")


def shown_pages() -> list[Path]:
    """Return the pages that show what commands print."""
    return [page for pattern in SHOWN_IN for page in sorted(ROOT.glob(pattern))]


def examples(text: str) -> list[tuple[str, str]]:
    """Return the commands of a page, without ``rebalance``, each with its output as shown."""
    return [(command, printed.rstrip("\n")) for _, command, printed in _CONSOLE.findall(text)]


@contextmanager
def example_folder() -> Iterator[None]:
    """Make a temporary folder the current one: with the repository's examples, for what they write."""
    with TemporaryDirectory() as folder, chdir(folder):
        for name in ("examples", "tests"):
            Path(name).symlink_to(ROOT / name)
        yield


def write_files(text: str) -> None:
    """Write the files that a page names, ``name.toml:`` before their block, for its commands."""
    for name, _, content in _FILE.findall(text):
        Path(name).write_text(content, encoding="utf-8")


def refreshed(text: str) -> str:
    """Return a page with what its commands print now; they run one after the other."""

    def example(match: re.Match[str]) -> str:
        begin, command, shown = match.groups()
        return f"{begin}{command}\n{excerpt(output(command), shown)}\n```"

    with example_folder():
        write_files(text)
        return _CONSOLE.sub(example, text)


def output(command: str) -> str:
    """Run a command in the current folder and return its standard output.

    Raises RuntimeError if it refuses its input; a failed expectation is an answer.
    """
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, shlex.split(command))
    if done.exit_code not in {0, 1} or not isinstance(done.exception, SystemExit | None):
        raise RuntimeError(f"rebalance {command}: status {done.exit_code}\n{done.output}")
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())


def excerpt(printed: str, shown: str) -> str:
    """Return the paragraphs of an output that an example shows.

    All of them, unless the example has ``[...]``: then those before the first section, and the
    sections that it names.
    """
    if LEFT_OUT not in shown.split("\n"):
        return printed
    wanted = {_name(paragraph) for paragraph in shown.split("\n\n")} - {""}
    paragraphs = printed.split("\n\n")
    begin = next((i for i, each in enumerate(paragraphs) if _name(each)), len(paragraphs))
    kept = [
        each if i < begin or _name(each) in wanted else LEFT_OUT
        for i, each in enumerate(paragraphs)
    ]
    return "\n\n".join(each for each, _ in groupby(kept))


def _name(paragraph: str) -> str:
    """Return the name of a section; empty: it is not the beginning of a section."""
    match = _SECTION.match(paragraph)
    return match[0] if match else ""
