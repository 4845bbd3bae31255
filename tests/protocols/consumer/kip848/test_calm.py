"""What polls in a calm client's place, against the client itself: the same state in the end."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.kip848.calm import CalmPoll, quiet_until
from protocols.consumer.kip848.threads import Lag
from protocols.consumer.reader import NEVER
from protocols.messages import Envelope, FetchedRecords, FetchRequest, FetchResponse, Header
from protocols.values import replace

from .driver import Beat, ClientDriver

BROKERS = (1, 2)
TIMERS = ("background", "poll", "woken")
POLL_US = 40_000
END_US = 200_000
"""No heartbeat and no commit is due before that."""


class Story:
    """A consumer whose brokers answer, threads run and handler works as long as a seed says."""

    def __init__(self, seed: int, *, lag_us: int, answer_us: int, work_us: int, most: int) -> None:
        self._seed = seed
        self._most = {"lag": lag_us, "answer": answer_us, "work": work_us, "records": most}
        self.driver = ClientDriver(topics={"t": 5}, brokers=BROKERS, max_poll_records=4)
        self.driver.stable({0: 0, 1: 0, 2: 0, 3: 0, 4: 0})
        self.client = self.driver.client
        self.fetcher = self.client.consumer.fetcher
        object.__setattr__(self.client.consumer, "lags", self._lag)
        self.begin_us = self.now_us = self.driver.now_us
        self.answers = {sent.node: self._answer_us(sent.node) for sent in self._fetches()}
        self.works_until: int | None = None
        self.log: list[tuple[int, str, Any]] = []
        self.calm: CalmPoll | None = None

    def _drawn(self, what: str, who: object) -> int:
        return zlib.crc32(f"{self._seed} {what} {who} {self.now_us}".encode()) % self._most[what]

    def _lag(self, lag: Lag, now: int) -> int:
        assert now == self.now_us
        return self._drawn("lag", lag)

    def _answer_us(self, broker: int) -> int:
        return self.now_us + 1 + self._drawn("answer", broker)

    def _fetches(self) -> list[Any]:
        return self.driver.pending(FetchRequest)

    # -- one moment after the other ------------------------------------------------------------

    def tell(self, until_us: int) -> None:
        """Let everything happen before a time since the beginning."""
        while True:
            when, what = min(self.moments())
            if when >= self.begin_us + until_us:
                return
            self.now_us = self.driver.now_us = when
            self._happens(what)

    def moments(self) -> list[tuple[int, str]]:
        """Return what comes next: of equal times answers are first, then timers by name."""
        moments = [(when, f"answer {broker}") for broker, when in self.answers.items()]
        if self.calm is None:
            timers = self.driver.timers
            moments += [(timers[name], name) for name in TIMERS if name in timers]
        else:
            moments.append((self.calm.events_us, "background"))
            moments.append((self.calm.wait_us, self.calm.waits_for or ""))
        if self.works_until is not None:
            moments.append((self.works_until, "works no more"))
        return moments

    def _happens(self, what: str) -> None:
        self.log.append((self.now_us, what, dict(self.fetcher.positions.valid())))
        if what.startswith("answer"):
            self._answered(int(what.split()[1]))
        elif what == "works no more":
            self.works_until = None
            self.poll()
        elif what == "background" and self.calm is not None:
            self.calm.take_events()
            self._ask(self.fetcher.take_free())
        elif self.calm is not None:
            self._returned(self.calm.turn(self.now_us))
        else:
            del self.driver.timers[what]
            self._carry_out(self.client.wake(what, self.now_us))

    def poll(self) -> None:
        """Poll: what it returns is worked on."""
        if self.calm is None:
            self._carry_out(self.client.poll(self.now_us, POLL_US))
        else:
            self._returned(self.calm.poll(self.now_us, POLL_US))

    def _returned(self, handed: tuple[Handed, ...] | None) -> None:
        if handed is not None:
            self.log.append((self.now_us, "returned", handed))
            self.works_until = self.now_us + 1 + self._drawn("work", "handler")

    def _carry_out(self, step: Any) -> None:
        before, asked = len(self.driver.returned), len(self._fetches())
        self.driver.carry_out(step)
        if len(self.driver.returned) > before:
            self._returned(self.driver.returned[-1])
        self._ask([sent.node for sent in self._fetches()[asked:]])

    def _ask(self, brokers: list[int]) -> None:
        for broker in brokers:
            self.log.append((self.now_us, "asked", broker))
            self.answers[broker] = self._answer_us(broker)

    def _answered(self, broker: int) -> None:
        del self.answers[broker]
        self.driver.sent = [sent for sent in self.driver.sent if sent.node != broker]
        parts = []
        for tp in self.fetcher.positions.by_leader[broker]:
            first = self.fetcher.positions.valid()[tp]
            parts.append(FetchedRecords(tp, first, first + self._drawn("records", tp)))
        brought = [part for part in parts if part.next_offset > part.first]
        response = FetchResponse(broker, tuple(brought))
        if self.calm is not None:
            self.calm.answered(self.now_us, response)
            return
        self._carry_out(self.client.handle(Envelope(Header("c", -1), response), self.now_us))

    # -- folded, or not --------------------------------------------------------------------------

    def fold(self) -> None:
        """Let the other poll in the client's place from now on."""
        found = self.client.calm(self.now_us)
        assert found is not None, "the client is calm"
        due_us, self.calm = found
        assert due_us >= self.begin_us + END_US

    def unfold(self) -> None:
        """Let the client go on."""
        assert self.calm is not None
        for name in TIMERS:
            self.driver.timers.pop(name, None)
        self.driver.carry_out(self.client.resume(self.calm))
        self.calm = None

    def end(self) -> tuple[object, ...]:
        """Return all there is to know in the end."""
        timers = {name: when for name, when in self.driver.timers.items() if name in TIMERS}
        if self.works_until is not None:
            timers.pop("poll", None)
        marks = self.client._wait, self.client._answered
        rest = (
            sum(self.fetcher.shares_ahead(1_000_000)),
            self.fetcher.in_flight,
            self.fetcher.positions.consumed(),
        )
        return self.client.state, marks, timers, rest, self.works_until, self.log


@settings(deadline=None, max_examples=10)
@given(
    seed=st.integers(0, 2**32),
    lag_us=st.sampled_from([1, 3, 3_000, 60_000]),
    answer_us=st.sampled_from([3_000, 20_000, 70_000]),
    work_us=st.sampled_from([2_000, 5_000, 90_000]),
    most=st.sampled_from([1, 2, 9]),
    folds_ms=st.integers(1, 60),
    lasts_ms=st.integers(1, 90),
)
def test_a_client_that_was_folded_for_a_while_is_none_the_worse(
    seed, lag_us, answer_us, work_us, most, folds_ms, lasts_ms
):
    """State, marks, timers, buffer and everything that happened are those of one that never was."""
    ends = []
    for folds in (True, False):
        story = Story(seed, lag_us=lag_us, answer_us=answer_us, work_us=work_us, most=most)
        story.poll()
        story.tell(folds_ms * 1_000)
        while story.works_until is None:
            story.tell(min(story.moments())[0] + 1 - story.begin_us)
        story.works_until, story.now_us = None, story.works_until
        story.driver.now_us = story.now_us
        if folds:
            story.fold()
        story.poll()
        story.tell((folds_ms + lasts_ms) * 1_000)
        if folds:
            story.unfold()
        story.tell(END_US)
        ends.append(story.end())

    assert ends[1] == ends[0]


def calm_driver(**settings) -> ClientDriver:
    """A member that reads two partitions, and is outside poll."""
    driver = ClientDriver(**settings)
    driver.stable({0: 0, 1: 0})
    driver.poll()
    return driver


@pytest.mark.parametrize(
    ("settings", "waits_us"),
    [({}, 100_000), ({"max_poll_interval_ms": 150}, 75_000), ({"retry_backoff_ms": 0}, 1_000)],
)
def test_a_calm_poll_waits_for_records_no_longer_than_a_turn_or_half_its_poll_interval(
    settings, waits_us
):
    """``pollForFetches`` waits at most ``retry.backoff.ms``, and for half the time that is left."""
    driver = calm_driver(**settings)
    _, calm = driver.client.calm(driver.now_us)

    assert calm.poll(driver.now_us, 1_000_000) is None
    assert driver.now_us + waits_us == calm.wait_us


def test_a_calm_client_is_quiet_until_its_next_heartbeat_or_commit():
    """Neither is due yet: then something else than records can happen."""
    driver = calm_driver()
    due_us, calm = driver.client.calm(driver.now_us)

    assert min(driver.state.beat.due_us, driver.state.autocommit_us) == due_us
    assert (NEVER, None) == (calm.wait_us, calm.waits_for)


@pytest.mark.parametrize(
    "changed",
    [{"number": 7}, {"armed_us": None}, {"retry_us": 10**12}],
    ids=["a heartbeat is on its way", "none is planned", "it waits for a back-off"],
)
def test_a_client_with_an_unusual_heartbeat_is_not_quiet(changed):
    """Each of these alone lets something else than records happen."""
    driver = calm_driver()
    state, consumer = driver.state, driver.client.consumer
    assert quiet_until(state, consumer, driver.now_us) is not None

    state = replace(state, beat=state.beat._replace(**changed))

    assert quiet_until(state, consumer, driver.now_us) is None


def test_a_wake_up_of_a_poll_changes_nothing_if_no_listener_is_to_be_called():
    """The wait for records goes on."""
    driver = calm_driver()
    driver.begin_poll(1_000)
    driver.advance(1)

    step = driver.client.notice(driver.now_us)

    assert (driver.state, ()) == (step.state, step.effects)


def test_a_state_that_comes_again_has_its_times_later():
    """Whether events wait for the background thread or not."""
    driver = calm_driver()
    now, (_, calm) = driver.now_us, driver.client.calm(driver.now_us)
    calm.poll(now, 1_000_000)
    events_us, wait_us = calm.events_us, calm.wait_us
    calm.restore(calm.saved(now), now + 7)
    assert (events_us + 7, wait_us + 7) == (calm.events_us, calm.wait_us)

    calm.take_events()
    calm.restore(calm.saved(now), now + 7)
    assert (NEVER, wait_us + 14) == (calm.events_us, calm.wait_us)


@pytest.mark.parametrize(
    "disturb",
    [
        lambda driver: driver.advance(10_000),
        lambda driver: driver.begin_poll(1_000),
        lambda driver: driver.commit_async({0: 0}),
        lambda driver: driver.unsubscribe(),
        lambda driver: driver.lose_coordinator(),
        lambda driver: driver.disconnect(1),
        lambda driver: driver.beat_due(),
        lambda driver: driver.to_own(0),
        lambda driver: driver.client.consumer.positions.reset(driver.state.assignment[0]),
    ],
)
def test_a_client_that_waits_for_anything_else_is_not_calm(disturb):
    """A wait, a commit, a heartbeat on its way, a lost connection, a new target, a reset."""
    driver = calm_driver()
    disturb(driver)

    assert driver.client.calm(driver.now_us) is None


def test_a_heartbeat_that_was_answered_lets_the_client_be_calm_again():
    """It has nothing in flight, and the next one is an interval away."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0, 1: 0})
    driver.beat_due()
    driver.beaten()
    driver.poll()

    assert [] == driver.pending(Beat)
    assert driver.client.calm(driver.now_us) is not None
