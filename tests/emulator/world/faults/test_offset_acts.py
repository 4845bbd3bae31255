"""An administrator deletes and resets offsets as Kafka's tool does, or gets its error."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator.events import ActRefused, CommitRefused, CommitSent, EpochOpened, OffsetsDropped
from emulator.ledger.entries import Cause, EntryKind
from emulator.metrics.laws import Law

from ..stage import SECOND, staged
from .offsets_stage import ALONE, NO_MEMBERS, ONE, away, begins, living, refusal

# -- deleting ----------------------------------------------------------------------------------


def test_after_deleted_offsets_the_group_starts_over():
    """The topic's offsets are deleted by the act, and all records are repeated."""
    seen = away('delete_offsets = "g"\ntopic = "t"\nat = "14s"')
    dropped = seen.only(OffsetsDropped)

    assert "deleted" == dropped.what.why
    assert {0, 1, 2} == {partition.partition for partition in dropped.what.partitions}
    assert {0} == begins(seen)
    assert {"offset deleted": 300} == seen.run.ledger.by_cause()
    assert {"x"} == {entry.root.id for entry in seen.run.ledger.entries}


def test_single_partitions_can_be_deleted():
    """The others go on where they were."""
    seen = away('delete_offsets = "g"\ntopic = "t"\npartitions = [1]\nat = "14s"')

    assert (TopicPartition("t", 1),) == seen.only(OffsetsDropped).what.partitions
    assert {0, 100} == begins(seen)
    assert {"offset deleted": 100} == seen.run.ledger.by_cause()


def test_with_latest_deleted_offsets_lose_unread_records():
    """Records that came while the group was away are skipped, and the act is the root."""
    latest = '[[group.member]]\nname = "g-0"\nsettings = { "auto.offset.reset" = "latest" }\n'
    seen = away('delete_group = "g"\nat = "14s"', group=ALONE + latest)
    (cause,) = seen.run.ledger.by_cause()

    assert Cause.RESET_TO_LATEST == cause
    assert 300 < seen.run.ledger.lost
    assert {("x", "deleted")} == {(e.root.id, e.detail) for e in seen.run.ledger.entries}


def test_a_deleted_group_begins_with_generation_one():
    """Nothing is left of it in the log but tombstones."""
    seen = away('delete_group = "g"\nat = "14s"')

    assert {1} == {event.what.generation for event in seen.after(20 * SECOND, EpochOpened)}
    assert {"offset deleted": 300} == seen.run.ledger.by_cause()


@pytest.mark.parametrize(
    ("act", "error"),
    [
        ('delete_offsets = "g"\ntopic = "t"', "GROUP_SUBSCRIBED_TO_TOPIC"),
        ('delete_group = "g"', "NON_EMPTY_GROUP"),
        ('reset_offsets = "g"\nto = "earliest"', ""),
    ],
)
def test_a_group_at_work_is_left_alone(act, error):
    """The act is refused, the run is inconclusive for it, and nothing is repeated or lost."""
    seen = living(act)
    warnings = [f.message for f in seen.run.findings if f.law is Law.ACT_REFUSED]

    assert error == refusal(seen)[0]
    assert [] == seen.all(OffsetsDropped)
    assert {} == seen.run.ledger.by_cause()
    assert 1 == len(warnings)
    assert error in warnings[0]
    assert f"x was refused: {refusal(seen)[1]}" == seen.run.why[0]


def test_offsets_of_an_unsubscribed_topic_can_be_deleted_at_any_time():
    """The group lives; the member that reads the other topic is away."""
    seen = staged(
        '[[topic]]\nname = "u"\nrate = "10/s"\n[[act]]\nclose = "g-2"\nat = "10s"\n'
        'restart_after = "8s"\n[[act]]\ndelete_offsets = "g"\ntopic = "u"\nat = "14s"',
        group='work = "1ms"\n[[group.member]]\nname = "g-2"\ntopics = ["u"]\n',
        run_for="40s",
    )

    assert [] == seen.all(ActRefused)
    assert {"u"} == {entry.topic for entry in seen.run.ledger.entries}
    assert [Cause.DELETED] == [Cause(name) for name in seen.run.ledger.by_cause()]


def test_a_group_that_never_was_cannot_be_deleted():
    """Kafka knows no such group."""
    seen = staged('[[act]]\ndelete_group = "g"\nat = "1s"', group=NO_MEMBERS)

    assert "GROUP_ID_NOT_FOUND" == refusal(seen)[0]


# -- resetting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "offsets"),
    [
        ('to = "earliest"', {0}),
        ("to = 30", {30}),
        ("to = 9_999", {150, 151}),
        ("shift_by = -20", {80}),
        ("shift_by = -5_000", {0}),
        ('to = "latest"', {150, 151}),
        ('by_duration = "10s"', {50, 51}),
        ('to_datetime = "7s"', {70, 71}),
        ('to_datetime = "39s"', {150, 151}),
    ],
)
def test_the_group_goes_on_where_it_was_reset_to(place, offsets):
    """Offsets beyond either end of the log are taken as that end."""
    seen = away(f'reset_offsets = "g"\ntopic = "t"\n{place}\nat = "15s"')

    assert begins(seen) <= offsets
    assert [] == seen.all(ActRefused)


def test_a_reset_back_repeats_and_a_reset_forward_loses():
    """The cause of both is a reset by an administrator, whose act is the root."""
    back = away('reset_offsets = "g"\nshift_by = -20\nat = "15s"').run.ledger
    forward = away('reset_offsets = "g"\nshift_by = 20\nat = "15s"').run.ledger

    assert {"position reset": 60} == back.by_cause(EntryKind.REPROCESSED) == back.by_cause()
    assert {"position reset": 60} == forward.by_cause(EntryKind.LOST) == forward.by_cause()
    assert {"by an administrator, 100 to 80"} == {entry.detail for entry in back.entries}
    assert {"by an administrator, 100 to 120"} == {entry.detail for entry in forward.entries}
    assert {"x"} == {entry.root.id for entry in (*back.entries, *forward.entries)}


def test_a_reset_loses_even_if_the_group_never_comes_back():
    """The next member would begin after unread records."""
    seen = staged(
        '[[act]]\nclose = "g-0"\nat = "10s"\n[[act]]\nreset_offsets = "g"\nto = "latest"\nat = "15s"',
        topic=ONE,
        group=ALONE,
    )

    assert [Cause.RESET] == [Cause(name) for name in seen.run.ledger.by_cause()]
    assert 150 <= seen.run.ledger.lost <= 153


def test_two_resets_are_judged_together():
    """Back and forth again: nothing is repeated."""
    there = 'reset_offsets = "g"\nshift_by = -50\nat = "14s"'
    back = '[[act]]\nreset_offsets = "g"\nshift_by = 50\nat = "16s"'

    assert {} == away(there, back).run.ledger.by_cause()


def test_a_reset_counts_neither_as_a_commit_nor_as_a_rewind():
    """Metrics of commits are about consumers."""
    act = 'reset_offsets = "g"\nshift_by = -20\nat = "15s"'
    seen, without = away(act), away('delete_topic = "t"\nat = "39s"')
    sent = len(seen.all(CommitSent)) - 1

    assert 0 == seen.run.metrics["rewinds"]
    assert sent == seen.run.metrics["commits_sent"]
    assert 0 == without.run.metrics["rewinds"]


def test_a_reset_gives_a_group_that_never_was_its_first_offsets():
    """An administrator commits to no group, and the group that comes begins there."""
    seen = staged(
        '[[act]]\nreset_offsets = "g"\ntopic = "t"\nto = 17\nat = "5s"\n'
        '[[act]]\nstart = "g-1"\nat = "8s"',
        topic=ONE,
        group=NO_MEMBERS,
    )

    assert {17} == {event.what.offset for event in seen.all(EpochOpened)}


def test_nothing_can_be_shifted_that_was_never_committed():
    """The tool says of which partition there is no committed offset."""
    seen = staged(
        '[[act]]\nreset_offsets = "g"\ntopic = "t"\nshift_by = -5\nat = "5s"',
        topic=ONE,
        group=NO_MEMBERS,
    )

    assert "nothing is committed for t-0" in refusal(seen)[1]


@pytest.mark.parametrize(
    "act",
    ['delete_offsets = "g"\ntopic = "t"', 'reset_offsets = "g"\ntopic = "t"\nto = "earliest"'],
)
def test_a_topic_that_is_gone_has_no_offsets(act):
    """The tool says that there is no such topic."""
    seen = away(f'{act}\nat = "16s"', '[[act]]\ndelete_topic = "t"\nat = "13s"')

    assert "UNKNOWN_TOPIC_OR_PARTITION" == refusal(seen)[0]


def test_a_group_without_offsets_has_nothing_to_reset():
    """Without a topic the tool looks at what the group has committed."""
    seen = staged('[[act]]\nreset_offsets = "g"\nto = "latest"\nat = "5s"', group=NO_MEMBERS)

    assert "the group has no committed offsets" == refusal(seen)[1]


def test_a_reset_that_never_reaches_anybody_sends_no_commit():
    """Cut off from the start, the tool does not come so far."""
    cut = '[[fault]]\ncut = ["admin", "brokers"]\nat = "13s"\nfor = "6s"'
    seen = away('reset_offsets = "g"\nto = "latest"\nat = "14s"\ntimeout = "2s"', cut)

    assert "REQUEST_TIMED_OUT" == refusal(seen)[0]
    assert [] == seen.all(CommitSent, consumer="admin")


def test_a_member_that_comes_in_between_keeps_the_commit_out():
    """The group was at rest when the tool looked, and has a member when the commit comes."""
    late = 'network = { link = [{ from = "admin", to = "brokers", latency = "700ms" }] }'
    seen = away('reset_offsets = "g"\nto = "latest"\nat = "17s"', run=late)

    assert ("UNKNOWN_MEMBER_ID", 1) == (refusal(seen)[0], len(seen.all(CommitRefused)))
    assert {} == seen.run.ledger.by_cause()
