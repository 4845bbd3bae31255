"""Leader epochs in the world: brokers send and check them, and consumers validate with them."""

from __future__ import annotations

from collections import Counter

import pytest

from assignors.types import TopicPartition
from emulator import loads
from emulator.events import EpochOpened, LeaderChanged, Processed, RequestsCounted
from emulator.scenario.model import Topic
from emulator.world.build import play
from emulator.world.cluster.topics import Topics, end_offsets
from emulator.world.run import Replay
from protocols.messages import (
    EpochEndOffset,
    EpochStart,
    EpochToCheck,
    LeaderAndEpoch,
    OffsetsForLeaderEpochRequest,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import OffsetCommitValue

from ..stage import GROUP, SECOND, TEXT, Seen
from ..stage import staged as fully_staged

E = ErrorCode
TP = TopicPartition("t", 0)
NOW = 30 * SECOND
ELECTED = 10 * SECOND


def elected(*leaders: int) -> Topics:
    """A partition of brokers 1, 2, 3 at 10 records a second; others lead, 10 s after each other."""
    topics = Topics(0, 3, 3, lambda _: 0, ())
    topics.create(Topic(name="t", rate=10.0), 0)
    log = topics.find(TP)
    assert log is not None
    for number, leader in enumerate(leaders, 1):
        log.replicas.elect(leader, number * ELECTED, clean=True)
    return topics


def ask(topics: Topics, epoch: int, *, broker: int, current: int = -1) -> EpochEndOffset:
    request = OffsetsForLeaderEpochRequest(partitions=(EpochToCheck(TP, epoch, current),))
    (found,) = end_offsets(request, broker, topics, NOW).end_offsets
    return found


# -- what brokers know ---------------------------------------------------------------------------


def test_an_epoch_begins_where_the_log_ended_when_its_leader_was_elected():
    """So the records of each epoch end where those of the next begin."""
    topics = elected(2, 3)
    log = topics.find(TP)

    assert (EpochStart(0, 0), EpochStart(1, 101), EpochStart(2, 201)) == log.epochs
    assert [(0, 101), (1, 201), (2, 301)] == [
        (ask(topics, epoch, broker=3).leader_epoch, ask(topics, epoch, broker=3).end_offset)
        for epoch in range(3)
    ]


def test_a_partition_without_a_leader_has_an_epoch_without_records():
    """The controller bumps the epoch all the same."""
    topics = elected(-1, 1)

    assert (EpochStart(0, 0), EpochStart(2, 201)) == topics.find(TP).epochs
    assert EpochEndOffset(TP, 0, 201) == ask(topics, 1, broker=1)


def test_an_epoch_newer_than_the_log_is_unknown():
    """No epoch, no offset: -1 both."""
    assert EpochEndOffset(TP) == ask(elected(2), 5, broker=2)


@pytest.mark.parametrize(
    ("broker", "current", "error"),
    [
        (2, 1, E.NONE),
        (2, -1, E.NONE),
        (2, 0, E.FENCED_LEADER_EPOCH),
        (2, 2, E.UNKNOWN_LEADER_EPOCH),
        (1, 1, E.NOT_LEADER_OR_FOLLOWER),
        (1, 0, E.FENCED_LEADER_EPOCH),
    ],
)
def test_a_broker_refuses_who_asks_in_another_epoch_or_at_the_wrong_place(broker, current, error):
    """The epoch is looked at first (``Partition.getLocalLog``)."""
    topics = elected(2)

    assert error == ask(topics, 0, broker=broker, current=current).error
    assert error == topics.find(TP).replicas.refusal(broker, current)


def test_a_broker_out_of_touch_answers_by_what_it_knew():
    """A stale leader confirms its readers, and has not heard of the next epoch."""
    topics = elected()
    replicas = topics.find(TP).replicas
    replicas.freeze_beliefs([1], ELECTED)
    replicas.elect(2, ELECTED, clean=True)
    stale = topics.shown_by(1, TP)

    assert (EpochStart(0, 0),) == stale.epochs
    assert EpochEndOffset(TP, 0, 101) == ask(topics, 0, broker=1, current=0)
    assert E.UNKNOWN_LEADER_EPOCH == ask(topics, 0, broker=1, current=1).error
    assert E.FENCED_LEADER_EPOCH == ask(topics, 0, broker=2, current=0).error


def test_a_partition_that_does_not_exist_is_unknown():
    """It may have been deleted since."""
    topics = Topics(0, 3, 3, lambda _: 0, ())

    assert E.UNKNOWN_TOPIC_OR_PARTITION == ask(topics, 0, broker=1).error


def test_metadata_have_the_epoch_of_each_leader():
    """As the answering broker knows it."""
    topics = elected()
    replicas = topics.find(TP).replicas
    replicas.freeze_beliefs([1], ELECTED)
    replicas.elect(2, ELECTED, clean=True)

    written = {broker: topics.describe(None, broker)[0] for broker in (1, 3)}
    assert LeaderAndEpoch(1, 0) == (written[1].leaders[0], written[1].leader_epochs[0])
    assert LeaderAndEpoch(2, 1) == (written[3].leaders[0], written[3].leader_epochs[0])


# -- what consumers make of it -------------------------------------------------------------------

TOPIC = 'partitions = 6\nrate = "4/s"'
CRASH = '[[fault]]\ncrash_broker = "broker-2"\nat = "10s"\n'
ASKED = "OffsetsForLeaderEpoch"


def staged(more="", **options) -> Seen:
    return fully_staged(more, topic=TOPIC, run_for="26s", **options)


def asked(seen: Seen) -> int:
    counts = Counter[str]()
    for event in seen.all(RequestsCounted):
        counts.update(dict(event.what.counts))
    return counts[ASKED]


def test_consumers_ask_the_new_leaders_of_a_dead_broker_once_each():
    """Before they go on where they were: nothing was truncated, so nothing moves."""
    quiet, seen = staged(), staged(CRASH)
    moved = seen.all(LeaderChanged)
    after = [e for e in seen.after(moved[0].at_us, Processed) if e.what.partition.partition == 1]

    assert 0 == asked(quiet)
    assert 2 == asked(seen)
    assert len(quiet.all(EpochOpened)) == len(seen.all(EpochOpened))
    assert after
    assert {} == seen.run.ledger.by_cause()


def test_a_start_from_a_commit_made_after_reading_is_validated():
    """The restarted member asks about each partition it was given (``seekUnvalidated``)."""
    crash = '[[fault]]\ncrash = "g-0"\nat = "10s"\nrestart_after = "8s"\n'

    assert asked(staged(crash)) > 0


def committed_epochs(group: str) -> list[tuple[int, int]]:
    """Offset and leader epoch of every commit of a group, in order."""
    text = TEXT.format(
        run="",
        topic='partitions = 3\nrate = "1/s"',
        group=group,
        settings='"auto.commit.interval.ms" = 1',
        strategy="range",
        run_for="7.2s",
        more="",
    )
    appended: list = []
    play(loads(text), 0, (), replay=Replay(appended=appended.extend))
    values = [record.value for record in appended if isinstance(record.value, OffsetCommitValue)]
    return [(value.offset, value.leader_epoch) for value in values]


@pytest.mark.long
def test_commits_after_reading_carry_the_epoch_and_first_ones_none():
    """As a real group's log has them."""
    found = committed_epochs(GROUP)

    assert {(0, -1)} == {(offset, epoch) for offset, epoch in found if offset == 0}
    assert {0} == {epoch for offset, epoch in found if offset > 0}


def test_offsets_an_application_names_itself_carry_no_epoch():
    """``commitSync(Map)`` with plain offsets."""
    found = committed_epochs(
        'work = "5ms"\ncommit = { call = "sync", when = "batch", arguments = true }'
    )

    assert {-1} == {epoch for _, epoch in found}
