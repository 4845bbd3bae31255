"""Random requests, invalid ones among them, with failing logs and failovers.

The driver holds ``check()`` and the law of replay after every step; here are the laws that need
history: generations do not fall, no request is answered twice, an acknowledged commit is durable,
every member has a session timer.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from protocols.groups.classic.states import State
from protocols.messages import (
    DeleteGroupsRequest,
    DescribeGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetToCommit,
    Protocol,
    TopicDescription,
)
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import GROUP, Call, protocols, some

OFFERS: list[tuple[Protocol, ...]] = [
    protocols("range"),
    protocols("range", "sticky"),
    protocols("sticky", "range"),
    protocols("range", topics=("t", "u")),
    protocols("range", "roundrobin", generation_id=3),
]
RAW = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.MESSAGE_TOO_LARGE,
]
INSTANCES = st.sampled_from([None, None, None, "R", "S"])
TIMES_MS = st.sampled_from([1, 500, 3_000, 5_000, 6_000, 30_000, 300_000, 4_000_000])


class Coordination(RuleBasedStateMachine):
    @initialize(
        size=st.sampled_from([2, 3, 100]),
        delay_ms=st.sampled_from([0, 3_000]),
        known=st.booleans(),
        formed=st.integers(0, 3),
    )
    def begin(self, size: int, delay_ms: int, known: bool, formed: int) -> None:
        topics = [TopicDescription("t", "id-1", (1, 1, 1))] if known else None
        self.driver = GroupDriver(
            topics=topics,
            group_max_size=size,
            group_initial_rebalance_delay_ms=delay_ms,
            offset_metadata_max_bytes=3,
            offsets_retention_minutes=60,
        )
        self.ids = ["", "nobody"]
        self.generation = 0
        self.incarnation = object()
        self.commits: list[tuple[Call, int]] = []
        self.unheard = set[str]()
        for place, instance in enumerate([None, "R", "S"][:formed]):
            self.come_in(place, instance)
        self.settle()

    # -- requests ----------------------------------------------------------------------------

    def an_id(self, place: int) -> str:
        group = self.driver.shard.groups.get(GROUP)
        known = sorted({*group.members, *group.pending_joins} if group else ())
        choices = [*known, *known, *self.ids]
        return choices[place % len(choices)]

    @rule(
        place=st.integers(0, 50),
        fresh=st.booleans(),
        instance=INSTANCES,
        offers=st.sampled_from(OFFERS),
        session_ms=st.sampled_from([5_999, 6_000, 20_000]),
        rebalance_ms=st.sampled_from([1_000, 10_000, 60_000]),
        version=st.sampled_from([3, 8, 9]),
    )
    def join(self, place, fresh, instance, offers, session_ms, rebalance_ms, version) -> None:
        member_id = "" if fresh else self.an_id(place)
        call = self.driver.join(
            f"c{place % 4}",
            member_id,
            instance=instance,
            offers=offers,
            session_ms=session_ms,
            rebalance_ms=rebalance_ms,
            version=version,
        )
        if call.answers and call.answer.member_id:
            self.ids.append(call.answer.member_id)

    @rule(place=st.integers(0, 50), instance=INSTANCES)
    def come_in(self, place, instance) -> None:
        """A member joins as it should, in both steps if it is dynamic."""
        times = {"session_ms": 6_000, "rebalance_ms": 10_000}
        asked = self.driver.join(f"c{place % 4}", instance=instance, **times)
        if asked.answers and asked.answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.driver.join("c", asked.answer.member_id, **times)

    @rule()
    def settle(self) -> None:
        """Time passes until the join phase ends; then all bring and fetch the assignment."""
        driver = self.driver
        if driver.state is State.PREPARING_REBALANCE:
            driver.advance((driver.timers[f"join-{GROUP}"] - driver.now_us) / 1000)
        if driver.state is State.COMPLETING_REBALANCE:
            for member_id in sorted(driver.group.members):
                driver.sync(member_id, {member_id: some(0)})

    @precondition(lambda self: self.driver.state is State.PREPARING_REBALANCE)
    @rule()
    def all_rejoin(self) -> None:
        """Every member that is not parked yet sends its JoinGroup."""
        for member_id, member in sorted(self.driver.group.members.items()):
            group = self.driver.shard.groups.get(GROUP)
            if group and member_id in group.members and member_id not in group.joining:
                self.driver.join(
                    "c",
                    member_id,
                    offers=member.protocols,
                    session_ms=member.session_timeout_ms,
                    rebalance_ms=member.rebalance_timeout_ms,
                )

    @precondition(lambda self: self.driver.state is not State.ABSENT)
    @rule()
    def all_live(self) -> None:
        """Every member sends a heartbeat."""
        for member_id in sorted(self.driver.group.members):
            self.driver.heartbeat(member_id)

    @rule(
        place=st.integers(0, 50),
        behind=st.sampled_from([0, 0, 0, 1, -1]),
        instance=INSTANCES,
        name=st.sampled_from(["range", "range", "sticky", None]),
    )
    def sync(self, place, behind, instance, name) -> None:
        member_id = self.an_id(place)
        self.driver.sync(
            member_id,
            {member_id: some(0), "nobody": some(1)},
            generation=self.current() - behind,
            group_instance_id=instance,
            protocol_name=name,
            version=4,
        )

    @rule(place=st.integers(0, 50), behind=st.sampled_from([0, 0, 1]), instance=INSTANCES)
    def heartbeat(self, place, behind, instance) -> None:
        self.driver.heartbeat(self.an_id(place), self.current() - behind, instance)

    @rule(entries=st.lists(st.tuples(st.integers(0, 50), INSTANCES), min_size=1, max_size=3))
    def leave(self, entries) -> None:
        self.driver.leave(*(LeavingMember(self.an_id(n), instance) for n, instance in entries))

    @rule(
        place=st.integers(0, 50),
        generation=st.sampled_from([None, None, -1, 0]),
        numbers=st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
        metadata=st.sampled_from(["", "ok", "too long"]),
    )
    def commit(self, place, generation, numbers, metadata) -> None:
        start = len(self.driver.log)
        call = self.driver.commit(
            self.an_id(place),
            dict.fromkeys(numbers, place),
            generation=self.current() if generation is None else generation,
            metadata=metadata,
        )
        written = max(len(self.driver.log), start)
        self.commits.append((call, written))

    @rule()
    def other_group_commits(self) -> None:
        offset = OffsetToCommit(some(0)[0], 1)
        self.driver.send(OffsetCommitRequest(group_id="other", offsets=(offset,)))

    @rule(stable=st.booleans(), everything=st.booleans())
    def fetch(self, stable, everything) -> None:
        self.driver.fetch(*(() if everything else (0, 1)), stable=stable)

    @rule(topic=st.sampled_from(["t", "u"]))
    def delete_offsets(self, topic) -> None:
        self.driver.send(OffsetDeleteRequest(group_id=GROUP, partitions=some(0, 1, topic=topic)))

    @rule()
    def delete_groups(self) -> None:
        self.driver.send(DeleteGroupsRequest(group_ids=(GROUP, "other")))

    @rule()
    def describe(self) -> None:
        self.driver.send(DescribeGroupRequest(group_id=GROUP))

    # -- the world ---------------------------------------------------------------------------

    @rule(ms=TIMES_MS)
    def time_passes(self, ms) -> None:
        self.driver.advance(ms)

    @rule(hold=st.booleans())
    def the_log_slows_down_or_catches_up(self, hold) -> None:
        self.driver.hold = hold
        if not hold:
            self.driver.replicate()

    @rule(share=st.integers(0, 100))
    def part_becomes_durable(self, share) -> None:
        durable, end = self.driver.coordinator.high_watermark, len(self.driver.log)
        self.driver.replicate(durable + (end - durable) * share // 100)

    @precondition(lambda self: self.driver.coordinator._log.in_flight())
    @rule(place=st.integers(0, 9), raw=st.sampled_from(RAW))
    def an_append_fails(self, place, raw) -> None:
        in_flight = self.driver.coordinator._log.in_flight()
        was_away = GROUP not in self.driver.shard.groups
        self.driver.reject(in_flight[place % len(in_flight)], raw)
        self.commits = [(call, end) for call, end in self.commits if not call.answered]
        self.generation = 0
        if was_away:
            self.unheard.update(self.untimed_joins())

    @rule(raw=st.sampled_from(RAW))
    def the_next_append_fails(self, raw) -> None:
        self.driver.refuse = raw

    @rule(share=st.integers(0, 100), durable=st.booleans())
    def the_coordinator_moves(self, share, durable) -> None:
        low, end = self.driver.coordinator.high_watermark, len(self.driver.log)
        kept = low + (end - low) * share // 100
        self.driver.fail_over(kept=kept, durable=kept if durable else low)
        self.generation = 0
        self.commits.clear()

    @rule(topic_id=st.sampled_from(["id-1", "other"]))
    def a_topic_is_deleted(self, topic_id) -> None:
        self.driver.topic_deleted("t", topic_id)

    # -- laws --------------------------------------------------------------------------------

    def current(self) -> int:
        group = self.driver.shard.groups.get(GROUP)
        return group.generation if group else 1

    @invariant()
    def generations_do_not_fall(self) -> None:
        group = self.driver.shard.groups.get(GROUP)
        if group is None:
            self.generation = 0
            return
        fell = group.generation < self.generation
        made_anew = group.generation == 0
        assert not fell or made_anew
        self.generation = group.generation

    @invariant()
    def no_request_is_answered_twice(self) -> None:
        assert all(len(call.answers) <= 1 for call in self.driver._calls.values())

    @invariant()
    def an_acknowledged_commit_is_durable(self) -> None:
        for call, end in self.commits:
            if not call.answered:
                continue
            answer = call.answer
            assert isinstance(answer, OffsetCommitResponse)
            if any(error is ErrorCode.NONE for _, error in answer.errors):
                assert end <= self.driver.coordinator.high_watermark
        self.commits = [(call, end) for call, end in self.commits if not call.answered]

    @invariant()
    def members_and_phases_are_timed(self) -> None:
        timers = self.driver.timers
        for group in self.driver.shard.groups.values():
            for member_id, member in group.members.items():
                parked = member_id in group.joining or member_id in group.syncing
                waits_for_us = parked and member_id not in group.newcomers
                assert waits_for_us or member.timer in timers
            preparing = group.state is State.PREPARING_REBALANCE
            assert preparing == (f"join-{group.group_id}" in timers)
            assert bool(group.pending_syncs) == (f"sync-{group.group_id}" in timers)
        assert "expire-group-metadata" in timers

    def untimed_joins(self) -> set[str]:
        """Return the member ids given out that have no timer any more."""
        group = self.driver.shard.groups.get(GROUP)
        pending = group.pending_joins if group else ()
        timers = self.driver.timers
        return {one for one in pending if f"heartbeat-{GROUP}-{one}" not in timers}

    @invariant()
    def an_id_given_out_is_timed(self) -> None:
        """Unless its timer ran out while its group was deleted, which then was taken back.

        A timer finds no group and does nothing; the group comes back as it was, with the id.
        """
        assert self.untimed_joins() <= self.unheard

    def teardown(self) -> None:
        """Left alone with a log that works, every group runs empty and is forgotten."""
        if not hasattr(self, "driver"):
            return
        self.driver.hold, self.driver.refuse = False, None
        self.driver.replicate()
        self.driver.advance(7_200_000)

        assert {} == dict(self.driver.shard.groups)


class LongCoordination(Coordination):
    """The same, at length."""


def _bounds(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


Coordination.TestCase.settings = _bounds(60, 40)
TestCoordination = Coordination.TestCase
LongCoordination.TestCase.settings = _bounds(900, 60)
TestLongCoordination = pytest.mark.soak(pytest.mark.long(LongCoordination.TestCase))
