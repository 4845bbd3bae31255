"""Reports on a group of the consumer protocol: its settings, its race, its epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import emulator
from emulator.ledger.causes import IN_CLOSE
from emulator.ledger.entries import Cause
from emulator.loading import load_named
from emulator.report.event_wording import term_of
from emulator.report.explain import explain
from emulator.report.hints.advice import hints_for, reason_of
from emulator.report.hints.cases import Case
from emulator.report.screens.entry import entry_screen
from emulator.report.subject import in_force
from emulator.subjects import subject_of


def texts(case: Case) -> list[str]:
    """Return the hints for a case."""
    return [hint.text for hint in hints_for(case)]


def case_of(cause: Cause, *changes: str, verbs: tuple[str, ...] = ("crash",)) -> Case:
    """Return a cause in the group of the race, with some keys changed."""
    subject = subject_of(load_named("kip848-commit-ahead", changes))
    return Case(
        cause=cause,
        subject=subject,
        group=subject.groups[0],
        details=frozenset(),
        verbs=frozenset(verbs),
        evictions=frozenset(),
        given_twice=False,
    )


CLASSIC = "group[billing].settings[group.protocol]=classic"


def test_the_race_is_named_and_its_way_out():
    """The advice for a loss names the thread, and the setting that rules it out."""
    case = case_of(Cause.COMMITTED_AHEAD)
    hints = texts(case)

    assert "The background thread" in reason_of(case)
    assert hints[0].startswith(
        "Set enable.auto.commit=false and call commitSync() after each batch"
    )
    assert "auto.commit.interval.ms (now 400)" in hints[1]


@pytest.mark.parametrize(
    "case",
    [
        lambda: case_of(Cause.COMMITTED_AHEAD, CLASSIC),
        lambda: case_of(Cause.COMMITTED_AHEAD, "group[billing].commit=sync"),
    ],
)
def test_the_race_is_not_blamed_where_it_cannot_be(case: Callable[[], Case]):
    """Not under the classic protocol, and not with own commits."""
    assert "The background thread" not in reason_of(case())
    assert not any("commitSync() after each batch" in hint for hint in texts(case()))


@pytest.mark.parametrize("changes", [(), (CLASSIC,)])
def test_a_commit_of_close_may_be_what_was_ahead(changes):
    """A closing consumer commits all that was returned, under either protocol; only then is it blamed."""
    another = case_of(Cause.COMMITTED_AHEAD, *changes, verbs=("close",))
    case = replace(another, details=frozenset({IN_CLOSE}))

    assert "The background thread" not in reason_of(case)
    assert texts(case)[0].startswith("Finish the batch before close()")
    assert not any("before close()" in hint for hint in texts(another))


@pytest.mark.parametrize(
    "reason", ["did not give partitions up in time", "consumer poll timeout has expired."]
)
def test_the_advice_for_slow_members_leaves_room_for_several_batches(reason):
    """The consumer and the coordinator count several batches; a classic group counts one."""
    ours, classic = (
        texts(replace(case_of(Cause.TWO_OWNERS, *changes), evictions=frozenset({reason})))
        for changes in ((), (CLASSIC,))
    )

    assert any("long enough for four batches" in hint for hint in ours)
    assert not any("four batches" in hint for hint in classic)


def test_settings_of_brokers_are_named_as_theirs():
    """The session timeout of such a group is a setting of brokers, with their value."""
    ours = in_force(case_of(Cause.CRASHED).group)
    classic = in_force(case_of(Cause.CRASHED, CLASSIC).group)

    assert "uniform (group.protocol=consumer)" in ours
    assert "group.consumer.session.timeout.ms=45000" in ours
    assert "group.consumer" not in classic


def test_a_commit_on_revoke_is_advised_without_words_of_the_other_protocol():
    """There is no JoinGroup to wait for: the partition is held until the member acknowledges."""
    own = "group[billing].commit=sync"
    ours = texts(case_of(Cause.REVOKED, own))
    classic = texts(case_of(Cause.REVOKED, own, CLASSIC))

    assert any("no other member is assigned the partition" in hint for hint in ours)
    assert not any("JoinGroup" in hint for hint in ours)
    assert any("JoinGroup" in hint for hint in classic)


def test_an_entry_is_described_with_epochs():
    """Members of such a group have no generation."""
    run = emulator.run(load_named("kip848-commit-ahead").scenario, 0)
    entry = run.ledger.entry("L1")
    term = term_of(entry.group, run.events)
    text = "\n".join(entry_screen("", entry, explain(entry, run.events), str, term))

    assert "epoch" == term(0)
    assert "generation" not in text
    assert "is removed from billing: session expired" in text
    assert "orders-4 is assigned to billing-0" in " ".join(text.split())


def test_a_listener_that_threw_is_to_catch_what_it_meets():
    """First of all where it kept partitions from others; the classic consumer gives them up."""
    ours, classic = (
        texts(case_of(Cause.TWO_OWNERS, *changes, verbs=("fail_listener",)))
        for changes in ((), (CLASSIC,))
    )

    assert ours[0].startswith("Catch exceptions inside the rebalance listener")
    assert "max.poll.interval.ms (now 300000)" in ours[0]
    assert not any("inside the rebalance listener" in hint for hint in classic)
