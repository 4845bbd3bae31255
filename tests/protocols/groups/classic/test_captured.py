"""Our coordinator is compared with coordinators of a real Kafka.

Two excerpts are beside this file: a coordinator's log lines and the group's records, of a crash
under range and of a rolling restart of static members (the topic is called t in the records).
If ``REBALANCE_CAPTURES`` names a folder of captures, every classic one in it is played.
"""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assignors.types import Subscription, TopicPartition
from protocols.offsets_topic.records import (
    ZERO_TOPIC_ID,
    GroupMetadataValue,
    MemberMetadata,
    encode_assignment,
    encode_subscription,
)

from .reenactment import SLACK_MS, Reenactment, parse

HERE = Path(__file__).parent / "captured"


def records_of(name: str) -> list[GroupMetadataValue | None]:
    lines = (HERE / f"{name}.records.jsonl").read_text(encoding="utf-8").splitlines()
    return [_value(json.loads(line)) for line in lines]


def _value(data: dict[str, Any] | None) -> GroupMetadataValue | None:
    if data is None:
        return None
    return GroupMetadataValue(
        protocol_type=data["protocolType"],
        generation=data["generation"],
        protocol=data["protocol"],
        leader=data["leader"],
        current_state_timestamp=data["currentStateTimestamp"],
        members=tuple(_member(member) for member in data["members"]),
    )


def _member(data: dict[str, Any]) -> MemberMetadata:
    return MemberMetadata(
        member_id=data["memberId"],
        group_instance_id=data["groupInstanceId"],
        client_id=data["clientId"],
        client_host=data["clientHost"],
        rebalance_timeout=data["rebalanceTimeout"],
        session_timeout=data["sessionTimeout"],
        subscription=encode_subscription(
            Subscription(
                topics=tuple(data["subscription"]["topics"]),
                generation_id=data["subscription"]["generationId"],
            )
        ),
        assignment=encode_assignment(
            TopicPartition(topic["topic"], number)
            for topic in data["assignment"]["assignedPartitions"]
            for number in topic["partitions"]
        ),
    )


@pytest.mark.parametrize("name", ["crash-range-auto-1", "rolling-static-1"])
def test_a_real_groups_records_are_ours(name: str):
    """The same records in the same order: members as the map lists them, ids, times, leaders."""
    expected = records_of(name)
    stored = [record for record in expected if record is not None]
    session_ms = stored[1].members[0].session_timeout
    lines = parse((HERE / f"{name}.log").read_text(encoding="utf-8"))

    played = Reenactment(lines, session_ms=session_ms, records=stored).play()
    played.rest(session_ms)
    played.driver.topic_deleted("t", ZERO_TOPIC_ID)
    played.rest(600_000)

    assert [] == played.mismatches
    actual = played.driver.group_records()
    assert [_timeless(record) for record in expected] == [_timeless(record) for record in actual]
    for theirs, ours in zip(expected, actual, strict=True):
        if theirs is not None and ours is not None:
            late_ms = theirs.current_state_timestamp - ours.current_state_timestamp
            assert -SLACK_MS < late_ms < SLACK_MS


def _timeless(record: GroupMetadataValue | None) -> GroupMetadataValue | None:
    return None if record is None else replace(record, current_state_timestamp=0)


@pytest.mark.long
@pytest.mark.skipif("REBALANCE_CAPTURES" not in os.environ, reason="no captures at hand")
def test_every_classic_capture_is_played_without_a_difference():
    """States, reasons, generations, leaders, failures and accepted commits of every run."""
    played, differences = 0, dict[str, list[str]]()
    for run in sorted(Path(os.environ["REBALANCE_CAPTURES"]).glob("*/run-*")):
        with gzip.open(run / "coordinator.log.gz", "rt", encoding="utf-8") as file:
            lines = parse(file.read())
        if not any(line.kind == "generation" for line in lines):
            continue  # a group of the newer protocol
        reenacted = Reenactment(lines, session_ms=_session_ms(run)).play()
        assert reenacted.compared > 0
        played += 1
        if reenacted.mismatches:
            differences[str(run)] = reenacted.mismatches

    assert {} == differences
    assert played > 0


def _session_ms(run: Path) -> int:
    scenario = json.loads((run.parent / "scenario.json").read_text(encoding="utf-8"))
    return int(scenario["member_defaults"]["props"]["session.timeout.ms"])


@pytest.mark.parametrize(
    ("written", "never_was"),
    [
        ("generation 2 with 2 members", "generation 3 with 2 members"),
        ("from leader m2", "from leader m3"),
        ("on heartbeat expiration", "because of something else"),
        ("AwaitingJoinResponses=1", "AwaitingJoinResponses=2"),
    ],
)
def test_a_history_that_never_was_is_noticed(written: str, never_was: str):
    """A changed line makes a difference, so that no difference means something."""
    text = (HERE / "crash-range-auto-1.log").read_text(encoding="utf-8")
    assert 1 == text.count(written)

    played = Reenactment(parse(text.replace(written, never_was)), session_ms=6_000).play()

    assert played.mismatches
