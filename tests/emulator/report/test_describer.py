"""Groups followed to the end of a run: which state they are in, since when, and who is missing."""

from __future__ import annotations

from emulator import events as ev
from emulator.report.group_state import Describer, Protocol

from ..ledger.history import GROUP, P0, P1, History


class FinishedRun(History):
    """The events of coordinators of both protocols."""

    def added(self, name, member_id="", replaced="", protocol=Protocol.CONSUMER):
        added = ev.MemberAdded(
            group=GROUP,
            consumer=name,
            member_id=member_id or f"{name}-id",
            replaced=replaced,
            protocol=protocol,
        )
        return self.say(added)

    def removed(self, name, member_id=""):
        member_id = member_id or f"{name}-id"
        gone = ev.MemberRemoved(group=GROUP, consumer=name, member_id=member_id, why="left")
        return self.say(gone)

    def raised(self, epoch):
        return self.say(ev.GroupEpochRaised(group=GROUP, epoch=epoch, reason="x", consumer="a"))

    def aimed(self, epoch, **targets):
        changed = tuple(sorted(targets.items()))
        computed = ev.TargetComputed(group=GROUP, epoch=epoch, assignor="uniform", changed=changed)
        return self.say(computed)

    def moved(self, name, epoch, *assigned):
        moved = ev.MemberMoved(
            group=GROUP,
            consumer=name,
            epoch=epoch,
            state="STABLE",
            assigned=assigned,
            revoking=(),
        )
        return self.say(moved)

    def described(self):
        describer = Describer()
        for event in self.events:
            describer.feed(event)
        (group,) = describer.groups
        return group


def one_of(a=Protocol.CONSUMER, b=Protocol.CONSUMER):
    """A group of the consumer protocol in epoch 2, whose members have what they shall have."""
    finished = FinishedRun()
    finished.added("a", protocol=a)
    finished.added("b", protocol=b)
    finished.raised(2)
    finished.aimed(2, a=(P0,), b=(P1,))
    finished.moved("a", 2, P0)
    finished.moved("b", 2, P1)
    return finished


def test_the_time_of_a_state_is_its_start():
    """Events that do not change the state do not change the time."""
    finished = one_of()
    since = finished.now_us
    finished.wait(5)
    finished.moved("b", 2, P1)

    assert ("Stable", since) == (finished.described().state, finished.described().since_us)


def test_unowned_partitions_are_described():
    """A removed member leaves partitions without an owner until there is a new target."""
    finished = one_of()
    finished.removed("b")
    finished.raised(3)
    left = finished.described()
    finished.aimed(3, a=(P0, P1))
    finished.moved("a", 3, P0, P1)

    assert ("Assigning", (P1,)) == (left.state, left.unowned)
    assert () == finished.described().unowned


def test_a_restarted_process_differs_from_its_old_member():
    """A crashed member stays until its session expires, while its process has joined again."""
    finished = one_of()
    finished.added("b", "b-new")
    finished.raised(3)
    both = finished.described()
    finished.moved("b", 3)
    finished.removed("b", "b-id")

    assert ["a", "b", "b (previous process)"] == [one.consumer for one in both.members]
    assert ["a", "b"] == [one.consumer for one in finished.described().members]
    assert 3 == finished.described().members[1].epoch


def test_a_static_member_that_is_replaced_is_one_member():
    """The new process takes the place of the old one."""
    finished = one_of()
    finished.added("b", "b-new", replaced="b-id")

    assert ["a", "b"] == [one.consumer for one in finished.described().members]
    assert (P1,) == finished.described().members[1].assigned


def test_it_is_counted_how_long_classic_members_alone_wait_for_a_target():
    """Only a member of the consumer protocol triggers one."""
    finished, with_other = one_of(Protocol.CLASSIC), one_of(Protocol.CLASSIC)
    finished.removed("b")
    for one in (finished, with_other):
        one.raised(3)
        one.wait(60)
        one.say(ev.ConsumerPaused(consumer="a"))

    assert 60_001_000 == finished.described().unserved_us
    assert 0 == with_other.described().unserved_us
    assert [Protocol.CLASSIC, Protocol.CONSUMER] == [
        one.protocol for one in with_other.described().members
    ]


def test_a_group_is_of_its_members_protocol_before_its_first_epoch():
    """Members that subscribe to nothing yet, as those with a pattern, raise no epoch."""
    finished = FinishedRun()
    finished.added("a")
    finished.moved("a", 1)
    finished.stable(1, (("a", ()),))
    finished.raised(2)
    finished.aimed(2, a=(P0,))
    finished.moved("a", 2, P0)
    group = finished.described()

    assert group.protocol == Protocol.CONSUMER
    assert [member.protocol for member in group.members] == [Protocol.CONSUMER]


def test_a_classic_group_goes_through_the_phases_of_its_rebalance():
    """From the join phase over the leader's work to a generation, and out of it."""
    finished = FinishedRun()
    finished.added("a", protocol=Protocol.CLASSIC)
    reason = {"reason": "joined", "consumer": "a"}
    finished.say(ev.RebalanceStarted(group=GROUP, generation=0, **reason))
    seen = [finished.described()]
    ended = {"generation": 1, "protocol": "range", "leader": "a", "consumers": ("a",)}
    finished.say(ev.JoinPhaseEnded(group=GROUP, **ended))
    seen.append(finished.described())
    finished.say(ev.GroupStabilised(group=GROUP, generation=1, assignment=(("a", (P0, P1)),)))
    seen.append(finished.described())
    finished.say(ev.GroupEmptied(group=GROUP, generation=2))
    seen.append(finished.described())

    states = ["PreparingRebalance", "CompletingRebalance", "Stable", "Empty"]
    assert states == [one.state for one in seen]
    assert (1, "range", (P0, P1)) == (seen[2].epoch, seen[2].assignor, seen[2].members[0].assigned)
    assert ((), ()) == (seen[3].members, seen[3].late)
