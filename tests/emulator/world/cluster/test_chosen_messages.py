"""One chosen message that is lost or held up: the fault begins and is over when it is sent."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.events import (
    CommitAccepted,
    CommitAnswered,
    CommitSent,
    FaultBegan,
    FaultEnded,
    FaultMissed,
    GroupStabilised,
    MemberRemoved,
    MessageLost,
    is_data_event,
)
from emulator.metrics.laws import Law, Severity

from ..stage import SECOND, staged

PER_BATCH = 'commit = "sync"\nwork = "5ms"'


def chosen(verb, *, rest='at = "0s"', **match):
    match = {"member": "g-1", **match}
    keys = ", ".join(
        f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"'
        for key, value in match.items()
    )
    return f"[[fault]]\n{verb} = {{ {keys} }}\n{rest}\n"


def lost(**match):
    return chosen("lose_message", **match)


def delayed(by, **match):
    return chosen("delay_message", rest=f'at = "0s"\nby = "{by}"', **match)


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("part", ["request", "response"])
def test_the_fault_begins_and_is_over_when_the_message_is_sent(part, nth):
    """Not when the waiting began: takeovers and drains count from what really happened."""
    seen = staged(lost(kind="OffsetCommit", part=part, nth=nth), run_for="30s")
    commits = seen.all(CommitSent, consumer="g-1")
    missing = seen.only(MessageLost)

    assert seen.began_us("lose_message-1") == missing.at_us == seen.ended_us("lose_message-1")
    assert commits[nth - 1].what.commit == missing.what.commit
    assert seen.only(FaultBegan).id == missing.cause
    accepted = [event.what.commit for event in seen.all(CommitAccepted)]
    assert (part == "response") == (missing.what.commit in accepted)


def test_the_error_of_a_lost_commit_is_a_control_event_and_other_answers_are_not():
    """The error is caused by the loss of the message."""
    seen = staged(lost(kind="OffsetCommit", part="response"), run_for="60s")
    missing = seen.only(MessageLost)
    failed = seen.only(CommitAnswered, commit=missing.what.commit)

    assert "NONE" != failed.what.error
    assert seen.control(failed.id) is failed
    assert missing.id == failed.cause
    assert {None} == {event.id for event in seen.all(CommitAnswered, error="NONE")}


def test_control_events_are_numbered_and_have_control_events_as_causes():
    """Rows number all events; ids number those that are part of the digest."""
    seen = staged('[[fault]]\ncrash = "g-1"\nat = "9s"', run_for="30s")
    controls = [event for event in seen.events if not is_data_event(event.what)]

    assert list(range(len(controls))) == [event.id for event in controls]
    assert list(range(len(seen.events))) == [event.row for event in seen.events]
    assert all(event.cause is None or event.cause < event.id for event in controls)
    assert {None} == {event.id for event in seen.events if is_data_event(event.what)}


def test_the_member_is_not_blamed_before_the_message_is_lost():
    """A commit that was lost twenty seconds in explains nothing of what came before."""
    crash = '[[fault]]\nid = "kill"\ncrash = "g-1"\nat = "9s"\nrestart_after = "8s"\n'
    seen = staged(lost(kind="OffsetCommit", nth=2) + crash, run_for="40s")
    removed = seen.first(MemberRemoved, consumer="g-1")
    struck = seen.began_us("lose_message-1")

    assert struck > removed.at_us
    assert {"kill"} == {
        entry.root.id for entry in seen.run.ledger.entries if entry.second_owner.at_us < struck
    }


def test_every_waiting_fault_counts_the_messages_that_others_strike():
    """The second and the third: both are found, in whatever order they are written."""
    for order in ((2, 3), (3, 2)):
        faults = "".join(lost(kind="Heartbeat", part="request", nth=nth) for nth in order)
        beats = staged(faults).times(MessageLost, kind="Heartbeat")
        one_by_one = [
            staged(lost(kind="Heartbeat", part="request", nth=nth)).times(MessageLost)[0]
            for nth in (2, 3)
        ]

        assert one_by_one[0] == beats[0]
        assert 2 == len(beats)


def test_a_message_that_two_faults_choose_is_lost_once():
    """Both have struck; a loss wins over a delay."""
    faults = delayed("1s", kind="OffsetCommit") + lost(kind="OffsetCommit")
    seen = staged(faults)

    assert [seen.began_us("lose_message-1")] == seen.times(MessageLost)
    assert seen.began_us("lose_message-1") == seen.began_us("delay_message-1")


def test_only_messages_from_the_faults_time_on_count():
    """And only until its end."""
    late = chosen("lose_message", kind="OffsetCommit", rest='at = "12s"')
    seen = staged(late)
    in_window = seen.only(MessageLost)

    assert in_window.at_us > 12 * SECOND
    gone = staged(chosen("lose_message", kind="OffsetCommit", before="9s"))
    assert [] == gone.all(MessageLost)
    assert "no such message was sent" == gone.only(FaultMissed).what.why


@pytest.mark.parametrize("part", ["request", "response"])
def test_a_delayed_message_arrives_that_much_later(part):
    """The commit is answered later by the delay, whichever way was slow."""
    usual = staged(group=PER_BATCH, run_for="9s")
    late = delayed("700ms", kind="OffsetCommit", part=part, nth=3)
    seen = staged(late, group=PER_BATCH, run_for="9s")

    def waits(run):
        sent = [event.at_us for event in run.all(CommitSent, consumer="g-1")]
        heard = [event.at_us for event in run.all(CommitAnswered, consumer="g-1")]
        return [end - begin for begin, end in zip(sent, heard, strict=False)]

    assert {2_000} == set(waits(usual))
    assert [2_000, 2_000, 702_000, 2_000] == waits(seen)[:4]
    assert [] == seen.all(MessageLost)


def test_a_message_can_be_delayed_until_a_time():
    """Whenever it is sent; later messages of its connection do not overtake it."""
    until = chosen("delay_message", kind="Heartbeat", part="response", rest='until = "9s"')
    seen = staged(until)
    past = staged(chosen("delay_message", kind="Heartbeat", nth=5, rest='until = "1s"'))

    assert seen.began_us("delay_message-1") < 9 * SECOND
    assert [] == seen.all(MemberRemoved)
    assert [event.what for event in staged().all(CommitSent)] == [
        event.what for event in past.all(CommitSent)
    ]


KINDS = [
    *("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "Metadata"),
    "FindCoordinator",
]


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["request", "response"])
def test_any_kind_of_message_can_be_lost(kind, part):
    """The group goes on after it: at the end every partition is worked on."""
    seen = staged(
        lost(kind=kind, part=part),
        run_for="60s",
        settings='"request.timeout.ms" = "4s"',
    )
    missing = seen.first(MessageLost).what
    ends = ("g-1", "broker") if part == "request" else ("broker", "g-1")

    assert kind == missing.kind
    assert missing.sender.startswith(ends[0])
    assert missing.receiver.startswith(ends[1])
    assert [] == seen.all(FaultMissed)
    working = {tp for _, tps in seen.all(GroupStabilised)[-1].what.assignment for tp in tps}
    assert 6 == len(working)


def test_a_lost_leave_group_request_leaves_the_member_to_its_session():
    """The process has ended without a LeaveGroup."""
    close = '[[act]]\nclose = "g-1"\nat = "9s"\n'
    seen = staged(lost(kind="LeaveGroup", part="request") + close, run_for="30s")

    assert ["session expired"] == [event.what.why for event in seen.all(MemberRemoved)]


# -- faults that never strike ------------------------------------------------------------------


def test_a_fault_that_does_not_find_its_message_is_reported_at_the_end():
    """With the number of similar messages, to help choose another."""
    seen = staged(lost(kind="OffsetCommit", nth=50))
    missed = seen.only(FaultMissed)
    sent = len(seen.all(CommitSent, consumer="g-1"))

    assert [] == seen.all(FaultBegan) == seen.all(FaultEnded)
    assert 20 * SECOND == missed.at_us
    assert ("lose_message-1", "lose_message", "OffsetCommit response of g-1") == (
        missed.what.fault,
        missed.what.verb,
        missed.what.target,
    )
    assert f"only {sent} such messages were sent" == missed.what.why


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lost(kind="LeaveGroup"), "no such message was sent"),
        (lost(kind="SyncGroup", nth=2), "only 1 such message was sent"),
        ('[[fault]]\ncrash = "g-1"\nwhen = "g-1 closing"', "its moment never came"),
    ],
)
def test_a_run_warns_of_faults_that_did_not_fire(fault, said):
    """Its empty ledger would otherwise look like a good result."""
    (finding,) = staged(fault).run.findings

    assert (Law.FAULT_MISSED, Severity.WARNING) == (finding.law, finding.severity)
    assert finding.message.startswith("did not fire: ")
    assert said in finding.message


def test_the_screen_of_a_run_names_faults_that_did_not_fire(tmp_path):
    """In its first lines."""
    path = tmp_path / "never.toml"
    path.write_text(
        'title = "never"\nrun_for = "9s"\n[[topic]]\nname = "t"\n'
        '[[group]]\nid = "g"\ntopics = ["t"]\nmembers = 2\n' + lost(kind="OffsetCommit", nth=50)
    )
    screen = CliRunner().invoke(app, ["run", str(path)]).stdout

    assert "warning: did not fire: lose_message-1, OffsetCommit response of g-1" in screen


def test_a_fault_after_one_that_did_not_fire_does_not_fire():
    """Both are reported."""
    chain = '[[fault]]\nid = "then"\ncrash = "g-0"\nwhen = "lose_message-1 ends"\n'
    seen = staged(lost(kind="LeaveGroup") + chain)

    assert ["lose_message-1", "then"] == [event.what.fault for event in seen.all(FaultMissed)]


def test_a_fault_may_wait_for_the_loss_of_a_message():
    """It begins the moment the message is lost."""
    chain = '[[fault]]\nid = "then"\ncrash = "g-0"\nwhen = "lose_message-1 ends"\n'
    seen = staged(lost(kind="OffsetCommit") + chain)

    assert seen.only(MessageLost).at_us == seen.began_us("then")
