"""The page about offsets logs says what the lines hold."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.logs.offsets_log.columns_file import FILE_SCHEMA
from emulator.scenario.kafka_settings import BROKER
from protocols.offsets_topic.segments.batch import encode_batch
from protocols.offsets_topic.segments.record import LogRecord
from protocols.offsets_topic.segments.resync import GapKind

from .segments import KEPT, PRODUCER, batch, commit, followed, marker, raw_batch, shown, written

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "how-to" / "offsets-log.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "__consumer_offsets-4" / "00000000000000000000.log.gz"
NAMED = set(re.findall(r"`(\w+)`", PAGE))
INSIDE = {"key", "payload", "offsets", "topicIds", "regularExpressions", "assigned", "target"}
"""Fields whose own fields are Kafka's or names of things."""


def fields(content: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all fields of a line, those of groups and members included."""
    for name, value in content.items():
        yield name
        if name == "after":
            for group in value.values():
                yield from fields(group)
        elif isinstance(value, list) and name not in INSIDE:
            for each in value:
                yield from fields(each) if isinstance(each, dict) else ()


def test_every_field_of_every_line_is_explained(tmp_path):
    """Of real segments, and of what these do not have."""
    one = batch(commit(), at=0)
    odd = (
        one
        + one[:-1]
        + b"\xff"
        + batch(commit(), at=2, producer=PRODUCER)
        + marker(3)
        + raw_batch((b"\0\x18\0\1g", b"\0\0"), (b"\0", b""), at=4)
        + encode_batch([LogRecord(6, 0, b"\0\0\0\7", b"")], attributes=0x28)
        + batch(commit(), at=1)
    )
    lines = [
        *shown(written(tmp_path, odd), batches=True, states=True),
        *(line for segment in sorted(KEPT.glob("__consumer*.gz")) for line in followed(segment)),
    ]
    held = {name for line in lines for name in fields(line)}

    assert {"gap", "outOfOrder", "unknown", "error", "endTxnMarker", "pendingOffsets"} < held
    assert [] == sorted(held - NAMED)


def test_every_kind_of_gap_is_named():
    """In the words of the lines."""
    assert [] == [kind for kind in GapKind if f"`{kind}`" not in PAGE]


def test_the_lines_of_the_page_are_real():
    """The record and the group are of the example that comes with the project."""
    record, group = map(json.loads, re.findall(r"^```json\n(.*)\n```$", PAGE, re.MULTILINE))
    lines = followed(EXAMPLE, group.pop("group"))

    assert record == {name: each for name, each in lines[-1].items() if name != "after"}
    assert group == lines[-1]["after"]["cds"]


def test_the_commands_of_the_page_print_what_is_shown(tmp_path, monkeypatch):
    """One after the other, in an empty folder; where nothing is shown, anything."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    session = "".join(re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    commands = re.findall(r"^\$ rebalance (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)
    assert ["run", "log", "log"] == [command.split()[0] for command, _ in commands]
    for command, printed in commands:
        answer = CliRunner().invoke(app, shlex.split(command))
        assert 0 == answer.exit_code
        if printed:
            assert printed.splitlines() == answer.stdout.rstrip().splitlines()
    (python,) = re.findall(r"^```pycon\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    example = doctest.DocTestParser().get_doctest(python, {}, "offsets-log.md", None, 0)

    assert 0 == doctest.DocTestRunner().run(example).failed


def test_every_column_is_explained_with_its_type():
    """In the order of the file."""
    rows = re.findall(r"^\| (`.*) \| (\w+(?:, \w+)*) \| .* \|$", PAGE, re.MULTILINE)
    found = list[tuple[str, str]]()
    for names, types in rows[next(n for n, row in enumerate(rows) if row[0] == "`log`") :]:
        each = re.findall(r"`(\w+)`", names)
        kinds = types.split(", ")
        found += zip(each, kinds * (len(each) // len(kinds)), strict=True)
    spelled = {"dictionary<values=string, indices=int32, ordered=0>": "text"}

    assert [
        (field.name, spelled.get(str(field.type), str(field.type))) for field in FILE_SCHEMA
    ] == found


def test_settings_of_the_page_can_be_set_or_are_said_to_be_left_out():
    """Under Kafka's names."""
    names = set(re.findall(r"`((?:log|offsets\.topic)\.[a-z.]+)", PAGE))

    assert {"offsets.topic.compression.codec"} == names - set(BROKER)
