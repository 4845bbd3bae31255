"""Commits of each policy, by the commits its members send."""

from __future__ import annotations

import itertools

import pytest

from assignors.types import TopicPartition
from emulator.events import (
    CommitAccepted,
    CommitAnswered,
    CommitRefused,
    CommitSent,
    ConsumerStopped,
    EpochClosed,
    ListenerCalled,
    NotProcessed,
    Processed,
)
from emulator.scenario.problems import ScenarioError

from ..stage import SECOND, staged

TOPIC = 'partitions = 6\nbacklog = 60\nrate = "4/s"'
RECORDS = '"max.poll.records" = 10'
WORK_US = 10_000


def played(commit, more="", *, settings="", run_for="10s", seed=0, **options):
    group = f'work = "10ms"\ncommit = {commit}'
    return staged(
        more,
        topic=TOPIC,
        group=group,
        settings=f"{RECORDS}\n{settings}",
        run_for=run_for,
        seed=seed,
        **options,
    )


def commits(seen, consumer="g-1"):
    """Return the commits of a member while it worked: all but the one of its close."""
    return seen.all(CommitSent, consumer=consumer)


def ends_of_work(seen, consumer="g-1"):
    """Return how far each partition was worked off when."""
    return [
        (event.at_us, event.what.partition, event.what.next_offset)
        for event in seen.all(Processed, consumer=consumer)
    ]


def test_auto_commits_what_poll_has_returned_every_interval():
    """By the clock, at a poll; what is behind the position is all done by then."""
    seen = played('"auto"', settings='"auto.commit.interval.ms" = "1s"', run_for="20s")
    sent = commits(seen)
    gaps = [later.at_us - before.at_us for before, later in itertools.pairwise(sent)]

    assert {"auto"} == {event.what.kind for event in sent}
    assert len(sent) >= 12
    assert all(SECOND <= gap <= SECOND + 2 * 10 * WORK_US for gap in gaps)
    for event in sent:
        assert [offset for _, offset in event.what.offsets] == list(event.what.processed)


def test_policy_none_never_commits():
    """Not even when it closes."""
    seen = played('"none"', '[[act]]\nclose = "g-1"\nat = "8s"\n')

    assert [] == seen.all(CommitSent)
    assert ["closed"] == [event.what.how for event in seen.all(ConsumerStopped)]


@pytest.mark.parametrize("call", ["sync", "async"])
def test_a_batch_is_committed_when_it_is_done(call):
    """Exactly its partitions, up to behind its last records; sync waits for the answer."""
    seen = played(f'"{call}"')
    sent = commits(seen)
    expected = [(at, tp, end) for at, tp, end in ends_of_work(seen) if at <= sent[-1].at_us]

    assert {call} == {event.what.kind for event in sent}
    assert expected == [
        (event.at_us, tp, offset) for event in sent for tp, offset in event.what.offsets
    ]
    assert all(1 <= end - start <= 10 for start, end in batches(seen))
    answers = {event.what.commit: event.at_us for event in seen.all(CommitAnswered)}
    begins = sorted(event.what.began_us for event in seen.all(Processed, consumer="g-1"))
    waits = [
        next(begin for begin in begins if begin >= event.at_us) >= answers[event.what.commit]
        for event in sent[:5]
    ]
    assert waits == [call == "sync"] * 5


def batches(seen, consumer="g-1"):
    return [(e.what.first, e.what.next_offset) for e in seen.all(Processed, consumer=consumer)]


@pytest.mark.parametrize("call", ["sync", "async"])
def test_each_record_is_committed_when_it_is_done(call):
    """Only its own partition, by its own offset."""
    seen = played(f'"{call} per record"', run_for="8s")
    sent = commits(seen)
    offsets = {}
    for event in sent:
        ((tp, offset),) = event.what.offsets
        assert offset == offsets.get(tp, 0) + 1
        offsets[tp] = offset

    assert 100 < sum(offsets.values())


def test_commit_sync_without_offsets_covers_all_that_poll_returned():
    """After the first record of ten, all ten: what a crash there would lose."""
    policy = '{ call = "sync", when = "record", arguments = false }'
    crash = '[[fault]]\ncrash = "g-1"\nwhen = { member = "g-1", step = "record done", nth = 3 }\n'
    seen = played(policy, crash, run_for="20s")
    first = commits(seen)[0].what

    assert {TopicPartition("t", 2): 10, TopicPartition("t", 3): 0} == dict(first.offsets)
    assert 1 == sum(first.processed)
    assert 7 == seen.run.ledger.lost


@pytest.mark.parametrize("call", ["sync", "async"])
def test_before_processing_commits_what_poll_returned_first(call):
    """The handler then works on what is committed already: a crash loses the rest of it."""
    crash = '[[fault]]\ncrash = "g-1"\nat = "6500ms"\n'
    seen = played(f'"{call} before"', crash, run_for="20s")
    sent = commits(seen)[0]
    closed = sum(event.what.processed for event in seen.all(EpochClosed, consumer="g-1"))
    committed = {}
    for event in seen.all(CommitAccepted, consumer="g-1"):
        committed.update(dict(event.what.offsets))

    assert 10 == sum(offset for _, offset in sent.what.offsets)
    assert {0} == set(sent.what.processed)
    assert 0 < sum(committed.values()) - closed == seen.run.ledger.lost
    assert 0 == seen.run.ledger.reprocessed


@pytest.mark.parametrize("records", [10, 25, 60])
def test_every_n_records_is_looked_at_between_batches(records):
    """A commit comes with the first batch that reaches the number."""
    seen = played(f'{{ call = "sync", when = "every", records = {records} }}', run_for="8s")
    total, before = {}, 0
    for event in commits(seen):
        total.update(dict(event.what.offsets))
        assert records <= sum(total.values()) - before < records + 10
        before = sum(total.values())

    assert before


def test_every_n_records_can_be_looked_at_after_each_record():
    """Then it is exactly so many."""
    policy = '{ call = "async", when = "every", records = 7, between_batches = false }'
    seen = played(policy, run_for="8s")
    total, counts = {}, []
    for event in commits(seen):
        total.update(dict(event.what.offsets))
        counts.append(sum(total.values()))

    assert counts == [7 * number for number in range(1, len(counts) + 1)]
    assert len(counts) > 10


@pytest.mark.parametrize("between", ["true", "false"])
def test_every_so_often_is_looked_at_when_the_handler_is_not_at_work(between):
    """The clock is looked at between batches, or between records."""
    policy = f'{{ call = "sync", when = "every", every = "500ms", between_batches = {between} }}'
    seen = played(policy, run_for="14s")
    times = [event.at_us for event in commits(seen)]
    late = 10 * WORK_US if between == "true" else WORK_US
    gaps = [later - before for before, later in itertools.pairwise(times[:4])]

    assert len(times) >= 8
    assert all(500_000 <= gap <= 500_000 + late + 5_000 for gap in gaps)


def test_a_time_that_passes_while_there_is_nothing_to_commit_commits_nothing():
    """An idle member sends no empty commits."""
    policy = '{ call = "sync", when = "every", every = "1s" }'
    seen = staged(topic="partitions = 6\nbacklog = 5", group=f"commit = {policy}", run_for="30s")

    assert 1 == len(commits(seen))
    assert all(event.what.offsets for event in seen.all(CommitSent))


JOIN = """
[[group.member]]
name = "late"
start = "8s"
"""


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_in_the_revoke_listener_what_is_done_is_committed(strategy):
    """For the revoked partitions, before the revocation: no record is repeated."""
    policy = '{ call = "sync", when = "every", records = 1000, on_revoke = true }'
    group = f'work = "10ms"\ncommit = {policy}\n{JOIN}'
    seen = staged(topic=TOPIC, group=group, settings=RECORDS, strategy=strategy, run_for="20s")
    revoked = seen.all(ListenerCalled, call="revoked")

    assert revoked
    for call in revoked:
        ends = dict.fromkeys(call.what.partitions)
        closed = {
            event.what.partition: event.what.processed
            for event in seen.all(EpochClosed, consumer=call.what.consumer)
            if event.cause == call.id
        }
        sent = seen.all(CommitSent, consumer=call.what.consumer)
        last = [event for event in sent if event.row < call.row][-1].what
        assert ends.keys() == closed.keys()
        assert closed == {tp: offset for tp, offset in last.offsets if tp in closed}
    assert 0 == seen.run.ledger.reprocessed


# -- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["sync", "async"])
def test_off_by_one_commits_the_last_processed_offset(call):
    """So that the last record of each partition is done again by every new owner."""
    seen = played(f'{{ call = "{call}", off_by_one = true }}')
    for event in commits(seen):
        assert [offset for _, offset in event.what.offsets] == [
            done - 1 for done in event.what.processed
        ]


def test_an_older_commit_is_sent_again_over_newer_ones():
    """After a failure, with its old offsets, whatever came since: the group goes back."""
    lose = (
        '[[fault]]\nlose_message = { kind = "OffsetCommit", member = "g-1", nth = 2, '
        'part = "request" }\n'
    )
    seen = played(
        '{ call = "async", retry_older = "500ms" }',
        lose,
        settings='"request.timeout.ms" = "2s"',
        run_for="14s",
    )
    failed = next(e for e in seen.all(CommitAnswered, consumer="g-1") if e.what.error != "NONE")
    lost = next(e for e in commits(seen) if e.what.commit == failed.what.commit)
    again = [e for e in commits(seen) if e.at_us == failed.at_us + 500_000]

    assert lost.what.offsets in [event.what.offsets for event in again]
    (tp, old), *_ = lost.what.offsets
    newer = [dict(e.what.offsets).get(tp, 0) for e in commits(seen) if e.at_us < failed.at_us]
    assert max(newer) > old


@pytest.mark.parametrize(("call", "kind"), [("revoked", "sync"), ("assigned", "async")])
def test_failed_commits_are_kept_for_a_call_of_the_listener(call, kind):
    """And are sent in it with their old offsets, once, over what was committed since."""
    lose = (
        '[[fault]]\nlose_message = { kind = "OffsetCommit", member = "g-1", nth = 2, '
        'part = "request" }\n[[act]]\nclose = "g-0"\nat = "10s"\n'
    )
    seen = played(
        f'{{ call = "async", retry_older_in = "{call}" }}',
        lose,
        settings='"request.timeout.ms" = "2s"',
        run_for="14s",
    )
    failed = next(e for e in seen.all(CommitAnswered, consumer="g-1") if e.what.error != "NONE")
    lost = next(e for e in commits(seen) if e.what.commit == failed.what.commit)
    listened = next(
        e for e in seen.all(ListenerCalled, consumer="g-1", call=call) if e.at_us > failed.at_us
    )
    again = [
        e for e in commits(seen) if e.at_us > failed.at_us and e.what.offsets == lost.what.offsets
    ]
    newer = [dict(e.what.offsets) for e in commits(seen) if e.at_us < again[0].at_us]

    assert [kind] == [event.what.kind for event in again]
    assert again[0].at_us <= listened.at_us
    assert all(max(each.get(tp, 0) for each in newer) > at for tp, at in lost.what.offsets)


@pytest.mark.parametrize(
    ("commit", "reason"),
    [
        ('{ call = "sync", retry_older_in = "revoked" }', 'needs call = "async"'),
        ('{ call = "async", retry_older = "1s", retry_older_in = "revoked" }', "only one of"),
        ('{ call = "async", retry_older_in = "revokd" }', "revoked"),
    ],
)
def test_retries_that_no_application_makes_are_refused(commit, reason):
    """With what may be written."""
    with pytest.raises(ScenarioError) as refused:
        played(commit)

    assert reason in str(refused.value)


def test_without_the_mistake_a_failed_async_commit_is_not_repeated():
    """The next batch's commit makes up for it."""
    lose = '[[fault]]\nlose_message = { kind = "OffsetCommit", member = "g-1", nth = 2 }\n'
    seen = played('"async"', lose, settings='"request.timeout.ms" = "2s"', run_for="14s")
    sent = [tuple(sorted(event.what.offsets)) for event in commits(seen)]

    assert len(set(sent)) == len(sent)


# -- a commit that is refused ------------------------------------------------------------------

ZOMBIE = """
[[fault]]
hang = "g-1"
when = { member = "g-1", step = "batch done", nth = 5 }
for = "9s"
"""


@pytest.mark.parametrize("reaction", ["ignore", "discard", "stop"])
def test_after_a_refused_commit_the_policy_says_what_becomes_of_the_batch(reaction):
    """Go on with it, throw the rest of it away, or die."""
    policy = f'{{ call = "sync", when = "record", on_refusal = "{reaction}" }}'
    seen = played(policy, ZOMBIE, settings='"max.poll.interval.ms" = "5s"', run_for="30s")
    refused = seen.first(CommitRefused, consumer="g-1")
    dropped = seen.all(NotProcessed, consumer="g-1", why="discarded")
    died = seen.all(ConsumerStopped, consumer="g-1")

    assert "client" == refused.what.by or "UNKNOWN_MEMBER_ID" == refused.what.error
    assert (reaction == "discard") == bool(dropped)
    assert (reaction == "stop") == bool(died)
    if died:
        assert "CommitFailedException" in died[0].what.reason


def test_each_member_may_have_its_own_policy():
    """One commits by itself, the others by the clock."""
    own = '\n[[group.member]]\nname = "g-1"\ncommit = "sync"\n'
    seen = staged(topic=TOPIC, group=f'work = "10ms"\n{own}', run_for="14s")

    assert {"sync"} == {event.what.kind for event in commits(seen)}
    assert {"auto"} == {event.what.kind for event in commits(seen, "g-0")}
    assert {"auto"} == {event.what.kind for event in commits(seen, "g-2")}
