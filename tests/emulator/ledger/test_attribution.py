"""What an entry names besides its cause: which owner was by hand, what ended the older one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator.events import PositionSource
from emulator.ledger.attribution import BY_HAND, _by_hand, _read_elsewhere
from emulator.ledger.cluster import UNKNOWN_COORDINATOR, OffsetsPartition
from emulator.ledger.entries import Cause, Step
from protocols.values import replace

from .causes_of import owner_at_work
from .history import History
from .test_coverage import epoch

MEMBER, FIRST, OWN = (replace(epoch(1), generation=number) for number in (1, 0, -1))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (MEMBER, OWN, True),
        (OWN, MEMBER, True),
        (None, OWN, True),
        (OWN, None, True),
        (MEMBER, FIRST, False),
        (None, MEMBER, False),
    ],
)
def test_an_owner_without_a_generation_has_assigned_the_partition_to_itself(
    before, after, expected
):
    assert expected is _by_hand(before, after)


def two_by_hand() -> History:
    history = History()
    history.topic()
    history.start("a", "b")
    history.open("a", generation=-1)
    history.work("a", 0, 100, generation=-1)
    return history


def test_two_owners_of_which_one_is_by_hand_are_told_apart_from_a_crash_of_one():
    """Only two at once are by the hand of the application."""
    both, crashed = two_by_hand(), two_by_hand()
    crashed.crash("a", 100)
    for history in (both, crashed):
        history.next_owner("b", 0, 100, generation=-1)
    found = [history.ledger().entries for history in (both, crashed)]

    assert [[(Cause.TWO_OWNERS, BY_HAND)], [(Cause.CRASHED, "")]] == [
        [(entry.cause, entry.detail) for entry in entries] for entries in found
    ]


@pytest.mark.parametrize("evicted", [False, True])
def test_the_end_of_the_older_owner_is_shown(evicted):
    """Its own end, or that its group has given the partition to another."""
    history = owner_at_work()
    if evicted:
        history.pause("a")
        history.remove_member("a")
    else:
        history.close("a", 100, "revoked")
    history.next_owner("b", 80, 100, generation=2)
    (entry,) = history.ledger().entries
    end = Step.REMOVED if evicted else Step.CLOSED

    assert end in [link.step for link in entry.chain]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, True),
        ({"offset": 10}, False),
        ({"outside": False}, False),
        ({"coordinators": OffsetsPartition()}, False),
        ({"source": PositionSource.SEEK}, False),
    ],
)
def test_an_older_offset_was_read_elsewhere_if_a_store_outside_kafka_has_a_newer_one(change, found):
    """The same offset is no older one; a group with a coordinator has its offsets there."""
    given = {"offset": 40, "outside": True, "source": PositionSource.COMMITTED}
    given = given | {"coordinators": UNKNOWN_COORDINATOR} | change
    committed = SimpleNamespace(offset=given.pop("offset"), outside=given.pop("outside"))

    assert found is _read_elsewhere(SimpleNamespace(committed=committed, start=10, **given))
