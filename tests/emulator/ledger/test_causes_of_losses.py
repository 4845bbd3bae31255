"""One history for each cause of losses, which yields that cause and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignors.types import TopicPartition
from emulator.ledger.entries import Cause, EntryKind

from .causes_of import only, owner_at_work
from .history import P1, History


def test_records_committed_before_processing_are_lost_in_a_crash():
    """The successor begins after the records in flight."""
    history = owner_at_work(100, 100)
    history.commit("a", 150, processed=100)
    history.work("a", 100, 120)
    history.crash("a", 120)
    history.next_owner("b", 150, 200)

    only(history, Cause.COMMITTED_AHEAD, 30, EntryKind.LOST)


def test_a_commit_of_a_deleted_topic_skips_the_records_of_the_new_one():
    """Its reader commits what it read of the old topic, after the new one was created."""
    history = owner_at_work(0, 50)
    history.delete_topic(topic_id="T1")
    history.topic(topic_id="T2")
    history.commit("a", 40, processed=50)
    history.close("a", 50, "revoked")
    history.next_owner("b", 40, 60)

    only(history, Cause.OLD_TOPIC, 40, EntryKind.LOST)


def test_a_zombie_that_finishes_its_batch_fills_the_gap():
    """Records passed over and then processed by their old owner after all are not lost."""
    history = owner_at_work(100, 100)
    history.commit("a", 150, processed=100)
    history.work("a", 100, 120)
    history.next_owner("b", 150, 200)
    history.work("a", 120, 150)
    history.close("a", 150, "lost")

    assert history.ledger().entries == ()


def test_a_close_in_mid_batch_that_commits_the_batch_loses_the_rest():
    """The final commit of a consumer closed in mid-batch covers what it never finished."""
    history = owner_at_work(100, 100)
    history.commit("a", 150, processed=110)
    history.work("a", 100, 110)
    history.close("a", 110, "closed", position=150)
    history.open("b", offset=150)

    only(history, Cause.COMMITTED_AHEAD, 40, EntryKind.LOST)


@pytest.mark.parametrize(("kind", "detail"), [("close", "in close()"), ("sync", "")])
def test_a_loss_says_whether_the_commit_was_made_in_close(kind, detail):
    """A commit ahead that the application made itself is no fault of close()."""
    history = owner_at_work(100, 100)
    commit = history.send("a", 150, processed=110, kind=kind)
    history.accept("a", commit, 150)
    history.work("a", 100, 110)
    history.close("a", 110, "closed", position=150)
    history.next_owner("b", 150, 160)
    (entry,) = history.ledger().entries

    assert entry.detail == detail


def test_a_reset_to_the_latest_loses_unread_records():
    """A successor without a committed offset begins at the end of the log."""
    history = History()
    history.topic()
    history.open("a", offset=10, source="latest", why="no offset")
    history.work("a", 10, 50)
    history.crash("a", 50)
    history.open("b", offset=90, source="latest", why="no offset")

    only(history, Cause.RESET_TO_LATEST, 40, EntryKind.LOST)


def test_a_reset_for_lack_of_an_offset_leaves_earlier_losses_their_cause():
    """Only one from outside the log continues what its owner skipped."""
    history = owner_at_work(100, 100)
    history.commit("a", 150, processed=100)
    history.crash("a", 100)
    history.next_owner("b", 150, 160)
    history.crash("b", 160)
    history.open("c", offset=300, source="latest", why="no offset")

    assert history.ledger().by_cause(EntryKind.LOST) == {
        str(Cause.COMMITTED_AHEAD): 50,
        str(Cause.RESET_TO_LATEST): 140,
    }


def test_a_new_partition_counts_from_its_beginning():
    """Records that latest skips in a partition added to a stable group are lost."""
    history = owner_at_work(100, 100)
    history.topic("refunds", "T2", (0,))
    refunds = TopicPartition("refunds", 0)
    history.open("a", refunds, offset=7, source="latest", why="no offset")

    only(history, Cause.RESET_TO_LATEST, 7, EntryKind.LOST)


def test_an_old_partition_counts_from_its_first_start():
    """Records that a group never began to read are not lost."""
    history = owner_at_work(100, 100)
    history.open("b", P1, offset=500, source="latest", why="no offset")

    assert history.ledger().entries == ()


def test_records_that_a_lower_start_leaves_unread_are_lost_by_a_higher_one():
    """Also if an owner in between began within what was processed."""
    history = History()
    history.topic()
    history.open("a", offset=100)
    history.work("a", 100, 200)
    history.close("a", 200, "revoked")
    history.next_owner("b", 50, 60)
    history.close("b", 60, "revoked")
    history.next_owner("a", 55, 60)
    history.close("a", 60, "revoked")
    history.next_owner("b", 80, 100)

    lost = [entry for entry in history.ledger().entries if entry.kind == EntryKind.LOST]
    assert [(60, 79)] == [(entry.first, entry.last) for entry in lost]


def test_a_reset_by_duration_loses_what_is_older():
    """A position reset to some time ago passes over what came before."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "closed")
    history.drop("expired")
    history.open("b", offset=140, source="by_duration", why="no offset")

    only(history, Cause.RESET_BY_DURATION, 40, EntryKind.LOST)


def test_retention_that_overtakes_the_committed_offset_loses_records():
    """The earliest record there is lies beyond what was processed."""
    history = owner_at_work(100, 100)
    history.close("a", 100, "closed")
    history.open("b", offset=170, source="earliest", why="out of range")

    only(history, Cause.RETENTION, 70, EntryKind.LOST)


def test_a_discarded_batch_is_lost_when_the_owner_goes_on():
    """A batch thrown away after a refused commit is passed over by its own owner."""
    history = owner_at_work(100, 100)
    history.refuse("a", 120)
    history.let_go("a", 100, 120, "discarded")
    history.work("a", 120, 140)
    history.commit("a", 140)

    only(history, Cause.DISCARDED, 20, EntryKind.LOST)


def test_a_discarded_batch_that_the_successor_reads_is_not_lost():
    """The next owner begins at the committed offset, below what was thrown away."""
    history = owner_at_work(100, 100)
    history.let_go("a", 100, 120, "discarded")
    history.close("a", 120, "lost")
    history.next_owner("b", 100, 120)

    assert history.ledger().entries == ()


@pytest.mark.parametrize("said", [True, False])
def test_a_skipped_record_is_lost(said):
    """A record the handler skips was positioned past and never processed."""
    history = owner_at_work(100, 100)
    if said:
        history.let_go("a", 100, 101, "skipped")
    history.work("a", 101, 140)

    only(history, Cause.SKIPPED, 1, EntryKind.LOST)


def test_a_position_sought_forward_loses_what_lies_between():
    """An application that seeks forward passes records over by its own will."""
    history = owner_at_work(100, 100)
    history.open("a", offset=140, source="seek")

    only(history, Cause.SOUGHT, 40, EntryKind.LOST)


def test_a_reset_from_an_offset_sought_outside_the_log_is_because_of_the_seek():
    """The reset to the end is what Kafka makes of it; a reset after reading there is not."""
    history = owner_at_work(100, 100)
    history.open("a", offset=9999, source="seek")
    history.open("a", offset=140, source="latest", why="out of range")

    only(history, Cause.SOUGHT, 40, EntryKind.LOST)


def test_every_cause_has_a_history_of_its_own():
    """No cause is named by the enum and yielded by no history."""
    texts = [path.read_text() for path in Path(__file__).parent.glob("test_causes_of_*.py")]

    assert [] == [cause for cause in Cause if f"Cause.{cause.name}" not in "".join(texts)]
