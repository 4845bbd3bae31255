"""Faults and acts on members: close, pause, hang, cut, rolling restart."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import (
    ClientDropped,
    CommitAccepted,
    CommitSent,
    ConsumerResumed,
    ConsumerStarted,
    ConsumerStopped,
    EpochClosed,
    FaultBegan,
    GroupStabilised,
    ListenerCalled,
    MemberRemoved,
    MessageLost,
    PartlyProcessed,
    Processed,
    RebalanceStarted,
)

from ..stage import SECOND, Seen, staged

TOPIC = 'partitions = 6\nrate = "4/s"'
SLOW = 'work = "100ms"'
"""Eight records a second and member, each a tenth: four fifths of the time there is work."""


def played(fault, *, group='work = "5ms"', run_for="20s", **options):
    text = f'[[fault]]\nid = "x"\n{fault}\n'
    return staged(text, topic=TOPIC, group=group, run_for=run_for, **options)


# -- the end of a process ------------------------------------------------------------------------


def test_a_crash_says_nothing_to_anybody():
    """No commit, no listener call, no LeaveGroup: its session has to expire."""
    seen = played('crash = "g-1"\nat = "9s"')

    assert [] == seen.after(9 * SECOND, ListenerCalled, consumer="g-1")
    assert [] == seen.after(9 * SECOND, CommitSent, consumer="g-1")
    assert "session expired" == seen.only(MemberRemoved).what.why


def test_a_crash_cuts_the_record_under_work_off():
    """It is begun and unfinished, which counts apart."""
    seen = played('crash = "g-1"\nat = "9050ms"', group=SLOW, run_for="30s")
    cut_off = seen.only(PartlyProcessed).what

    assert 9_050_000 - 100_000 < cut_off.began_us < 9_050_000
    assert 1 == seen.run.ledger.partial


def test_a_close_finishes_its_batch_commits_and_leaves():
    """The next owner goes on exactly there, at once."""
    seen = played('close = "g-1"\nat = "9050ms"', group=SLOW)
    left = seen.only(MemberRemoved)

    assert "left" == left.what.why
    assert left.at_us < 11 * SECOND
    assert "close" in {event.what.kind for event in seen.all(CommitSent, consumer="g-1")}
    assert 0 == seen.run.ledger.reprocessed == seen.run.ledger.partial


QUIET = """
title = "a close"
run_for = "20s"
topic = [{{ name = "t", partitions = 6, rate = "0/s" }}]
fault = [{{ id = "x", close = "g-1", at = "15050ms" }}]

[[group]]
id = "g"
topics = ["t"]
members = 3
settings = {{ "group.protocol" = "{protocol}", "fetch.max.wait.ms" = {wait_ms} }}
"""


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("wait_ms", [500, 2_000])
def test_a_closed_process_ends_when_its_fetches_are_answered(protocol, wait_ms):
    """It has left at once, so its partitions are read on; without records a fetch waits.

    In captured runs of the Java consumer a close took 14 to 62 ms while 20 records a second came to each
    partition (consumer protocol, 9 closes), and 215 ms or more while none came (117).
    """
    run = emulator.run(emulator.loads(QUIET.format(protocol=protocol, wait_ms=wait_ms)))
    seen = Seen(run)
    (removed,) = seen.all(MemberRemoved, consumer="g-1")
    took_ms = (seen.only(ConsumerStopped, consumer="g-1").at_us - seen.began_us("x")) / 1_000

    assert removed.at_us - seen.began_us("x") < 60_000
    assert 300 < took_ms < wait_ms + 20


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("at_ms", range(15_000, 16_000, 150))
def test_the_last_request_of_a_close_is_answered_after_a_round_trip(protocol, at_ms):
    """It may meet an answer that is on its way; the final commit and the leaving come before it."""
    far = 'network = { latency = "100ms" }\n' + QUIET.format(protocol=protocol, wait_ms=800)
    run = emulator.run(emulator.loads(far.replace("15050ms", f"{at_ms}ms")))
    seen = Seen(run)
    took_ms = (seen.only(ConsumerStopped, consumer="g-1").at_us - seen.began_us("x")) / 1_000

    assert 600 <= took_ms < 1_600


def test_a_close_in_mid_batch_finishes_the_current_record_only():
    """The rest of the poll is committed and never processed: lost."""
    backlog = "partitions = 6\nbacklog = 50"
    text = '[[fault]]\nclose = "g-1"\nat = "9050ms"\nmid_batch = true\n'
    seen = staged(text, topic=backlog, group=SLOW)
    stopped = seen.only(ConsumerStopped, consumer="g-1")
    lost = sum(
        event.what.position - event.what.processed
        for event in seen.all(EpochClosed, consumer="g-1")
    )

    assert 9_050_000 < stopped.at_us < 9_050_000 + 100_000 + SECOND // 10
    assert 0 < lost == seen.run.ledger.lost


@pytest.mark.parametrize(
    ("grace", "how"), [("20s", "closed"), ("300ms", "killed"), ("0s", "killed")]
)
def test_a_process_that_exceeds_its_grace_period_is_killed(grace, how):
    """A record of three seconds is longer than some grace periods."""
    hang = '[[fault]]\nhang = "g-1"\nat = "8900ms"\nfor = "3s"\n'
    seen = played(f'close = "g-1"\nat = "9500ms"\ngrace = "{grace}"\n{hang}', group=SLOW)
    stopped = seen.only(ConsumerStopped)

    assert how == stopped.what.how
    if how == "killed":
        assert 9_500_000 + {"300ms": 300_000, "0s": 0}[grace] == stopped.at_us
        assert "session expired" == seen.only(MemberRemoved).what.why


@pytest.mark.parametrize(("verb", "from_us"), [("crash", 9 * SECOND), ("close", None)])
def test_a_restart_is_counted_from_the_end(verb, from_us):
    """Of a crash that is its own time, of a close when it is through."""
    seen = played(f'{verb} = "g-1"\nat = "9s"\nrestart_after = "4s"', group=SLOW, run_for="30s")
    ended_us = seen.only(ConsumerStopped).at_us
    again = seen.only(ConsumerStarted, consumer="g-1", incarnation=2)

    assert ended_us == (ended_us if from_us is None else from_us)
    assert ended_us + 4 * SECOND == again.at_us == seen.ended_us("x")


# -- standing still ------------------------------------------------------------------------------


@pytest.mark.parametrize(("lasting", "evicted"), [("4s", False), ("8s", True)])
def test_a_pause_stops_handler_poll_and_heartbeats(lasting, evicted):
    """Shorter than the session it only costs time; longer, others take over meanwhile."""
    seen = played(f'pause = "g-1"\nat = "9s"\nfor = "{lasting}"', run_for="40s")
    resumed = seen.only(ConsumerResumed).at_us

    assert 9 * SECOND + int(lasting[0]) * SECOND == resumed
    assert [] == [
        event
        for event in seen.all((CommitSent, ListenerCalled), consumer="g-1")
        if 9 * SECOND < event.at_us < resumed
    ]
    began = {event.what.began_us for event in seen.all(Processed, consumer="g-1")}
    assert not [at for at in began if 9 * SECOND < at < resumed]
    assert evicted == bool(seen.all(MemberRemoved, why="session expired"))
    assert evicted == bool(seen.all(ListenerCalled, consumer="g-1", call="lost"))


def test_a_deadline_that_passes_in_a_pause_is_not_that_of_a_later_request():
    """The lookup of the first second would time out at 30 s; the one after the pause is another.

    A folded run forgets the deadlines of requests that were answered, an exact one reaches them.
    """
    folded = played('pause = "g-1"\nat = "25s"\nfor = "8s"', run_for="40s").run
    exact = emulator.run(folded.scenario, mode="exact")

    assert folded.digest == exact.digest


def test_a_second_pause_during_a_pause_changes_nothing():
    """The first one's end is the end."""
    twice = 'pause = "g-1"\nat = "9s"\nfor = "3s"\n[[fault]]\npause = "g-1"\nat = "10s"\nfor = "9s"'

    assert [12 * SECOND] == played(twice).times(ConsumerResumed)


def test_a_process_that_crashes_during_a_pause_does_not_resume():
    """No delayed step happens."""
    more = '[[fault]]\ncrash = "g-1"\nat = "10s"'
    seen = played(f'pause = "g-1"\nat = "9s"\nfor = "3s"\n{more}')

    assert [] == seen.all(ConsumerResumed)
    assert [10 * SECOND] == seen.times(ConsumerStopped)


@pytest.mark.parametrize(("lasting", "dropped"), [("4s", False), ("12s", True)])
def test_a_hang_stops_the_handler_and_not_the_heartbeats(lasting, dropped):
    """The member leaves by itself, only if ``max.poll.interval.ms`` runs out."""
    seen = played(
        f'hang = "g-1"\nat = "9s"\nfor = "{lasting}"',
        settings='"max.poll.interval.ms" = "8s"',
        run_for="40s",
    )

    assert [] == seen.all(MemberRemoved, why="session expired")
    assert dropped == bool(seen.all(ClientDropped, consumer="g-1"))
    assert dropped == bool(seen.all(MemberRemoved, why="left"))


def test_a_hang_of_an_idle_handler_begins_with_its_next_record():
    """It waits for work, and then takes its whole time."""
    topic = 'partitions = 6\nproduce_from = "14s"\nrate = "4/s"'
    text = '[[fault]]\nhang = "g-1"\nat = "9s"\nfor = "3s"\n'
    seen = staged(text, topic=topic, group='work = "5ms"\ncommit = "sync"', run_for="30s")
    first = seen.first(Processed, consumer="g-1")

    assert first.what.began_us >= 14 * SECOND
    assert first.at_us >= first.what.began_us + 3 * SECOND


def test_a_hang_in_a_pause_begins_with_the_next_record_behind_it():
    pause = '[[fault]]\npause = "g-1"\nat = "8060ms"\nfor = "3s"'
    hang = '[[fault]]\nhang = "g-1"\nat = "10s"\nfor = "5s"'
    group, more = SLOW + '\ncommit = "sync per record"', "backlog = 900"
    seen = staged(f"{pause}\n{hang}", topic=f"{TOPIC}\n{more}", group=group, run_for="20s")
    sent = seen.times(CommitSent, consumer="g-1")
    assert len([at_us for at_us in sent if 11 * SECOND < at_us < 16 * SECOND]) == 1


# -- cut off -------------------------------------------------------------------------------------


def crossing(seen):
    """Return who sent to whom what was lost."""
    return {(event.what.sender, event.what.receiver) for event in seen.all(MessageLost)}


@pytest.mark.parametrize(
    ("parties", "one_way", "lost"),
    [
        ('["g-1", "coordinator of g"]', False, {("g-1", "broker-1")}),
        ('["g-1", "broker-1"]', True, {("g-1", "broker-1")}),
        ('["broker-1", "g-1"]', True, {("broker-1", "g-1")}),
        (
            '["clients", "broker-1"]',
            False,
            {("g-0", "broker-1"), ("g-1", "broker-1"), ("g-2", "broker-1")},
        ),
    ],
)
def test_a_cut_is_between_its_parties_and_in_its_direction(parties, one_way, lost):
    """Other connections are not affected; afterwards all recover."""
    way = "one_way = true" if one_way else ""
    seen = played(f'cut = {parties}\nat = "9s"\nfor = "4s"\n{way}')

    assert lost == crossing(seen)
    assert all(9 * SECOND <= at < 13 * SECOND for at in seen.times(MessageLost))
    assert [] == seen.all(MemberRemoved)


def test_requests_arrive_through_a_cut_of_the_answers_only():
    """The coordinator still gets heartbeats and commits: no member is removed, however long."""
    seen = played(
        'cut = ["coordinator of g", "g-1"]\nat = "9s"\nfor = "12s"\none_way = true',
        settings='"request.timeout.ms" = "2s"\n"auto.commit.interval.ms" = "2s"',
        run_for="30s",
    )
    accepted = [e for e in seen.all(CommitAccepted, consumer="g-1") if 11 <= e.at_us / SECOND < 21]

    assert accepted
    assert "session expired" not in {event.what.why for event in seen.all(MemberRemoved)}


def test_no_requests_through_a_cut_in_the_other_direction():
    """Its session expires without a crash."""
    seen = played(
        'cut = ["g-1", "coordinator of g"]\nat = "9s"\nfor = "12s"\none_way = true', run_for="40s"
    )

    assert "session expired" == seen.first(MemberRemoved, consumer="g-1").what.why


# -- rolling restarts ----------------------------------------------------------------------------


def rolled(more="", *, run_for="60s", **options):
    return played(f'rolling_restart = "g"\nat = "9s"\n{more}', run_for=run_for, **options)


def restarted(seen):
    return [event.what.target for event in seen.all(FaultBegan, verb="restart")]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("", ["g-0", "g-1", "g-2"]),
        ('order = "listed"', ["g-0", "g-1", "g-2"]),
        ('order = "reversed"', ["g-2", "g-1", "g-0"]),
        ('order = ["g-1", "g-0"]', ["g-1", "g-0"]),
    ],
)
def test_members_are_restarted_one_after_the_other_in_order(order, expected):
    """Each is up again before the next goes down."""
    seen = rolled(order)
    ends = [event.what.consumer for event in seen.all(ConsumerStopped)]

    assert expected == restarted(seen) == ends
    assert len(expected) == len(seen.all(ConsumerStarted, incarnation=2))


def test_gap_and_down_time_are_kept():
    """From end to start, and from start to the next begin."""
    seen = rolled('gap = "5s"\ndown_time = "2s"')
    begins = [event.at_us for event in seen.all(FaultBegan, verb="restart")]
    stops, starts = seen.times(ConsumerStopped), seen.times(ConsumerStarted, incarnation=2)

    assert 9 * SECOND == begins[0]
    assert [stop + 2 * SECOND for stop in stops] == starts
    assert [start + 5 * SECOND for start in starts[:-1]] == begins[1:]
    assert starts[-1] == seen.ended_us("x")


def test_with_surge_a_stand_in_starts_before_the_old_one_closes():
    """The group is never smaller; the stand-ins stay. A close waits for a record of each broker."""
    seen = rolled('surge = true\ndown_time = "8s"\ngap = "1s"')
    for member in ("g-0", "g-1", "g-2"):
        up = seen.only(ConsumerStarted, consumer=f"{member}+").at_us
        down = seen.only(ConsumerStopped, consumer=member).at_us
        assert 0 <= down - (up + 8 * SECOND) < SECOND // 4
    assert {"g-0+", "g-1+", "g-2+"} == {
        consumer for consumer, _ in seen.all(GroupStabilised)[-1].what.assignment
    }


@pytest.mark.long
def test_in_random_order_each_member_is_restarted_once():
    """Another seed, another order; the same seed, the same one."""
    orders = [tuple(restarted(rolled('order = "random"', seed=seed))) for seed in range(6)]

    assert {("g-0", "g-1", "g-2")} == {tuple(sorted(order)) for order in orders}
    assert 1 < len(set(orders))
    assert orders[0] == tuple(restarted(rolled('order = "random"', seed=0)))


def test_so_many_members_are_down_at_the_same_time():
    """The next one closes when one of them is back and the gap is over."""
    seen = rolled('max_unavailable = 2\ndown_time = "3s"\ngap = "1s"')
    begins = [event.at_us for event in seen.all(FaultBegan, verb="restart")]
    starts = seen.times(ConsumerStarted, incarnation=2)

    assert [9 * SECOND, 9 * SECOND, min(starts) + 1 * SECOND] == begins
    assert max(starts) == seen.ended_us("x")


def test_each_member_takes_its_own_time_to_start():
    """Drawn from the distribution, and added to the down time."""
    seen = rolled('down_time = "1s"\nstart_up = { uniform = ["2s", "4s"] }')
    stops, starts = seen.times(ConsumerStopped), seen.times(ConsumerStarted, incarnation=2)
    took = [start - stop for stop, start in zip(stops, starts, strict=True)]

    assert all(3 * SECOND <= each <= 5 * SECOND for each in took)
    assert 3 == len(set(took))


def test_a_member_works_on_until_its_sigterm():
    """The grace period includes the time before it."""
    seen = rolled('pre_stop = "2s"\ngrace = "5s"\ngap = "10s"')
    stops = seen.times(ConsumerStopped)
    begins = [event.at_us for event in seen.all(FaultBegan, verb="restart")]
    waited = [stop - begin for begin, stop in zip(begins, stops, strict=True)]
    assert all(2 * SECOND <= each < 2 * SECOND + SECOND // 10 for each in waited)

    hang = '[[fault]]\nhang = "g-0"\nat = "8s"\nfor = "30s"\n'
    seen = rolled(f'pre_stop = "2s"\ngrace = "5s"\norder = ["g-0"]\n{hang}')
    (killed,) = seen.all(ConsumerStopped)
    assert ("killed", 14 * SECOND) == (killed.what.how, killed.at_us)


def test_a_process_that_exceeds_the_grace_period_of_a_rolling_restart_is_killed():
    """So is one whose LeaveGroup waits behind its JoinGroup, in a rebalance that waits for the first."""
    hang = '[[fault]]\nhang = "g-1"\nat = "9s"\nfor = "20s"\n'
    seen = rolled(f'grace = "2s"\ngap = "1s"\n{hang}')
    how = {event.what.consumer: event.what.how for event in seen.all(ConsumerStopped)}

    assert {"g-0": "closed", "g-1": "killed", "g-2": "killed"} == how


def test_static_members_roll_without_a_rebalance():
    """They come back to what they had."""
    seen = rolled('down_time = "1s"\ngap = "2s"', group='work = "5ms"\nstatic = true')

    assert [] == seen.after(9 * SECOND, RebalanceStarted)
    assert 3 == len(seen.all(ConsumerStarted, incarnation=2))
