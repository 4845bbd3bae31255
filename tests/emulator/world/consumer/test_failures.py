"""Records that fail: which ones, how they are tried again, and where they end."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

import emulator
from assignors.types import TopicPartition
from emulator.events import CommitSent, Polled, ProcessingFailed
from emulator.scenario.model import Group, Poison
from emulator.scenario.problems import ScenarioError
from emulator.world.consumer.handling.poison import Rules

SCENARIO = """
title = "failures"
run_for = "{run_for}"

[[topic]]
name = "t"
partitions = 2
rate = "5/s"

[[topic]]
name = "t-retry"
partitions = 2

[[group]]
id = "g"
topics = ["t"]
members = 1
work = "10ms"
{group}
settings = {{ "auto.offset.reset" = "earliest"{settings} }}
poison = [{{ {poison} }}]
{more}
"""

ONE = 'topic = "t", partition = 1, offset = 40, '
READS_RETRIES = """
[[group]]
id = "retries"
topics = ["t-retry"]
members = 1
settings = { "auto.offset.reset" = "earliest" }
"""
SECOND = 1_000_000


def run_of(poison: str, **changes: str) -> emulator.Run:
    """Play a group whose handler fails."""
    values = {"run_for": "30s", "group": "", "settings": "", "more": ""} | changes
    text = SCENARIO.format(poison=poison, **values)
    return emulator.run(emulator.loads(text), 0, polls=True)


def failures(run: emulator.Run) -> list[tuple[int, ProcessingFailed]]:
    """Return the failures with their times."""
    return [(e.at_us, e.what) for e in run.events if isinstance(e.what, ProcessingFailed)]


# -- which records fail ----------------------------------------------------------------------------


def concerned(poison: Poison, records: int, partition: int = 0, seed: int = 0) -> set[int]:
    """Return which of the first records of a partition a rule concerns."""
    group = Group(id="g", topics=("t",), members=({"name": "m"},), poison=(poison,))
    rules = Rules(group, seed)
    tp = TopicPartition("t", partition)
    return {offset for offset in range(records) if rules.of(tp, offset) is not None}


def test_a_rule_concerns_one_record_or_each_nth_or_a_share_or_a_key():
    one = Poison(topic="t", partition=0, offset=7, error="skip")
    assert concerned(one, 20) == {7}
    assert concerned(one, 20, partition=1) == set()
    assert concerned(Poison(every=8, error="skip"), 20) == {7, 15}
    share = concerned(Poison(share=0.1, error="skip"), 5_000)
    assert 430 < len(share) < 570
    assert share != concerned(Poison(share=0.1, error="skip"), 5_000, partition=1)
    assert share != concerned(Poison(share=0.1, error="skip"), 5_000, seed=1)
    keys = [concerned(Poison(key=key, error="skip"), 5_000) for key in range(3)]
    assert all(keys)
    assert not keys[0] & keys[1]


def test_the_first_rule_that_matches_decides():
    rules = Rules(
        Group(
            id="g",
            topics=("t",),
            members=({"name": "m"},),
            poison=(Poison(every=4, error="skip"), Poison(every=2, error="stop")),
        ),
        0,
    )
    found = [rules.of(TopicPartition("t", 0), offset) for offset in range(4)]

    assert [rule and rule.poison.error for rule in found] == [None, "stop", None, "skip"]


# -- tried again -----------------------------------------------------------------------------------


def test_back_offs_grow_up_to_their_limit():
    poison = Poison(every=9, error="retry", backoff=100, multiplier=3, max_backoff=500)

    assert [poison.wait_us(failures) for failures in (1, 2, 3, 4)] == [100, 300, 500, 500]


@pytest.mark.parametrize("error", ["retry", "seek", "pause"])
def test_every_attempt_and_every_wait_takes_its_time(error):
    """Two failures, waits of 1 and 3 seconds, then a success: nothing is repeated or lost."""
    run = run_of(f'{ONE} error = "{error}", attempts = 2, multiplier = 3')
    failed = failures(run)

    assert run.ledger.reprocessed == run.ledger.lost == 0
    assert run.metrics["failed_attempts"] == 2
    if error == "retry":
        assert [(what.failures, what.then) for _, what in failed] == [(2, "succeed")]
        return
    first, second = (at_us for at_us, _ in failed)
    assert 1 * SECOND < second - first < 1.3 * SECOND
    later = min(
        event.at_us
        for event in run.events
        if isinstance(event.what, Polled) and event.at_us > second
        for tp, begin, end in event.what.ranges
        if tp.partition == 1 and begin <= 40 < end
    )
    assert 3 * SECOND <= later - second < 3.3 * SECOND


def test_only_a_paused_consumer_polls_while_it_waits():
    """Waits of 6 seconds with max.poll.interval.ms = 5000."""
    rebalances = {
        error: run_of(
            f'{ONE} error = "{error}", attempts = 2, backoff = "6s"',
            settings=', "max.poll.interval.ms" = 5000',
        ).metrics["drop_outs"]
        for error in ("retry", "seek", "pause")
    }

    assert rebalances["retry"] > 0
    assert rebalances["seek"] > 0
    assert rebalances["pause"] == 0


def test_a_seek_lets_the_other_partition_continue_from_its_own_record():
    """All that was polled behind the failed record is polled again, and processed once."""
    run = run_of(f'{ONE} error = "seek", attempts = 1, backoff = "2s"')
    polled = Counter(
        (tp.partition, offset)
        for event in run.events
        if isinstance(event.what, Polled)
        for tp, first, end in event.what.ranges
        for offset in range(first, end)
    )

    assert polled[1, 40] == 2
    assert run.ledger.reprocessed == 0
    assert run.ledger.processed == run.metrics["processed"] > 200


def test_what_is_finished_is_committed_before_the_seek():
    """As the container does: the records before the failed one are not repeated after a crash."""
    commit = 'commit = "sync"\n'
    run = run_of(
        f'{ONE} error = "seek", attempts = 5, backoff = "4s"',
        group=commit,
        more='[[fault]]\ncrash = "g-0"\nat = "19s"\n',
        run_for="40s",
    )
    sent = [e.what for e in run.events if isinstance(e.what, CommitSent)]
    offsets = {tp.partition: end for what in sent for tp, end in what.offsets}

    assert offsets[1] == 40
    assert run.ledger.reprocessed == 0


def test_the_next_owner_counts_the_attempts_anew():
    crash = '[[fault]]\ncrash = "g-0"\nat = "14s"\nrestart_after = "1s"\n'
    run = run_of(
        f'{ONE} error = "seek", attempts = 3, backoff = "4s", then = "skip"',
        settings=', "session.timeout.ms" = 6000',
        more=crash,
        run_for="60s",
    )
    then = [what.then for _, what in failures(run)]

    assert then.count("skip") == 1
    assert then.count("seek") > 2
    assert run.ledger.lost == 1


# -- where they end --------------------------------------------------------------------------------


def test_a_forwarded_record_is_processed_and_counted_apart():
    run = run_of('every = 20, error = "retry", attempts = 3, then = "forward"')
    table = run.metrics.tables["forwarded.by_topic"]

    assert run.ledger.lost == 0
    assert table == {"t-dlt": run.metrics["forwarded"]}
    assert run.metrics["failed_attempts"] == 3 * run.metrics["forwarded"] > 0


def test_a_forwarded_record_can_be_read_in_the_other_topic_after_its_delay():
    delay = 'every = 20, error = "forward", to = "t-retry", delay = "5s"'
    run = run_of(delay, more=READS_RETRIES)
    sent = [at_us for at_us, _ in failures(run)]
    read = [
        event.at_us
        for event in run.events
        if isinstance(event.what, Polled) and event.what.group == "retries"
        for _, first, end in event.what.ranges
        for _ in range(first, end)
    ]

    due = [at_us + 5 * SECOND for at_us in sent if at_us < 24 * SECOND]
    assert len(read) >= len(due) > 3
    assert all(0 < at - when < SECOND // 10 for at, when in zip(read, due, strict=False))


def test_a_record_that_is_repeated_is_forwarded_again():
    run = run_of(
        'every = 10, error = "forward"',
        settings=', "auto.commit.interval.ms" = 60000, "session.timeout.ms" = 6000',
        more='[[fault]]\ncrash = "g-0"\nat = "14s"\nrestart_after = "1s"\n',
        run_for="50s",
    )
    again = run.ledger.reprocessed

    assert again > 10
    assert abs(run.metrics["forwarded_again"] - Fraction(again, 10)) <= 2


def test_workers_retry_and_forward_beside_other_records():
    run = run_of(
        'every = 10, error = "retry", attempts = 2, backoff = "3s", then = "forward"',
        group='handler = { workers = 4, order = "none" }\ncommit = "sync"',
    )

    assert run.ledger.lost == run.ledger.reprocessed == 0
    assert run.metrics["forwarded"] > 10
    assert run.metrics["lag_processed_peak"] < 150


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("poison", "changes", "words"),
    [
        ('error = "skip"', {}, "needs one of"),
        ('every = 3, share = 0.5, error = "skip"', {}, '"every" and "share"'),
        ('offset = 3, error = "skip"', {}, '"offset" needs "topic" and "partition"'),
        ('every = 3, error = "skip", then = "stop"', {}, '"then" needs'),
        ('every = 3, error = "skip", to = "t-retry"', {}, '"to" and "delay" need'),
        ('every = 3, error = "forward", to = "t"', {}, "come back for ever"),
        ('every = 3, key = 4, error = "skip"', {}, '"every" and "key"'),
        ('key = 4000, error = "skip"', {}, "allowed are 0 to 999"),
        ('every = 3, topic = "tt", error = "skip"', {}, '"t"'),
        ('every = 3, error = "seek"', {"group": "handler = { workers = 2 }"}, "workers have"),
        ('every = 3, error = "pause"', {"group": 'client = "librdkafka"'}, "Spring"),
    ],
)
def test_what_has_no_meaning_is_refused(poison, changes, words):
    with pytest.raises(ScenarioError) as refused:
        run_of(poison, **changes)

    assert words in str(refused.value)


def test_a_retry_topic_has_no_producer():
    text = SCENARIO.format(
        poison='every = 3, error = "forward", to = "t-retry"',
        run_for="5s",
        group="",
        settings="",
        more="",
    ).replace('name = "t-retry"', 'name = "t-retry"\nrate = "1/s"')

    with pytest.raises(ScenarioError, match="no producer"):
        emulator.loads(text)


def test_a_retry_topic_has_as_many_partitions_as_its_source():
    """A record is sent to the partition with the number of its own."""
    text = SCENARIO.format(
        poison='every = 3, error = "forward", to = "t-retry"',
        run_for="5s",
        group="",
        settings="",
        more="",
    ).replace('name = "t-retry"\npartitions = 2', 'name = "t-retry"\npartitions = 1')

    with pytest.raises(ScenarioError, match=r"topic\[t-retry\].partitions = 1: .*allowed are 2"):
        emulator.loads(text)


def test_a_member_that_is_to_stop_does_not_begin_a_back_off():
    """Asked while it works on the record that fails, it closes when that has failed."""
    run = run_of(
        ONE + 'error = "seek", work = "8s", attempts = 2, backoff = "60s"',
        more='[[act]]\nclose = "g-0"\nat = "13s"',
        run_for="60s",
    )
    (stopped,) = [event for event in run.events if type(event.what).__name__ == "ConsumerStopped"]

    assert "closed" == stopped.what.how
    assert 13 * SECOND < stopped.at_us < 20 * SECOND
