"""One history for each cause of repeats, which yields that cause and nothing else."""

from __future__ import annotations

import pytest

from emulator import events as ev
from emulator.ledger.entries import Cause, Step

from .causes_of import only, owner_at_work
from .history import GROUP, P0, History


def test_a_crash_repeats_what_was_processed_and_not_committed():
    """The successor of a crashed owner repeats what the last accepted commit leaves uncovered."""
    history = owner_at_work()
    history.crash("a", 100)
    history.next_owner("b", 80, 130)

    only(history, Cause.CRASHED, 20)


def test_the_records_a_successor_has_not_come_to_are_not_counted():
    """Only what was really processed twice counts, not what would be."""
    history = owner_at_work()
    history.crash("a", 100)
    history.next_owner("b", 80, 90)

    only(history, Cause.CRASHED, 10)


def test_a_process_that_ends_by_an_error_of_its_own_counts_as_crashed():
    """An owner that failed left its work uncommitted as a crashed one does."""
    history = owner_at_work()
    history.stop("a", "failed")
    history.next_owner("b", 80, 100)

    only(history, Cause.CRASHED, 20)


def test_a_revocation_repeats_what_the_donor_did_not_commit():
    """A cooperative hand-over whose last polls no commit covers is a revocation."""
    history = owner_at_work()
    history.close("a", 100, "revoked")
    history.next_owner("b", 80, 130)

    only(history, Cause.REVOKED, 20)


@pytest.mark.parametrize("why", ["closed", "lost"])
def test_whatever_else_ends_an_epoch_is_a_revocation(why):
    """An owner that closed, or lost its partition, gave it up without a commit."""
    history = owner_at_work()
    history.close("a", 100, why)
    history.next_owner("b", 80, 100)

    only(history, Cause.REVOKED, 20)


@pytest.mark.parametrize("stops_first", [True, False])
def test_work_of_an_earlier_epoch_is_that_of_the_process_that_has_ended(stops_first):
    """How far its polls had come is known also if its process is said to have ended before."""
    history = owner_at_work(80, 80)
    history.close("a", 80, "revoked", position=90)
    history.open("a", offset=80, generation=2)
    history.overtake("a", 80, 90, generation=2, earlier=True)
    if stops_first:
        history.stop("a", "closed")
    history.close("a", 80, "closed", position=90, generation=2)
    history.next_owner("b", 80, 100, generation=3)

    only(history, Cause.REVOKED, 10)


def test_an_eager_rebalance_rewinds_a_kept_partition():
    """The same incarnation that opens a partition again repeats its own uncommitted work."""
    history = owner_at_work()
    history.close("a", 100, "revoked")
    history.next_owner("a", 80, 120, generation=2)

    only(history, Cause.KEPT_REWOUND, 20)


def test_another_incarnation_of_the_same_consumer_has_kept_nothing():
    """A restarted process repeats because its predecessor crashed."""
    history = owner_at_work()
    history.crash("a", 100)
    history.start("a", incarnation=2)
    history.next_owner("a", 80, 100)

    only(history, Cause.CRASHED, 20)


@pytest.mark.parametrize("by", ["coordinator", "client"])
def test_a_refused_commit_is_named_with_its_error(by):
    """A commit beyond the start that was refused, by whomever, is why the start lay low."""
    history = owner_at_work()
    history.refuse("a", 100, "REBALANCE_IN_PROGRESS", by=by)
    history.close("a", 100, "revoked")
    history.next_owner("b", 80, 100)
    entry = history.ledger().entry("D1")

    only(history, Cause.REFUSED, 20)
    assert entry.detail == "REBALANCE_IN_PROGRESS"


def test_a_refused_commit_that_was_repeated_with_success_is_no_cause():
    """Once a later commit covers what was refused, what is left was only not committed."""
    history = owner_at_work()
    history.refuse("a", 100, "REBALANCE_IN_PROGRESS")
    history.commit("a", 100)
    history.work("a", 100, 110)
    history.crash("a", 110)
    history.next_owner("b", 100, 110)

    only(history, Cause.CRASHED, 10)


def test_a_lost_commit_that_was_repeated_with_success_is_no_cause():
    """Why the successor did not get what was committed, no event says."""
    history = owner_at_work()
    history.lose("a", history.send("a", 100))
    history.commit("a", 100)
    history.crash("a", 100)
    history.next_owner("b", 80, 100)
    only(history, Cause.CRASHED, 20)


def test_a_lost_commit_is_why_the_successor_begins_low():
    """A commit that never reached the coordinator covers nothing."""
    history = owner_at_work()
    commit = history.send("a", 100)
    history.lose("a", commit)
    history.crash("a", 100)
    history.next_owner("b", 80, 100)

    only(history, Cause.MESSAGE_LOST, 20)


def test_of_lost_commits_of_one_offset_the_first_is_the_cause():
    """The second one would have changed nothing."""
    history = owner_at_work()
    for commit in [history.send("a", 100), history.send("a", 100)]:
        history.lose("a", commit)
    history.crash("a", 100)
    history.next_owner("b", 80, 100)
    (entry,) = history.ledger().entries

    assert ["c2"] == [link.values[1] for link in entry.chain if link.step is Step.COMMIT_LOST]


@pytest.mark.parametrize(
    ("offset", "end", "cause"),
    [
        (
            100,
            "revoked",
            Cause.MESSAGE_LOST,
        ),  # its owner waited for it in vain: no event says where
        (80, "revoked", Cause.REVOKED),  # it would have changed nothing
        (100, "crashed", Cause.CRASHED),  # the sender died with it
    ],
)
def test_a_commit_in_flight_is_the_cause_if_its_owner_lived_on_and_it_counted(offset, end, cause):
    """The successor begins at 80, because of the commit or because of how the owner ended."""
    history = owner_at_work()
    history.send("a", offset)
    if end == "crashed":
        history.crash("a", 100)
    else:
        history.close("a", 100, end)
    history.next_owner("b", 80, 100)

    only(history, cause, 20)


def test_a_commit_that_failed_with_a_timeout_was_lost():
    """Its sender saw a failure, and no broker refused it: it was lost."""
    history = owner_at_work()
    commit = history.send("a", 100)
    history.answer("a", commit, "REQUEST_TIMED_OUT")
    history.crash("a", 100)
    history.next_owner("b", 80, 100)

    only(history, Cause.MESSAGE_LOST, 20)


def test_a_lost_reply_to_a_durable_commit_avoids_duplicates():
    """Records covered by a timed-out commit are not repeated: a metric, no entry."""
    history = owner_at_work()
    commit = history.send("a", 100)
    history.accept("a", commit, 100)
    history.lose("a", commit, "OffsetCommitResponse")
    history.crash("a", 100)
    history.next_owner("b", 100, 120)
    ledger = history.ledger()

    assert ledger.entries == ()
    assert ledger.duplicates_avoided == 20


@pytest.mark.parametrize(("acknowledged", "avoided"), [(100, 0), (90, 10)])
def test_what_an_earlier_commit_acknowledged_is_not_avoided(acknowledged, avoided):
    """The sender knows of the first of two commits, also if both are of one offset."""
    history = owner_at_work()
    first, second = history.send("a", acknowledged), history.send("a", 100)
    for commit, offset in ((first, acknowledged), (second, 100)):
        history.accept("a", commit, offset)
    history.answer("a", first)
    history.lose("a", second, "OffsetCommitResponse")
    history.crash("a", 100)
    history.next_owner("b", 100, 120)

    assert history.ledger().duplicates_avoided == avoided


def test_an_older_commit_over_a_newer_one_is_a_rewind():
    """The accepted commit that set the start lowered an earlier one."""
    history = owner_at_work()
    history.commit("a", 100)
    history.commit("a", 60, processed=100)
    history.close("a", 100, "revoked")
    history.next_owner("b", 60, 100)

    only(history, Cause.REWIND, 40)


def test_a_commit_below_where_its_owner_began_is_a_rewind():
    """It began at the committed offset, so that what lies below is not its progress."""
    history = owner_at_work()
    history.close("a", 100, "revoked")
    history.next_owner("b", 80, 100, generation=2)
    history.commit("b", 60, generation=2)
    history.crash("b", 100)
    history.next_owner("a", 60, 80, generation=3)

    assert 20 == history.ledger().by_cause().get("rewind")


def test_a_rewind_counts_once():
    """The epoch after the rewound one is judged by its own owner's commits."""
    history = owner_at_work()
    history.commit("a", 100)
    history.commit("a", 60, processed=100)
    history.close("a", 100, "revoked")
    history.next_owner("b", 60, 100)
    history.commit("b", 90)
    history.crash("b", 100)
    history.next_owner("c", 90, 100)
    by_cause = history.ledger().by_cause()

    assert by_cause == {str(Cause.REWIND): 40, str(Cause.CRASHED): 10}


def test_records_left_by_a_second_crash_keep_the_first_cause():
    """A range that an owner died before repeating keeps its cause."""
    history = owner_at_work()
    history.close("a", 100, "revoked")
    history.next_owner("b", 80, 85)
    history.crash("b", 85)
    history.next_owner("c", 80, 100)
    by_cause = history.ledger().by_cause()

    assert by_cause == {str(Cause.REVOKED): 5 + 15, str(Cause.CRASHED): 5}


def test_a_commit_one_short_is_off_by_one():
    """The last processed offset was committed instead of the next one."""
    history = owner_at_work()
    history.commit("a", 99, processed=100)
    history.close("a", 100, "revoked")
    history.next_owner("b", 99, 120)

    only(history, Cause.OFF_BY_ONE, 1)


@pytest.mark.parametrize(("why", "cause"), [("expired", Cause.EXPIRED), ("deleted", Cause.DELETED)])
@pytest.mark.parametrize("said", [True, False])
def test_a_vanished_offset_repeats_from_the_earliest(why, cause, said):
    """A reset after the committed offset was deleted is caused by that, with any evidence of it."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "closed")
    history.drop(why)
    history.open("b", offset=0, source="earliest", why=why if said else "no offset")
    history.work("b", 0, 100)

    only(history, cause, 100)


def test_an_offset_out_of_range_repeats_from_the_earliest():
    """A committed offset that the log does not hold resets the position."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "revoked")
    history.open("b", offset=10, source="earliest", why="out of range")
    history.work("b", 10, 100)

    only(history, Cause.OUT_OF_RANGE, 90)


def test_a_committed_offset_that_is_not_found_is_a_reset():
    """Nothing says why the committed offset is gone: the reset itself is the cause."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "revoked")
    history.open("b", offset=0, source="earliest", why="no offset")
    history.work("b", 0, 100)

    only(history, Cause.RESET, 100)


def test_a_crash_before_the_first_commit_is_a_crash():
    """Where nothing had been committed, the reset to the earliest is only how it shows."""
    history = History()
    history.topic()
    history.open("a", offset=0, source="earliest", why="no offset")
    history.work("a", 0, 50)
    history.crash("a", 50)
    history.open("b", offset=0, source="earliest", why="no offset")
    history.work("b", 0, 50)

    only(history, Cause.CRASHED, 50)


def test_a_position_sought_back_repeats():
    """An application that seeks back processes again by its own will."""
    history = owner_at_work(100, 100)
    history.open("a", offset=40, source="seek")
    history.work("a", 40, 100)

    only(history, Cause.SOUGHT, 60)


def test_an_owner_is_no_second_owner_beside_itself():
    """A worker brings records of its earlier epoch late, and the new epoch processes them, too."""
    history = owner_at_work()
    history.close("a", 100, "revoked")
    history.open("a", offset=80, generation=2)
    late = ev.ProcessedOutOfOrder(
        consumer="a",
        group=GROUP,
        generation=2,
        partition=P0,
        first=90,
        next_offset=100,
        began_us=history.now_us,
        earlier_epoch=True,
    )
    history.say(late)
    history.work("a", 80, 100, generation=2)

    only(history, Cause.KEPT_REWOUND, 30)


def test_a_refused_commit_of_what_is_committed_already_is_not_the_cause():
    """It would not have covered more than the accepted commit before it."""
    history = owner_at_work()
    history.refuse("a", 80, "ILLEGAL_GENERATION")
    history.crash("a", 100)
    history.next_owner("b", 80, 100)

    only(history, Cause.CRASHED, 20)


@pytest.mark.parametrize(("start", "source"), [(60, "committed"), (99, "earliest")])
def test_a_commit_one_short_is_no_cause_of_a_start_elsewhere(start, source):
    """Only an owner that begins at the committed offset repeats because of what was committed."""
    history = owner_at_work()
    history.commit("a", 99, processed=100)
    history.close("a", 100, "revoked")
    history.open("b", offset=start, source=source, why="out of range" if start == 99 else "")
    history.work("b", start, 120)

    assert str(Cause.OFF_BY_ONE) not in history.ledger().by_cause()
