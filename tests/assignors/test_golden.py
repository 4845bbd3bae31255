"""Kafka's own classes have answered these; so must ours, order of the lists included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from assignors.claims import subscriptions_equal
from assignors.leader_input import read_leader_input
from assignors.question import Outcome, outcomes
from assignors.server_input import read_coordinator_input
from assignors.sticky import StickyAssignor

from .conftest import read_lines


@lru_cache(maxsize=1)
def steps(file: Path) -> tuple[tuple[str, dict[str, Any], Outcome], ...]:
    """Return each step's name, the expected outcome of Kafka's class, and the outcome of ours."""
    return tuple(_steps(file))


def _steps(file: Path) -> Iterator[tuple[str, dict[str, Any], Outcome]]:
    for case in map(json.loads, read_lines(file)):
        answers = outcomes(map(json.dumps, case["steps"]))
        for number, (step, outcome) in enumerate(zip(case["steps"], answers, strict=True)):
            yield f"{case['id']}/{number}/{step['assignor']}", step["expected"], outcome


def as_kafka_says(outcome: Outcome) -> dict[str, Any]:
    """Spell an outcome as the golden files do."""
    if outcome.defect is not None:
        return {"defect": outcome.defect}
    assert outcome.answer is not None, outcome.error
    return {
        member: list(map(list, has)) for member, has in outcome.answer.checked.assignment.items()
    }


def test_every_step_is_answered_as_by_kafka(golden_file: Path) -> None:
    """Each assignment equals that of Kafka's class, and where it fails ours says how."""
    wrong = []
    for name, expected, outcome in steps(golden_file):
        got = as_kafka_says(outcome)
        if "error" in expected:
            endless = expected["error"].startswith("timeout")
            want = {"defect": "endless-reassignment" if endless else "size-of-fixed-member"}
        else:
            want = {member: expected["assignment"].get(member, []) for member in got}
            assert expected["assignment"].keys() <= got.keys()
        if want != got:
            wrong.append(name)

    assert [] == wrong


def test_sticky_sees_the_highest_generation_and_the_path_that_kafka_sees(
    golden_file: Path,
) -> None:
    """The generation an assignor object remembers, and the path it takes, are Kafka's."""
    wrong = []
    for name, expected, outcome in steps(golden_file):
        if outcome.answer is None or outcome.assignor != "sticky":
            continue
        assignor = StickyAssignor()
        assignor.assign(outcome.answer.topics, outcome.answer.subscriptions)
        equal = subscriptions_equal(
            read_leader_input(outcome.answer.topics, outcome.answer.subscriptions)
        )
        seen = (assignor.max_generation, "constrained" if equal else "general")
        if seen != (expected["maxGeneration"], expected["path"]):
            wrong.append(name)

    assert [] == wrong


def test_the_coordinator_takes_subscriptions_for_equal_where_kafka_does(
    golden_file: Path,
) -> None:
    """Groups are classified as homogeneous or heterogeneous as by Kafka's coordinator."""
    wrong = []
    for name, expected, outcome in steps(golden_file):
        if outcome.answer is None or not str(outcome.assignor).startswith("server-"):
            continue
        group = read_coordinator_input(outcome.answer.topics, outcome.answer.subscriptions)
        if group.homogeneous != (expected["path"] == "homogeneous"):
            wrong.append(name)

    assert [] == wrong
