"""Logs as arithmetic: what is appended, what is visible, what is retained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.types import TopicPartition
from emulator.scenario.model import Bursts, BurstShape, Poisson, Topic
from emulator.world.cluster.partitions.arrivals import NEVER, TURNS
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.topics import Topics

REPLICATION = 700


def made(brokers=3, factor=3, racks=(), replication=REPLICATION, seed=0):
    return Topics(seed, brokers, factor, lambda _: replication, racks)


def log_of(topic, replication=REPLICATION) -> PartitionLog:
    return made(replication=replication).create(topic, 0).partitions[0]


def test_a_topic_that_is_created_again_is_produced_to_from_a_replayed_time():
    """Its first life is that of the scenario; after the replayed times its creation counts."""
    topic = Topic(name="t", rate=1_000.0, produce_from=50)
    topics = Topics(0, 3, 3, lambda _: 0, (), None, {"t": (50, 9_000)})
    begins = [topics.create(topic, now).partitions[0].appended_at(0) for now in (0, 7_000, 20_000)]

    assert [50, 9_000, 20_000] == begins


logs = st.builds(
    lambda rate, backlog, at, replication: log_of(
        Topic(name="t", rate=rate, backlog=backlog, backlog_at=at), replication
    ),
    st.sampled_from(
        [
            0.0,
            1_000.0,
            333.3,
            Poisson(poisson=400.0),
            Bursts(bursts=BurstShape(rate=2_000.0, lasting=5_000, every=20_000)),
        ]
    ),
    st.sampled_from([0, 0, 7]),
    st.sampled_from([0, 3_000]),
    st.sampled_from([0, 1, REPLICATION, 5_000]),
)
spells = st.lists(st.integers(0, 30_000), max_size=8).map(
    lambda ends: sorted(ends)[: len(ends) // 2 * 2]
)


def disturb(log, ends, *, lasting=False):
    """Stop and move the high watermark in turn; *lasting*: it is stopped at the end."""
    for number, when in enumerate(ends):
        if number % 2 == 0:
            log.stall(when)
        elif not lasting or number < len(ends) - 1:
            log.move(when)


@given(logs, spells, st.lists(st.integers(0, 45_000), min_size=1, max_size=10))
def test_a_record_is_visible_exactly_when_the_high_watermark_has_passed_it(log, ends, instants):
    """``visible_us`` and ``high_watermark`` are each other's inverse, also where it stood for a while."""
    disturb(log, ends)
    for instant in instants:
        below = log.high_watermark(instant)
        assert log.visible_us(below) > instant
        assert below == 0 or log.visible_us(below - 1) <= instant


@given(logs, spells, st.lists(st.integers(0, 45_000), min_size=1, max_size=10))
def test_while_the_high_watermark_is_stopped_the_next_visible_record_is_unknown(
    log, ends, instants
):
    """Records below it were visible in their time; the others are not while it is stopped."""
    disturb(log, ends, lasting=True)
    is_stalled = log.high_watermark(10**6)
    if ends:
        assert log.high_watermark(ends[-2]) == is_stalled
        assert NEVER == log.visible_us(is_stalled)
    for instant in instants:
        below = log.high_watermark(instant)
        assert log.visible_us(below) > instant
        assert below == 0 or log.visible_us(below - 1) <= instant


@given(logs, st.integers(0, 30_000), st.integers(0, 15_000))
def test_while_it_is_stopped_no_record_becomes_visible_and_then_all(log, begin, length):
    """Some replications after it moves again the high watermark has caught up."""
    over = begin + length + TURNS * log.replication_us
    before = min(log.high_watermark(begin), log.end(begin - 1))
    undisturbed = before, log.high_watermark(over)
    log.stall(begin)
    frozen = log.high_watermark(begin + length)
    log.move(begin + length)

    assert undisturbed == (frozen, log.high_watermark(over))


def test_when_it_moves_again_records_show_one_after_the_other_and_then_all():
    """Those were under way; the producer kept the others until it heard that they are safe."""
    log = log_of(Topic(name="t", rate=1_000.0))
    log.stall(10_000)
    log.move(40_000)
    second, rest = 40_000 + REPLICATION, 40_000 + TURNS * REPLICATION

    assert [10, 11, 12, 15, log.end(rest - REPLICATION)] == [
        log.high_watermark(at) for at in (39_999, 40_000, second, rest - 1, rest)
    ]
    assert [40_000, second, rest] == [log.visible_us(offset) for offset in (10, 11, 15)]


def test_it_moves_again_when_its_leader_hears_that_it_may():
    """Not before the word has come; where it did not stand there is nothing to hear."""
    log = log_of(Topic(name="t", rate=1_000.0))
    log.move(5_000, metadata_us=300)
    log.stall(10_000)
    log.move(40_000, metadata_us=300)

    assert [10, 11] == [log.high_watermark(at) for at in (40_299, 40_300)]
    assert [40_300, 40_300 + REPLICATION] == [log.visible_us(offset) for offset in (10, 11)]


def test_a_stopped_high_watermark_is_not_stopped_again():
    """It is stopped since the first time; one that moves is not started again."""
    log = log_of(Topic(name="t", rate=1_000.0))
    log.move(500)
    log.stall(10_000)
    log.stall(20_000)

    assert log.high_watermark(10_000) == log.high_watermark(30_000)
    log.move(40_000)
    assert 40_000 + TURNS * REPLICATION == log.visible_us(15)


def test_a_record_is_visible_one_replication_after_it_was_appended():
    """The log end runs ahead of the high watermark by as much."""
    log = log_of(Topic(name="t", rate=1_000.0))

    assert (5_000, 5_000 + REPLICATION) == (log.appended_at(5), log.visible_us(5))
    assert (6, 5) == (log.end(5_000), log.high_watermark(5_000))
    assert 6 == log.high_watermark(5_000 + REPLICATION)


def test_a_backlog_is_there_at_once_and_before_everything_else():
    """New records come behind it, from when it is there."""
    log = log_of(Topic(name="t", rate=1_000.0, backlog=40, backlog_at=9_000))

    assert (0, 41) == (log.end(8_999), log.end(9_000))
    assert [9_000, 9_000, 9_000, 10_000] == [log.appended_at(k) for k in (0, 39, 40, 41)]
    assert [9_000 + REPLICATION] * 2 == [log.visible_us(k) for k in (0, 39)]


def test_a_record_that_never_comes_is_never_visible():
    """Behind the end of production there is nothing to wait for."""
    log = log_of(Topic(name="t", rate=1_000.0, produce_until=10_000))

    assert log.visible_us(10) >= NEVER
    assert log.visible_us(9) == 9_000 + REPLICATION
    log.stall(50_000)
    assert log.visible_us(10) >= NEVER


@given(logs, st.integers(-5_000, 40_000), st.integers(0, 40_000))
def test_the_first_offset_at_or_after_an_instant_is_that_of_a_search_by_hand(log, instant, now):
    """Only what is visible is found; -1 says that there is none yet."""
    found = (
        offset for offset in range(log.high_watermark(now)) if log.appended_at(offset) >= instant
    )

    assert next(found, -1) == log.first_at_or_after(instant, now)


@given(logs, st.lists(st.integers(-100, 40_000), max_size=5))
def test_retention_drops_what_was_appended_before_and_nothing_else(log, oldest):
    """The log start never falls; it says whether anything was dropped."""
    for when in oldest:
        before = log.start
        kept = next(k for k in range(10**6) if log.appended_at(k) >= max(when, 0))
        assert (log.start < kept) is log.retain(when)
        assert max(before, kept) == log.start


def test_the_first_offset_after_an_instant_is_not_below_the_log_start():
    """Records removed by retention cannot be found."""
    log = log_of(Topic(name="t", rate=1_000.0))
    log.retain(8_000)

    assert [8, 8, 9] == [log.first_at_or_after(at, 50_000) for at in (0, 3_000, 9_000)]


# -- topics ----------------------------------------------------------------------------------------


def test_a_topic_created_again_gets_another_id():
    """Its offsets begin at 0, and the ids are the same in every run of the seed."""
    topics = made()
    one = topics.create(Topic(name="t", rate=1.0), 0)
    topics.delete("t")
    two = topics.create(Topic(name="t", rate=1.0), 5_000_000)
    other = topics.create(Topic(name="u"), 0)

    assert 3 == len({one.topic_id, two.topic_id, other.topic_id})
    assert {22} == {len(log.topic_id) for log in (one, two, other)}
    assert one.topic_id == made().create(Topic(name="t"), 0).topic_id
    assert one.topic_id != made(seed=1).create(Topic(name="t"), 0).topic_id
    assert (0, 1) == (two.partitions[0].end(4_999_999), two.partitions[0].end(5_000_000))


def test_partitions_that_are_added_begin_empty():
    """They have no backlog, and records from then on; those there were stay as they are."""
    topics = made()
    log = topics.create(Topic(name="t", partitions=2, rate=1.0, backlog=50), 0)
    first = list(log.partitions)
    topics.add_partitions(log, 4, 10_000_000)

    assert 4 == len(log.partitions)
    assert first == log.partitions[:2]
    assert [0, 0] == [partition.end(9_999_999) for partition in log.partitions[2:]]
    assert [10, 10] == [partition.end(20_000_000 - 1) for partition in log.partitions[2:]]


def test_partitions_are_placed_in_turn_by_default():
    """Leaders go round the brokers; the copies are on the next ones."""
    topics = made(brokers=4, factor=2)
    placed = topics.create(Topic(name="t", partitions=5), 0).partitions
    chosen = topics.create(Topic(name="u", partitions=3, leaders=(4, 4), replicas=3), 0)

    assert [(1, 2), (2, 3), (3, 4), (4, 1), (1, 2)] == [log.replicas.brokers for log in placed]
    assert [(4, 1, 2), (4, 1, 2), (3, 4, 1)] == [log.replicas.brokers for log in chosen.partitions]
    assert [4, 4, 3] == [log.replicas.leader for log in chosen.partitions]


def test_leaders_of_as_many_partitions_as_brokers_show_the_order_of_the_copies():
    """One list of all brokers places so many partitions, each beginning one broker further."""
    given = Topic(name="t", partitions=7, leaders=(2, 3, 1, 2, 1, 3, 3))
    placed = made(brokers=3, factor=3).create(given, 0).partitions

    assert [(2, 3, 1), (3, 1, 2), (1, 2, 3)] == [log.replicas.brokers for log in placed[:3]]
    assert [(2, 1, 3), (1, 3, 2), (3, 2, 1)] == [log.replicas.brokers for log in placed[3:6]]
    assert (3, 1, 2) == placed[6].replicas.brokers


def test_there_are_never_more_copies_than_brokers():
    """A higher replication factor is lowered."""
    assert (1, 2) == made(brokers=2, factor=3).create(Topic(name="t"), 0).partitions[
        0
    ].replicas.brokers


def test_a_partition_that_does_not_exist_is_not_found():
    """Nor one of a deleted topic."""
    topics = made()
    log = topics.create(Topic(name="t", partitions=2), 0)

    assert log.partitions[1] is topics.find(TopicPartition("t", 1))
    assert topics.find(TopicPartition("t", 2)) is None
    assert topics.find(TopicPartition("x", 0)) is None
    topics.delete("t")
    assert topics.find(TopicPartition("t", 1)) is None


def test_metadata_shows_the_topics_asked_for_that_exist():
    """All of them, by name, if none is given."""
    topics = made()
    for name in "cab":
        topics.create(Topic(name=name), 0)

    def shown(names):
        return [topic.name for topic in topics.describe(names)]

    assert ["a", "b", "c"] == shown(None)
    assert ["c", "a"] == shown(("c", "x", "a"))


def test_metadata_shows_the_present_leaders():
    """Also one that has changed."""
    topics = made()
    log = topics.create(Topic(name="t", partitions=3), 0).partitions[1]
    log.replicas.elect(-1, 0, clean=True)
    (shown,) = topics.describe(("t",))

    assert (1, -1, 3) == shown.leaders


@pytest.mark.parametrize(
    ("racks", "shown"),
    [
        ((), ()),
        (("a", "b", "c"), (("a", "b"), ("b", "c"), ("c", "a"))),
        (("a", "b"), (("a", "b"), ("b", "a"), ("a", "a"))),
    ],
)
def test_metadata_shows_the_racks_of_each_partitions_copies(racks, shown):
    """Racks go round where fewer are named than there are brokers."""
    topics = made(factor=2, racks=racks)
    topics.create(Topic(name="t", partitions=3), 0)
    (described,) = topics.describe(None)

    assert shown == described.racks


def test_all_partitions_are_listed_in_order():
    """By topic, then by number."""
    topics = made()
    topics.create(Topic(name="b", partitions=2), 0)
    topics.create(Topic(name="a"), 0)

    assert ["a-0", "b-0", "b-1"] == [str(tp) for tp, _ in topics.partitions()]


# -- as brokers show them --------------------------------------------------------------------------


def left_behind(at=5_000):
    """A topic whose leader, broker 1, does not know that broker 2 leads since *at*."""
    topics = made()
    log = topics.create(Topic(name="t", rate=1_000.0), 0).partitions[0]
    log.replicas.freeze_beliefs([1], at)
    log.replicas.elect(2, at, clean=True)
    return topics, log


def test_a_stale_leader_shows_a_log_without_progress():
    """No follower fetches from it, so nothing of it becomes visible."""
    topics, log = left_behind()
    shown = topics.shown_by(1, TopicPartition("t", 0))

    assert log is topics.shown_by(2, TopicPartition("t", 0))
    assert [3, 4, 5, 5] == [shown.high_watermark(at) for at in (3_000, 4_000, 5_000, 90_000)]
    assert log.visible_us(4) == shown.visible_us(4)
    assert NEVER == shown.visible_us(5)
    assert shown is topics.shown_by(1, TopicPartition("t", 0))


def test_metadata_of_a_broker_out_of_touch_shows_the_old_leader():
    """Other brokers know the new one; so does it after an update."""
    topics, log = left_behind()

    assert [1, 2, 2] == [topics.describe(("t",), b)[0].leaders[0] for b in (1, 2, 3)]
    log.replicas.inform(1)
    assert 2 == topics.describe(("t",), 1)[0].leaders[0]
    assert log is topics.shown_by(1, TopicPartition("t", 0))
