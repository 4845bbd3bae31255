"""The poll loop: what a poll returns, when it waits, when responses are handled."""

from __future__ import annotations

from protocols.consumer.classic.calm import POLL
from protocols.messages import (
    FetchedRecords,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetFetchRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import BROKER, ClientDriver, parts

E = ErrorCode
COOPERATIVE = ("cooperative-sticky",)


def member(*numbers: int, **settings) -> ClientDriver:
    driver = ClientDriver(**{"enable_auto_commit": False, **settings})
    driver.stable(dict.fromkeys(numbers or (0, 1), 0))
    return driver


def ranges(batch) -> list[tuple[int, int, int]]:
    return [(part.partition.partition, part.first, part.next_offset) for part in batch]


# -- waiting -------------------------------------------------------------------------------------


def test_a_poll_without_data_returns_empty_when_its_time_is_up():
    """Not before, not after."""
    driver = member()

    assert driver.poll(250) is None

    driver.advance(249)
    returned = len(driver.returned)
    driver.advance(1)
    assert [()] == driver.returned[returned:]


def test_a_poll_with_a_zero_time_out_never_waits():
    """It returns in the same instant, whatever is missing."""
    driver = ClientDriver()

    assert [()] * 3 == [driver.poll() for _ in range(3)]


def test_a_waiting_poll_returns_as_soon_as_records_arrive():
    """In the instant of the response."""
    driver = member()
    driver.poll(10_000)
    driver.advance(30)
    driver.records({0: 4})

    assert [(0, 0, 4)] == ranges(driver.returned[-1])
    assert 30 == driver.now_ms


def test_a_poller_of_a_calm_client_has_its_unread_responses():
    """Its next poll returns their records, as the client's would."""
    driver = member()
    driver.poll()
    driver.records({0: 4})
    _, calm = driver.client.calm(driver.now_us)

    assert {BROKER} == calm.unread_from
    handed = calm.poll(driver.now_us + 5, 0)
    assert handed is not None
    assert [(0, 0, 4)] == ranges(handed)
    assert driver.now_us + 5 == calm.clock.polled_us


def test_a_poller_of_a_calm_client_counts_a_poll_unless_records_have_just_arrived():
    """Those are returned before the coordinator is polled again, which restarts the poll interval."""
    driver = member()
    driver.poll()
    begun_us = driver.now_us
    _, calm = driver.client.calm(begun_us)
    (sent,) = driver.pending(FetchRequest)
    given = FetchedRecords(sent.message.partitions[0].partition, 0, 4)

    assert (None, None) == (calm.returns_us, calm.waits_for)
    assert calm.poll(begun_us + 1_000, 100_000) is None
    assert (begun_us + 101_000, POLL) == (calm.returns_us, calm.waits_for)
    assert begun_us + 1_000 == calm.clock.polled_us

    calm.answered(begun_us + 5_000, FetchResponse(sent.node, (given,)))
    assert calm.turn(begun_us + 5_000)
    assert begun_us + 1_000 == calm.clock.polled_us

    calm.poll(begun_us + 9_000, 0)
    assert begun_us + 9_000 == calm.clock.polled_us


def test_a_poller_of_a_calm_client_leaves_what_the_heartbeat_thread_has_not_read():
    """The records of an earlier response are returned first, as the client's poll does."""
    driver = member(brokers=(1, 2))
    driver.poll()
    begun_us = driver.now_us
    first, second = sorted(driver.pending(FetchRequest), key=lambda sent: sent.node)
    found = driver.client.calm(begun_us)
    assert found is not None
    _, calm = found
    for sent, at_us in ((first, 50_000), (second, 150_000)):
        given = FetchedRecords(sent.message.partitions[0].partition, 0, 4)
        calm.answered(begun_us + at_us, FetchResponse(sent.node, (given,)))

    handed = [calm.poll(begun_us + 160_000, 0), calm.poll(begun_us + 170_000, 0)]
    asked = [sent.message.partitions[0].partition for sent in (first, second)]
    assert [[tp] for tp in asked] == [[part.partition for part in batch or ()] for batch in handed]


def test_a_client_with_an_unread_error_is_not_calm():
    """Its next poll handles the error, so no host may poll in its place."""
    driver = member()
    driver.poll()
    assert driver.client.calm(driver.now_us) is not None

    driver.records({0: 0}, error=E.NOT_LEADER_OR_FOLLOWER)
    assert driver.client.calm(driver.now_us) is None


def test_poll_times_of_one_call_do_not_wake_a_later_one():
    """A timer left over from a poll that has returned means nothing."""
    driver = member()
    driver.poll(100)
    driver.records({0: 4})
    driver.advance(90)
    driver.poll(1_000)
    returned = len(driver.returned)
    driver.advance(500)

    assert returned == len(driver.returned)


def test_a_response_without_records_does_not_end_the_poll():
    """The broker's long poll ended: the fetch is repeated, poll waits on."""
    driver = member()
    driver.poll(10_000)
    driver.records({})

    assert driver.pending(FetchRequest)
    assert [] == driver.batches()


# -- what is returned ----------------------------------------------------------------------------


def test_one_completed_fetch_is_emptied_before_the_next_is_begun():
    """Never more than max.poll.records, partition by partition."""
    driver = member(max_poll_records=5)
    driver.poll()
    driver.records({0: 7, 1: 4})
    handed = [ranges(driver.poll()) for _ in range(3)]

    assert [[(0, 0, 5)], [(0, 5, 7), (1, 0, 3)], [(1, 3, 4)]] == [sorted(b) for b in handed]


def test_positions_move_when_records_are_returned():
    """Not when they are processed (corollary 1)."""
    driver = member(max_poll_records=5)
    driver.hand({0: 7})

    assert {0: 5, 1: 0} == driver.positions()


def test_the_next_fetch_leaves_with_the_poll_that_empties_the_buffer():
    """Pipelining: it is under way while the application works."""
    driver = member(max_poll_records=5)
    driver.poll()
    driver.records({0: 7})
    driver.poll()
    assert [] == driver.pending(FetchRequest)

    driver.poll()
    assert 7 == {p.partition.partition: p.offset for p in driver.one(FetchRequest).partitions}[0]


def test_a_fetch_emptied_exactly_at_the_limit_is_asked_for_one_poll_later():
    """It counts as buffered until the next poll finds it empty."""
    driver = member(max_poll_records=5)
    driver.poll()
    driver.records({0: 5})
    driver.poll()
    assert [] == driver.pending(FetchRequest)

    driver.poll()
    assert driver.pending(FetchRequest)


def test_no_broker_is_asked_while_it_has_records_in_the_buffer():
    """F1b: partition 1 waits, although nothing of it is buffered."""
    driver = member(max_poll_records=5)
    driver.poll()
    driver.records({0: 20})
    for _ in range(4):
        driver.poll()
        assert [] == driver.pending(FetchRequest)


def test_other_brokers_are_asked_meanwhile():
    """One fetch a broker, each by itself."""
    driver = ClientDriver(brokers=(1, 2), enable_auto_commit=False, max_poll_records=5)
    driver.stable()
    driver.poll()
    assert {1, 2} == {sent.node for sent in driver.pending(FetchRequest)}
    driver.records({1: 2}, node=2)
    driver.records({0: 20}, node=1)
    driver.poll()

    assert [2] == [sent.node for sent in driver.pending(FetchRequest)]


def test_a_partition_that_becomes_readable_waits_for_the_fetch_of_its_broker():
    """F5: the one in flight must be answered first."""
    driver = member(0)
    driver.poll()
    driver.learn()
    driver.topics = {"t": 2}
    driver.join(0, 1, generation=2)
    driver.fetched({0: 0, 1: 0})
    driver.poll()
    assert 1 == len(driver.pending(FetchRequest))

    driver.records({})
    driver.poll()
    asked = {part.partition for part in driver.one(FetchRequest).partitions}
    assert set(parts(0, 1)) == asked


# -- who pumps -----------------------------------------------------------------------------------


def test_a_poll_with_buffered_records_handles_no_responses():
    """It returns at once and leaves what has arrived to the next pump."""
    driver = member(max_poll_records=5)
    driver.poll()
    driver.records({0: 20})
    driver.poll()
    driver.advance(3_050)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.poll()

    assert driver.state.rejoin is None
    driver.tick()
    assert driver.state.rejoin is not None


def test_a_poll_that_has_to_wait_handles_what_has_arrived():
    """Then it pumps first."""
    driver = member()
    driver.advance(3_050)
    driver.beaten(E.REBALANCE_IN_PROGRESS)
    driver.poll()

    assert driver.state.rejoin is not None or driver.pending(JoinGroupRequest)


def test_fetched_records_are_read_by_poll_or_the_heartbeat_thread():
    """While the application works the heartbeat thread reads them, within 100 ms."""
    driver = member(max_poll_records=5)
    driver.poll()
    driver.advance(30)
    driver.records({0: 3})
    assert 0 == sum(driver.client.consumer.fetcher.shares_ahead(1_000_000))

    driver.advance(100)
    assert [(0, 0, 3)] == ranges(driver.poll())


def test_poll_returns_what_the_heartbeat_thread_has_read_before_what_it_has_not():
    """The thread reads the network every 100 ms; poll itself only when nothing is buffered."""
    driver = member(brokers=(1, 2))
    driver.poll()
    for node in (1, 2):
        driver.advance(80)
        driver.records({node - 1: 4}, node=node)

    assert [[(0, 0, 4)], [(1, 0, 4)]] == [ranges(driver.poll()), ranges(driver.poll())]


# -- around a rebalance --------------------------------------------------------------------------


def test_an_eager_member_gets_nothing_while_it_joins():
    """Its assignment is empty; what was buffered is gone."""
    driver = member(max_poll_records=5)
    driver.poll()
    driver.records({0: 20})
    driver.poll()
    driver.learn()
    handed = len(driver.batches())
    for _ in range(5):
        driver.poll()

    assert handed == len(driver.batches())
    assert {} == driver.positions()


def test_a_cooperative_member_gets_records_while_it_joins():
    """From all it still owns, at every poll."""
    driver = member(assignors=COOPERATIVE, max_poll_records=5)
    driver.poll()
    driver.records({0: 20})
    driver.poll()
    driver.learn()
    for _ in range(3):
        assert 1 == len(driver.poll())
    assert driver.pending(JoinGroupRequest)
    assert {0: 20, 1: 0} == driver.positions()


def test_records_of_a_revoked_partition_in_flight_are_dropped():
    """The response of a fetch sent before a cooperative revocation."""
    driver = member(assignors=COOPERATIVE)
    driver.poll()
    driver.learn()
    driver.poll()
    driver.joined(2)
    driver.poll()
    driver.synced(1)
    driver.poll()
    driver.records({0: 3, 1: 2})
    driver.poll()

    assert [[(1, 0, 2)]] == [ranges(batch) for batch in driver.batches()]


def test_records_from_before_an_eager_rebalance_are_dropped():
    """Even of partitions that are read again: their start is no longer the position."""
    driver = member()
    driver.poll()
    driver.learn()
    driver.join(0, 1, generation=2)
    driver.fetched({0: 9, 1: 9})
    driver.poll()
    driver.records({0: 3, 1: 2})
    driver.poll()

    assert [] == driver.batches()
    assert {0: 9, 1: 9} == driver.positions()


def test_records_are_read_from_the_committed_offset_after_a_loss():
    """A member that lost its partitions starts at the committed offset, not at its old position."""
    driver = member()
    driver.hand({0: 30})
    driver.learn(E.ILLEGAL_GENERATION)
    driver.join(0, 1, generation=2)
    driver.fetched({0: 10, 1: 0})
    driver.poll()

    assert {0: 10, 1: 0} == driver.positions()


def test_a_revoked_partition_in_the_buffer_does_not_stop_the_others():
    """Discarding what is no longer read costs the poll nothing."""
    driver = member(assignors=COOPERATIVE, max_poll_records=5)
    driver.poll()
    driver.records({0: 100, 1: 10})
    driver.poll()
    driver.learn()
    driver.join(1, generation=2)
    for _ in range(5):
        driver.poll()
    order = [n for batch in driver.batches() for n, *_ in ranges(batch)]

    assert {1: 10} == driver.positions()
    assert order == sorted(order)
    assert sum(b - a for batch in driver.batches() for n, a, b in ranges(batch) if n == 0) < 100


def test_heartbeats_leave_whether_or_not_data_is_there():
    """A busy member and an idle one beat alike."""
    for busy in (True, False):
        driver = member(max_poll_records=1)
        driver.poll()
        if busy:
            driver.records({0: 500})
        for _ in range(70):
            driver.poll()
            driver.advance(100)
        assert 2 == len(driver.ever(HeartbeatRequest))


def test_committed_offsets_are_fetched_before_anything_is_read():
    """No fetch leaves for partitions without a position."""
    driver = ClientDriver()
    driver.join(0, 1)
    driver.poll(50)

    assert driver.pending(OffsetFetchRequest)
    assert [] == driver.ever(FetchRequest)
