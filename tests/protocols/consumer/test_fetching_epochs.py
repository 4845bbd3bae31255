"""Leader epochs in what is fetched, buffered and handed out (KIP-320, KIP-951)."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from protocols.consumer.fetching import Fetcher
from protocols.consumer.positions import Phase
from protocols.messages import (
    NO_LEADER,
    EpochStart,
    FetchedRecords,
    FetchPartition,
    FetchResponse,
    LeaderAndEpoch,
)
from protocols.messages.errors import ErrorCode

ONE_EPOCH = (EpochStart(0, 0),)


def tp(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def led(broker: int, epoch: int = 0) -> LeaderAndEpoch:
    return LeaderAndEpoch(broker, epoch)


def reading(offset: int) -> Fetcher:
    """A fetcher of one partition at this offset, which broker 1 leads in epoch 0."""
    fetcher = Fetcher()
    fetcher.positions.update_leaders({tp(0): led(1)})
    fetcher.assign([tp(0)])
    fetcher.positions.seek(tp(0), offset)
    fetcher.requests()
    return fetcher


def arrive(fetcher: Fetcher, part: FetchedRecords) -> None:
    fetcher.arrived(FetchResponse(1, (part,)))
    fetcher.check()


def asked(fetcher: Fetcher) -> list[int]:
    """Which brokers are asked now."""
    return [broker for broker, _ in fetcher.requests()]


def epochs_of(fetcher: Fetcher) -> dict[int, tuple[int, int]]:
    """Position and leader epoch of what a commit of everything covers."""
    return {p.partition: (at, epoch) for p, at, epoch in fetcher.positions.consumed()}


def test_a_fetch_has_the_known_leader_epoch():
    """So that a leader of another epoch can refuse it."""
    fetcher = reading(7)
    arrive(fetcher, FetchedRecords(tp(0), 7, 7))
    fetcher.positions.update_leaders({tp(0): led(1, 4)})
    ((_, request),) = fetcher.requests()

    assert (FetchPartition(tp(0), 7, 4),) == request.partitions


def test_a_position_has_the_epoch_of_the_last_record_handed_out():
    """Not of the last one fetched; none before anything is handed out."""
    fetcher = reading(8)
    epochs = (EpochStart(0, 0), EpochStart(3, 10))
    arrive(fetcher, FetchedRecords(tp(0), 8, 14, epochs=epochs))
    assert {0: (8, -1)} == epochs_of(fetcher)

    fetcher.collect(2)
    assert {0: (10, 0)} == epochs_of(fetcher)
    fetcher.collect(1)
    assert {0: (11, 3)} == epochs_of(fetcher)


def test_records_of_unknown_epoch_make_the_positions_epoch_unknown():
    """Brokers need not send one."""
    fetcher = reading(0)
    arrive(fetcher, FetchedRecords(tp(0), 0, 3, epochs=ONE_EPOCH))
    fetcher.collect(10)
    fetcher.requests()
    arrive(fetcher, FetchedRecords(tp(0), 3, 5))
    fetcher.collect(10)

    assert {0: (5, -1)} == epochs_of(fetcher)


def test_buffered_records_are_not_handed_out_while_their_position_is_validated():
    """They may not be on the new leader's log; they are dropped, and fetched again."""
    fetcher = reading(0)
    arrive(fetcher, FetchedRecords(tp(0), 0, 4, epochs=ONE_EPOCH))
    fetcher.collect(2)
    fetcher.positions.update_leaders({tp(0): led(2, 1)})
    fetcher.positions.follow_leaders()
    assert (tp(0),) == fetcher.positions.in_phase(Phase.VALIDATING)
    assert (0, (), []) == (
        sum(fetcher.shares_ahead(1_000_000)),
        fetcher.collect(10),
        asked(fetcher),
    )

    fetcher.positions.complete_validation(tp(0))
    assert [2] == asked(fetcher)


def test_the_old_leader_names_the_new_one_with_its_refusal():
    """It is asked next, no metadata needed (KIP-951), once a poll has met the error."""
    fetcher = reading(5)
    refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
    arrive(fetcher, FetchedRecords(tp(0), -1, -1, refused, current_leader=led(2, 1)))
    assert (led(2, 1), []) == (fetcher.positions.leader(tp(0)), asked(fetcher))
    fetcher.collect(10)

    assert [2] == asked(fetcher)


@pytest.mark.parametrize("named", [led(2, 3), led(NO_LEADER, 4)])
def test_an_error_with_an_older_leader_or_none_changes_nothing(named):
    """The metadata are newer."""
    fetcher = reading(5)
    fetcher.positions.update_leaders({tp(0): led(1, 3)})
    refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
    arrive(fetcher, FetchedRecords(tp(0), -1, -1, refused, current_leader=named))

    fetcher.collect(10)

    assert led(1, 3) == fetcher.positions.leader(tp(0))
    assert [1] == asked(fetcher)
