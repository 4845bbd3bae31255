"""A group of the consumer protocol, described from its coordinator's events."""

from __future__ import annotations

import pytest

import emulator
from emulator import events as ev
from emulator.report.group_state import DescribedGroup, describe

from ..ledger.history import GROUP, P0, P1, History

TWO_CONSUMERS = """
title = "two members of the consumer protocol"
run_for = "20s"

[[topic]]
name = "orders"
partitions = 4
rate = "1/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "5ms"
settings = { "group.protocol" = "consumer" }
"""


class FinishedRun(History):
    """The events of a coordinator of the consumer protocol."""

    def added(self, name):
        member_id = f"{name}-id"
        self.say(
            ev.MemberAdded(group=GROUP, consumer=name, member_id=member_id, protocol="consumer")
        )

    def raised(self, epoch):
        raised = ev.GroupEpochRaised(group=GROUP, epoch=epoch, reason="joined", consumer="a")
        self.say(raised)

    def aimed(self, epoch, **targets):
        changed = tuple(sorted(targets.items()))
        computed = ev.TargetComputed(group=GROUP, epoch=epoch, assignor="uniform", changed=changed)
        self.say(computed)

    def moved(self, name, epoch, *assigned, state="STABLE", revoking=()):
        moved = ev.MemberMoved(
            group=GROUP,
            consumer=name,
            epoch=epoch,
            state=state,
            assigned=assigned,
            revoking=revoking,
        )
        self.say(moved)

    @property
    def described(self) -> DescribedGroup | None:
        return describe(GROUP, self.events, len(self.events) - 1)


@pytest.fixture
def finished() -> FinishedRun:
    """Return a run in which a has both partitions and has to revoke one for b, which has joined."""
    finished = FinishedRun()
    finished.added("a")
    finished.raised(2)
    finished.aimed(2, a=(P0, P1))
    finished.moved("a", 2, P0, P1)
    finished.added("b")
    finished.raised(3)
    finished.aimed(3, a=(P0,), b=(P1,))
    finished.moved("b", 3, state="UNRELEASED_PARTITIONS")
    finished.moved("a", 2, P0, state="UNREVOKED_PARTITIONS", revoking=(P1,))
    return finished


def test_revoking_and_waiting_members_are_described(finished):
    """Each member with its epoch, its partitions, and the missing part of its target."""
    group = finished.described
    a, b = group.members

    assert ("Reconciling", 3, 3, "uniform") == (
        group.state,
        group.epoch,
        group.target_epoch,
        group.assignor,
    )
    assert (2, "UNREVOKED_PARTITIONS", (P0,), (P1,)) == (a.epoch, a.state, a.assigned, a.revoking)
    assert (3, (), (P1,)) == (b.epoch, b.assigned, b.missing)


def test_the_state_follows_what_happens(finished):
    """Stable when all have arrived, assigning once an epoch rose, empty when all are gone."""
    finished.moved("a", 3, P0)
    finished.moved("b", 3, P1)
    assert "Stable" == finished.described.state
    finished.raised(4)
    assert "Assigning" == finished.described.state
    for name in ("a", "b"):
        removed = ev.MemberRemoved(group=GROUP, consumer=name, member_id=f"{name}-id", why="left")
        finished.say(removed)
    finished.say(ev.GroupEmptied(group=GROUP, generation=5))

    assert ("Empty", 5, 5) == (
        finished.described.state,
        finished.described.epoch,
        finished.described.target_epoch,
    )


def test_a_group_that_goes_over_keeps_what_its_members_had():
    """Classic members begin with what they had; a classic group is not described."""
    finished = FinishedRun()
    given = (("a", (P0, P1)),)
    finished.say(ev.GroupStabilised(group=GROUP, generation=6, assignment=given))
    assert finished.described is None

    converted = {"group": GROUP, "generation": 6, "consumer": "b", "members": ("a",)}
    finished.say(ev.GroupConverted(protocol="consumer", **converted))
    (member,) = finished.described.members
    assert ("Stable", 6, (P0, P1)) == (finished.described.state, member.epoch, member.assigned)
    finished.say(ev.GroupConverted(protocol="classic", **converted))

    assert finished.described is None


def test_it_agrees_with_the_coordinator(tmp_path):
    """Whenever the coordinator says that the group is stable, the description says the same."""
    file = tmp_path / "two.toml"
    file.write_text(TWO_CONSUMERS)
    events = emulator.run(emulator.load(file), 0).events
    stable = [event for event in events if isinstance(event.what, ev.GroupStabilised)]

    assert stable
    for event in stable:
        group = describe("billing", events, event.row)
        assert ("Stable", event.what.generation) == (group.state, group.epoch)
        assert dict(event.what.assignment) == {m.consumer: m.assigned for m in group.members}
