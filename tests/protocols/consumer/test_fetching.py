"""A consumer's data plane: what is fetched, buffered, handed out."""

from __future__ import annotations

from collections.abc import Iterable

from assignors.types import TopicPartition
from protocols.consumer.fetch_buffer import Handed, in_record_order
from protocols.consumer.fetching import Fetcher
from protocols.consumer.positions import Phase
from protocols.messages import (
    FetchedRecords,
    FetchResponse,
    LeaderAndEpoch,
)
from protocols.messages.errors import ErrorCode


def tp(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def led(broker: int, epoch: int = 0) -> LeaderAndEpoch:
    return LeaderAndEpoch(broker, epoch)


REFUSED = FetchedRecords(tp(1), -1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def reading(positions: dict[int, int], brokers: int = 1) -> Fetcher:
    """A fetcher of partitions at these positions, their leaders in turn."""
    fetcher = Fetcher()
    fetcher.positions.update_leaders({tp(n): led(1 + n % brokers) for n in range(20)})
    fetcher.assign(tp(n) for n in positions)
    for number, offset in positions.items():
        fetcher.positions.seek(tp(number), offset)
    fetcher.check()
    return fetcher


def asked(fetcher: Fetcher) -> dict[int, list[int]]:
    """Which partitions are asked for now, by broker, in order."""
    return {
        broker: [part.partition.partition for part in request.partitions]
        for broker, request in fetcher.requests()
    }


def arrive(fetcher: Fetcher, counts: dict[int, int], broker: int = 1) -> None:
    """Add so many records of each partition at its position."""
    at = fetcher.positions.valid()
    parts = tuple(FetchedRecords(tp(n), at[tp(n)], at[tp(n)] + c) for n, c in counts.items())
    fetcher.arrived(FetchResponse(broker, parts))
    fetcher.check()


def ranges(handed: Iterable[Handed]) -> list[tuple[int, int, int]]:
    return [(part.partition.partition, part.first, part.next_offset) for part in handed]


# -- handing out ---------------------------------------------------------------------------------


def test_no_call_hands_out_more_than_the_limit():
    """Over all partitions together."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    arrive(fetcher, {0: 7, 1: 7})
    sizes = [sum(b - a for _, a, b in ranges(fetcher.collect(5))) for _ in range(4)]

    assert [5, 5, 4, 0] == sizes


def test_completed_fetches_are_emptied_in_order_of_arrival():
    """The first to arrive is drained before the second is touched."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    arrive(fetcher, {1: 6, 0: 6})

    assert [(1, 0, 5)] == ranges(fetcher.collect(5))
    assert {(1, 5, 6), (0, 0, 4)} == set(ranges(fetcher.collect(5)))
    assert [(0, 4, 6)] == ranges(fetcher.collect(5))


def test_one_call_hands_partitions_over_in_the_order_of_javas_map():
    """Whatever the order of arrival was (``ConsumerRecords``)."""
    fetcher = reading(dict.fromkeys(range(6), 0))
    fetcher.requests()
    arrive(fetcher, {5: 1, 3: 1, 0: 1, 4: 1, 1: 1, 2: 1})
    handed = fetcher.collect(100)

    assert list(in_record_order(sorted(handed))) == list(handed)
    assert set(range(6)) == {number for number, *_ in ranges(handed)}


def test_many_partitions_keep_to_javas_map_too():
    """More than eight make no difference to the rule."""
    few = [Handed(tp(n), 0, 1) for n in range(8)]
    many = [Handed(tp(n), 0, 1) for n in range(12)]
    of_many = [part for part in in_record_order(many) if part in few]

    assert list(in_record_order(few)) == of_many


def test_a_fetch_drained_exactly_at_the_limit_stays_buffered_till_the_next_call():
    """The quirk: its broker is not asked before."""
    fetcher = reading({0: 0})
    fetcher.requests()
    arrive(fetcher, {0: 5})
    fetcher.collect(5)
    assert not fetcher.idle
    assert {} == asked(fetcher)

    assert () == fetcher.collect(5)
    assert {1: [0]} == asked(fetcher)


def test_what_begins_elsewhere_than_at_the_position_is_dropped():
    """A seek makes the buffer stale."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    arrive(fetcher, {0: 5, 1: 2})
    fetcher.positions.seek(tp(0), 3)

    assert [(1, 0, 2)] == ranges(fetcher.collect(10))
    assert fetcher.idle


def test_nothing_is_handed_out_while_everything_is_revoked():
    """The eager prepare: no records, no fetches; a new assignment ends it."""
    fetcher = reading({0: 0})
    fetcher.requests()
    arrive(fetcher, {0: 5})
    fetcher.revoking = True

    assert () == fetcher.collect(10)
    assert {} == asked(fetcher)
    fetcher.assign([])
    assert not fetcher.revoking


def test_buffered_counts_what_is_still_to_be_handed_out():
    """Stale parts do not count."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    arrive(fetcher, {0: 5, 1: 4})
    fetcher.collect(3)
    fetcher.positions.seek(tp(1), 9)

    assert 2 == sum(fetcher.shares_ahead(1_000_000))


# -- assignment ----------------------------------------------------------------------------------


def test_kept_partitions_keep_position_and_buffer():
    """An assignment that still holds a partition changes nothing about it."""
    fetcher = reading({0: 4, 1: 0})
    fetcher.requests()
    arrive(fetcher, {0: 5, 1: 5})
    fetcher.assign([tp(0), tp(2)])

    assert {tp(0): 4} == fetcher.positions.valid()
    assert [(0, 4, 9)] == ranges(fetcher.collect(10))


def test_a_partition_given_back_later_starts_without_a_position():
    """What was buffered of it before is not handed out after all."""
    fetcher = reading({0: 4})
    fetcher.requests()
    arrive(fetcher, {0: 5})
    fetcher.assign([])
    fetcher.assign([tp(0)])
    fetcher.positions.seek(tp(0), 4)

    assert () == fetcher.collect(10)


def test_records_of_unassigned_partitions_are_dropped():
    """They are not returned by poll."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    fetcher.assign([tp(1)])
    fetcher.arrived(FetchResponse(1, (FetchedRecords(tp(0), 0, 5), FetchedRecords(tp(1), 0, 2))))

    assert [(1, 0, 2)] == ranges(fetcher.collect(10))


# -- requests ------------------------------------------------------------------------------------


def test_one_fetch_a_broker_is_in_flight():
    """Asking again changes nothing until it is answered."""
    fetcher = reading({0: 0, 1: 0, 2: 0}, brokers=2)
    assert {1: [0, 2], 2: [1]} == asked(fetcher)
    assert {} == asked(fetcher)
    assert {1, 2} == fetcher.in_flight

    fetcher.arrived(FetchResponse(2, ()))
    assert {2: [1]} == asked(fetcher)


def test_partitions_without_a_position_are_not_asked_for():
    """They wait for their committed offset, or for a reset."""
    fetcher = reading({0: 0, 1: 0, 2: 0})
    fetcher.positions.reset(tp(1))
    fetcher.assign([tp(n) for n in range(4)])

    assert {1: [0, 2]} == asked(fetcher)
    assert (tp(1),) == fetcher.positions.in_phase(Phase.RESETTING)
    assert (tp(3),) == fetcher.positions.in_phase(Phase.INITIALIZING)


def test_no_broker_with_buffered_records_is_asked():
    """All of its partitions wait; other brokers' do not."""
    fetcher = reading({0: 0, 1: 0, 2: 0}, brokers=2)
    fetcher.requests()
    arrive(fetcher, {0: 5}, broker=1)
    fetcher.arrived(FetchResponse(2, ()))

    assert {2: [1]} == asked(fetcher)


def test_a_stale_buffer_does_not_delay_its_broker():
    """Stale records do not count."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    arrive(fetcher, {0: 5})
    fetcher.positions.seek(tp(0), 77)

    assert {1: [0, 1]} == asked(fetcher)


def test_requests_stand_in_the_order_of_the_assignment_and_readers_move_back():
    """Who gave records, or an error, is asked for last."""
    fetcher = reading({0: 0, 1: 0, 2: 0})
    assert {1: [0, 1, 2]} == asked(fetcher)
    arrive(fetcher, {0: 1})
    fetcher.collect(10)
    assert {1: [1, 2, 0]} == asked(fetcher)

    fetcher.arrived(FetchResponse(1, (REFUSED,)))
    fetcher.collect(10)
    assert {1: [2, 0, 1]} == asked(fetcher)


def test_an_error_is_taken_behind_the_records_that_arrived_before_it():
    """Meanwhile its broker is asked for nothing (``FetchCollector.initialize``)."""
    fetcher = reading({0: 0, 1: 0, 2: 0}, brokers=2)
    fetcher.requests()
    arrive(fetcher, {0: 3}, broker=1)
    fetcher.arrived(FetchResponse(2, (REFUSED,)))
    arrive(fetcher, {2: 1}, broker=1)

    assert [(0, 0, 2)] == ranges(fetcher.collect(2))
    assert ([], {}) == (fetcher.take_refused(), asked(fetcher))
    assert [(0, 2, 3)] == ranges(fetcher.collect(1))
    assert ([], True) == (fetcher.take_refused(), fetcher.has_errors)

    assert [(2, 0, 1)] == ranges(fetcher.collect(2))
    assert ([REFUSED], {2: [1], 1: [0, 2]}) == (fetcher.take_refused(), asked(fetcher))
    assert not fetcher.has_errors


def test_an_error_of_a_partition_that_was_taken_away_is_dropped():
    """It is retained as little as its records (``retainAll``)."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.requests()
    fetcher.arrived(FetchResponse(1, (REFUSED,)))
    assert (True, True) == (fetcher.has_errors, fetcher.has_available)
    fetcher.assign([tp(0)])

    assert ((), []) == (fetcher.collect(10), fetcher.take_refused())
    assert (False, False) == (fetcher.has_errors, fetcher.has_available)


def test_a_client_that_handles_errors_at_once_buffers_none():
    """So do librdkafka, aiokafka and franz-go."""
    fetcher = Fetcher(errors_in_order=False)
    fetcher.assign([tp(1)])

    assert ([REFUSED], False) == (
        fetcher.arrived(FetchResponse(1, (REFUSED,))),
        fetcher.has_errors,
    )


def test_that_order_survives_a_metadata_refresh():
    """Learning the same leaders again changes nothing; a new assignment does."""
    fetcher = reading({0: 0, 1: 0, 2: 0})
    fetcher.requests()
    arrive(fetcher, {0: 1})
    fetcher.collect(10)
    fetcher.positions.update_leaders({tp(n): led(1) for n in range(20)})
    assert {1: [1, 2, 0]} == asked(fetcher)
    assert (tp(1), tp(2), tp(0)) == fetcher.positions.assigned

    fetcher.arrived(FetchResponse(1, ()))
    fetcher.assign([tp(0), tp(1), tp(2)])
    assert {1: [0, 1, 2]} == asked(fetcher)


def test_a_lost_broker_is_asked_again_after_a_metadata_update():
    """Until then its partitions have no known leader."""
    fetcher = reading({0: 0, 1: 0}, brokers=2)
    fetcher.requests()
    fetcher.disconnected(1)
    assert fetcher.positions.leaderless
    assert {} == asked(fetcher)

    fetcher.positions.update_leaders({tp(0): led(2), tp(1): led(2)})
    fetcher.arrived(FetchResponse(2, ()))
    assert {2: [0, 1]} == asked(fetcher)


def test_a_lost_broker_is_asked_again_when_its_back_off_is_over():
    """Metadata that still name it change nothing; one answer makes all failures forgotten."""
    fetcher = reading({0: 0})
    fetcher.requests(0)
    fetcher.disconnected(1, 50)
    fetcher.positions.update_leaders({tp(0): led(1)})
    assert [] == fetcher.requests(49)
    assert (1, False) == (fetcher.failures(1), fetcher.connected)
    assert (50, None) == (fetcher.next_ready_us(49), fetcher.next_ready_us(50))
    assert [1] == [broker for broker, _ in fetcher.requests(50)]

    fetcher.disconnected(1, 200)
    assert 2 == fetcher.failures(1)
    fetcher.arrived(FetchResponse(1, ()))
    assert (0, True) == (fetcher.failures(1), fetcher.connected)


def test_a_stale_leader_is_forgotten_for_one_partition():
    """The others of that broker go on."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.positions.forget_leader(tp(0))

    assert {1: [1]} == asked(fetcher)
    assert fetcher.positions.leaderless


def test_a_partition_without_a_leader_is_not_fetched():
    """No request is sent."""
    fetcher = Fetcher()
    fetcher.assign([tp(0)])
    fetcher.positions.seek(tp(0), 1)

    assert {} == asked(fetcher)


# -- paused partitions ---------------------------------------------------------------------------


def test_records_of_a_paused_partition_do_not_keep_its_broker_from_being_asked():
    """They stay buffered; those of another partition do."""
    fetcher = reading({0: 0, 1: 0, 2: 0}, brokers=2)
    fetcher.requests()
    arrive(fetcher, {0: 1})
    arrive(fetcher, {1: 1}, broker=2)
    fetcher.paused = frozenset([tp(0)])

    assert [1] == fetcher.take_free()


def test_records_of_a_paused_partition_do_not_hold_up_those_of_others():
    """What has arrived of it waits until it is resumed."""
    fetcher = reading({0: 0, 1: 0})
    arrive(fetcher, {0: 3, 1: 2})
    fetcher.paused = frozenset([tp(0)])

    assert [tp(1)] == [handed.partition for handed in fetcher.collect(10)]

    fetcher.paused = frozenset()
    assert [tp(0)] == [handed.partition for handed in fetcher.collect(10)]


def test_a_partition_that_is_assigned_again_is_not_paused_any_more():
    """One that stays assigned stays paused."""
    fetcher = reading({0: 0, 1: 0})
    fetcher.paused = frozenset([tp(0), tp(1)])
    fetcher.assign([tp(0)])
    fetcher.assign([tp(0), tp(1)])

    assert frozenset([tp(0)]) == fetcher.paused


def test_a_fetch_that_ends_at_the_limit_of_a_call_keeps_its_broker_unless_it_is_freed():
    """franz-go frees it (``takeNBuffered``); in Java's client it counts until the next call."""
    for frees in (False, True):
        fetcher = Fetcher(frees_at_limit=frees)
        fetcher.positions.update_leaders({tp(0): led(1)})
        fetcher.assign([tp(0)])
        fetcher.positions.seek(tp(0), 0)
        fetcher.requests()
        fetcher.arrived(FetchResponse(1, (FetchedRecords(tp(0), 0, 3),)))
        fetcher.collect(3)

        assert frees is bool(fetcher.requests())
