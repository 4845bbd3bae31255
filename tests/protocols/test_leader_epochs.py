"""Which leader epoch a record is of, and where an epoch ends in a log (KIP-101, KIP-320)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.messages import EpochStart
from protocols.messages.errors import ErrorCode
from protocols.messages.records import end_of_epoch, epoch_at, refusal_by_epoch


@st.composite
def logs(draw) -> list[int]:
    """The leader epoch of each record, never falling."""
    return sorted(draw(st.lists(st.integers(0, 6), min_size=1, max_size=12)))


def starts(log: list[int]) -> tuple[EpochStart, ...]:
    return tuple(EpochStart(epoch, log.index(epoch)) for epoch in sorted(set(log)))


@given(logs())
def test_a_record_is_of_the_last_epoch_that_begins_at_or_before_it(log):
    """Epochs are remembered by where they begin."""
    epochs = starts(log)

    assert log == [epoch_at(epochs, offset) for offset in range(len(log))]


def test_a_record_before_the_first_epoch_is_of_none_known():
    """Retention has taken what was known of it."""
    assert -1 == epoch_at((EpochStart(3, 10),), 9)
    assert -1 == epoch_at((), 0)


@given(logs(), st.integers(0, 8))
def test_an_epoch_ends_where_the_first_record_of_a_later_one_begins(log, epoch):
    """The last epoch ends with the log; a later one is unknown."""
    later = [offset for offset, found in enumerate(log) if found > epoch]
    known = [found for found in log if found <= epoch]
    found, end = end_of_epoch(starts(log), epoch, len(log))

    if epoch > log[-1]:
        assert (-1, -1) == (found, end)
    else:
        assert (later[0] if later else len(log)) == end
        assert (known[-1] if known else epoch) == found


def test_an_unknown_epoch_ends_nowhere():
    """A reader that does not know one gets no answer, nor does one of an empty log."""
    assert (-1, -1) == end_of_epoch((EpochStart(0, 0),), -1, 5)
    assert (-1, -1) == end_of_epoch((), 0, 0)


@pytest.mark.parametrize(
    ("claimed", "error"),
    [
        (-1, ErrorCode.NONE),
        (4, ErrorCode.NONE),
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_broker_refuses_who_takes_it_for_a_leader_of_another_epoch(claimed, error):
    """An older one is fenced, of a newer one the broker has not heard; -1 is not checked."""
    assert error == refusal_by_epoch(claimed, 4)
    assert error is ErrorCode.NONE or error.retriable
