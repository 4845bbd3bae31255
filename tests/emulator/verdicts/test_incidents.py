"""Incidents: the verdict that is said first, its advice, and what the advice changes when applied."""

from __future__ import annotations

import pytest

import emulator
from emulator.loading import load_named
from emulator.report.hints.verdicts import verdict_hints
from emulator.scenario import catalogue
from emulator.subjects import subject_of
from emulator.verdicts.verdict import VerdictId

SETTINGS = "group[billing].settings"
BOUNCE = "fault[rolling_restart-1]"
INTERVAL = f"{SETTINGS}[max.poll.interval.ms]"

INCIDENTS = [
    (
        "a3-drain-beyond-interval",
        (VerdictId.MEMBER_LOOP, "a call of the rebalance listener 6.5 s", "rebalance-timeout"),
        [f"{INTERVAL}=30s"],
        ("drop_outs", 0),
    ),
    (
        "b3-stopped-during-a-rebalance",
        (
            VerdictId.KILLED_IN_GROUP,
            "the calls of the rebalance listener, ",
            "longer-grace",
        ),
        ["act[close-1].grace=25s"],
        ("downtime_max_s", 1),
    ),
    (
        "b4-close-beyond-session",
        (VerdictId.REMOVED_IN_CLOSE, "session.timeout.ms (now 10000)", "close-within-session"),
        [f"{SETTINGS}[session.timeout.ms]=45s"],
        ("evictions", 0),
    ),
    (
        "c5-hard-messages",
        (VerdictId.MEMBER_LOOP, "max.poll.interval.ms (now 20000)", "poll-in-time"),
        [f"{INTERVAL}=2min"],
        ("drop_outs", 0),
    ),
    (
        "k1-instance-id-reused",
        (VerdictId.MEMBERS_DIED, "its own group.instance.id", "own-instance-id"),
        ["group[billing].member[new].settings[group.instance.id]=new"],
        ("overlap_records", 0),
    ),
    (
        "k4-threads-share-an-id",
        (VerdictId.MEMBERS_DIED, "its own group.instance.id", "own-instance-id"),
        ["group[billing].static=true"],
        ("member_hours", 0.1),
    ),
    (
        "m2-heartbeats-as-rare-as-the-session",
        (VerdictId.MEMBER_LOOP, "at most a third of session.timeout.ms", "heartbeats-per-session"),
        [f"{SETTINGS}[heartbeat.interval.ms]=3s"],
        ("evictions_living", 0),
    ),
    (
        "m3-set-up-beyond-interval",
        (VerdictId.NOTHING_PROCESSED, "a call of the rebalance listener 40 s", "poll-in-time"),
        [f"{INTERVAL}=2min", "group[billing].settings[session.timeout.ms]=45s"],
        ("drop_outs", 0),
    ),
    (
        "n1-one-member-stalls-all",
        (VerdictId.LONG_DOWNTIME, "cooperative-sticky", "cooperative"),
        [f"{SETTINGS}[partition.assignment.strategy]=cooperative-sticky"],
        ("downtime_max_s", 5),
    ),
    (
        "n2-member-that-never-syncs",
        (VerdictId.LONG_DOWNTIME, "max.poll.interval.ms (now 90000)", "rebalance-timeout"),
        [f"{INTERVAL}=20s"],
        ("downtime_max_s", 22),
    ),
    (
        "o1-expansion-with-latest",
        (VerdictId.FOUND_LATE, "metadata.max.age.ms (now 300000)", "smaller-metadata-age"),
        [f"{SETTINGS}[metadata.max.age.ms]=10s"],
        ("downtime_max_s", 15),
    ),
    (
        "n3-new-members-time-out",
        (VerdictId.LONG_DOWNTIME, "A smaller interval bounds the wait", "cooperative"),
        [f"{INTERVAL}=1min"],
        ("downtime_max_s", 60),
    ),
    (
        "o3-partitions-never-found",
        (VerdictId.FOUND_LATE, "metadata.max.age.ms (now 259200000)", "smaller-metadata-age"),
        [f"{SETTINGS}[metadata.max.age.ms]=10s"],
        ("downtime_max_s", 15),
    ),
    (
        "o5-topic-created-in-rebalance",
        (VerdictId.FOUND_LATE, "metadata.max.age.ms (now 300000)", "smaller-metadata-age"),
        [f"{SETTINGS}[metadata.max.age.ms]=10s"],
        ("downtime_max_s", 20),
    ),
    (
        "o6-topics-come-and-go",
        (VerdictId.TOPIC_REBALANCES, "match only topics that stay", "stable-topics"),
        ["group[billing].pattern=orders-eu"],
        ("rebalances", 0),
    ),
    (
        "p6-one-bounce",
        (VerdictId.MEMBERS_DIED, "in two rolling restarts", "assignor-in-two-steps"),
        [f"{BOUNCE}.settings[partition.assignment.strategy]=cooperative-sticky,range"],
        ("member_hours", 0.14),
    ),
    (
        "r1-heavy-topic",
        (VerdictId.LAG_GROWS, "counts partitions, not the work", "range-by-topic"),
        ["group[billing].settings[group.remote.assignor]=range"],
        ("backlog", 50),
    ),
    (
        "n4-large-group-in-joins",
        (VerdictId.LONG_DOWNTIME, "one after the other", "static-membership"),
        ["group[ingest].static=true"],
        ("downtime_max_s", 15),
    ),
    (
        "hot-key",
        (VerdictId.OVERLOAD, "more partitions or members do not help", "split-hot-key"),
        ["topic[orders].keys.split=4"],
        ("backlog", 150),
    ),
    (
        "g3-shared-database",
        (VerdictId.OVERLOAD, "Run 4 of them", "fewer-members"),
        ["group[billing].members=4"],
        ("backlog", 100),
    ),
    (
        "catching-up-is-slower",
        (VerdictId.LAG_GROWS, "fewer than arrive", "capacity-behind"),
        ["group[billing].members=4"],
        ("backlog", 100),
    ),
    (
        "compaction-overtakes",
        (VerdictId.OVERLOAD, "at least 2 members", "more-members"),
        ["group[search].members=2"],
        ("compacted_unread", 0),
    ),
    (
        "q4-slow-assignor",
        (VerdictId.REMOVED_ASSIGNING, "request.timeout.ms above", "session-above-assignor"),
        [f"{SETTINGS}[session.timeout.ms]=2min", f"{SETTINGS}[request.timeout.ms]=2min"],
        ("evictions", 0),
    ),
]


SLOW = {
    "n4-large-group-in-joins",
    "r1-heavy-topic",
    "g3-shared-database",
    "catching-up-is-slower",
    "c5-hard-messages",
    "n1-one-member-stalls-all",
    "n2-member-that-never-syncs",
    "n3-new-members-time-out",
    "o1-expansion-with-latest",
    "o3-partitions-never-found",
    "o5-topic-created-in-rebalance",
}


@pytest.mark.one_of(2)
@pytest.mark.plain_of(3)
@pytest.mark.parametrize(
    ("name", "said", "advice", "after"),
    [pytest.param(*one, marks=[pytest.mark.long] * (one[0] in SLOW)) for one in INCIDENTS],
)
def test_the_advice_for_an_incident_is_confirmed(name, said, advice, after):
    """The verdict is among the problems, its hint names the setting, and applied it removes both."""
    verdict, words, hint = said
    metric, bound = after
    loaded = load_named(name)
    before = emulator.run(loaded.scenario, keep_events=False)
    hints = {each.id: each.text for each in verdict_hints(subject_of(loaded), before.verdicts)}
    changed = emulator.run(load_named(name, advice).scenario, keep_events=False)

    assert verdict in {each.id for each in before.verdicts if each.problem}
    assert words in hints[hint]
    assert verdict not in {each.id for each in changed.verdicts}
    if metric == "member_hours":
        assert changed.metrics[metric] >= bound > before.metrics[metric]
    else:
        assert changed.metrics[metric] <= bound < before.metrics[metric]


def verdict_of(text: str, which: VerdictId):
    run = emulator.run(emulator.loads(text), keep_events=False)
    return run, {each.id: each for each in run.verdicts}.get(which)


def test_a_listener_that_catches_its_exceptions_keeps_its_partitions_read():
    """The advice for a listener that throws: its partitions have an owner again after the session."""
    text = catalogue.read("l4-assign-listener-throws")
    cut = text.index("[[fault]]\nfail_listener")
    run, thrown = verdict_of(text, VerdictId.LISTENER_THREW)
    caught, gone = verdict_of(text[:cut] + "[expect]\nlost = 0\n", VerdictId.LISTENER_THREW)

    assert thrown.sentence.startswith("onPartitionsAssigned() threw 41 times in billing-2")
    assert gone is None
    assert caught.metrics["downtime_max_s"] < 20 < run.metrics["downtime_max_s"]


def test_separate_groups_do_not_rebalance_each_other():
    """The advice for two applications in one group: the rebalances of orders are gone."""
    text = catalogue.read("a5-two-applications-one-group")
    members = text[text.index("members = ") : text.index('work = "5ms"')]
    rest = text[text.index('work = "5ms"') : text.index("[[fault]]")]
    others = 'members = ["refunds-0", "refunds-1"]\n'
    group = f'[[group]]\nid = "refunding"\ntopics = ["refunds"]\n{others}{rest}'
    separate = text.replace(members, 'members = ["orders-0", "orders-1"]\n').replace(
        "[[fault]]", f"{group}[[fault]]", 1
    )
    run, shared = verdict_of(text, VerdictId.SHARED_GROUP)
    apart, gone = verdict_of(separate, VerdictId.SHARED_GROUP)
    down = apart.metrics.tables["downtime.by_partition"]

    assert "(orders and refunds)" in shared.sentence
    assert 3 == shared.numbers["rebalances"] == run.metrics["rebalances"]
    assert gone is None
    assert not any(down[name] for name in down if name.startswith("billing/"))


def test_b3_a_kill_during_a_rebalance_is_told_from_others():
    """The process had no time to leave its group, as it waited for the rebalance."""
    _, killed = verdict_of(
        catalogue.read("b3-stopped-during-a-rebalance"), VerdictId.KILLED_IN_GROUP
    )

    assert killed.sentence.startswith("billing-1 was killed during a rebalance, before it had left")
    assert killed.numbers["during_rebalance"] == 1


def test_p6_two_rolling_restarts_change_the_assignor_at_no_member_s_expense():
    """The good way of P6: nothing is wrong, and what went right is said behind the totals."""
    run = emulator.run(load_named("p6-two-bounces").scenario)
    elected = [e.what.protocol for e in run.events if type(e.what).__name__ == "JoinPhaseEnded"]

    assert [each.sentence for each in run.verdicts if each.is_outcome] == [
        "billing changed from range to cooperative-sticky in 2 rolling restarts, and 3 members run as before"
    ]
    assert len(run.verdicts) == 1
    assert (run.ledger.lost, run.ledger.reprocessed) == (0, 0)
    assert elected[-1] == "cooperative-sticky"
    assert run.metrics["downtime_max_s"] < 5


@pytest.mark.long
def test_q1_the_sessions_of_killed_processes_are_what_a_restart_waits_for():
    """Not poll(): the verdict names the session timeout, and a shorter one ends the wait."""
    name = "q1-restart-all-at-once"
    before = emulator.run(load_named(name).scenario, keep_events=False)
    shorter = ["group[indexers].settings[session.timeout.ms]=10s"]
    changed = emulator.run(load_named(name, shorter).scenario, keep_events=False)

    (verdict,) = (each for each in before.verdicts if each.id is VerdictId.LONG_DOWNTIME)
    assert "until the session expired (session.timeout.ms)" in verdict.sentence
    assert verdict.numbers["session_expired"]
    assert VerdictId.LONG_DOWNTIME not in {each.id for each in changed.verdicts}
    assert changed.metrics["downtime_max_s"] <= 10


def test_a_group_that_is_stopped_commits_no_offset_of_the_old_topic():
    """O6: the advice is to stop it before the topic is deleted, and to start it afterwards."""
    text = catalogue.read("topic-recreated").replace('"2min"', '"90s"')
    stops = [
        f'act+={{ close = "billing-{number}", at = "55s", restart_after = "20s" }}'
        for number in range(3)
    ]
    before, after = (
        emulator.run(emulator.loads(text, overrides=each), keep_events=False)
        for each in ((), stops)
    )

    assert {"commit of a deleted topic"} == {str(each.cause) for each in before.ledger.entries}
    assert before.ledger.lost > 0
    assert (after.ledger.lost, after.ledger.reprocessed) == (0, 0)
