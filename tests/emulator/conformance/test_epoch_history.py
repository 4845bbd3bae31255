"""The epochs of a group of the consumer protocol, from the coordinator's log."""

from dataclasses import replace

import pytest

from assignors.types import TopicPartition
from emulator.conformance.captured.coordinator_log import CoordinatorLine, topic_ids
from emulator.conformance.figures import tolerances_of
from emulator.conformance.history.epochs import epoch_history
from emulator.conformance.history.run import history
from emulator.conformance.observed import Epochs, observe
from emulator.events import (
    Event,
    GroupEpochRaised,
    MemberAdded,
    MemberMoved,
    MemberRemoved,
    TargetComputed,
)

T0, T1 = TopicPartition("t0", 0), TopicPartition("t0", 1)
CRASH = "kip848-crash/run-1"
ID, OTHER = "MqLAo9DuQMWcW0M5zgcNyw", "AqLAo9DuQMWcW0M5zgcNyw"
GIVES = "[GroupId g] Computed a new target assignment for epoch 2 with 'uniform' assignor in 0ms: "


def events_of(text):
    return CoordinatorLine(0, 1, "thread", "GroupMetadataManager", text)


def test_a_crash_raises_the_epoch_and_the_survivors_share(capture):
    """Epochs, targets and steps come back as the coordinator wrote them."""
    run = capture(CRASH)
    found = observe(history(run), tolerances_of(run).view)

    assert (2, 3, 4, 5) == found.epochs
    assert {"m3.1": tuple(f"t0-{number}" for number in range(6))} == found.targets[2]
    assert {
        "m1.1": ("t0-0", "t0-3", "t0-4"),
        "m2.1": ("t0-1", "t0-2", "t0-5"),
    } == found.targets[5]
    assert (
        ("3 STABLE", ()),
        ("4 UNRELEASED_PARTITIONS", ("t0-2",)),
        ("4 STABLE", ("t0-2", "t0-5")),
        ("5 STABLE", ("t0-1", "t0-2", "t0-5")),
    ) == found.steps["m2.1"]
    assert ("3 UNREVOKED_PARTITIONS", ("t0-3", "t0-4", "-t0-5")) in found.steps["m1.1"]


def test_members_come_and_go_under_their_names(capture):
    """A member id is the consumer that had it."""
    whats = [what for _, what in epoch_history(capture(CRASH))]
    gone = [what for what in whats if isinstance(what, MemberRemoved)]

    assert ["m3", "m1", "m2"] == [w.consumer for w in whats if isinstance(w, MemberAdded)]
    assert ("m3", "session expired") == (gone[0].consumer, gone[0].why)
    assert {"left"} == {removed.why for removed in gone[1:]}


def test_a_static_member_that_returns_replaces_its_former_self(capture):
    """The coordinator's line names both ids."""
    text = (
        f"[GroupId g] Static member {ID} with instance id i re-joins the consumer group using the"
        f" consumer protocol. Created a new member {ID} to replace the existing member {OTHER}."
    )
    run = replace(capture(CRASH), coordinator_log=(events_of(text),))
    ((_, added),) = epoch_history(run)

    assert (ID, OTHER) == (added.member_id, added.replaced)


@pytest.mark.parametrize(
    "who", [f"Dynamic member {ID}", f"Static member {ID} with instance id i", f"Member {ID}"]
)
def test_a_member_of_either_protocol_leaves(capture, who):
    """In a group that was converted the coordinator uses other words for classic members."""
    how = "has left group through explicit `LeaveGroup` request; client reason: closed"
    text = f"[GroupId g] {who} {'left the consumer group.' if who[0] == 'M' else how}"
    ((_, removed),) = epoch_history(replace(capture(CRASH), coordinator_log=(events_of(text),)))

    assert (ID, "left") == (removed.member_id, removed.why)


def test_a_process_that_died_and_its_successor_each_keep_their_target(capture):
    """Both members are of one consumer until the session of the old one expires."""
    run = capture(CRASH)
    old, new = dict.fromkeys(i for trace in run.traces[:1] for i in trace.member_ids), "another"
    (old,) = old
    first = f"{old}=MemberAssignment(partitions={{{ID}=[0]}})"
    second = f"{new}=MemberAssignment(partitions={{{ID}=[1]}})"
    lines = (events_of(f"{GIVES}{{{first}}}."), events_of(f"{GIVES}{{{second}, {first}}}."))
    computed = [what for _, what in epoch_history(replace(run, coordinator_log=lines))]

    shown = [[(who, [tp.partition for tp in given]) for who, given in e.changed] for e in computed]
    assert [[(run.traces[0].member, [0])], [("another", [1])]] == shown
    assert [(old,), ("another",)] == [each.member_ids for each in computed]


def test_a_classic_group_has_no_epochs(capture):
    """Nothing is read if no member uses the protocol."""
    assert () == epoch_history(capture("crash-range-auto/run-1"))


def test_everything_of_it_is_in_the_whole_history(capture):
    """Its events stand among the others, in order of time."""
    run = capture("kip848-join/run-21")
    kinds = (GroupEpochRaised, MemberMoved)
    within = [m for m in epoch_history(run) if m[0] <= run.end_us and isinstance(m[1], kinds)]
    whole = [(e.at_us, e.what) for e in history(run) if isinstance(e.what, kinds)]

    assert len(within) > 8
    assert within == whole


def test_a_topic_without_commits_is_known_by_elimination():
    """Two unknown ids are not distinguished."""
    one = events_of(GIVES + f"{{m=MemberAssignment(partitions={{{ID}=[0]}})}}.")
    two = events_of(GIVES + f"{{m=MemberAssignment(partitions={{{ID}=[0], {OTHER}=[1]}})}}.")

    cut = events_of(one.text.replace(ID, ID[:-1] + "x"))

    assert {"a": ID} == topic_ids([one], ["a"])
    assert {} == topic_ids([cut], ["a"])
    assert {} == topic_ids([two], ["a", "b"])


def test_a_member_that_is_removed_late_is_the_process_before_the_restart():
    """The new process runs already when the session of the old one expires."""
    incarnation = 1
    watch = Epochs(name=lambda consumer: f"{consumer}.{incarnation}", shown=str)
    old = TargetComputed(group="g", epoch=2, assignor="uniform", changed=(("m", (T0,)),))
    watch.see(Event(0, 1, None, old, 0))
    incarnation = 2
    removed = MemberRemoved(group="g", member_id="x", consumer="m", why="session expired")
    watch.see(Event(1, 2, None, removed, 1))
    new = TargetComputed(group="g", epoch=3, assignor="uniform", changed=(("n", (T0,)),))
    watch.see(Event(2, 3, None, new, 2))

    assert {"m.1": ("t0-0",)} == watch.targets[2]
    assert {"n.2": ("t0-0",)} == watch.targets[3]


def test_a_target_belongs_to_the_process_of_its_member():
    """A process that was started again runs before its member joins, beside the old one's member."""
    incarnation = 1
    watch = Epochs(name=lambda consumer: f"{consumer}.{incarnation}", shown=str)

    def see(number, what):
        watch.see(Event(number, number, None, what, number))

    def computed(epoch, *changed, member_ids=()):
        return TargetComputed(
            group="g", epoch=epoch, assignor="uniform", changed=changed, member_ids=member_ids
        )

    see(1, MemberAdded(group="g", member_id="old", consumer="m", protocol="consumer"))
    see(2, computed(2, ("m", (T0, T1))))
    incarnation = 2
    see(3, computed(3, ("m", (T1,))))
    see(4, MemberAdded(group="g", member_id="new", consumer="m", protocol="consumer"))
    see(5, computed(4, ("m", ()), ("m", (T0,)), member_ids=("old", "new")))
    see(6, computed(5, ("m", (T1,)), member_ids=("old",)))
    see(7, MemberRemoved(group="g", member_id="old", consumer="m", why="session expired"))
    see(8, computed(6, ("m", (T0, T1))))

    assert {
        2: {"m.1": ("t0-0", "t0-1")},
        3: {"m.1": ("t0-1",)},
        4: {"m.2": ("t0-0",)},
        5: {"m.1": ("t0-1",), "m.2": ("t0-0",)},
        6: {"m.2": ("t0-0", "t0-1")},
    } == watch.targets
