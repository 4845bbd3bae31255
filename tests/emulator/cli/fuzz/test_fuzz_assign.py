"""Mutated questions through ``rebalance assign``: an answer for each, in order; no traceback."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from assignors.question import PARTITIONS_MAXIMUM
from emulator.cli.main import app

ASSIGNORS = [
    *("range", "roundrobin", "sticky", "cooperative-sticky", "server-range", "server-uniform"),
    *("rnage", "", ":", "os:getcwd", "no_such_module:create", "sys:exit", "a.b:c", "builtins:dict"),
]
TOPICS = st.sampled_from(["t", "u", "", "long" * 60, "é"])
ODD = st.sampled_from([None, True, -1, 0, 2**31, 2**70, 1.5, "x", [], {}, [[]], PARTITIONS_MAXIMUM])
COUNTS = st.integers(0, 40) | ODD
OWNED = st.lists(st.tuples(TOPICS, COUNTS), max_size=6)
MEMBERS = st.fixed_dictionaries(
    {"id": st.sampled_from(["A", "B", "C", ""]), "topics": st.lists(TOPICS, max_size=3)},
    optional={
        "ownedPartitions": OWNED | ODD,
        "generation": st.integers(-2, 5) | ODD,
        "groupInstanceId": st.sampled_from(["i", "j"]) | ODD,
        "rack": st.sampled_from(["r1", "r2"]) | ODD,
        "wrong": ODD,
    },
)
INPUTS = st.fixed_dictionaries(
    {"partitionsPerTopic": st.dictionaries(TOPICS, COUNTS, max_size=3)},
    optional={
        "members": st.lists(MEMBERS, max_size=4) | ODD,
        "partitionRacks": st.dictionaries(TOPICS, st.lists(st.lists(TOPICS)) | ODD, max_size=2),
        "topicIds": st.dictionaries(TOPICS, st.sampled_from(["x" * 22, "!" * 22, "x"]), max_size=2),
    },
)
QUESTIONS = st.fixed_dictionaries(
    {"assignor": st.sampled_from(ASSIGNORS)}, optional={"input": INPUTS | ODD}
).map(json.dumps)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Draw a question, or one with some bytes written over; never a line break."""
    line = draw(QUESTIONS).encode()
    if draw(st.integers(0, 2)) == 0:
        at = draw(st.integers(0, len(line)))
        scrap = draw(st.binary(max_size=4) | st.sampled_from([b"{", b"[" * 500, b'"', b"\\u"]))
        line = line[:at] + scrap + line[at + draw(st.integers(0, 5)) :]
    return line.replace(b"\n", b"").replace(b"\r", b"")


def check(asked: list[bytes], *options: str) -> None:
    result = CliRunner().invoke(app, ["assign", *options], input=b"\n".join(asked))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 2)
    assert "" == result.stderr
    if not options:
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        assert len(answers) == sum(
            1 for line in asked if line.removeprefix(b"\xef\xbb\xbf").strip()
        )
        for answer in answers:
            assert answer.keys() & {"assignment", "error"}
            assert "Traceback" not in answer.get("error", "")


@pytest.mark.long
@given(asked=st.lists(lines(), max_size=4))
@settings(deadline=None, max_examples=30)
def test_every_line_has_an_answer(asked):
    """Whatever it is; blank lines alone have none."""
    check(asked)
    check(asked, "--table")


@pytest.mark.soak
@pytest.mark.long
@given(asked=st.lists(lines(), max_size=4))
@settings(deadline=None, max_examples=150)
def test_every_line_of_many_has_an_answer(asked):
    """The same as above, for longer."""
    check(asked)
    check(asked, "--table")
