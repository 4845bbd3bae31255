"""What is read in pieces has limits, each with a name that is in the refusal."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.cli.assign import _read_lines
from emulator.conformance.captured.reading import CaptureError, read_object, read_objects
from emulator.events.stored import read_events
from emulator.input_files import (
    MAX_CAPTURED_BYTES,
    MAX_TOML_BYTES,
    FileTooLargeError,
    limit_files,
)
from emulator.limits import (
    LIMITS,
    MIB,
    BeyondLimitError,
    limit_input,
    most,
    parsed_limit,
    refuse_deep,
)
from emulator.logs.imports.folder import rows_in
from emulator.logs.imports.tables import COMMITS
from emulator.logs.offsets_log.finding import segment_limits
from emulator.parquet_file import opened_parquet
from emulator.scenario.clients.spring import MAX_YAML, yaml_pairs
from emulator.scenario.load import loads
from emulator.scenario.problems import MAX_PROBLEMS, ScenarioError
from protocols.offsets_topic.segments.resync import Limits

from .cli.commands import rebalance

RELIABILITY = Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md"


@pytest.fixture(autouse=True)
def own_limits(monkeypatch):
    """Let a test set limits for itself."""
    monkeypatch.setenv("REBALANCE_LIMITS", "")


def test_the_table_in_the_docs_has_every_limit():
    """With its default and its name; and the two of whole files."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in RELIABILITY.read_text().splitlines()
        if line.startswith("| ")
    ]
    shown = {row[2]: row[1] for row in rows if len(row) == 3}

    for name, limit in LIMITS.items():
        assert limit.shown(limit.default) == shown[f"`--limit {name}=…`"]
    assert f"{MAX_TOML_BYTES // MIB} MiB" == shown["`--max-file-size`"]
    assert f"{MAX_CAPTURED_BYTES // MIB} MiB" == shown["`--max-file-size` too"]
    assert any(f"{MAX_YAML // 1024} Ki" in row[1] for row in rows if len(row) == 3)


def test_the_defaults_of_segments_are_those_of_the_reader():
    """There is one number for each."""
    assert Limits() == segment_limits()
    limit_input(records=5, unpacked="1KiB")
    assert Limits(records=5, inflated_bytes=1024) == segment_limits()


def test_a_size_may_be_written_in_bytes():
    """As in scenario files."""
    assert ("batch", "512B") == parsed_limit("batch=512B")
    limit_input(batch="512B")
    assert 512 == most("batch")


def test_a_limit_is_replaced_and_given_back():
    """In words or as a number; for this process and the workers it starts."""
    limit_input(row="256MiB", nesting=900)
    assert (256 * MIB, 900) == (most("row"), most("nesting"))
    limit_input(row=None)
    assert (64 * MIB, 900) == (most("row"), most("nesting"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("row", "expected NAME=VALUE, such as row=256MiB"),
        ("rwo=5", "no limit 'rwo'; the limits are batch, .* Did you mean 'row'"),
        ("nesting=many", "'many' is not a whole number"),
        ("nesting=0", "0 is out of range; allowed is 1 at least"),
        ("rowgroup=0", "0 is out of range; allowed is 1 byte at least"),
        ("nesting=5001", "5001 is out of range; allowed is 5,000 at most"),
        ("row=2000GiB", "2000GiB is out of range; allowed is 1,024 MiB at most"),
        ("row=-1", "."),
    ],
)
def test_a_wrong_limit_is_refused(given, said):
    """With what is possible."""
    with pytest.raises(ValueError, match=said):
        parsed_limit(given)


@pytest.mark.parametrize("text", ["[" * 501, '{"a":' * 501, '["\\"[", ' * 501])
def test_deep_json_is_refused_with_the_limit(tmp_path, text):
    """In captures as in logs: Python's own reader would end with an error of recursion."""
    path = tmp_path / "meta.json"
    path.write_text(text)

    with pytest.raises(CaptureError, match=r"the limit is 500; `limit=nesting=…` raises it"):
        read_object(path)
    with pytest.raises(CaptureError, match=r"line 1: .*the limit is 500"):
        list(read_objects(path))


def test_brackets_in_strings_are_not_nested():
    """Nor are those of many lists beside each other."""
    refuse_deep(json.dumps({"a": "[" * 2_000, "b": [[]] * 2_000}))
    refuse_deep('"' + '\\"' * 200_000)  # in linear time


def test_a_large_row_group_is_refused_with_the_limit(tmp_path):
    """By what its footer states, before a page of it is read."""
    path = tmp_path / "commits" / "large.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"a": list(range(1_000)), "b": ["x"] * 1_000}), path)
    limit_input(rowgroup=2_000)

    with pytest.raises(BeyondLimitError, match=r"large\.parquet: row group 0 has .*limit=rowgroup"):
        opened_parquet(path)
    with pytest.raises(BeyondLimitError):
        rows_in(tmp_path, "commits")
    limit_input(rowgroup=None)
    opened_parquet(path).close()


@pytest.mark.parametrize("command", ["audit", "audit --commits"])
def test_the_command_line_raises_a_limit(tmp_path, command):
    """The refusal names the option."""
    log, commits = tmp_path / "log.parquet", tmp_path / "commits.parquet"
    row = {"topic": "t", "partition": 0, "consumer": "c", "offset": 0, "end": 1_700_000_000_000}
    pq.write_table(pa.Table.from_pylist([row] * 5), log)
    fields = {field.name: None for field in COMMITS} | {"group": "g", "topic": "t", "offset": 1}
    fields |= {"partition": 0, "timestamp": 1_700_000_000_000, "is_tombstone": False}
    fields |= {"log_offset": 0}
    pq.write_table(pa.Table.from_pylist([fields], COMMITS), commits)
    words = ["audit", log, "-o", tmp_path / "out"]
    words += ["--commits", commits, "--group", "g"] if "--commits" in command else []

    status, _, err = rebalance(*words, "--limit", "rowgroup=10")
    assert 2 == status
    assert re.search(
        r"row group 0 has [\d,]+ bytes, .* is 10 bytes; --limit rowgroup=… raises", err
    )
    limit_input(rowgroup=None)
    assert rebalance(*words, "--limit", "rowgroup=1MiB")[0] in (0, 1)
    assert 2 == rebalance(*words, "--limit", "rowgruop=1MiB")[0]


def test_the_nesting_of_files_of_scenarios_is_raised_by_an_option(tmp_path):
    """In TOML, and in the JSON of a client: the refusal names an option that the command has."""
    path, config = tmp_path / "s.toml", tmp_path / "c.json"
    text = 'title = "x"\nrun_for = "1s"\ntopic = [{ name = "t", rate = "1/s" }]\n'
    text += '[[group]]\nid = "g"\ntopics = ["t"]\nmembers = 1\n'
    deep = f"start = {'[' * 13}{']' * 13}\n"
    path.write_text(deep + text)
    assert "nested too deeply; the limit is 12; --limit toml=… raises it" in refusal("run", path)
    assert "start" in refusal("run", path, "--limit", "toml=14")

    path.write_text(f'{text}settings_from = "c.json"\n')
    config.write_text(f'{{"client.id": {"[" * 600}{"]" * 600}}}')
    assert "the limit is 500; --limit nesting=… raises it" in refusal("run", path)
    assert "client.id" in refusal("run", path, "--limit", "nesting=700")


def refusal(*words: object) -> str:
    """Return why a command refuses its input."""
    status, _, err = rebalance(*words)
    assert status == 2
    return err


def repeated(path: Path, rows: int, *texts: str) -> Path:
    """Write a processing log whose rows have the last of some topics; their names are stored once."""
    topics = pa.DictionaryArray.from_arrays(pa.array([len(texts) - 1] * rows), pa.array(texts))
    numbers = pa.array([0] * rows)
    named = {"topic": topics, "consumer": numbers.cast(pa.string())}
    named |= dict.fromkeys(("partition", "offset", "end"), numbers)
    pq.write_table(pa.table(named), path, store_schema=False, row_group_size=rows)
    return path


@pytest.mark.long
def test_a_text_that_a_dictionary_repeats_is_counted_in_each_row(tmp_path):
    """Some kilobytes of a file would be two thousand gigabytes of text."""
    path = repeated(tmp_path / "log.parquet", 2_000_000, "x" * 1_000_000)
    status, _, err = rebalance("audit", path, "-o", tmp_path / "out")

    assert path.stat().st_size < 100_000
    with pytest.raises(BeyondLimitError, match="bytes of text or more in column 'topic'"):
        opened_parquet(path)
    assert 2 == status
    assert "in column 'topic'; the limit is 768 MiB; --limit rowgroup=… raises it" in err


def test_a_text_that_a_dictionary_repeats_is_counted_in_each_element_of_lists(tmp_path):
    """The members of a group, with their topics, are such lists in the tables of an import."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 4_000), pa.array(["x" * 1_000_000]))
    topics = pa.ListArray.from_arrays(pa.array(range(0, 4_001, 2), pa.int32()), text)
    members = pa.StructArray.from_arrays([topics], ["topics"])
    column = pa.ListArray.from_arrays(pa.array(range(0, 2_001, 2), pa.int32()), members)
    path = tmp_path / "groups.parquet"
    pq.write_table(pa.table({"members": column}), path, store_schema=False)

    with pytest.raises(BeyondLimitError, match=r"in column 'members\.list\.element\.topics"):
        opened_parquet(path)
    limit_input(rowgroup="8GiB")
    opened_parquet(path).close()
    limit_input(rowgroup=None)


@pytest.mark.parametrize("size", [0, 2], ids=["bytes", "lists of two texts"])
def test_bytes_and_lists_of_one_size_are_counted_too(tmp_path, size):
    """A file may have them in columns that are read as texts or not at all."""
    value = "x" * 1_000_000 if size else b"x" * 1_000_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 4_000), pa.array([value]))
    if size:
        column = pa.FixedSizeListArray.from_arrays(column, size)
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"topic": column}), path, store_schema=bool(size))

    with pytest.raises(BeyondLimitError, match="bytes of text or more in column 'topic"):
        opened_parquet(path)


def test_a_long_text_that_few_rows_have_is_read(tmp_path):
    """What rows have is counted, not the longest text of the dictionary."""
    path = repeated(tmp_path / "log.parquet", 2_000_000, "x" * 1_000_000, "orders")

    opened_parquet(path).close()


def test_a_file_of_events_has_the_limit(tmp_path):
    """As every other table."""
    limit_input(rowgroup=1)
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"id": [1]}), path)

    with pytest.raises(BeyondLimitError):
        read_events(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [1, 2]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(3)), None),
        (
            "b0: &b0 [1, 2]\n"
            + "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 30)),
            "more than 100,000 values, those of aliases included",
        ),
        ("a: &a [*a]\n", "nested too deeply"),
        ("[" * 5_000, "nested too deeply"),
        ("#" * (MAX_YAML + 1), "524,289 characters; of YAML at most 524,288 are read"),
        (f"a: 0x{'f' * 4_000}\n", "a whole number of 16,000 bits; at most 64 are read"),
        (f"a: !!omap [b: {':'.join(['59'] * 3_000)}]\n", "a whole number of .* bits"),
        (f"0x{'f' * 900}: a\n", "a whole number of 3,600 bits"),
        ('a: !!int ""\n', "a value is not what its tag"),
        ("a: !!bool maybe\n", "a value is not what its tag"),
        ("a: !!timestamp now\n", "a value is not what its tag"),
    ],
    ids=[
        *("aliases", "bomb", "of itself", "deep", "long"),
        *("hexadecimal", "sexagesimal", "key", "no number", "no boolean", "no time"),
    ],
)
def test_yaml_of_a_client_does_not_explode(text, said):
    """Aliases are read as Spring does; those of aliases of aliases would fill the memory."""
    if said is None:
        assert 4 == len(list(yaml_pairs(text)))
        return
    with pytest.raises(ValueError, match=said):
        list(yaml_pairs(text))


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"key{number} = 1\n" for number in range(2_000)),
        "".join(f'[[topic]]\nname = "{number}"\nwrong = 1\n' for number in range(2_000)),
    ],
)
def test_of_very_many_problems_the_first_are_shown(text):
    """Each is compared with all keys that are possible, which takes time."""
    with pytest.raises(ScenarioError) as refused:
        loads('title = "x"\n' + text)

    assert MAX_PROBLEMS == len(refused.value.problems)
    assert str(refused.value).endswith("the first 50 problems; there may be more")


@pytest.mark.parametrize(
    "lines",
    [
        '[[fault]]\nid = "f{0}"\ncrash = "billing-0"\nwhen = "f{1} ends"',
        '[[act]]\nadd_partitions = "orders"\nto = {2}\nat = "{1}us"',
        '[[act]]\ncreate_topic = "orders"\nat = "1s"\n[[act]]\ndelete_topic = "orders"\nat = "1s"',
        '[[act]]\nseek = "billing-0"\ntopic = "orders"\nto = 1\nat = "1s"',
        '[[group.poison]]\ntopic = "orders"\nevery = {2}\nerror = "forward"\nto = "t{0}"',
        '[[group]]\nid = "g{0}"\ntopics = ["orders"]\nmembers = 1\nreplaces = "g{1}"',
    ],
    ids=["chain", "growth", "creations", "seeks", "targets", "replaced"],
)
def test_each_of_very_many_entries_is_looked_at_once(lines):
    """Each was compared with all others: a file of 4 MiB would have taken minutes to hours."""
    first = 'title = "x"\n[[topic]]\nname = "orders"\n[[group]]\nid = "billing"\ntopics = ["orders"]\nmembers = 1\n'
    counts = [_statements(first, lines, number) for number in (100, 300)]

    assert counts[1] < 3.5 * counts[0]


def _statements(first: str, lines: str, number: int) -> int:
    """Return how many lines the checks of a scenario run."""
    text = first + "\n".join(lines.format(n, (n - 1) % number, n + 2) for n in range(number))
    count = 0

    def note(frame, event, _):
        nonlocal count
        count += "/checks/" in frame.f_code.co_filename and event == "line"
        return note if "/checks/" in frame.f_code.co_filename else None

    sys.settrace(note)
    try:
        with suppress(ScenarioError):
            loads(text)
    finally:
        sys.settrace(None)
    return count


def test_a_list_of_very_many_entries_is_refused():
    """Members have a limit of their own."""
    text = 'title = "x"\n' + '[[topic]]\nname = "orders"\n' * 20
    limit_input(entries=19)
    try:
        with pytest.raises(ScenarioError, match=r"topic: 20 entries; the limit is 19; .*entries=…"):
            loads(text)
        members = ", ".join(f'{{ name = "m{number}" }}' for number in range(30))
        group = f'[[group]]\nid = "g"\ntopics = ["orders"]\nmembers = [{members}]\n'
        assert 30 == len(
            loads(f'title = "x"\n[[topic]]\nname = "orders"\n{group}').group[0].members
        )
    finally:
        limit_input(entries=None)


def test_a_key_of_very_many_parts_is_refused():
    """Python's parser takes square time for it."""
    for key in ("a." * 50_000 + "a = 1", "[" + "a . " * 50_000 + "a]"):
        with pytest.raises(ScenarioError, match="nested too deeply"):
            loads(key)


def test_very_many_settings_of_a_client_are_refused(tmp_path):
    """Each that has no part here is compared with all that have."""
    (tmp_path / "c.properties").write_text("".join(f"a{n} = 1\n" for n in range(10_001)))
    text = 'title = "x"\nrun_for = "5s"\n[[topic]]\nname = "t"\n[[group]]\nid = "g"\n'
    text += 'topics = ["t"]\nsettings_from = "c.properties"\n'

    with pytest.raises(ScenarioError, match="10,001 settings; at most 10,000 are read"):
        loads(text, folder=tmp_path)


def test_a_question_without_end_is_refused(tmp_path):
    """Questions are read line by line; a line has a limit."""
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b"{}\n" + b"x" * 100)
    limit_files(50)
    try:
        with pytest.raises(FileTooLargeError, match=r"a line of .*: larger than 50 bytes"):
            list(_read_lines(str(path)))
    finally:
        limit_files(None)
