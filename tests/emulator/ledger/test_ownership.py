"""Who owns a partition, what its next owner may reprocess, and whose commit it is."""

from __future__ import annotations

import pytest

from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.ownership import Ownership, _repeatable

from .causes_of import owner_at_work
from .history import GROUP, P0, P1, History
from .test_accounts import END
from .test_epochs import at
from .test_rules_of_causes import at as link_at


def owners(history: History) -> Ownership:
    builder = LedgerBuilder()
    for event in history.events:
        builder.feed(event)
    return builder._ownership


GIVEN_UP = {"given_up": link_at(1), "out_of_order": {70: 75, 60: 65}}


@pytest.mark.parametrize(
    ("more", "start", "ranges"),
    [
        ({}, 20, [(20, 80)]),
        ({"closed_by": END}, 20, [(20, 80)]),
        ({**GIVEN_UP, "closed_by": END}, 20, [(20, 80)]),
        (GIVEN_UP, 20, [(20, 50), (60, 65), (70, 75)]),
        (GIVEN_UP, 62, [(62, 65), (70, 75)]),
        (GIVEN_UP, 50, [(60, 65), (70, 75)]),
    ],
)
def test_of_workers_that_go_on_only_what_they_had_finished_will_be_repeated(more, start, ranges):
    """Those of a partition that was given up, up to the end of their process."""
    assert ranges == list(_repeatable(at(50, **more), start, 80))


@pytest.mark.parametrize(("name", "pending"), [("a", [(80, 110)]), ("b", [(80, 100)])])
def test_a_process_may_reprocess_what_it_had_polled_itself(name, pending):
    """A worker of it may still be at the records; another process never had them."""
    history = owner_at_work()
    history.close("a", 100, "revoked", position=110)
    history.open(name, offset=80)
    epoch = owners(history).open_epoch(name, P0)

    assert epoch is not None
    assert pending == [(each.start, each.end) for each in epoch.pending_repeats]


def test_an_owner_that_begins_at_the_end_of_all_work_has_nothing_to_repeat():
    """Whatever was committed beyond."""
    history = owner_at_work(100, 80)
    history.commit("a", 120, processed=100)
    history.close("a", 100, "revoked")
    history.open("b", offset=100, source="seek")
    epoch = owners(history).open_epoch("b", P0)

    assert epoch is not None
    assert () == epoch.pending_repeats


def test_a_commit_in_flight_decides_nothing_for_an_owner_that_begins_where_the_older_one_stopped():
    """It could only have moved the beginning further."""
    history = owner_at_work(100, 80)
    history.send("a", 120, processed=100)
    history.close("a", 100, "revoked")
    known = owners(history)
    before = known.committer("a", GROUP, P0)

    assert known._undecided(before, 100) is None
    assert known._undecided(before, 99) is not None


def test_a_commit_is_of_the_open_epoch_of_its_sender_or_of_its_last_one():
    """Of none, if another consumer has owned the partition since."""
    history = owner_at_work()
    history.open("b", P1)
    known = owners(history)
    opened = known.open_epoch("a", P0)
    history.close("a", 100, "revoked")
    closed = owners(history).committer("a", GROUP, P0)

    assert opened is known.committer("a", GROUP, P0) is not None
    assert closed is not None
    assert (100, "revoked") == (closed.cursor, closed.why)
    assert known.committer("b", GROUP, P0) is None
    assert known.committer("c", "others", P0) is None
