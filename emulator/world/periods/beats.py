"""Heartbeats that are no part of a period: each member goes on to send them at its own interval.

Members of the classic protocol send a heartbeat every three seconds and commit every five, so that both
recur after fifteen only. A heartbeat that changes nothing but sessions is left out of the period, as metadata
requests are (:mod:`~emulator.world.periods.upkeep`): it is sent when it is due, whatever the application does,
and its response is handled where that to a metadata request would be. One that may wait behind a commit, or meets
a poll that begins or ends to wait, is played. What a period has to be for that is measured here; those to come
are calculated in :mod:`~emulator.world.periods.beats_ahead`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from assignors.values import dataclass
from emulator.events import CommitAnswered, CommitSent, Event
from emulator.world.network import broker_party
from emulator.world.periods.upkeep import Habit, process_of
from protocols.consumer.classic.heartbeat import HEARTBEAT
from protocols.consumer.classic.machine import Client
from protocols.consumer.classic.periods import NEXT_BEAT, SESSION_END
from protocols.consumer.classic.state import Api
from protocols.consumer.clients import FirstHeartbeat, PollsCheck, Unanswered
from protocols.consumer.lookup import Known
from protocols.consumer.reader import MS, turn_interval_us
from protocols.groups.classic.group import session_timer
from protocols.groups.classic.states import State as GroupState
from protocols.values import replace

if TYPE_CHECKING:
    from emulator.world.cluster.hosts import Host
    from emulator.world.consumer.process import Process
    from emulator.world.periods.state import State
    from emulator.world.world import World
    from protocols.consumer.clients import ClientProfile

HEARTBEAT_KIND = "Heartbeat"
"""The kind of these requests."""


class Times(NamedTuple):
    """The times (us) that the heartbeats of a member depend on."""

    every_us: int
    there_us: int
    """From the member to its coordinator."""

    trip_us: int
    """There and back."""

    session_us: int
    thread_us: int
    """Between two turns of the heartbeat thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beats:
    """The heartbeats of one member beside a period, and what they may meet; times are relative to its beginning."""

    times: Times
    habit: Habit
    sent_us: range
    """When those were sent that the known period has; its first time is that of the run."""

    commits: Sequence[tuple[int, int]]
    """When each commit was sent, and when its answer was handled, within the period."""

    contact_us: int | None
    """When the last commit arrived; None: there is none."""

    @property
    def different(self) -> int:
        """How many heartbeats in a row are each at another place of the period; then the places recur."""
        return self.habit.period_us // math.gcd(self.habit.period_us, self.times.every_us)

    def handled_us(self, sent_us: int) -> int | None:
        """Return when the response to a heartbeat is handled; None: it meets something else.

        A coordinator answers one that is sent before a commit before it reads that.
        """
        times = self.times
        handled_us = self.habit.handled_us(sent_us + times.trip_us, times.thread_us)
        if handled_us is None or self._waits(sent_us, handled_us):
            return None
        return handled_us

    def _waits(self, sent_us: int, handled_us: int) -> bool:
        """Return whether a heartbeat waits behind a commit, or meets something in an instant."""
        period_us, trip_us = self.habit.period_us, self.times.trip_us
        begin_us = sent_us % period_us
        arrives_us = begin_us + trip_us
        if handled_us - sent_us >= period_us or arrives_us % period_us in self.habit.waits:
            return True
        return any(
            sent + more <= arrives_us and begin_us <= answered + more
            for sent, answered in self.commits
            for more in (-period_us, 0, period_us)
            if begin_us >= sent + more or arrives_us == sent + more
        )

    def meets(self, sent_us: int, handled_us: int) -> bool:
        """Return whether a request of another kind is open during a commit, or meets a wait."""
        period_us = self.habit.period_us
        begin_us = sent_us % period_us
        end_us = begin_us + handled_us - sent_us
        arrives_us = (sent_us + self.times.trip_us) % period_us
        if end_us - begin_us >= period_us or arrives_us in self.habit.waits:
            return True
        return any(
            sent + more <= end_us and begin_us <= answered + more
            for sent, answered in self.commits
            for more in (-period_us, 0, period_us)
        )

    def behind(self, sent_us: int) -> int:
        """Return how many of the known period were sent behind a time of the run."""
        return len([each for each in self.sent_us if each > sent_us])


def beats_of(
    world: World,
    before: State,
    after: State,
    events: Iterable[Event],
    habits: Mapping[str, Any],
) -> dict[str, Beats] | None:
    """Return the heartbeats between two states that differ in nothing else; None: they are not all regular.

    What they do is compared with what is expected of them: the sessions are renewed when it says so.
    """
    found, windows = {}, _commits(before, after, events)
    for process, old, new in zip(
        world.consumers.everyone(), before.timers, after.timers, strict=False
    ):
        habit = habits.get(process.name)
        times = _times_of(world, process, after.at_us - before.at_us)
        if times is None or type(habit) is not Habit:
            return None
        due_us, next_us = old[NEXT_BEAT], new[NEXT_BEAT]
        sent_us = range(due_us, next_us, times.every_us)
        is_due = old.get(HEARTBEAT) == due_us > before.at_us and new.get(HEARTBEAT) == next_us
        if not is_due or next_us < due_us or (next_us - due_us) % times.every_us:
            return None
        commits = windows.get(process.name, [])
        beats = found[process.name] = Beats(
            times=times,
            habit=replace(habit, turns=((-1, due_us - before.at_us),)),
            sent_us=sent_us,
            commits=commits,
            contact_us=_contact_us(commits, habit.period_us, times.there_us),
        )
        if not _is_as_expected(world, process, beats, before.at_us, old):
            return None
    return found


def _times_of(world: World, process: Process, period_us: int) -> Times | None:
    """Return the times of a member; None: its heartbeats depend on what else it does.

    Its thread looks at polls and at its session when a heartbeat is due, because neither is due before.
    """
    client: Any = process.client
    if not isinstance(client, Client) or not isinstance(client.state.coordinator, Known):
        return None
    if not _are_accepted(world, process):
        return None
    settings, profile = client.consumer.settings, client.consumer.profile
    every_us, thread_us = settings.heartbeat_interval_ms * MS, turn_interval_us(settings)
    session_us = settings.session_timeout_ms * MS
    if not _is_at_turns(profile) or every_us % thread_us:
        return None
    if session_us <= 2 * every_us or settings.max_poll_interval_ms * MS <= every_us + period_us:
        return None
    if any(flight.api is Api.HEARTBEAT for flight in client.state.in_flight.values()):
        return None
    wire, party = world.run.wire, broker_party(client.state.coordinator.broker)
    now = world.run.kernel.now
    there_us = wire.delay(process.party, party, now)
    trip_us = there_us + wire.delay(party, process.party, now)
    return Times(every_us, there_us, trip_us, session_us, thread_us)


def _is_at_turns(profile: ClientProfile) -> bool:
    """Return whether a client sends heartbeats from a thread that awaits nothing else, as Java's does."""
    return (
        not profile.heartbeats_wait_for
        and profile.unanswered_heartbeat is Unanswered.SENT
        and profile.first_heartbeat is FirstHeartbeat.JOINED
        and profile.polls_check is PollsCheck.TURNS
        and profile.wakes_for_group
        and not profile.fetches_when_drained
    )


def _are_accepted(world: World, process: Process) -> bool:
    """Return whether the coordinator answers the heartbeats of a member at once, and without an error.

    A group whose member was removed begins a rebalance: the others learn of it by their next heartbeats.
    """
    client: Any = process.client
    group_id, generation = process.blueprint.group.id, client.state.generation
    host = host_of(world, process)
    group = host.coordinator.state.groups.get(group_id)
    if group is None or group.state is not GroupState.STABLE or group.generation != generation.id:
        return False
    is_known = client.state.coordinator.broker == host.broker
    is_member = generation.member_id in group.members
    return is_known and is_member and not world.brokers.disk_us(host.broker)


def host_of(world: World, process: Process) -> Host:
    """Return the only coordinator of a member's group."""
    (host,) = world.offsets_topic.shard_of(process.blueprint.group.id).hosts.values()
    return host


def _commits(
    before: State, after: State, events: Iterable[Event]
) -> dict[str, list[tuple[int, int]]]:
    """Return when the commits of each process were open in a period, relative to its beginning.

    One that was sent before it has a negative time; one without an answer is open to the end.
    """
    opened = {name: each.sent_us - before.at_us for name, each in before.in_flight.items()}
    found: dict[str, list[tuple[int, int]]] = {}
    for event in events:
        what, at_us = event.what, event.at_us - before.at_us
        if type(what) is CommitSent:
            opened[what.commit] = at_us
        elif type(what) is CommitAnswered and what.commit in opened:
            found.setdefault(process_of(what.commit), []).append((opened.pop(what.commit), at_us))
    for name, sent_us in opened.items():
        window = (sent_us, after.at_us - before.at_us)
        found.setdefault(process_of(name), []).append(window)
    return found


def _contact_us(commits: Iterable[tuple[int, int]], period_us: int, there_us: int) -> int | None:
    """Return when the last commit of a period reached the coordinator, relative to its beginning."""
    arrived = [sent + there_us for sent, _ in commits if sent + there_us < period_us]
    return max(arrived, default=None)


def _is_as_expected(
    world: World, process: Process, beats: Beats, begin_us: int, old: Mapping[str, int]
) -> bool:
    """Return whether both copies of the session end when the last request says, and no poll is newer.

    *old*: the deadlines of the member when the period began.
    """
    client: Any = process.client
    session_us, beat = beats.times.session_us, client.state.beat
    ends_us, sent_us = session_ends_us(world, process), beats.sent_us
    handled = [beats.handled_us(each - begin_us) for each in sent_us]
    if None in handled or ends_us is None:
        return False
    if not handled:
        contact_us = beats.contact_us
        renewed = contact_us is None or ends_us == begin_us + contact_us + session_us
        return renewed and beat.session_us == old[SESSION_END]
    handled_us = begin_us + (handled[-1] or 0)
    if handled_us >= client.consumer.clock.polled_us or beat.session_us != handled_us + session_us:
        return False
    return ends_us == contacted_us(beats, sent_us[-1], begin_us) + session_us


def contacted_us(beats: Beats, sent_us: int, begin_us: int) -> int:
    """Return when the coordinator last heard of a member in a period that begins at *begin_us*.

    *sent_us*: its last heartbeat.
    """
    arrived_us = sent_us + beats.times.there_us
    return arrived_us if beats.contact_us is None else max(arrived_us, begin_us + beats.contact_us)


def session_name(process: Process) -> str:
    """Return the name of a member's session among the timers of its coordinator."""
    client: Any = process.client
    return session_timer(process.blueprint.group.id, client.state.generation.member_id)


def session_ends_us(world: World, process: Process) -> int | None:
    """Return when the coordinator ends the session of a member; None: it has none."""
    return host_of(world, process).timers.deadline(session_name(process))


def deadlines_apart(world: World, beats: Mapping[str, Beats]) -> frozenset[str]:
    """Return the names of all deadlines that these heartbeats, and no periods, move."""
    if not beats:
        return frozenset()
    names = map(session_name, world.consumers.everyone())
    return frozenset([HEARTBEAT, NEXT_BEAT, SESSION_END, *names])
