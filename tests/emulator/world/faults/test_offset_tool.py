"""How an administrator's requests fare on their way, and how long what they set lasts."""

from __future__ import annotations

from emulator.events import (
    ActRefused,
    CommitAccepted,
    CommitSent,
    CoordinatorMoved,
    FaultBegan,
    FaultEnded,
    MessageLost,
    OffsetsDropped,
)
from emulator.ledger.entries import Cause

from ..stage import SECOND, staged
from .offsets_stage import ALONE, NO_MEMBERS, ONE, SHORT_LIVED, away, refusal

REPLICATED = 1_000
"""From tombstones to when they are durable, in microseconds: until then nothing has vanished."""

# -- how long they last --------------------------------------------------------------------------


def test_offsets_of_an_administrator_alone_expire_by_their_own_age():
    """A group without members or protocol: each offset counts from its commit."""
    seen = staged(
        '[[act]]\nreset_offsets = "g"\ntopic = "t"\nto = 17\nat = "25s"',
        run=SHORT_LIVED,
        topic=ONE,
        group=NO_MEMBERS,
        run_for="100s",
    )

    assert [90 * SECOND + REPLICATED] == seen.times(OffsetsDropped, why="expired", members=0)


def test_a_reset_does_not_make_the_offsets_of_an_empty_group_live_longer():
    """Retention counts from when its last member left, not from later commits."""
    seen = staged(
        '[[act]]\nclose = "g-0"\nat = "15s"\n'
        '[[act]]\nreset_offsets = "g"\nto = "earliest"\nat = "70s"',
        run=SHORT_LIVED,
        topic=ONE,
        group=ALONE,
        run_for="100s",
    )

    assert [] == seen.all(ActRefused)
    assert [80 * SECOND + REPLICATED] == seen.times(OffsetsDropped, why="expired")


def test_a_living_group_loses_offsets_of_topics_that_no_member_reads():
    """The one reader of a topic is away; what the others read is kept, however old."""
    seen = staged(
        '[[topic]]\nname = "u"\nrate = "1/s"\n'
        '[[act]]\nclose = "g-2"\nat = "15s"\nrestart_after = "80s"',
        run=SHORT_LIVED,
        topic=f"{ONE}\nproduce_until = '12s'",
        group='work = "1ms"\ncommit = "sync"\n[[group.member]]\nname = "g-2"\ntopics = ["u"]\n',
        run_for="110s",
    )
    (dropped,) = seen.all(OffsetsDropped)
    (entry,) = seen.run.ledger.entries

    assert ("expired", 2) == (dropped.what.why, dropped.what.members)
    assert (Cause.EXPIRED, "u") == (entry.cause, entry.topic)
    assert entry.detail.endswith("no member subscribed to it")


# -- on the way to the coordinator ---------------------------------------------------------------


def test_the_tool_times_out_without_an_answer():
    """Cut off, it waits for its timeout and reports it."""
    cut = '[[fault]]\ncut = ["admin", "brokers"]\nat = "13s"\nfor = "6s"'
    seen = away('delete_group = "g"\nat = "14s"\ntimeout = "3s"', cut)

    assert "REQUEST_TIMED_OUT" == refusal(seen)[0]
    assert 17 * SECOND == seen.only(FaultEnded, fault="x").at_us
    assert {} == seen.run.ledger.by_cause()


def test_a_broker_cut_from_the_clients_is_cut_from_the_tool():
    """The administrator is on the side of the clients."""
    cut = '[[fault]]\ncut = ["clients", "brokers"]\nat = "13s"\nfor = "4s"'
    seen = away('delete_group = "g"\nat = "14s"\ntimeout = "3s"', cut)

    assert "REQUEST_TIMED_OUT" == refusal(seen)[0]


def test_the_tool_waits_for_a_coordinator_that_loads():
    """It asks again until the load is over."""
    load = '[[act]]\nmove_coordinator = "g"\nat = "13500ms"'
    seen = away('delete_group = "g"\nat = "14s"', load, run='cluster = { load = "2s" }')

    assert 15_500_000 < seen.only(OffsetsDropped).at_us < 16_700_000
    assert [] == seen.all(ActRefused)


def test_the_tool_says_what_it_heard_last():
    """A load that is longer than its patience is named."""
    load = '[[act]]\nmove_coordinator = "g"\nat = "13500ms"'
    seen = away(
        'delete_group = "g"\nat = "14s"\ntimeout = "1s"', load, run='cluster = { load = "4s" }'
    )

    assert "COORDINATOR_LOAD_IN_PROGRESS" == refusal(seen)[0]
    assert {} == seen.run.ledger.by_cause()


def test_the_tool_looks_for_the_next_coordinator():
    """Its broker has died: once the next one serves, the act is done there."""
    seen = staged(
        '[[act]]\nclose = "g-0"\nat = "10s"\n'
        '[[fault]]\ncrash_broker = "coordinator of g"\nat = "13s"\n'
        '[[act]]\ndelete_group = "g"\nat = "14s"\ntimeout = "20s"',
        topic=ONE,
        group=ALONE,
        run_for="40s",
    )
    serves_us = seen.after(14 * SECOND, CoordinatorMoved)[0].at_us

    assert [] == seen.all(ActRefused)
    assert serves_us < seen.only(OffsetsDropped).at_us < serves_us + 1_100_000


def test_an_answer_that_is_lost_leaves_the_act_done():
    """The tool cannot know; the offsets are gone."""
    cut = '[[fault]]\ncut = ["brokers", "admin"]\none_way = true\nat = "14001600us"\nfor = "5s"'
    seen = away('delete_group = "g"\nat = "14s"\ntimeout = "2s"', cut)

    assert "REQUEST_TIMED_OUT" == refusal(seen)[0]
    assert 1 == len(seen.all(MessageLost, kind="DeleteGroups"))
    assert {"offset deleted": 300} == seen.run.ledger.by_cause()


def test_commits_of_an_administrator_carry_no_generation():
    """The commit is sent because of the act and accepted for the group."""
    seen = away('reset_offsets = "g"\nto = 30\nat = "15s"')
    sent = seen.only(CommitSent, consumer="admin")
    accepted = seen.only(CommitAccepted, consumer="admin")

    assert ("admin", -1) == (sent.what.kind, sent.what.generation)
    assert seen.only(FaultBegan, verb="reset_offsets").id == sent.cause == accepted.cause
    assert {30} == {offset for _, offset in accepted.what.offsets}
