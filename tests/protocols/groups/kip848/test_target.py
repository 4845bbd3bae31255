"""Who computes the target, the assignor's input, and which part of its answer is written."""

from __future__ import annotations

from typing import Any

import pytest

from assignors.registry import SERVER_SIDE
from assignors.types import TopicPartition
from protocols.facts import AssignorFailed, TargetComputed
from protocols.messages import TEMPORARY_LEAVE_EPOCH
from protocols.messages.errors import ErrorCode

from .driver import IDS, ConsumerGroupDriver, topic


class Asked:
    """An assignor that remembers its input and returns a given answer."""

    def __init__(self) -> None:
        self.topics: Any = None
        self.subscriptions: Any = None
        self.answer: Any = None

    def __call__(self, topics: Any, subscriptions: Any) -> Any:
        self.topics, self.subscriptions = topics, subscriptions
        if isinstance(self.answer, BaseException):
            raise self.answer
        if self.answer is None:
            return SERVER_SIDE["uniform"](topics, subscriptions)
        return self.answer


@pytest.fixture
def asked() -> Asked:
    return Asked()


def own(asked: Asked, *topics: Any, **settings: Any) -> ConsumerGroupDriver:
    return ConsumerGroupDriver(
        *topics,
        assignors={"mine": asked, **SERVER_SIDE},
        group_consumer_assignors=("mine", "uniform", "range"),
        **settings,
    )


@pytest.mark.parametrize(
    ("first", "second", "written"),
    [((1, 0), (), 1), ((0,), (1,), 2), ((0, 1), (), 1)],
)
def test_a_target_in_another_order_is_no_change(asked, first, second, written):
    """The log has sets of partitions (``TargetAssignmentBuilder.build``)."""
    it = own(asked, topic(partitions=2))
    it.join("A")
    given = {"A": first, "B": second}
    asked.answer = {
        member: tuple(TopicPartition("t", number) for number in numbers)
        for member, numbers in given.items()
    }
    it.join("B")

    assert written == it.types.count("7")


def test_members_without_a_change_are_not_written():
    """A swap writes two records, a join of one without partitions one."""
    it = ConsumerGroupDriver(topic(partitions=2))
    it.join("A")
    it.join("B")
    it.settle("A", "B")

    it.join("C")

    assert ["5", "3", "7", "6", "8"] == it.types
    assert set() == it.target("C")
    assert (("C", ()),) == it.emitted(TargetComputed)[-1].changed


def test_the_assignor_works_from_targets_not_from_what_members_have(asked):
    """So a partition on its way to a member already counts as that member's."""
    it = own(asked)
    it.join("A")
    it.join("B")
    assert set() == it.assigned("B")

    it.join("C")

    seen = asked.subscriptions
    assert ["A", "B", "C"] == sorted(seen)
    assert 3 == len(seen["B"].owned_partitions)
    assert () == seen["C"].owned_partitions


def test_a_member_that_left_is_not_in_the_assignors_input(asked):
    """Its target was deleted with it."""
    it = own(asked)
    it.join("A")
    it.join("B")
    it.leave("A")
    it.beat("B")

    assert ["B"] == list(asked.subscriptions)
    assert {0, 1, 2, 3, 4, 5} == it.target("B")


def test_the_assignors_input_has_instances_racks_and_existing_topics(asked):
    """A topic that does not exist is left out of the counts."""
    it = own(asked)
    it.join("A", "t", "u", instance="i", rack_id="r")

    seen = asked.subscriptions["A"]
    assert ("i", "r", ("t", "u")) == (seen.group_instance_id, seen.rack_id, seen.topics)
    assert {"t": 6} == asked.topics.partition_counts


@pytest.mark.parametrize(
    "answer",
    [
        ValueError("no"),
        SystemExit(3),
        "nonsense",
        {"X": ()},
        {"A": [("t", -1)]},
    ],
)
def test_an_assignor_that_fails_changes_nothing(asked, answer):
    """The broker knows the assignor's message, the answer has none, and the next heartbeat tries again."""
    it = own(asked)
    asked.answer = answer

    refused = it.join("A").answer
    assert ErrorCode.UNKNOWN_SERVER_ERROR == refused.error
    assert refused.error_message is None
    (failed,) = it.emitted(AssignorFailed)
    opening = "Failed to compute a new target assignment for epoch 2: "
    assert failed.message.startswith(opening)
    assert (failed.assignor, True) == ("mine", failed.message != opening)
    assert (0, False) == (len(it.log), it.exists)

    asked.answer = {"A": (TopicPartition("t", 3),)}
    assert {"t": {3}} == it.join("A").assignment


def test_the_assignor_that_most_members_prefer_is_used():
    """Among equals with one vote each that of the sender; without preferences the broker's first."""
    it = ConsumerGroupDriver(group_consumer_assignors=("range", "uniform"))
    it.join("A")
    assert "range" == it.emitted(TargetComputed)[-1].assignor
    it.join("B", server_assignor="uniform")
    assert "uniform" == it.emitted(TargetComputed)[-1].assignor
    it.join("C", server_assignor="range")
    assert "range" == it.emitted(TargetComputed)[-1].assignor
    it.join("D", server_assignor="uniform")
    assert "uniform" == it.emitted(TargetComputed)[-1].assignor
    it.join("E", server_assignor="range")
    assert "uniform" == it.emitted(TargetComputed)[-1].assignor


def test_targets_are_kept_apart_by_the_assignment_interval():
    """The first heartbeat after the interval computes the next target; 0 means every heartbeat."""
    it = ConsumerGroupDriver(group_consumer_assignment_interval_ms=3_000)
    it.join("A")
    it.join("B")
    it.advance(2_999)
    it.beat("B")
    assert (3, 2) == it.epochs

    it.advance(1)
    it.beat("B")

    assert (3, 3) == it.epochs

    every = ConsumerGroupDriver(group_consumer_assignment_interval_ms=0)
    every.join("A")
    every.join("B")
    assert (3, 3) == every.epochs


def test_a_failover_keeps_the_time_of_the_last_target():
    """It is in the log."""
    it = ConsumerGroupDriver(group_consumer_assignment_interval_ms=1_000)
    it.join("A")
    it.fail_over()
    it.join("B")
    assert (3, 2) == it.epochs
    it.advance(1_000)
    it.beat("A")

    assert (3, 3) == it.epochs


def test_same_topics_by_name_and_by_pattern_are_not_the_same():
    """All by name, or all by one pattern: only then do members count as alike."""
    it = ConsumerGroupDriver(topic(), topic("u"))
    it.join("A")
    it.join("B")
    assert it.group.counts().is_homogeneous()
    it.join("C", "t", "u")
    assert not it.group.counts().is_homogeneous()
    it.join("C", subscribed_topic_names=(), subscribed_topic_regex="t")
    assert not it.group.counts().is_homogeneous()
    for member_id in ("A", "B"):
        it.join(member_id, subscribed_topic_names=(), subscribed_topic_regex="t")
    assert it.group.counts().is_homogeneous()


def test_a_forgotten_pattern_counts_until_the_next_record_of_a_member():
    """Kafka counts when a member's record is replayed, and the pattern's tombstone follows that of its member.

    The heartbeat that raises no epoch itself then takes the members for subscribers of different topics.
    """
    seen: list[bool | None] = []

    def spy(topics: Any, subscriptions: Any) -> Any:
        seen.append(topics.same_for_all)
        return SERVER_SIDE["uniform"](topics, subscriptions)

    it = ConsumerGroupDriver(topic(), topic("u"), assignors={**SERVER_SIDE, "uniform": spy})
    it.join("A")
    it.join("B")
    it.join("C", subscribed_topic_names=(), subscribed_topic_regex="u")
    it.advance(0)
    it.settle("A", "B", "C")
    it.leave("C")
    assert (False, True) == (it.group.counted.is_homogeneous(), it.group.counts().is_homogeneous())

    it.beat("A")
    assert seen[-1] is False
    it.join("D")
    assert seen[-1] is True


def test_a_target_covers_every_partition_once():
    """For any subscriptions that cover it."""
    it = ConsumerGroupDriver(topic(), topic("u", 3), topic("v", 2))
    for member_id, names in {"A": "t", "B": "tu", "C": "uv", "D": "v"}.items():
        it.join(member_id, *names)

    given = [
        (topic_id, number)
        for wanted in it.group.targets.values()
        for topic_id, numbers in wanted.items()
        for number in numbers
    ]
    assert len(set(given)) == len(given) == 11


def test_a_swap_writes_two_records(asked):
    """And nothing about the member that keeps its target."""
    it = own(asked, topic(partitions=3))
    asked.answer = {
        "A": (TopicPartition("t", 0),),
        "B": (TopicPartition("t", 1),),
        "C": (TopicPartition("t", 2),),
    }
    for name in "ABC":
        asked.answer = {
            other: (TopicPartition("t", number),)
            for number, other in enumerate("ABC")
            if other <= name
        }
        it.join(name)
    it.settle("A", "B", "C")
    asked.answer = {
        "A": (TopicPartition("t", 1),),
        "B": (TopicPartition("t", 0),),
        "C": (TopicPartition("t", 2),),
    }

    it.beat("C", subscribed_topic_names=("t", "u"))

    assert ["5", "3", "7", "7", "6", "8"] == it.types
    assert ("A", "B") == tuple(member_id for member_id, _ in it.emitted(TargetComputed)[-1].changed)


def test_only_a_new_member_is_last_in_the_assignors_input(asked):
    """A known member keeps its place in the group when its heartbeat changes the target."""
    it = own(asked)
    for name in "ABC":
        it.join(name)
    it.settle("A", "B", "C")
    first, *others = [member.member_id for member in it.group]

    it.beat(first, subscribed_topic_names=("t", "u"))
    assert [first, *others] == list(asked.subscriptions)

    it.leave(first)
    it.beat(others[0])
    it.join(first)
    assert [*others, first] == list(asked.subscriptions)


def test_the_records_of_a_target_are_in_the_order_of_a_hash_map():
    """A captured group: its second member comes first in Java's HashMap of the member ids."""
    first, second = "y6U9gkanSiiCMWtJob2iAQ", "79EdiZEgQ7SZOuDa066o2g"
    it = ConsumerGroupDriver(topic(partitions=6))
    it.join(first)

    it.join(second)

    keys = [record.key for record in it.batches[-1] if record.key.record_type == 7]
    assert [second, first] == [key.member_id for key in keys]
    changed = it.emitted(TargetComputed)[-1].changed
    assert [first, second] == [member for member, _ in changed]


def test_range_counts_a_member_whose_pattern_is_not_looked_up_yet():
    """The epoch of C's departure is due when B joins: B gets half of t, once it reads t."""
    it = ConsumerGroupDriver(
        topic(),
        group_consumer_assignors=("range", "uniform"),
        group_consumer_assignment_interval_ms=1_000,
    )
    it.join("A")
    it.join("C")
    it.advance(1_000)
    it.settle("A", "C")
    it.leave("C")
    it.advance(1_000)

    it.join("B", subscribed_topic_names=None, subscribed_topic_regex="t.*")
    assert ({0, 1, 2}, {3, 4, 5}) == (it.target("A"), it.target("B"))
    assert set() == it.assigned("B")

    it.advance(1_000)
    it.beat("A")
    it.beat("B")
    assert {3, 4, 5} == it.assigned("B")


def test_a_replaced_member_without_a_target_has_an_empty_one_written_twice():
    """With the replacement, and with the first target of the group that counts it."""
    it = ConsumerGroupDriver(topic(partitions=1), group_consumer_assignment_interval_ms=1_000)
    it.join("A")
    it.join("S", instance="i")
    it.beat("S", TEMPORARY_LEAVE_EPOCH, instance="i")
    assert "S" not in it.group.targets
    it.advance(1_000)

    it.join("T", instance="i")

    keys = [record.key for record in it.batches[-1] if record.key.record_type == 7]
    assert ["S", "T", "T"] == [key.member_id for key in keys]
    assert set() == it.target("T")


def test_a_deleted_topic_counts_in_the_table_of_a_target_that_changes():
    """Kafka copies the target with it, and drops it from the larger copy: t is before u there."""
    it = ConsumerGroupDriver(topic(partitions=1), topic("u", 1), topic("v", 6))
    it.join("A", "t", "u", "v")
    it.topics_are(topic(partitions=1), topic("u", 1))

    it.beat("A")

    (wanted,) = [record.value for record in it.batches[-1] if record.key.record_type == 7]
    assert [IDS["t"], IDS["u"]] == [each.topic_id for each in wanted.topic_partitions]
