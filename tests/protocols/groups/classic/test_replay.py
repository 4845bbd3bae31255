"""The law of replay, and what a replayed group has in common with a living one.

Every test of this package holds the law after every step, through its driver; here are the
rules of replay themselves.
"""

from __future__ import annotations

import pytest
from immutables import Map

from protocols.coordinator.replay import replayed
from protocols.groups.classic import records
from protocols.groups.classic.membership import renamed, without_member
from protocols.groups.classic.records import group_record, restored
from protocols.groups.classic.states import State
from protocols.groups.shard import Durable
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
)
from protocols.offsets_topic.records.embedded import read_assignment
from protocols.values import replace

from .driver import GroupDriver
from .wire import GROUP, protocols, some

EMPTY = GroupMetadataValue(protocol_type="consumer", generation=3, protocol=None, leader=None)


def offset(number: int, value: int | None, group: str = GROUP) -> Record:
    stored = None if value is None else OffsetCommitValue(offset=value, commit_timestamp=0)
    return Record(OffsetCommitKey(group, "t", number), stored)


def test_an_offset_makes_a_simple_group():
    """Its tombstone does not remove the group."""
    durable = replayed(Durable(), [offset(0, 7), offset(0, None)])

    assert [(GROUP, None)] == durable.groups.items()
    assert durable.offset(GROUP, "t", 0) is None
    assert GROUP not in durable.offsets


def test_an_offset_leaves_a_known_group_as_it_is():
    """Its record is unchanged."""
    durable = replayed(Durable(), [Record(GroupMetadataKey(GROUP), EMPTY), offset(0, 7)])

    assert EMPTY == durable.groups.get(GROUP)


def test_a_groups_tombstone_leaves_its_offsets():
    """They have tombstones of their own."""
    durable = replayed(
        Durable(),
        [
            Record(GroupMetadataKey(GROUP), EMPTY),
            offset(0, 7),
            Record(GroupMetadataKey(GROUP), None),
        ],
    )

    assert GROUP not in durable.groups
    assert durable.offset(GROUP, "t", 0) is not None


@pytest.mark.parametrize(
    "record", [offset(0, None), Record(GroupMetadataKey(GROUP), None)], ids=["offset", "group"]
)
def test_a_tombstone_for_nothing_does_nothing(record: Record):
    """As compaction may leave it."""
    assert Durable() == replayed(Durable(), [record])


def test_records_in_one_go_are_records_one_by_one():
    """Neighbours are only taken together for speed."""
    records = [
        offset(1, 1),
        offset(0, 2),
        offset(1, 3, "other"),
        Record(GroupMetadataKey(GROUP), EMPTY),
        offset(1, None),
        offset(1, 4),
        offset(0, None, "other"),
    ]
    one_by_one = Durable()
    for record in records:
        one_by_one = replayed(one_by_one, [record])

    assert one_by_one == replayed(Durable(), records)


def test_a_stable_group_loads_as_it_lives():
    """All that its record holds, members in the order of the map included."""
    driver = GroupDriver()
    driver.static("R", "S", "T")
    driver.join("S", instance="S")
    record = driver.group_records()[-1]

    loaded = restored(GROUP, record, driver.now_ms)

    assert group_record(driver.group, driver.group.assignments) == group_record(
        loaded, loaded.assignments
    )
    for field in ("state", "generation", "leader_id", "static_members", "assignments"):
        assert getattr(driver.group, field) == getattr(loaded, field)
    assert driver.group.subscribed_topics == loaded.subscribed_topics


def test_each_assignment_of_a_record_is_decoded_once(monkeypatch):
    """Its partitions and its user data are of the same reading."""
    driver = GroupDriver()
    driver.static("R", "S")
    decoded = []

    def counted(data):
        decoded.append(data)
        return read_assignment(data)

    monkeypatch.setattr(records, "read_assignment", counted)
    restored(GROUP, driver.group_records()[-1], driver.now_ms)

    assert 2 == len(decoded)


def test_user_data_of_an_assignment_is_stored_and_renamed_with_its_member():
    """Members without any have none; a static member that comes back under a new id keeps its bytes."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    data = ((ids["S"], b"7"),)
    group = replace(driver.group, user_data=Map(data))

    loaded = restored(GROUP, group_record(group, group.assignments, group.user_data).value, 0)
    back = renamed(loaded, loaded.members[ids["S"]], "S-new", "timer")

    assert dict(data) == dict(loaded.user_data)
    assert {"S-new": b"7"} == dict(back.user_data)
    assert {} == dict(without_member(loaded, ids["S"]).user_data)


def test_a_record_holds_only_the_chosen_protocol():
    """The other names of a member are not stored."""
    driver = GroupDriver()
    driver.stable("a", offers=protocols("range", "sticky"))

    loaded = restored(GROUP, driver.group_records()[-1], 0)

    assert {"range": 1} == dict(loaded.support)
    assert {"range": 1, "sticky": 1} == dict(driver.group.support)


def test_memory_moves_before_the_log():
    """A rebalance writes nothing until the leader syncs: the log is a generation behind."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.join("a", a)

    stored = driver.shard.durable.groups.get(GROUP)

    assert stored is not None
    assert (2, 1) == (driver.group.generation, stored.generation)
    driver.sync(a, {a: some(0)})
    assert State.STABLE == driver.state
    stored = driver.shard.durable.groups.get(GROUP)
    assert stored is not None
    assert 2 == stored.generation
