"""Clients and coordinator together, undisturbed: groups form, share, hand over, come to rest."""

from __future__ import annotations

import pytest

from protocols.groups.classic.states import State

from .cluster import Cluster
from .process import Process

EAGER = ("range",)
COOPERATIVE = ("cooperative-sticky",)
KINDS = pytest.mark.parametrize("assignors", [EAGER, ("roundrobin",), ("sticky",), COOPERATIVE])


def cluster(partitions: int = 6) -> Cluster:
    return Cluster(partitions, [1_000, 3_000, 700, 5_000])


def start(made: Cluster, name: str, assignors: tuple[str, ...], **settings) -> Process:
    process = Process(made, name, assignors, len(made.processes), **settings)
    made.processes[name] = process
    process.restless = True
    process.poll()
    return process


def rest(made: Cluster, limit_ms: int = 60_000) -> int:
    """Let time pass until the group is at rest; how long it took, in ms."""
    for waited in range(0, limit_ms, 100):
        if made.settled():
            made.check()
            return waited
        made.run(100)
    raise AssertionError("the group found no rest")


@KINDS
def test_members_share_all_partitions(assignors):
    """Three members, each partition with one of them."""
    made = cluster()
    for name in ("a", "b", "c"):
        start(made, name, assignors)
    made.run(10_000)
    rest(made)

    assert [2, 2, 2] == [len(p.client.state.assignment) for p in made.alive()]


@KINDS
def test_all_records_are_read_and_committed(assignors):
    """Produced records are processed and, with automatic commits, committed in the end."""
    made = cluster(3)
    for name in ("a", "b"):
        start(made, name, assignors)
    for number in range(30):
        made.produce(number, 7)
        made.run(300)
    made.run(20_000)
    found = {n: made.group.committed(n) for n in range(3)}

    assert dict.fromkeys(range(3), 70) == found


@KINDS
def test_a_newcomer_gets_its_share(assignors):
    """After one generation more under an eager assignor, two under the cooperative one."""
    made = cluster()
    for name in ("a", "b"):
        start(made, name, assignors)
    made.run(10_000)
    rest(made)
    before = made.group.group.generation
    start(made, "c", assignors)
    made.run(10_000)
    rest(made)

    assert 2 == len(made.processes["c"].client.state.assignment)
    assert (2 if assignors == COOPERATIVE else 1) == made.group.group.generation - before


@KINDS
def test_a_leaver_hands_over_at_once(assignors):
    """Close: the others take over at their next heartbeat, within one round."""
    made = cluster()
    for name in ("a", "b", "c"):
        start(made, name, assignors)
    made.run(10_000)
    rest(made)
    made.processes["b"].restless = False
    made.run(200)
    made.processes["b"].close()
    made.run(1_000)
    took = rest(made)

    assert not made.processes["b"].alive
    assert took <= 4_000
    assert [3, 3] == [len(p.client.state.assignment) for p in made.alive()]


@KINDS
def test_a_crash_is_noticed_after_the_session(assignors):
    """The survivors take over when the session has run out, not before."""
    made = cluster()
    for name in ("a", "b"):
        start(made, name, assignors, session_timeout_ms=10_000)
    made.run(10_000)
    rest(made)
    made.processes["a"].crash()
    made.run(6_000)
    assert State.STABLE is made.group.state
    assert 2 == len(made.group.group.members)

    made.run(9_000)
    rest(made)
    assert 6 == len(made.processes["b"].client.state.assignment)


def test_a_static_member_comes_back_without_a_rebalance():
    """Same instance, new process: same partitions, same generation."""
    made = cluster()
    for name in ("a", "b"):
        start(made, name, EAGER, group_instance_id=f"i-{name}")
    made.run(10_000)
    rest(made)
    generation = made.group.group.generation
    owned = made.processes["a"].client.state.assignment
    made.processes["a"].crash()
    made.run(2_000)
    start(made, "a2", EAGER, group_instance_id="i-a")
    made.run(2_000)
    rest(made)

    assert generation == made.group.group.generation
    assert owned == made.processes["a2"].client.state.assignment


def test_a_static_members_double_is_fenced():
    """The older process of two with one instance id throws."""
    made = cluster()
    first = start(made, "a", EAGER, group_instance_id="i")
    made.run(5_000)
    start(made, "a2", EAGER, group_instance_id="i")
    made.run(10_000)

    assert first.failed is not None
    assert "FencedInstanceIdException" == first.failed.exception


@KINDS
def test_a_moved_coordinator_causes_no_rebalance(assignors):
    """It loads the group from the log; members find it and go on."""
    made = cluster()
    for name in ("a", "b"):
        start(made, name, assignors)
    made.run(10_000)
    rest(made)
    generation = made.group.group.generation
    made.move_coordinator()
    made.run(10_000)
    rest(made)

    assert generation == made.group.group.generation


@KINDS
def test_members_of_a_group_cut_off_are_replaced_and_come_back(assignors):
    """Longer than its session: evicted, partitions lost on return, and shared again."""
    made = cluster()
    for name in ("a", "b"):
        start(made, name, assignors, session_timeout_ms=10_000)
    made.run(10_000)
    rest(made)
    made.cut.add("a")
    made.run(25_000)
    assert 6 == len(made.processes["b"].client.state.assignment)

    made.cut.clear()
    made.run(40_000)
    rest(made)
    assert [3, 3] == [len(p.client.state.assignment) for p in made.alive()]
