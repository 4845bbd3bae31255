"""Steps that the coordinator takes for a member: where exactly a fault aimed at one strikes."""

from __future__ import annotations

from emulator.events import (
    Appended,
    BrokerDown,
    CommitAccepted,
    CommitAnswered,
    CoordinatorMoved,
    FaultMissed,
    GroupStabilised,
    JoinPhaseEnded,
    ListenerCalled,
    MemberAdded,
    RebalanceStarted,
)

from ..stage import SECOND
from ..stage import staged as fully_staged

GROUP = """work = "5ms"

[[group.member]]
name = "late"
start = "8s"
"""
TOPIC = 'partitions = 4\nrate = "4/s"'


def killed(step, member="late"):
    """Kill the coordinator's broker at a step of a member that joins at 8 s."""
    fault = '[[fault]]\nid = "x"\ncrash_broker = "coordinator of g"\n'
    when = f'when = {{ member = "{member}", step = "{step}", after = "8s" }}'
    run = fully_staged(fault + when, group=GROUP, run_for="30s", topic=TOPIC)
    assert [] == run.all(FaultMissed)
    return run


def before_the_kill(run, kind):
    """Return what had happened between the start of the newcomer and the kill."""
    died = run.only(BrokerDown).row
    return [event for event in run.after(8 * SECOND, kind) if event.row < died]


def test_a_join_group_is_parked_while_others_have_not_joined():
    """The newcomer is a member by then, and the join phase has not ended."""
    run = killed("JoinGroup parked")

    assert ["late"] == [event.what.consumer for event in before_the_kill(run, MemberAdded)]
    assert 1 == len(before_the_kill(run, RebalanceStarted))
    assert [] == before_the_kill(run, JoinPhaseEnded)
    assert 1 == run.only(CoordinatorMoved).what.generation


def test_the_join_phase_has_ended_before_any_answer_arrives():
    """Its answers are in flight; no member has an assignment."""
    run = killed("join phase ended")
    (ended,) = before_the_kill(run, JoinPhaseEnded)

    assert ended.at_us == run.only(BrokerDown).at_us
    assert 2 == ended.what.generation
    assert [] == before_the_kill(run, GroupStabilised)


def test_a_sync_group_is_parked_while_the_assignment_is_not_safe():
    """The leader's has been written, and is lost with the log it was written to."""
    leader = killed("join phase ended").first(JoinPhaseEnded).what.leader
    run = killed("SyncGroup parked", member=leader)
    written = [dict(event.what.records) for event in before_the_kill(run, Appended)]

    assert "GroupMetadata" in written[-1]
    assert [] == before_the_kill(run, GroupStabilised)
    assert 1 == run.only(CoordinatorMoved).what.generation


def test_the_group_is_stable_before_anybody_has_its_assignment():
    """The next coordinator knows it all the same."""
    run = killed("group stable")
    (stable,) = before_the_kill(run, GroupStabilised)

    assert stable.at_us == run.only(BrokerDown).at_us
    assert [] == [
        event for event in before_the_kill(run, ListenerCalled) if event.what.call == "assigned"
    ]
    assert 2 == run.only(CoordinatorMoved).what.generation


def test_a_commit_is_appended_before_it_is_safe():
    """It is only in the dead leader's log; its client gets no answer."""
    run = killed("commit appended", member="g-0")
    accepted = before_the_kill(run, CommitAccepted)[-1]
    appended = before_the_kill(run, Appended)[-1]

    assert accepted.at_us == run.only(BrokerDown).at_us
    assert accepted.what.log_offset == appended.what.log_offset
    assert "g-0" == accepted.what.consumer
    answers = run.all(CommitAnswered, commit=accepted.what.commit)
    assert {"NONE"}.isdisjoint(event.what.error for event in answers)


def test_the_last_join_is_answered_at_once_and_never_parked():
    """There is no member left to wait for."""
    faults = "".join(
        f'[[fault]]\nid = "{member}"\npause = "{member}"\nfor = "1ms"\n'
        f'when = {{ member = "{member}", step = "JoinGroup parked", after = "8s" }}\n'
        for member in ("g-0", "g-1", "g-2", "late")
    )
    run = fully_staged(faults, group=GROUP, run_for="15s", topic=TOPIC)

    assert 1 == len(run.all(FaultMissed))
    assert {"late"}.isdisjoint(event.what.fault for event in run.all(FaultMissed))
