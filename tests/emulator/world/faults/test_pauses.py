"""``pause()`` and ``resume()``: back-pressure of a pool, and what a rebalance does to it."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import ActRefused, Polled
from emulator.playing import Run
from emulator.scenario.problems import ScenarioError
from emulator.world.consumer.handling.pool import Workers

SCENARIO = """
title = "a queue that is full"
run_for = "{run_for}"
[[topic]]
name = "t"
partitions = 4
rate = "0/s"
backlog = 1000
[[group]]
id = "g"
topics = ["t"]
members = {members}
work = "20ms"
handler = {{ workers = 4, order = "none", queue = 100, {pool} }}
commit = {{ call = "sync", when = "every", every = "1s", on_revoke = true }}
settings = {{ "auto.offset.reset" = "earliest", "max.poll.records" = 50, "partition.assignment.strategy" = "{assignor}" }}
{more}
"""


def run_of(pool: str, **changes: object) -> emulator.Run:
    """Play a pool that is slower than its polls."""
    values = {"run_for": "15s", "members": 1, "assignor": "range", "more": ""} | changes
    return emulator.run(emulator.loads(SCENARIO.format(pool=pool, **values)), 0, polls=True)


@pytest.fixture
def in_hand(monkeypatch):
    """Return a function that plays a pool, and returns how many records g-0 had at each poll."""

    def play(pool: str, **changes: object) -> list[int]:
        found: list[int] = []
        take = Workers.take

        def watch(workers: Workers, ranges: tuple, then: object) -> None:
            if ranges and workers._blueprint.name == "g-0":
                found.append(sum(workers._frontier.unfinished.values()))
            take(workers, ranges, then)

        monkeypatch.setattr(Workers, "take", watch)
        run = run_of(pool, **changes)
        monkeypatch.undo()
        assert run.ledger.lost == 0
        return found

    return play


@pytest.mark.parametrize("when_full", ["pause", "block"])
def test_the_queue_is_resumed_when_it_has_drained(in_hand, when_full):
    """Left out, it is polled as soon as there is room; with ``resume_at``, when so many are left."""
    pool = f'when_full = "{when_full}"'
    soon = in_hand(pool)
    later = in_hand(f"{pool}, resume_at = 20")

    assert max(soon[3:-1]) > 60
    assert max(later[3:]) <= 50 + 20
    assert len(later) >= 10


JOIN = '[[group.member]]\nname = "late"\nstart = "7s"\n'


def test_a_pause_that_is_made_once_is_lost_when_the_partitions_are_assigned_again(in_hand):
    """A member joins while the queue is full: an eager rebalance resumes what was paused."""
    kept = in_hand('resume_at = 0, revoked = "continue"', more=JOIN)
    lost = in_hand('resume_at = 0, revoked = "continue", pause_call = "once"', more=JOIN)

    assert max(kept) < 100
    assert max(lost) >= 100


def test_a_cooperative_rebalance_keeps_the_pause_of_kept_partitions(in_hand):
    """Kafka keeps the paused flag of partitions that stay."""
    found = in_hand('resume_at = 0, pause_call = "once"', more=JOIN, assignor="cooperative-sticky")

    assert max(found) < 100


# -- as an act -----------------------------------------------------------------------------------

ACT = """
title = "paused partitions"
run_for = "30s"
[[topic]]
name = "t"
partitions = 2
rate = "10/s"
[[group]]
id = "g"
topics = ["t"]
members = 1
client = "{client}"
settings = {{ {settings} "auto.offset.reset" = "earliest" }}
{late}
[[act]]
pause_partitions = "g-0"
topic = "t"
partitions = [{partition}]
at = "12s"
for = "10s"
"""
COOPERATIVE = '"partition.assignment.strategy" = "cooperative-sticky",'
CONSUMER = '"group.protocol" = "consumer",'
LATE = '[[group.member]]\nname = "late"\nstart = "14s"\n'


def polled_at(run: Run, partition: int, member: str = "g-0") -> list[float]:
    """Return when records of a partition were returned by poll(), in seconds."""
    return [
        event.at_us / 1e6
        for event in run.events
        if isinstance(event.what, Polled)
        and event.what.consumer == member
        and any(tp.partition == partition for tp, *_ in event.what.ranges)
    ]


def act_of(client: str = "java", settings: str = "", late: str = "", partition: int = 0) -> Run:
    """Play an act that pauses a partition for ten seconds."""
    text = ACT.format(client=client, settings=settings, late=late, partition=partition)
    return emulator.run(emulator.loads(text), 0, polls=True)


@pytest.mark.parametrize(
    ("client", "settings"), [("java", ""), ("java", CONSUMER), ("librdkafka", ""), ("aiokafka", "")]
)
def test_a_paused_partition_waits_and_the_other_does_not(client, settings):
    """For ten seconds nothing of it is processed; then all of it is."""
    run = act_of(client, settings)
    held, other = polled_at(run, 0), polled_at(run, 1)

    assert not [at for at in held if 12.5 < at < 21.9]
    assert [at for at in held if at > 22]
    assert [at for at in other if 13 < at < 21]
    assert (run.ledger.lost, run.ledger.reprocessed) == (0, 0)
    assert run.ledger.backlog < 10


@pytest.mark.parametrize(("settings", "is_kept"), [("", False), (COOPERATIVE, True)])
def test_an_eager_rebalance_ends_a_pause_and_a_cooperative_one_keeps_it(settings, is_kept):
    """A member joins meanwhile; g-0 keeps partition 0 and processes it at once, or after the pause."""
    run = act_of(settings=settings, late=LATE)
    early = [at for at in polled_at(run, 0) if 12.5 < at < 21.9]

    assert polled_at(run, 1, "late")
    assert (not early) is is_kept
    assert run.ledger.lost == 0


def test_pausing_what_is_not_assigned_is_reported():
    """Kafka throws IllegalStateException: the run is inconclusive, and says so."""
    run = act_of(late=LATE.replace("14s", "5s"), partition=1)

    refused = [event.what for event in run.events if isinstance(event.what, ActRefused)]
    assert [what.why for what in refused] == ["g-0 owned none of these partitions"]
    assert not run.conclusive


def test_what_a_pause_says_is_checked():
    """A topic, partitions that exist, a time."""
    bad = ACT.format(client="java", settings="", late="", partition=7).replace('for = "10s"', "")
    with pytest.raises(ScenarioError) as caught:
        emulator.loads(bad)
    assert "for" in str(caught.value)
    with pytest.raises(ScenarioError, match=r"did you mean .*pause_partitions"):
        emulator.loads(bad.replace("pause_partitions", "pause_partition"))


def test_polls_are_events_while_partitions_are_paused():
    """And folded before and after."""
    text = ACT.format(client="java", settings="", late="", partition=0)
    run = emulator.run(emulator.loads(text), 0, keep_events=False)

    assert run.folded.live_shares()["its application has paused partitions"] > 0.2
    assert run.folded.share > 0.4
    assert run.digest == emulator.run(emulator.loads(text), 0, mode="exact").digest
