"""A group's records give its generations, and the owner of each partition over time."""

from __future__ import annotations

import pyarrow as pa

from emulator.logs.imports.generations import Follower, Generation, Owner
from emulator.logs.imports.tables import GROUPS

from .found import Log, member


def followed(log: Log) -> list[Generation | Owner]:
    """Follow a log's records to the end."""
    follower = Follower()
    rows = pa.Table.from_pylist(log.groups, GROUPS).to_pylist()
    changes = [each for row in rows for each in follower.see(row)]
    return [*changes, *follower.end()]


def owners(changes) -> list[tuple[int, str | None]]:
    """Return partitions with the names of their new owners, in order."""
    return [
        (each.assigned[1], each.member.name if each.member else None)
        for each in changes
        if isinstance(each, Owner)
    ]


def generations(changes) -> list[Generation]:
    return [each for each in changes if isinstance(each, Generation)]


def test_a_classic_generation_has_changed_owners_only():
    """Partition 0 keeps its owner."""
    log = Log()
    log.generation(0, 1, member("a", 0, 1), member("b", 2))
    log.generation(10, 2, member("a", 0), member("b", 1, 2))

    assert [(0, "a"), (1, "a"), (2, "b"), (1, "b")] == owners(followed(log))


def test_partitions_of_an_empty_group_have_no_owner():
    """Commits after it have no owner."""
    log = Log()
    log.generation(0, 1, member("a", 0, 1))
    log.generation(10, 2)

    assert [(0, "a"), (1, "a"), (0, None), (1, None)] == owners(followed(log))


def test_a_deleted_group_has_no_members():
    """Its last generation is marked."""
    log = Log()
    log.generation(0, 3, member("a", 0))
    log.record(10, 2)
    last = generations(followed(log))[-1]

    assert last.deleted
    assert {} == last.roster


def consumer_member(at_ms: int, log: Log, name: str, member_id: str, **more) -> None:
    log.record(at_ms, 5, member_id=member_id, members=[member(name, member_id=member_id, **more)])


def has(at_ms: int, log: Log, member_id: str, *partitions: int) -> None:
    changes = {
        "member_id": member_id,
        "assignment": [{"topic": "ID", "partitions": list(partitions)}],
    }
    log.record(at_ms, 8, member_id=member_id, epoch=1, members=[changes], state="stable")


def test_an_epoch_has_the_members_written_before_it():
    """A member, then the epoch that it makes."""
    log = Log()
    consumer_member(0, log, "a", "A")
    log.record(0, 3, epoch=2)
    consumer_member(10, log, "b", "B")
    log.record(10, 3, epoch=3)
    changes = generations(followed(log))

    assert [("consumer", 2, ["A"]), ("consumer", 3, ["A", "B"])] == [
        (each.group_type, each.epoch, list(each.roster)) for each in changes
    ]


def test_a_partition_changes_hands_when_the_next_one_has_it():
    """The old owner works on it until then."""
    log = Log()
    consumer_member(0, log, "a", "A")
    log.record(0, 3, epoch=2)
    has(0, log, "A", 0, 1)
    consumer_member(10, log, "b", "B")
    log.record(10, 3, epoch=3)
    has(11, log, "A", 0)
    has(12, log, "B", 1)

    assert [(0, "a"), (1, "a"), (1, "b")] == owners(followed(log))


def test_a_static_member_replaced_within_an_epoch_shows_at_the_end_of_its_batch():
    """No epoch is written for it."""
    log = Log()
    consumer_member(0, log, "a", "A", instance_id="i")
    log.record(0, 3, epoch=2)
    for number in (8, 7, 5):
        log.record(10, number, member_id="A")
    consumer_member(10, log, "a", "B", instance_id="i")
    changes = generations(followed(log))

    assert [(2, ["A"]), (2, ["B"])] == [(each.epoch, list(each.roster)) for each in changes]


def test_a_group_that_changes_its_protocol_is_not_deleted():
    """The classic record is deleted, and the members go on."""
    log = Log()
    log.generation(0, 4, member("a", 0, member_id="A"))
    log.record(10, 2)
    consumer_member(10, log, "a", "A")
    log.record(10, 3, epoch=5)
    changes = generations(followed(log))

    assert [("classic", False), ("classic", True), ("consumer", False)] == [
        (each.group_type, each.deleted) for each in changes
    ]
    assert ["A"] == list(changes[-1].roster)
