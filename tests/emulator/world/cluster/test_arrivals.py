"""When records arrive, as arithmetic: counts and times are two views of one thing."""

from __future__ import annotations

import itertools
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.scenario.model import (
    Bursts,
    BurstShape,
    Curve,
    CurveShape,
    Poisson,
    Ramp,
    RampShape,
    RateAt,
    Steps,
    Topic,
)
from emulator.world.cluster.partitions.arrivals import NEVER, SECOND_US
from emulator.world.cluster.topics import arrivals_of

rates = st.one_of(
    st.sampled_from([0.001, 0.5, 1.0, 3.0, 7.0, 10.0, 1_000 / 3, 12_345.678, 1_000_000.0]),
    st.floats(0.01, 50_000),
)
STEADY = rates
POISSON = st.sampled_from([0.2, 5.0, 80.0, 1_500.0]).map(lambda rate: Poisson(poisson=rate))


def bursts(rate, lasting, every, between=0.0):
    return Bursts(bursts=BurstShape(rate=rate, lasting=lasting, every=every, between=between))


BURSTS = st.builds(
    lambda rate, every, share, between: bursts(rate, max(1, int(every * share)), every, between),
    st.sampled_from([0.3, 5.0, 40.0, 999.9]),
    st.sampled_from([10_000, 700_000, 7_000_000, 60_000_001]),
    st.floats(0.01, 1),
    st.sampled_from([0.0, 0.0, 0.1, 3.0, 50.0]),
)

RATE = st.sampled_from([0.0, 0.0, 0.3, 7.0, 40.0, 999.9])
POINTS = st.lists(
    st.tuples(st.sampled_from([0, 1, 800_000, 2_000_003, 5_000_000, 9_999_999]), RATE),
    min_size=1,
    max_size=4,
    unique_by=lambda point: point[0],
).map(lambda points: [RateAt(at=at, rate=rate) for at, rate in sorted(points)])


VARYING = st.one_of(
    st.builds(lambda points: Steps(steps=points), POINTS),
    st.builds(
        lambda first, to, at: Ramp(ramp=RampShape(first=first, to=to, at=at, lasting=3_000_001)),
        RATE,
        RATE,
        st.sampled_from([0, 1_000_000]),
    ),
    st.builds(
        lambda points, every: Curve(curve=CurveShape(points=points, every=every)),
        POINTS,
        st.sampled_from([None, 10_000_000, 11_000_001]),
    ),
    st.builds(
        lambda rate, between: Bursts(
            bursts=BurstShape(
                rate=rate, lasting=500_000, at=[700_000, 1_200_000, 4_000_001], between=between
            )
        ),
        RATE,
        RATE,
    ),
)

topics = st.builds(
    lambda rate, begin, lasting, skew: Topic(
        name="t",
        partitions=3,
        rate=rate,
        skew=skew,
        produce_from=begin,
        produce_until=None if lasting is None else begin + lasting,
    ),
    st.one_of(STEADY, POISSON, BURSTS, VARYING),
    st.sampled_from([0, 1, 2_500_000]),
    st.sampled_from([None, None, 0, 1, 5_000_000]),
    st.sampled_from([(), (1.0, 0.25, 4.0), (0.0, 2.0)]),
)


def of(topic, partition=0, seed=0, created=0):
    return arrivals_of(topic, partition, topic.partitions, seed, created)


@settings(deadline=None)
@given(topics, st.integers(0, 2), st.lists(st.integers(0, 20_000_000), min_size=1, max_size=6))
def test_a_record_is_counted_from_the_instant_of_its_arrival_on(topic, partition, instants):
    """Record k has arrived by t if and only if more than k have: both views agree everywhere."""
    arrivals = of(topic, partition)
    for instant in instants:
        count = arrivals.count(instant)
        assert arrivals.time(count) > instant
        assert not count or arrivals.time(count - 1) <= instant


@settings(deadline=None)
@given(topics, st.integers(0, 2), st.lists(st.integers(0, 4_000), min_size=1, max_size=6))
def test_the_count_at_a_records_arrival_includes_it_and_before_it_does_not(
    topic, partition, indices
):
    """So the count is right-continuous, and at the arrival of record k at least k + 1."""
    arrivals = of(topic, partition)
    for index in indices:
        when = arrivals.time(index)
        if when < NEVER:
            assert arrivals.count(when - 1) <= index < arrivals.count(when)


@settings(deadline=None)
@given(topics, st.integers(0, 3_000), st.integers(0, 30))
def test_times_never_fall(topic, index, further):
    """Neither do counts."""
    arrivals = of(topic)
    earlier, later = arrivals.time(index), arrivals.time(index + further)

    assert topic.produce_from <= earlier <= later
    assert arrivals.count(min(earlier, 10**9)) <= arrivals.count(min(later, 10**9))


@settings(deadline=None)
@given(topics, st.permutations([0, 5, 700, 2_000, 900_000, 13_000_000, 13_000_001]))
def test_the_order_of_questions_does_not_change_an_answer(topic, order):
    """Whatever was asked before: Poisson streams remember where they were."""
    asked = of(topic)
    counts = {instant: asked.count(instant) for instant in order}
    times = {instant: asked.time(instant % 1_000) for instant in order}

    assert counts == {instant: of(topic).count(instant) for instant in sorted(order)}
    assert times == {instant: of(topic).time(instant % 1_000) for instant in sorted(order)}


@settings(deadline=None)
@given(topics, st.integers(0, 2))
def test_nothing_arrives_outside_the_time_of_production(topic, partition):
    """From ``produce_from`` on, before ``produce_until``."""
    arrivals = of(topic, partition)
    begin, end = topic.produce_from, topic.produce_until

    assert 0 == arrivals.count(begin - 1)
    if end is not None:
        assert arrivals.count(end - 1) == arrivals.count(end) == arrivals.count(end + 10**8)
        assert NEVER == arrivals.time(arrivals.count(end))


@given(rates.filter(lambda rate: rate <= 1_000_000), st.integers(0, 100_000))
def test_of_a_steady_stream_the_count_at_record_k_is_k_plus_one(rate, index):
    """Up to one record a microsecond no two come at once."""
    steady = of(Topic(name="t", rate=rate))

    assert index + 1 == steady.count(steady.time(index))


def test_a_steady_stream_comes_at_equal_distances():
    """Its rate is kept over any length, without drift."""
    steady = of(Topic(name="t", rate=3.0))

    assert [0, 333_333, 666_666, 1_000_000, 1_333_333] == [steady.time(k) for k in range(5)]
    assert 3 * 86_400 == steady.count(86_400 * SECOND_US - 1)
    assert 86_400 * SECOND_US == steady.time(3 * 86_400)


def test_the_streams_of_a_topics_partitions_are_staggered():
    """Their records do not come at once, but evenly one after the other."""
    topic = Topic(name="t", partitions=4, rate=10.0)

    assert [0, 25_000, 50_000, 75_000] == [of(topic, number).time(0) for number in range(4)]


def test_a_skew_multiplies_the_rate_of_its_partition():
    """Those it does not name keep theirs, and a factor of 0 silences one."""
    topic = Topic(name="t", partitions=4, rate=10.0, skew=(1.0, 0.5, 0.0))
    per_100_s = [of(topic, number).count(100 * SECOND_US - 1) for number in range(4)]

    assert [1_000, 500, 0, 1_000] == per_100_s
    assert NEVER == of(topic, 2).time(0)


@pytest.mark.parametrize("rate", [0.0, Poisson(poisson=0.0), bursts(0.0, 1, 10)], ids=repr)
def test_a_topic_without_a_rate_stays_empty(rate):
    """Nothing ever arrives."""
    silent = of(Topic(name="t", rate=rate))

    assert (0, NEVER) == (silent.count(10**15), silent.time(0))


def test_records_come_from_the_latest_of_begin_backlog_and_creation_on():
    """A topic created late has none from before; behind a backlog come the new ones."""
    topic = Topic(name="t", rate=1.0, produce_from=2_000_000, backlog_at=3_000_000)

    assert 3_000_000 == of(topic).time(0)
    assert 5_000_000 == of(topic, created=5_000_000).time(0)


def test_bursts_follow_their_pattern():
    """Fast for a second, slow for nine, and again; the fractions add up over the cycles."""
    arrivals = of(Topic(name="t", rate=bursts(100.0, SECOND_US, 10 * SECOND_US, 1.0)))

    assert 100 == arrivals.count(SECOND_US)
    assert 104 == arrivals.count(5 * SECOND_US)
    assert 109 == arrivals.count(10 * SECOND_US)
    assert 209 == arrivals.count(11 * SECOND_US)
    assert [10_000, SECOND_US, 2 * SECOND_US] == [arrivals.time(k) for k in (0, 99, 100)]


def test_steps_hold_until_the_next_one():
    """Nothing before the first; a record that was begun in one step is completed in the next."""
    steps = Steps(steps=[RateAt(at=2_000_000, rate=1.0), RateAt(at=4_500_000, rate=5.0)])
    arrivals = of(Topic(name="t", rate=steps))

    assert [3_000_000, 4_000_000, 4_600_000, 4_800_000] == [arrivals.time(k) for k in range(4)]
    assert 2 + 28 == arrivals.count(10 * SECOND_US)


def test_a_ramp_rises_evenly():
    """From 0 to 20 a second in 10 s come 100 records, the first quarter of them in the first half."""
    ramp = Ramp(ramp=RampShape(first=0.0, to=20.0, lasting=10 * SECOND_US, at=SECOND_US))
    arrivals = of(Topic(name="t", rate=ramp))

    assert [0, 25, 100] == [arrivals.count(second * SECOND_US) for second in (1, 6, 11)]
    assert [2_000_000, 11_000_000, 11_050_000] == [arrivals.time(k) for k in (0, 99, 100)]


def test_a_curve_begins_again_behind_a_line_from_its_last_point_to_its_first():
    """A day of 10 s, 4 a second at noon and none at midnight, has 20 records."""
    points = [RateAt(at=0, rate=0.0), RateAt(at=5 * SECOND_US, rate=4.0)]
    curve = Curve(curve=CurveShape(points=points, every=10 * SECOND_US))
    arrivals = of(Topic(name="t", rate=curve, skew=(1.0,)))

    assert [10, 20, 30, 40] == [arrivals.count(second * SECOND_US) for second in (5, 10, 15, 20)]


def test_bursts_come_at_given_times():
    """Each has its records; between them none."""
    shape = BurstShape(
        rate=10.0, lasting=SECOND_US, at=[2 * SECOND_US, 3 * SECOND_US, 60 * SECOND_US]
    )
    arrivals = of(Topic(name="t", rate=Bursts(bursts=shape)))

    assert [0, 10, 20, 20, 30] == [arrivals.count(s * SECOND_US) for s in (2, 3, 4, 60, 99)]
    assert [2_100_000, 60_100_000, NEVER] == [arrivals.time(k) for k in (0, 20, 30)]


def test_between_silent_bursts_nothing_comes():
    """The record behind the last of a burst is the first of the next."""
    arrivals = of(Topic(name="t", rate=bursts(10.0, SECOND_US, 5 * SECOND_US)))

    assert [900_000, SECOND_US, 5_100_000] == [arrivals.time(k) for k in (8, 9, 10)]
    assert 10 == arrivals.count(5 * SECOND_US)


def test_bursts_of_less_than_a_record_add_up():
    """A third of a record each makes one in every third burst."""
    third = bursts(1 / 3, SECOND_US, 10 * SECOND_US)
    arrivals = of(Topic(name="t", rate=third))
    times = [arrivals.time(k) for k in range(3)]

    assert [0, 1, 1, 1, 2] == [arrivals.count(s * SECOND_US) for s in (11, 21, 31, 41, 51)]
    assert all(20 * SECOND_US <= when <= 51 * SECOND_US for when in times[:2])


def test_a_poisson_stream_has_its_rate_and_the_spread_of_one():
    """Counts per second have the mean, and a variance equal to it."""
    arrivals = of(Topic(name="t", rate=Poisson(poisson=20.0)))
    ends = [arrivals.count(second * SECOND_US - 1) for second in range(2_001)]
    counts = [later - before for before, later in itertools.pairwise(ends)]
    mean = fmean(counts)

    assert 20 == pytest.approx(mean, rel=0.02)
    assert 20 == pytest.approx(fmean((count - mean) ** 2 for count in counts), rel=0.1)


def test_gaps_of_a_poisson_stream_are_exponential_across_seconds_too():
    """The mean is one over the rate; the seconds it is drawn by do not show."""
    arrivals = of(Topic(name="t", rate=Poisson(poisson=2.0)))
    times = [arrivals.time(k) for k in range(6_000)]
    gaps = [later - before for before, later in itertools.pairwise(times)]
    long = sum(1 for gap in gaps if gap > SECOND_US) / len(gaps)

    assert 500_000 == pytest.approx(fmean(gaps), rel=0.05)
    assert 0.1353 == pytest.approx(long, rel=0.1)


def test_poisson_streams_differ_by_seed_topic_and_partition_only():
    """The number of partitions and the time of creation change no draw."""
    topic = Topic(name="t", partitions=2, rate=Poisson(poisson=5.0))
    more = Topic(name="t", partitions=9, rate=Poisson(poisson=5.0))
    other = Topic(name="u", partitions=2, rate=Poisson(poisson=5.0))

    def first(arrivals):
        return [arrivals.time(k) for k in range(20)]

    mine = first(of(topic))
    assert mine == first(of(more))
    assert [when + 7_000_000 for when in mine] == first(of(topic, created=7_000_000))
    assert mine not in (first(of(topic, 1)), first(of(topic, seed=1)), first(of(other)))


@pytest.mark.long
def test_a_poisson_stream_remembers_little_of_a_long_run():
    """A checkpoint every few minutes: a day at 50 a second is some hundred numbers."""
    arrivals = of(Topic(name="t", rate=Poisson(poisson=50.0)))
    total = arrivals.count(6 * 3_600 * SECOND_US)
    early = [arrivals.time(k) for k in (0, 12_345, 999_999)]

    assert 50 * 6 * 3_600 == pytest.approx(total, rel=0.01)
    assert early == sorted(early)
    assert len(arrivals._checkpoints) < 6 * 3_600 / 200
