"""``rebalance assign``: lines in, lines out, and a table for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from assignors.own_code import allow_plugins
from assignors.question import Outcome, outcomes
from assignors.types import TopicPartition
from emulator.assignment import as_json
from emulator.cli import main
from emulator.report.screens.assignment import runs, summary

MEMBERS = [
    {"id": "A", "topics": ["t"], "ownedPartitions": [["t", 0], ["t", 1], ["t", 2], ["t", 3]]},
    {"id": "B", "topics": ["t"]},
]
NEVER_ENDS = {
    "partitionsPerTopic": {"t0": 1, "t1": 6},
    "members": [
        {"id": "A", "topics": ["t0"], "ownedPartitions": [["t1", 0]], "generation": 1},
        {
            "id": "B",
            "topics": ["t1"],
            "ownedPartitions": [["t1", number] for number in range(6)],
            "generation": 2,
        },
        {"id": "C", "topics": ["t1"]},
    ],
}


def question(assignor: str, **changes: object) -> str:
    """Return a line that asks about a topic of four, all of it owned by A."""
    asked = {"partitionsPerTopic": {"t": 4}, "members": MEMBERS, **changes}
    return json.dumps({"assignor": assignor, "input": asked})


DEFECT = json.dumps({"assignor": "sticky", "input": NEVER_ENDS})


@pytest.fixture
def app() -> typer.Typer:
    """Give the command line."""
    return main.app


def asked(line: str) -> Outcome:
    """Return what becomes of one line."""
    (outcome,) = outcomes([line])
    return outcome


def test_each_line_is_answered_in_order() -> None:
    """Errors stand where their line stood; blank lines are passed over."""
    answers = [json.loads(as_json(one)) for one in outcomes([question("range"), "", "{", DEFECT])]

    assert answers[0] == {
        "assignment": {"A": [["t", 0], ["t", 1]], "B": [["t", 2], ["t", 3]]},
    }
    assert answers[1]["error"].startswith("line 3: Invalid JSON")
    assert answers[2]["defect"] == "size-of-fixed-member"
    assert len(answers) == 3


def test_a_partition_assigned_twice_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no error: Kafka does not object."""
    (tmp_path / "generous.py").write_text(
        "from assignors.types import FunctionAssignor\n"
        "def create():\n"
        "    return FunctionAssignor('own', lambda topics, members: {m: [('t', 0)] for m in members})\n"
    )
    monkeypatch.chdir(tmp_path)
    allow_plugins("generous")

    line = as_json(asked(question("generous:create")))

    assert json.loads(line)["given_twice"] == [["t", 0]]


def test_good_questions_and_defects_exit_with_0(app: typer.Typer, tmp_path: Path) -> None:
    """That Kafka's class fails is an outcome."""
    file = tmp_path / "questions.jsonl"
    file.write_text(f"{question('range')}\n{DEFECT}\n")

    result = CliRunner().invoke(app, ["assign", str(file)])

    assert result.exit_code == 0
    assert [
        as_json(one) for one in outcomes(file.read_text().splitlines())
    ] == result.stdout.splitlines()


@pytest.mark.parametrize(
    "line", ["{", question("rnage"), question("absent_module:create"), b"\xff"]
)
def test_bad_input_exits_with_2_after_all_lines(app: typer.Typer, line: str | bytes) -> None:
    """The lines behind it are answered all the same."""
    data = line if isinstance(line, bytes) else line.encode()

    result = CliRunner().invoke(app, ["assign"], input=data + b"\n" + question("range").encode())

    assert result.exit_code == 2
    assert "line 1:" in json.loads(result.stdout.splitlines()[0])["error"]
    assert "assignment" in json.loads(result.stdout.splitlines()[1])


def test_a_file_that_cannot_be_read_exits_with_2(app: typer.Typer, tmp_path: Path) -> None:
    """The message names it."""
    result = CliRunner().invoke(app, ["assign", str(tmp_path / "absent.jsonl")])

    assert result.exit_code == 2
    assert "absent.jsonl: cannot be read: No such file" in result.stderr


def test_a_mark_at_the_beginning_is_no_part_of_the_first_line(app: typer.Typer) -> None:
    """Some editors write one."""
    result = CliRunner().invoke(app, ["assign"], input=b"\xef\xbb\xbf" + question("range").encode())

    assert result.exit_code == 0
    assert "assignment" in json.loads(result.stdout)


def test_an_assignor_that_ends_the_process_is_an_error_of_its_line(app: typer.Typer) -> None:
    """The lines behind it are answered all the same."""
    lines = f"{question('sys:exit')}\n{question('range')}\n"

    result = CliRunner().invoke(app, ["assign", "--plugin", "sys"], input=lines)

    assert result.exit_code == 2
    ended, answered = map(json.loads, result.stdout.splitlines())
    assert "it called sys.exit" in ended["error"]
    assert "assignment" in answered


def test_a_name_is_shown_as_it_is(app: typer.Typer) -> None:
    """Brackets in it are no markup."""
    members = [{"id": "[red]A[/red]", "topics": ["[b]t"]}]
    line = question("range", members=members, partitionsPerTopic={"[b]t": 1})

    result = CliRunner().invoke(app, ["assign", "--table"], input=line)

    assert "[red]A[/red]" in result.stdout
    assert "[b]t 0" in result.stdout


def test_the_table_says_who_gets_what_and_gives_up_what(app: typer.Typer) -> None:
    """One row a member, then balance and moves."""
    result = CliRunner().invoke(app, ["assign", "--table"], input=question("cooperative-sticky"))

    assert result.exit_code == 0
    assert "t 0-1" in result.stdout
    assert "t 2-3" in result.stdout
    assert "revoked and not yet assigned: 2" in result.stdout


def test_the_table_shows_errors_too(app: typer.Typer) -> None:
    """A defect with its line, like bad input."""
    result = CliRunner().invoke(app, ["assign", "--table"], input=f"{DEFECT}\nnonsense\n")

    assert result.exit_code == 2
    assert "line 1: size-of-fixed-member" in result.stdout
    assert "line 2: Invalid JSON" in result.stdout


def test_moves_are_counted_from_the_owned_partitions() -> None:
    """The round-robin assignor takes two of four from A."""
    outcome = asked(question("roundrobin"))

    assert outcome.answer is not None
    assert summary(outcome.answer) == [
        "balance: 2 to 2 partitions a member, 4 in all, 2 members",
        "moved to another member: 2; revoked and not yet assigned: 0",
    ]


def test_partitions_without_owner_and_with_two_are_named() -> None:
    """In the cooperative first round the withheld partitions have no owner."""
    outcome = asked(question("cooperative-sticky"))

    assert outcome.answer is not None
    assert "unassigned: t 2-3" in summary(outcome.answer)


def test_consecutive_partitions_are_shown_as_ranges() -> None:
    """Topic by topic, in any order of input."""
    pairs = [("u", 3), ("t", 7), ("t", 1), ("t", 0), ("t", 2), ("u", 5)]

    assert runs(TopicPartition(*pair) for pair in pairs) == "t 0-2 7, u 3 5"
