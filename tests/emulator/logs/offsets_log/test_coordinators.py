"""Groups followed through real segments, beside what their coordinators said of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .segments import CAPTURES, GROUPS, KEPT, followed, lines_of, segment_of

SAID = re.compile(r"b\d+ (\d+) \w+ .*?GroupMetadataManager: \[[^]]*\] (.*)")
LATE_MS = 100
"""How much later than it says so a coordinator may have appended a change."""

STORED = re.compile(
    r"Assignment received from leader (\S+) for group \S+ for generation (\d+)\. "
    r"The group has (\d+) members, (\d+) of which are static"
)
EMPTIED = re.compile(r"Group \S+ with generation (\d+) is now empty")
REPLACED = re.compile(r"Static member with groupInstanceId=(\S+) and .* mapped member (\S+) with")
MOVED = re.compile(
    r".* Member (\S+) new assignment state: epoch=(-?\d+), previousEpoch=(-?\d+), state=(\w+), "
    r"assignedPartitions=(\[.*\]) and revokedPartitions=(\[.*\])\."
)
BUMPED = re.compile(r".* Bumped group epoch to (\d+) ")
COMPUTED = re.compile(r".* Computed a new target assignment for epoch (\d+) .*?: \{(.*)\}\.")
CAME = re.compile(r".* Member (\S+) joins the consumer group")
WENT = re.compile(r".* Member (\S+) (?:left the consumer|fenced from the) group")
ASSIGNMENT = ("memberId", "memberEpoch", "previousMemberEpoch", "state", "assigned")


class Story(NamedTuple):
    """A group in its log and in its coordinator's log."""

    group: str
    lines: list[dict[str, Any]]
    """Of ``--follow-state``."""

    said: list[tuple[int, str]]
    """By the coordinator: epoch ms and statement."""

    def after(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return what a line says that the group looked like."""
        return line["after"][self.group]

    def at(self, time_ms: int) -> dict[str, Any]:
        """Return the group as it was after all that was appended by some time."""
        seen = [line for line in self.lines if line["CreateTime"] <= time_ms + LATE_MS]
        return self.after(seen[-1])

    def statements(self, pattern: re.Pattern[str]) -> list[tuple[dict[str, Any], re.Match[str]]]:
        """Return the statements of a kind, each with the group at that time."""
        matches = [(time_ms, pattern.match(text)) for time_ms, text in self.said]
        return [(self.at(time_ms), match) for time_ms, match in matches if match is not None]

    def values(self, record_type: str) -> list[dict[str, Any]]:
        """Return the lines about records of a type that are no tombstones."""
        return [
            line
            for line in self.lines
            if line["key"]["type"] == record_type and line["payload"] != "<DELETE>"
        ]


def story(segment: Path, group: str, log: Path) -> Story:
    matches = [SAID.match(line) for line in lines_of(log)]
    said = [(int(match[1]), match[2]) for match in matches if match is not None]
    lines = followed(segment, group)

    assert len(said) > 10
    assert not [line for line in lines if "loadFails" in line]
    return Story(group, lines, said)


def held_as_classic(history: Story) -> int:
    """Hold a classic group against each statement on what was stored; return how many there were."""
    for state, stored in history.statements(STORED):
        members = state["members"]
        static = [member for member in members if member["groupInstanceId"] is not None]
        assert ("Stable", stored[1], *map(int, stored.groups()[1:])) == (
            state["state"],
            state["leader"],
            state["generation"],
            len(members),
            len(static),
        )
    for state, emptied in history.statements(EMPTIED):
        assert ("Empty", int(emptied[1]), []) == (
            state["state"],
            state["generation"],
            state["members"],
        )
    for state, replaced in history.statements(REPLACED):
        (now,) = [m for m in state["members"] if m["groupInstanceId"] == replaced[1]]
        assert replaced[2] != now["memberId"]
    return sum(len(history.statements(each)) for each in (STORED, EMPTIED, REPLACED))


def partitions(text: str) -> dict[str, list[int]]:
    """Read partitions as a coordinator prints them, by the id of their topic."""
    found: dict[str, list[int]] = {}
    for topic_id, partition in re.findall(r"([\w-]{22})-(\d+)@\d+", text):
        found.setdefault(topic_id, []).append(int(partition))
    return {topic_id: sorted(numbers) for topic_id, numbers in found.items()}


def targets(text: str) -> dict[str, dict[str, list[int]]]:
    """Read the targets of members as a coordinator prints them."""
    found = re.findall(r"([\w-]{22})=MemberAssignment\(partitions=\{(.*?)\}\)", text)
    return {
        member: {topic: json.loads(held) for topic, held in re.findall(r"(\S+)=(\[.*?\])", given)}
        for member, given in found
    }


def held_as_consumer(history: Story) -> int:
    """Hold a consumer group against every statement on epochs, targets and assignments."""
    moves = [(history.after(line), line["key"]["data"]["memberId"]) for line in history.values("8")]
    assert [
        (m[1], int(m[2]), int(m[3]), m[4], partitions(m[5]), partitions(m[6]))
        for _, m in history.statements(MOVED)
    ] == [
        (*(member[name] for name in ASSIGNMENT), member["pendingRevocation"])
        for state, member_id in moves
        for member in state["members"]
        if member["memberId"] == member_id
    ]
    assert [int(m[1]) for _, m in history.statements(BUMPED)] == [
        history.after(line)["groupEpoch"] for line in history.values("3")
    ]
    reached = [history.after(line) for line in history.values("6")]
    assert [(int(m[1]), targets(m[2])) for _, m in history.statements(COMPUTED)] == [
        (
            state["targetEpoch"],
            {member["memberId"]: member["target"] for member in state["members"]},
        )
        for state in reached
        if state["members"]
    ]
    assert all(s["targetEpoch"] == s["groupEpoch"] for s in reached if not s["members"])
    return len(moves)


def assert_the_end(history: Story) -> None:
    """Hold the members who came and did not go against those after the last statement."""
    came = {m[1] for _, m in history.statements(CAME)}
    went = {m[1] for _, m in history.statements(WENT)}
    last_ms, _ = history.said[-1]

    assert sorted(came - went) == [m["memberId"] for m in history.at(last_ms)["members"]]
    assert history.at(last_ms)["state"] == ("Empty" if came == went else "Stable")


def assert_log_matches(history: Story) -> None:
    if history.values("3"):
        assert held_as_consumer(history) > 10
        assert_the_end(history)
    else:
        assert held_as_classic(history) >= 3


@pytest.mark.parametrize(("partition", "group"), GROUPS.items())
def test_a_followed_group_is_what_its_coordinator_said(partition, group):
    """Generations or epochs, leaders, members, targets, assignments; up to the last line."""
    assert_log_matches(story(segment_of(partition), group, KEPT / f"{group}.coordinator.txt.gz"))


@pytest.mark.long
@pytest.mark.skipif(not CAPTURES, reason="REBALANCE_CAPTURES names no folder of captures")
def test_every_followed_group_is_what_its_coordinator_said():
    """Of every segment that has a coordinator's lines beside it."""
    folder = Path(CAPTURES) / "offsets-log"
    index = json.loads((folder / "index.json").read_text())
    for entry in index:
        group = entry["group"]
        log = folder / f"{group}.coordinator.log.gz"
        assert_log_matches(story(folder / entry["segment"], group, log))
    assert index
