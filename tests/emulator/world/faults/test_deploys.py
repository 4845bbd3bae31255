"""Rolling restarts: readiness, names, stand-ins and canaries."""

from __future__ import annotations

import pytest

import emulator
from emulator import events as ev
from emulator.scenario.deploys import replaced_together
from emulator.scenario.problems import ScenarioError

SCENARIO = """
title = "deploys"
run_for = "3min"
topic = [{{ name = "t", partitions = 3, rate = "1/s" }}]
act = [{earlier}{{ id = "roll", rolling_restart = "g", at = "20s", {act} }}]

[[group]]
id = "g"
topics = ["t"]
members = 3
static = {static}
{group}
settings = {{ "partition.assignment.strategy" = "{strategy}", "session.timeout.ms" = 20000 }}
"""


def played(
    act: str,
    *,
    static: bool = False,
    strategy: str = "range",
    earlier: str = "",
    group: str = "",
    more: str = "",
) -> emulator.Run:
    given = {"static": str(static).lower(), "strategy": strategy, "earlier": earlier}
    return emulator.run(emulator.loads(SCENARIO.format(act=act, group=group, **given) + more))


def lives(run: emulator.Run) -> list[tuple[str, str, int]]:
    """Return starts and ends of processes after 0, in seconds."""
    found = []
    for event in run.events:
        if isinstance(event.what, ev.ConsumerStarted) and event.at_us:
            found.append((event.what.consumer, "start", event.at_us // 1_000_000))
        elif isinstance(event.what, ev.ConsumerStopped):
            found.append((event.what.consumer, event.what.how, event.at_us // 1_000_000))
    return found


def begun(run: emulator.Run, verb: str) -> list[str]:
    found = (e.what for e in run.events if isinstance(e.what, ev.FaultBegan))
    return [what.target for what in found if what.verb == verb]


def test_the_next_member_stops_when_the_last_one_is_ready():
    run = played('ready_after = "7s", gap = "3s"')

    assert lives(run)[:4] == [
        ("g-0", "closed", 20),
        ("g-0", "start", 20),
        ("g-1", "closed", 30),
        ("g-1", "start", 30),
    ]


def test_with_surge_the_old_member_stops_when_the_new_one_is_ready():
    assert lives(played('surge = true, ready_after = "7s"'))[:3] == [
        ("g-0+", "start", 20),
        ("g-0", "closed", 27),
        ("g-1+", "start", 27),
    ]


def test_a_probe_that_sees_a_partition_waits_for_the_rebalance():
    """The new member has its partition three seconds later; the second probe sees it."""
    run = played('readiness = "assigned", probe_every = "5s"')
    stopped = [at_us for _, how, at_us in lives(run) if how == "closed"]

    assert stopped == [20, 25, 30]


def test_a_surge_member_without_a_partition_is_never_ready_and_the_deploy_stops():
    run = played(
        'surge = true, readiness = "assigned", deadline = "45s"', strategy="cooperative-sticky"
    )

    assert lives(run) == [("g-0+", "start", 20)]
    assert begun(run, "give_up") == ["g stops: g-0+ is not ready"]
    ended = [e.at_us for e in run.events if isinstance(e.what, ev.FaultEnded)]
    assert [at_us // 1_000_000 for at_us in ended] == [65]


def test_a_member_with_a_random_name_leaves_its_instance_id_behind():
    run = played('names = "random", gap = "30s"', static=True)
    started = [e.what for e in run.events if isinstance(e.what, ev.ConsumerStarted)]

    assert [(each.consumer, each.instance_id) for each in started[3:]] == [
        (f"g-{number}+", f"g-{number}.2") for number in range(3)
    ]
    removed = [e.what for e in run.events if isinstance(e.what, ev.MemberRemoved)]
    assert {each.why for each in removed} == {"session expired"}
    assert played('gap = "30s"', static=True).metrics["rebalances"] == 0


def test_a_stand_in_runs_with_the_instance_id_of_the_member_that_is_down():
    run = played('stand_in = true, down_time = "40s", order = ["g-1"]', static=True)

    assert lives(run) == [
        ("g-1", "closed", 20),
        ("g-1*", "start", 20),
        ("g-1*", "closed", 60),
        ("g-1", "start", 60),
    ]
    assert run.metrics["rebalances"] == 0
    assert run.metrics["downtime_max_s"] < 3


LACKS_RANGE = 'settings = { "partition.assignment.strategy" = "cooperative-sticky" }'


def test_markers_behind_the_last_record_are_no_lag_of_a_canary():
    """It begins at the committed offset before a marker, and has processed all records."""
    text = SCENARIO.replace('"1/s"', '"1/s", transaction_records = 1, produce_until = "10s"')
    act = 'canary_lag = 0, canary = 1, canary_for = "30s", probe_every = "5s"'
    given = {"static": "false", "strategy": "range", "earlier": "", "group": 'commit = "sync"'}
    run = emulator.run(emulator.loads(text.format(act=act, **given)))

    assert ["closed"] * 3 == [how for _, how, _ in lives(run) if how != "start"]


@pytest.mark.parametrize(
    ("act", "first"),
    [
        ('max_unavailable = "99%"', ["g-0", "g-1"]),
        ('surge = "1%"', ["g-0+"]),
        ('surge = "34%"', ["g-0+", "g-1+"]),
        ('surge = "40%", max_unavailable = 1', ["g-0", "g-1+", "g-2+"]),
        ("surge = 2", ["g-0+", "g-1+"]),
        ("surge = true, max_unavailable = 2", ["g-0+", "g-1+"]),
    ],
)
def test_numbers_and_percentages_of_replicas_are_those_of_kubernetes(act, first):
    """Of three: surge is rounded up, unavailable ones down."""
    found = lives(played(f'{act}, ready_after = "9s"'))

    assert sorted(name for name, how, at_us in found if how == "start" and at_us == 20) == first


def test_a_percentage_that_gives_no_member_is_one():
    """Where both give none, the controller takes one that is unavailable."""
    act = emulator.loads(
        SCENARIO.format(
            act='max_unavailable = "30%"', group="", static="false", strategy="range", earlier=""
        )
    ).fault[0]

    assert replaced_together(act, 3) == (1, 0)
    assert replaced_together(act, 10) == (3, 0)


def test_the_others_follow_a_canary_that_is_ready():
    found = lives(played('canary = 2, max_unavailable = 2, canary_for = "30s"'))

    assert [name for name, how, at_us in found if how == "start" and at_us < 50] == ["g-0", "g-1"]
    assert found[-1] == ("g-2", "start", 50)


def test_without_roll_back_the_deploy_stops_at_its_canary():
    run = played(f"canary = 1, {LACKS_RANGE}")

    assert [name for name, _, _ in lives(run)] == ["g-0"] * 3
    assert begun(run, "give_up") == ["g stops: g-0 has ended"]


THREADS = SCENARIO.replace("members = 3", "members = 6\nthreads = 2").replace(
    "partitions = 3", "partitions = 6"
)


def of_processes(act: str, faults: str = "") -> emulator.Run:
    given = {"act": act, "group": "", "static": "false", "strategy": "range", "earlier": faults}
    return emulator.run(emulator.loads(THREADS.format(**given)))


def test_a_deploy_replaces_the_members_of_a_process_together():
    found = lives(of_processes('ready_after = "7s", surge = "34%"'))

    assert found[:4] == [
        ("g-0+", "start", 20),
        ("g-1+", "start", 20),
        ("g-2+", "start", 20),
        ("g-3+", "start", 20),
    ]
    closed = sorted(name for name, how, at_s in found if (how, at_s) == ("closed", 27))
    assert closed == ["g-0", "g-1", "g-2", "g-3"]


@pytest.mark.parametrize(
    ("fault", "how"), [('crash = "g-3"', "crashed"), ('close = "g-3"', "closed")]
)
def test_the_members_of_a_process_end_and_start_together(fault, how):
    run = of_processes('order = ["g-0"]', f'{{ {fault}, at = "10s", restart_after = "4s" }}, ')
    found = {each for each in lives(run) if each[0] in ("g-2", "g-3")}

    assert found == {
        (name, what, at_s) for name in ("g-2", "g-3") for what, at_s in ((how, 10), ("start", 14))
    }


def test_a_process_pauses_with_all_of_its_members():
    run = of_processes('order = ["g-5"]', '{ pause = "g-0", at = "10s", for = "3s" }, ')
    paused = [e.what.consumer for e in run.events if isinstance(e.what, ev.ConsumerPaused)]

    assert paused == ["g-0", "g-1"]


def test_members_have_to_fill_their_processes():
    text = THREADS.replace("threads = 2", "threads = 4")
    given = {"act": 'gap = "1s"', "group": "", "static": "false", "strategy": "range"}
    with pytest.raises(ScenarioError, match="6 members do not fill processes of 4"):
        emulator.loads(text.format(**given, earlier=""))


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("stand_in = true", "static = true"),
        ("stand_in = true, surge = true", 'leave out "surge"'),
        ('ready_after = "10min"', 'not below "deadline", which is 10min'),
        ('probe_every = "1s"', 'readiness = "assigned"'),
        ("canary = 3", "none would be left"),
        ("canary_lag = 5", 'needs "canary"'),
        ("canary_lag = 0", 'needs "canary"'),
        ("canary_errors = 0", 'needs "canary"'),
        ("max_unavailable = 0", "may not be 0 when `maxSurge` is 0"),
        ('max_unavailable = "0%", surge = "0%"', "may not be 0 when `maxSurge` is 0"),
        ('max_unavailable = "101%", surge = 1', "not be greater than 100%"),
        ("max_unavailable = 25", 'more than the 3 members of g; did you mean "25%"?'),
        ("max_unavailable = 25, surge = 25", 'did you mean "25%"?'),
        ("max_unavailable = 400", '"100%" is all of them'),
        ('surge = "a third"', 'a percentage such as "25%"'),
        ("max_unavailable = true", "a number of members, 0 or more"),
        ("roll_back = true", 'needs "canary"'),
        ('names = "stable"', "ordinal"),
        ('readyness = "assigned"', 'did you mean "readiness"'),
    ],
)
def test_keys_without_a_meaning_are_refused_with_the_reason(act, said):
    with pytest.raises(ScenarioError) as refused:
        played(act)
    assert said in str(refused.value)


def test_advice_for_a_deploy_that_stops_lets_it_end():
    advice = emulator.advise("readiness-waits-for-a-partition", seeds=1)
    (proposed,) = [c for c in advice.changes if c.id == "readiness-of-the-process"]
    trial = next(each for each in advice.trials if each.proposal == proposed)

    assert [v.id for v in advice.run.verdicts if v.problem] == ["deploy-stopped"]
    assert any("stopped: billing-0+ is not ready" in problem for problem in trial.solved)


@pytest.mark.long
def test_advice_for_random_names_takes_stable_ones():
    advice = emulator.advise("pod-names-as-instance-ids", seeds=1)
    (proposed,) = [c for c in advice.changes if c.id == "stable-instance-ids"]
    trial = next(each for each in advice.trials if each.proposal == proposed)

    assert trial.before[0]["downtime_max_s"] >= 90  # two sessions, one after the other
    assert trial.after[0]["downtime_max_s"] < 10
    assert "stable-instance-ids" == advice.hints[0].id
    assert "cooperative" not in {hint.id for hint in advice.hints}  # no poll ends those waits


LATER = '{{ at = "2min", restart_after = "10s", {} }}, '


@pytest.mark.parametrize(
    ("act", "how"),
    [('drain_node = ["g-2"]', "closed"), ('close = "g-2"', "closed"), ('crash = "g-2"', "crashed")],
)
def test_an_act_on_a_replaced_member_is_played_on_its_successor(act, how):
    run = played("surge = 1", earlier=LATER.format(act))

    assert [("g-2+", how, 120), ("g-2+", "start", 130)] == lives(run)[-2:]
    assert "g-2+" in begun(run, act.split()[0].replace("drain_node", "close"))


def test_a_member_that_was_replaced_while_it_was_down_stays_down():
    down = '{ crash = "g-2", at = "10s", restart_after = "2min" }, '
    run = played("surge = 1", earlier=down)

    assert [name for name, how, _ in lives(run) if how == "start"] == ["g-0+", "g-1+", "g-2+"]


def test_names_of_members_may_end_with_a_plus():
    more = """
[[group]]
id = "h"
topics = ["t"]
threads = 2
members = [{ name = "a+" }, { name = "a" }]
"""
    run = played("order = ['g-0']", earlier='{ crash = "a+", at = "10s" }, ', group="", more=more)

    assert {"a", "a+"} == {name for name, how, _ in lives(run) if how == "crashed"}
