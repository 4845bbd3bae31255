"""What an automatic commit covers: a race between two threads.

An interval commit that falls due in a poll is made by the background thread; the same poll may
return buffered records. The faster thread decides whether the commit covers them.
"""

from __future__ import annotations

import pytest

from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.kip848.threads import EACH_RECORD_US, Lag, measured
from protocols.messages import OffsetCommitRequest

from .driver import Beat, ClientDriver, offsets, parts


def buffered(rest: int = 20, **settings) -> ClientDriver:
    """Return a member with returned records and *rest* more buffered, whose commit is due."""
    driver = ClientDriver(max_poll_records=20, **settings)
    driver.stable({0: 0})
    driver.poll()
    driver.records({0: 20 + rest})
    driver.poll()
    driver.advance(6_000)
    if driver.pending(Beat):
        driver.beaten()
    driver.quiet()
    return driver


def ended(driver: ClientDriver) -> tuple[Handed, ...]:
    """Let the poll return, and return what it handed out."""
    driver.advance(50)
    (batch,) = driver.batches()
    return batch


def test_a_background_thread_that_is_first_covers_earlier_polls_alone():
    """The commit reads the positions before the records of this poll are taken."""
    driver = buffered()
    driver.lags = {Lag.EVENT: 100, Lag.TAKE: 200}
    driver.begin_poll(1_000)
    batch = ended(driver)

    assert (Handed(*parts(0), 20, 40),) == batch
    assert offsets({0: 20}) == driver.one(OffsetCommitRequest).offsets


def test_an_application_thread_that_is_first_has_its_records_committed():
    """The commit covers records that its own poll has just handed out: a crash now loses them."""
    driver = buffered()
    driver.lags = {Lag.EVENT: 500, Lag.TAKE: 200}
    driver.begin_poll(1_000)
    driver.advance(0.499)
    assert (Handed(*parts(0), 20, 40),) == driver.batches()[-1]
    assert [] == driver.pending(OffsetCommitRequest)
    driver.advance(0.001)

    assert offsets({0: 40}) == driver.one(OffsetCommitRequest).offsets


def test_taking_takes_longer_the_more_is_taken():
    """Each record costs the application thread its microseconds: large batches lose the race."""
    driver = buffered()
    driver.lags = {Lag.EVENT: 200 + 20 * EACH_RECORD_US, Lag.TAKE: 201}
    driver.begin_poll(1_000)
    ended(driver)

    assert offsets({0: 20}) == driver.one(OffsetCommitRequest).offsets


def test_of_two_partitions_one_may_be_in_and_the_other_not():
    """Positions move partition by partition; a commit in between has one of them moved."""
    driver = ClientDriver(max_poll_records=20)
    driver.stable({0: 0, 1: 0})
    driver.poll()
    driver.records({0: 30, 1: 20})
    driver.poll()
    driver.advance(6_000)
    driver.beaten()
    driver.quiet()
    driver.lags = {Lag.TAKE: 100, Lag.EVENT: 100 + 15 * EACH_RECORD_US}
    driver.begin_poll(1_000)
    batch = ended(driver)

    assert {(0, 30), (1, 10)} == {(part.partition.partition, part.next_offset) for part in batch}
    assert offsets({0: 30, 1: 0}) == tuple(sorted(driver.one(OffsetCommitRequest).offsets))


def test_a_poll_that_finds_nothing_lets_the_background_thread_be_first():
    """A thread that waits for records takes longer to wake up than an event to be taken."""
    driver = ClientDriver()
    driver.stable({0: 0})
    driver.advance(5_500)
    driver.beaten()
    driver.lags = {Lag.EVENT: 1_000, Lag.WAKE: 1_000, Lag.ROUND: 100}
    driver.begin_poll(1_000)
    driver.advance(0.5)
    driver.records({0: 3})
    assert [] == driver.batches()
    driver.advance(0.1)
    assert offsets({0: 0}) == driver.one(OffsetCommitRequest).offsets
    driver.advance(0.9)

    assert (Handed(*parts(0), 0, 3),) == driver.batches()[-1]


def test_an_application_that_wakes_before_the_rest_of_the_round_is_first():
    """A quick wake-up after the answer beats a background thread that has not finished its round."""
    driver = ClientDriver()
    driver.stable({0: 0})
    driver.advance(5_500)
    driver.beaten()
    driver.lags = {Lag.EVENT: 1_000, Lag.WAKE: 50, Lag.ROUND: 100}
    driver.begin_poll(1_000)
    driver.advance(0.5)
    driver.records({0: 3})
    driver.advance(0.1)

    assert offsets({0: 3}) == driver.one(OffsetCommitRequest).offsets


def test_a_poll_without_an_event_commits_nothing():
    """With whole fetches buffered every second poll leaves its event out, due commit or not."""
    driver = ClientDriver(max_poll_records=5, brokers=(1, 2))
    driver.stable({0: 0, 1: 0})
    driver.poll()
    driver.records({0: 5}, node=1)
    driver.records({1: 5}, node=2)
    driver.advance(6_000)
    driver.beaten()
    driver.quiet()
    driver.poll()
    assert 1 == len(driver.batches())
    assert [] == driver.ever(OffsetCommitRequest)
    driver.poll()

    assert 1 == len(driver.ever(OffsetCommitRequest))


def test_a_poll_broken_off_for_close_commits_nothing_it_did_not_return():
    """Records that were being taken when close() came are not in the final commit."""
    driver = buffered()
    driver.lags = {Lag.EVENT: 5_000, Lag.TAKE: 200}
    driver.begin_poll(1_000)
    driver.advance(0.2)
    driver.lags = {}
    driver.close()
    driver.advance(6)

    (request,) = driver.ever(OffsetCommitRequest)[-1:]
    assert offsets({0: 20}) == request.offsets


@pytest.mark.parametrize(("drawn", "ahead"), [(0.05, False), (0.95, True)])
def test_the_measured_lags_decide_by_their_draw(drawn, ahead):
    """A slow wake-up of the background thread lets a small batch be committed ahead of its work."""
    driver = buffered()
    lags = measured(lambda what, _when: drawn if what is Lag.EVENT else 0.5, median_us=500)
    driver.lags = {lag: lags(lag, 0) for lag in Lag}
    driver.begin_poll(1_000)
    ended(driver)

    assert offsets({0: 40 if ahead else 20}) == driver.one(OffsetCommitRequest).offsets


def test_small_batches_from_the_buffer_are_mostly_ahead():
    """With the lags that were measured most commits of a backlog in small batches are ahead."""
    lags = measured(lambda what, when: (when * 0.6180339887 + len(what) * 0.37) % 1)
    ahead = [
        lags(Lag.EVENT, when) > lags(Lag.TAKE, when) + 100 * EACH_RECORD_US for when in range(1_000)
    ]

    assert 0.7 < sum(ahead) / len(ahead) < 0.95


def test_large_batches_from_the_buffer_are_rarely_ahead():
    """Five hundred records take the application longer than the background thread mostly needs."""
    lags = measured(lambda what, when: (when * 0.6180339887 + len(what) * 0.37) % 1)
    ahead = [
        lags(Lag.EVENT, when) > lags(Lag.TAKE, when) + 500 * EACH_RECORD_US for when in range(1_000)
    ]

    assert sum(ahead) / len(ahead) < 0.3


def called(next_us: int) -> ClientDriver:
    """Return a member whose first listener call has just ended, with a newer target to reconcile.

    The background thread takes the end of the call after 300 us; the application thread begins
    its next poll after *next_us*.
    """
    driver = ClientDriver()
    driver.hold_calls = True
    driver.joining()
    driver.beaten(2, 0, 1)
    driver.poll()
    driver.poll()
    driver.beat_due()
    driver.beaten(2, 0)
    driver.lags = {Lag.EVENT: 300, Lag.NEXT: next_us}
    driver.end_call()
    driver.hold_calls = False
    driver.advance(next_us / 1_000)
    driver.poll(100)
    driver.advance(1)
    return driver


def test_a_poll_event_that_follows_the_acknowledgement_begins_the_next_reconciliation():
    """The end of the call is taken alone: nothing has a position yet, so nothing is committed."""
    driver = called(400)
    driver.fetched({0: 3})
    driver.advance(200)
    driver.poll(100)

    assert ("revoked", (1,)) in driver.calls
    assert [] == driver.ever(OffsetCommitRequest)


def test_a_poll_event_taken_with_the_end_of_the_call_leaves_it_to_the_next_poll():
    """The member still acknowledges then, so positions are found first, and the next poll commits."""
    driver = called(200)
    driver.fetched({0: 3, 1: 4})
    driver.advance(200)
    driver.poll(100)
    driver.advance(1)

    assert ("revoked", (1,)) not in driver.calls
    assert offsets({0: 3, 1: 4}) == tuple(sorted(driver.one(OffsetCommitRequest).offsets))


@pytest.mark.parametrize(("drawn", "shortest"), [(0.0, True), (1.0, False)])
def test_a_wake_up_has_a_time_for_the_least_and_the_largest_draw(drawn, shortest):
    """The distribution itself has none there."""
    lags = measured(lambda _what, _when: drawn, median_us=500)

    assert shortest is (lags(Lag.WAKE, 0) < 500)
