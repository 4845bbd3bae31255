"""Workers that finish records of a partition that their process has given up."""

from __future__ import annotations

from emulator.ledger.entries import Cause

from .causes_of import only, owner_at_work


def test_what_was_finished_before_a_revocation_is_not_the_work_of_two_owners():
    """Workers that go on after it are, from when the next owner has begun."""
    history = owner_at_work()
    history.overtake("a", 103, 104)
    history.listener("a", "revoked")
    history.open("b", offset=80, generation=2)
    history.work("a", 100, 103)
    history.close("a", 104, "revoked")
    history.work("b", 80, 130, generation=2)
    entries = history.ledger().entries

    found = [(entry.cause, entry.detail, entry.first) for entry in entries]
    assert found == [
        (Cause.REVOKED, "", 80),
        (Cause.TWO_OWNERS, "records in progress at the revocation", 100),
        (Cause.REVOKED, "", 103),
    ]


def test_a_member_that_gets_its_partition_back_and_is_removed_later_is_a_zombie():
    """What its listener was told before does not count."""
    history = owner_at_work()
    history.listener("a", "revoked")
    history.listener("a", "assigned")
    history.next_owner("b", 80, 110, generation=2)

    only(history, Cause.TWO_OWNERS, 20)
