"""Random runs polled by arithmetic, against the same runs polled through the client each time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from emulator.events import Event
from emulator.scenario.load import scenario_of
from emulator.scenario.model import Scenario
from emulator.scenario.part import ScenarioSource
from emulator.world.build import play
from emulator.world.consumer.polling.exchanges import ARRIVAL, Exchanges
from emulator.world.consumer.polling.folded_time import Live
from emulator.world.consumer.polling.poll_loop import PollLoop
from emulator.world.periods.search import Periods

from ..brute_force.test_brute_force import seeds, tidy, unhurried
from ..brute_force.truncated_worlds import TRUNCATED
from ..brute_force.worlds import DISTURBED


def played(scenario: Scenario, seed: int, *, folding: bool) -> tuple[list[Event], str]:
    """Play with machines asserting their invariants; return all events and their digest."""
    events: list[Event] = []
    outcome = play(scenario, seed, (events.append,), check=True, folding=folding)
    return events, outcome.digest


def hold_equal(document: dict, seed: int) -> None:
    """Assert that both ways of polling write the same events."""
    scenario = scenario_of(tidy(document), ScenarioSource("random", None))
    quick, digest = played(scenario, seed, folding=True)
    slow, slow_digest = played(scenario, seed, folding=False)
    for ours, theirs in zip(quick, slow, strict=False):
        assert ours == theirs
    assert len(quick) == len(slow)
    assert digest == slow_digest


def world(run_for: str, topic: dict, settings: dict, **group: object) -> dict:
    """A group "g" that reads a topic "t", as plain values."""
    reads = {"id": "g", "topics": ["t"], "settings": {"auto.offset.reset": "earliest", **settings}}
    return {
        "title": "one group",
        "run_for": run_for,
        "topic": [{"name": "t", **topic}],
        "group": [{"members": 2, **reads, **group}],
    }


LATE = {"exponential": "4ms"}
OFTEN = {"auto.commit.interval.ms": "1s"}
LATE_TIMERS = {
    "empty polls": world("12s", {"partitions": 1, "rate": "0.2/s"}, {}, lateness=LATE),
    "answers when a poll is over": world(
        "8s",
        {"partitions": 4, "rate": "0.2/s"},
        {"fetch.max.wait.ms": "9ms", **OFTEN},
        lateness=LATE,
        poll_timeout="7ms",
    ),
    "records when a poll is over": world(
        "11s",
        {"partitions": 2, "rate": "50/s"},
        OFTEN,
        lateness=LATE,
        poll_timeout="3ms",
        work="1ms",
    ),
    "a heartbeat beside a sample": {
        **world(
            "10s",
            {"partitions": 1, "rate": {"bursts": {"rate": "40/s", "for": "1s", "every": "7s"}}},
            {"fetch.max.wait.ms": "50ms"},
            lateness=LATE,
        ),
        "network": {"latency": "0s"},
    },
    "a rate in steps": world(
        "60s",
        {
            "partitions": 2,
            "rate": {
                "steps": [
                    {"at": "2s", "rate": "10/s"},
                    {"at": "21s", "rate": "20/s"},
                    {"at": "41s", "rate": "10/s"},
                ]
            },
        },
        {**OFTEN, "heartbeat.interval.ms": "1s"},
        work="1ms",
    ),
    "a rate that rises and falls": world(
        "20s",
        {
            "partitions": 2,
            "rate": {
                "curve": {
                    "every": "7s",
                    "points": [{"at": "1s", "rate": "2/s"}, {"at": "3s", "rate": "40/s"}],
                }
            },
        },
        OFTEN,
        lateness=LATE,
    ),
    "work that ends beside a sample": {
        **world(
            "8s",
            {"partitions": 3, "rate": {"poisson": "0.5/s"}},
            {"metadata.max.age.ms": "3s"},
            lateness={"uniform": ["0s", "3ms"]},
            commit="none",
            members=1,
            work="50ms",
        ),
        "network": {"loss": 0.05, "latency": "500us"},
    },
}


@pytest.mark.parametrize("document", LATE_TIMERS.values(), ids=LATE_TIMERS)
def test_a_folded_poll_ends_as_late_as_the_timer_that_ends_it(document):
    """Lateness of threads shows in the same way, whatever happens in a poll that is overdue."""
    hold_equal(document, 1)


def test_a_folded_poll_counts_as_a_poll_until_it_finds_records():
    """``max.poll.interval.ms`` runs from when poll returned, not from when it was called."""
    document = world(
        "20s",
        {"partitions": 1, "rate": "0.13/s"},
        {
            "auto.commit.interval.ms": "60s",
            "heartbeat.interval.ms": "10s",
            "max.poll.interval.ms": "4s",
        },
        poll_timeout="3s",
        work="3900ms",
    )

    hold_equal(document, 0)


def crashed(restart_after: str, act: dict[str, object], **settings: object) -> dict:
    """One member crashes at 2 s; the others wait for the end of its session, 6 s later."""
    beats = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "fetch.max.wait.ms": 20}
    document = world(
        "10s",
        {"partitions": 5, "rate": "5/s"},
        {"auto.commit.interval.ms": 400, **beats, **settings},
        members=3,
        work="45ms",
        poll_timeout="10ms",
    )
    other = {"name": "u", "partitions": 2, "rate": "1/s"}
    crash = {"crash": "g-0", "at": "2s", "restart_after": restart_after}
    cluster = {"brokers": 5, "settings": {"group.initial.rebalance.delay.ms": 0}}
    topics = [*document["topic"], other]
    return {**document, "cluster": cluster, "topic": topics, "fault": [crash, act]}


COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("settings", [{}, COOPERATIVE], ids=["eager", "cooperative"])
@pytest.mark.parametrize(
    "act",
    [
        {"pause": "g-1", "for": "700ms", "at": "4s"},
        {"hang": "g-1", "for": "700ms", "at": "4001ms"},
        {"crash": "g-1", "restart_after": "300ms", "at": "4s"},
        {"subscribe": "g", "topics": ["t", "u"], "at": "4s"},
    ],
    ids=lambda act: next(iter(act)),
)
def test_polls_of_a_member_that_waits_for_a_rebalance_change_no_event(act, settings):
    """Whatever interrupts the wait finds the member in the poll that it would be in."""
    hold_equal(crashed("600ms", act, **settings), 0)


ACTS_BETWEEN_POLLS = {
    "other topics": {"subscribe": "g", "topics": ["u"]},
    "a pause of its partitions": {"pause_partitions": "g-0", "for": "1s"},
}


@pytest.mark.parametrize("act", ACTS_BETWEEN_POLLS.values(), ids=ACTS_BETWEEN_POLLS)
def test_an_empty_poll_has_ended_before_a_later_step_of_another_member_at_that_instant(act):
    """What that step causes is called before the next poll, which begins when that one ends."""
    step = {"member": "g-1", "step": "record done", "after": "12s"}
    settings = {"max.poll.records": 1}
    group = {"members": 3, "work": "100ms", "poll_timeout": "100ms"}
    document = world("25s", {"partitions": 3, "rate": "1/s"}, settings, **group)
    document["topic"].append({"name": "u", "partitions": 3, "rate": "1/s"})
    document["network"] = {"latency": "0s"}
    document["cluster"] = {"settings": {"group.initial.rebalance.delay.ms": 0}}
    document["fault"] = [
        {"hang": "g-1", "at": "10.5s", "for": "5966667us"},
        {"close": "g-2", "at": "11.3s"},
        {**act, "when": step},
    ]

    hold_equal(document, 0)


@pytest.mark.parametrize("settings", [{}, COOPERATIVE], ids=["eager", "cooperative"])
def test_a_member_that_waits_for_a_rebalance_polls_without_events(settings):
    """A wait costs the same however long the session timeout is."""

    def kernel_events(session_ms: int) -> int:
        act = {"close": "g-2", "at": "39s"}
        document = crashed("1s", act, **settings, **{"session.timeout.ms": session_ms})
        whole = tidy({**document, "run_for": "40s"})
        return play(scenario_of(whole, ScenarioSource("wait", None)), 0, ()).kernel_events

    assert kernel_events(30_000) < kernel_events(10_000)


def test_heartbeats_and_commits_do_not_end_the_polls_of_a_member_that_waits(monkeypatch):
    """A member that waits in poll when they are sent and answered polls on without events."""
    begun: list[int] = []
    begin = PollLoop.poll

    def counted(loop: PollLoop, now: int) -> object:
        begun.append(now)
        return begin(loop, now)

    monkeypatch.setattr(PollLoop, "poll", counted)
    monkeypatch.setattr(Periods, "begin", lambda _: None)
    document = world("60s", {"partitions": 4, "rate": "10/s"}, {}, work="2ms", members=1)
    play(scenario_of(tidy(document), ScenarioSource("quiet", None)), 0, ())

    assert len([now for now in begun if now > 10_000_000]) < 10


def busy(latency: str, work: str, rate: str = "20/s", **settings: object) -> dict:
    """Members that work on batches of four records, which end when heartbeats and commits are due."""
    often = {
        "max.poll.records": 4,
        "auto.commit.interval.ms": 400,
        "heartbeat.interval.ms": 400,
        "session.timeout.ms": 6_000,
        **settings,
    }
    document = world("8s", {"partitions": 4, "rate": rate}, often, work=work)
    return {**document, "network": {"latency": latency}}


READ_LATE = {"max.poll.records": 1, "auto.commit.interval.ms": 100, "retry.backoff.ms": 300}
BUSY = {
    "no latency": busy("0s", "25ms"),
    "responses at the end of a batch": busy("50ms", "25ms"),
    "responses in the middle of a batch": busy("30ms", "40ms"),
    "responses at turns of the heartbeat thread": busy("100ms", "50ms"),
    "commits that follow one another": busy("5ms", "25ms", **{"auto.commit.interval.ms": 100}),
    "a commit in each poll": busy("5ms", "25ms", **{"auto.commit.interval.ms": 0}),
    "a heartbeat in each poll": busy("5ms", "25ms", **{"retry.backoff.ms": 70}),
    "members that wait between batches": busy("20ms", "6ms"),
    "responses that the next poll reads": busy("5ms", "12ms", "3/s", **READ_LATE),
}


@pytest.mark.parametrize("document", BUSY.values(), ids=BUSY)
def test_a_poll_with_a_duty_that_is_folded_changes_no_event(document):
    """Commits that are due while a member works are sent when it polls next, in both ways."""
    hold_equal(document, 0)


def test_a_member_that_always_works_polls_without_events():
    """Duties in its polls, and responses in its batches, do not end its polls by arithmetic."""
    scenario = scenario_of(tidy(busy("5ms", "25ms")), ScenarioSource("busy", None))
    folded = play(scenario, 0, ()).folded

    assert folded.live_us.keys() == {Live.NOT_STABLE}


@settings(unhurried, max_examples=4)
@given(document=DISTURBED, seed=seeds)
def test_a_poll_loop_that_is_folded_changes_no_event(document, seed):
    """Which consumers poll by arithmetic, and when, shows in nothing that is written."""
    hold_equal(document, seed)


@pytest.mark.long
@settings(unhurried, max_examples=6)
@given(document=TRUNCATED, seed=seeds)
def test_a_poll_loop_that_is_folded_changes_no_event_of_a_truncation(document, seed):
    """The same for logs that are truncated under their readers."""
    hold_equal(document, seed)


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=10)
@given(document=DISTURBED, seed=seeds)
def test_a_poll_loop_that_is_folded_changes_no_event_for_long(document, seed):
    """The same for more runs."""
    hold_equal(document, seed)


def test_what_is_known_of_a_poll_before_it_is_calculated_is_true(monkeypatch):
    """Heartbeats without a calculation: poll does wait then."""
    known: list[bool] = []
    waits = Exchanges._waits

    def checked(exchanges: Exchanges, now: int) -> bool:
        found = waits(exchanges, now)
        if found:
            loop = exchanges._loop
            loop.play(now, ARRIVAL)
            known.append(loop.calm.waits_for is not None and loop.next_arrival_us > now)
        return found

    monkeypatch.setattr(Exchanges, "_waits", checked)
    monkeypatch.setattr(Periods, "begin", lambda _: None)
    often = {"heartbeat.interval.ms": 350, "retry.backoff.ms": 50}
    topics = [
        {"name": "t", "partitions": 4, "rate": "4/s"},
        {"name": "u", "partitions": 3, "rate": "4/s", "produce_until": "29500ms"},
    ]
    document = world("50s", {}, often, work="19ms") | {"topic": topics}
    document["group"][0]["topics"] = ["t", "u"]
    play(scenario_of(tidy(document), ScenarioSource("known", None)), 0, ())

    assert len(known) > 20
    assert all(known)
