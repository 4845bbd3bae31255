"""Which epochs a member may name, and what raises the group's."""

from __future__ import annotations

import pytest

from protocols.facts import GroupEpochRaised
from protocols.groups.kip848.heartbeat import recurs
from protocols.messages import TopicDescription, TopicPartitions
from protocols.messages.errors import ErrorCode

from .driver import IDS, ConsumerGroupDriver, owned, topic


def waiting() -> ConsumerGroupDriver:
    """A has everything; B, at (3, 0), waits for its half."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.join("B")
    return it


def test_the_current_epoch_is_good():
    """Whatever else the heartbeat says."""
    it = waiting()

    assert 3 == it.beat("B", 3).epoch
    assert 3 == it.beat("B", 3, topic_partitions=owned(0)).epoch


def test_the_previous_epoch_is_good_while_nothing_is_owned_that_should_not_be():
    """The answer with the new epoch was lost."""
    it = waiting()
    it.beat("A")
    it.acknowledge("A")
    it.beat("B")
    assert (3, 3, "STABLE") == it.at("B")
    it.join("C")
    it.settle("A", "B", "C")
    assert (4, 3, "STABLE") == it.at("A")
    mine = sorted(it.assigned("A"))

    assert 4 == it.beat("A", 3, topic_partitions=owned(*mine)).epoch
    assert 4 == it.beat("A", 3, topic_partitions=owned(mine[0])).epoch
    assert 4 == it.beat("A", 3, topic_partitions=()).epoch
    others = sorted(set(range(6)) - set(mine))
    assert ErrorCode.FENCED_MEMBER_EPOCH == it.beat("A", 3, topic_partitions=owned(*others)).error
    assert ErrorCode.FENCED_MEMBER_EPOCH == it.beat("A", 3).error


@pytest.mark.parametrize("epoch", [4, 100, 2**31 - 1])
def test_an_epoch_of_the_future_is_fenced(epoch):
    """Only a coordinator gives epochs."""
    assert ErrorCode.FENCED_MEMBER_EPOCH == waiting().beat("B", epoch).error


def test_an_old_epoch_is_fenced():
    """One answer may be lost, not more."""
    it = waiting()

    assert ErrorCode.FENCED_MEMBER_EPOCH == it.beat("B", 2, topic_partitions=()).error


def test_a_known_member_may_join_again():
    """It keeps its epochs and what it has of its target; as it owns nothing, the rest is free."""
    it = waiting()

    again = it.join("A")

    assert (3, {"t": {0, 1, 2}}) == (again.epoch, again.assignment)
    assert (3, 2, "STABLE") == it.at("A")
    assert (3, 3) == it.epochs
    assert {"t": {3, 4, 5}} == it.beat("B").assignment


def test_a_fruitless_heartbeat_ends_the_tolerance_of_a_waiting_member():
    """It is written once more with its epoch as the previous one, and then no more."""
    it = waiting()

    assert (3, 0, "UNRELEASED_PARTITIONS") == it.at("B")
    assert ["8"] == it.wrote(lambda: it.beat("B"))
    assert (3, 3, "UNRELEASED_PARTITIONS") == it.at("B")
    assert [] == it.wrote(lambda: it.beat("B"))


def test_a_second_lost_answer_fences_a_waiting_member():
    """A stable one would tolerate any number."""
    it = ConsumerGroupDriver()
    it.join("A")
    it.join("B")
    it.settle("A", "B")
    it.join("C")
    it.beat("A")
    it.beat("B")
    it.acknowledge("A")
    mine = it.assigned("C")
    assert (4, 0, "UNRELEASED_PARTITIONS") == it.at("C")
    assert (
        4
        == it.beat(
            "C", 0, topic_partitions=(), rebalance_timeout_ms=1, subscribed_topic_names=("t",)
        ).epoch
    )
    it.beat("C", 4)

    assert ErrorCode.FENCED_MEMBER_EPOCH == it.beat("C", 3, topic_partitions=owned(*mine)).error


def test_the_reason_of_a_new_epoch_is_the_member_that_joined_or_reads_other_topics():
    """Both name topics that its member did not read before."""
    it = ConsumerGroupDriver(topic("t"), topic("u"))
    it.join("A")
    it.beat("A", subscribed_topic_names=("t", "u"))

    assert ["a member joined", "a member reads other topics"] == [
        fact.reason for fact in it.emitted(GroupEpochRaised)
    ]


def test_an_unknown_member_is_refused():
    """So is a request for a missing group."""
    it = waiting()

    assert ErrorCode.UNKNOWN_MEMBER_ID == it.beat("X", 3).error
    assert ErrorCode.UNKNOWN_MEMBER_ID == it.beat("X", -1).error
    assert ErrorCode.GROUP_ID_NOT_FOUND == it.beat("A", 2, group="other").error
    assert ErrorCode.GROUP_ID_NOT_FOUND == it.beat("A", -1, group="other").error


# -- what raises the group epoch ---------------------------------------------------------------


def steady(*topics: TopicDescription, **settings: int) -> ConsumerGroupDriver:
    it = ConsumerGroupDriver(*topics, **settings)
    it.join("A")
    it.join("B")
    it.settle("A", "B")
    assert (3, 3) == it.epochs
    return it


def test_a_regular_heartbeat_raises_nothing():
    """It writes no record."""
    it = steady()

    assert [] == it.wrote(lambda: it.beat("A"))
    assert (3, 3) == it.epochs


def test_a_member_without_topics_raises_nothing():
    """Its group begins with epoch 1, and it is at that."""
    it = ConsumerGroupDriver()

    assert 1 == it.join("A", subscribed_topic_names=()).epoch
    assert (["5", "8"], (1, 1)) == (it.types, it.epochs)


def test_reading_other_topics_raises_the_epoch_once():
    """Also if the assignor changes in the same heartbeat; the target comes with it."""
    it = steady(topic(), topic("u", 2))

    it.beat("A", subscribed_topic_names=("t", "u"), server_assignor="range")

    assert (4, 4) == it.epochs
    assert 1 == it.types.count("3")


@pytest.mark.parametrize(
    "changed",
    [
        [topic(partitions=7)],
        [],
        [topic(racks=(("a",),) * 6)],
        [TopicDescription("t", IDS["v"], (1,) * 6)],
    ],
    ids=["more partitions", "deleted", "other racks", "made again"],
)
def test_a_changed_topic_raises_the_epoch_with_the_next_heartbeat(changed):
    """And no sooner; the target is computed in the same heartbeat."""
    it = steady()
    it.topics_are(*changed)
    assert (3, 3) == it.epochs

    it.beat("B")

    assert (4, 4) == it.epochs
    assert [] == it.wrote(lambda: it.beat("X", -1))


def test_a_new_leader_raises_nothing():
    """Only data that an assignment depends on is compared."""
    it = steady()
    it.topics_are(TopicDescription("t", IDS["t"], (2,) * 6))

    assert [] == it.wrote(lambda: it.beat("B"))


def test_a_topic_of_another_group_raises_nothing():
    """Only topics that the group subscribes to count."""
    it = steady()
    it.topics_are(topic(), topic("u"))

    assert [] == it.wrote(lambda: it.beat("B"))


def test_a_failed_write_lets_the_next_heartbeat_look_again():
    """The group epoch fell back behind the one at which the topics were compared."""
    it = steady()
    it.topics_are(topic(partitions=8))
    it.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == it.beat("B").error
    assert (3, 3) == it.epochs

    it.beat("B")

    assert (4, 4) == it.epochs


def test_departures_raise_the_epoch_and_compute_nothing():
    """Those who stay learn of it with their next heartbeats."""
    it = steady()
    it.leave("B")
    assert (4, 3) == it.epochs

    assert {"t": {0, 1, 2, 3, 4, 5}} == it.beat("A").assignment
    assert (4, 4) == it.epochs


def test_another_effective_assignor_raises_the_epoch():
    """A vote that changes nothing in the choice does not."""
    it = steady()
    it.join("C", server_assignor="uniform")
    it.settle("A", "B", "C")
    before = it.epochs

    it.beat("A", server_assignor="uniform")
    assert (["5"], before) == (it.types, it.epochs)
    it.beat("B", server_assignor="range")
    assert (["5"], before) == (it.types, it.epochs)
    it.beat("A", server_assignor="range")
    assert (before[0] + 1, before[0] + 1) == it.epochs


def test_of_one_vote_each_the_assignor_of_the_sender_wins():
    """So the epoch rises with each heartbeat of a member that requests ``range`` next to ``uniform``.

    Kafka counts the votes without the member's old one, and puts its new one in front.
    """
    it = steady()
    it.beat("A", server_assignor="uniform")
    it.beat("B", server_assignor="range")
    assert (4, 4) == it.epochs

    it.beat("A")
    assert (4, 4) == it.epochs
    it.beat("B")
    assert (5, 5) == it.epochs
    assert not recurs(it.group)

    it.join("C", server_assignor="range")
    it.join("D", server_assignor="uniform")
    it.settle("A", "B", "C", "D")
    assert recurs(it.group)


def test_rack_timeout_and_client_are_only_noted():
    """A record of the member, and nothing else."""
    it = steady()

    assert ["5"] == it.wrote(lambda: it.beat("A", rack_id="r"))
    assert ["5"] == it.wrote(lambda: it.beat("A", rebalance_timeout_ms=1))
    assert (3, 3) == it.epochs


def test_a_failover_raises_nothing():
    """The next heartbeat compares the topics and finds them as they were."""
    it = steady()
    it.fail_over()

    assert [] == it.wrote(lambda: it.beat("A"))
    assert (3, 3) == it.epochs


def test_a_topic_that_is_listed_without_partitions_is_owned_too():
    """So the previous epoch is not good with one that the member has nothing of."""
    it = ConsumerGroupDriver(topic(), topic("u"))
    it.join("A")
    it.join("B")
    it.settle("A", "B")
    current = it.member("A").current
    stray = TopicPartitions(IDS["u"], ())

    assert current.previous_epoch < current.epoch
    missed = it.beat("A", current.previous_epoch, topic_partitions=(stray,))
    assert ErrorCode.FENCED_MEMBER_EPOCH == missed.error
    assert ErrorCode.NONE == it.beat("A", current.previous_epoch, topic_partitions=()).error
