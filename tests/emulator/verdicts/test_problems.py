"""Dead, stuck and looping groups: what a run says first, and what it advises."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from emulator.loading import LoadedScenario, load_named
from emulator.report.hints.verdicts import verdict_hints
from emulator.scenario import catalogue
from emulator.scenario.estimates import loads
from emulator.scenario.estimates.loads import loads_of
from emulator.scenario.resolution import topics_of
from emulator.subjects import subject_of
from emulator.verdicts.verdict import Verdict, VerdictId

from ..cli.commands import CRASH, rebalance, written

CAUSES = Path(__file__).parents[1] / "ledger" / "causes"


def found(loaded: LoadedScenario):
    """Return the problems of a run by id, and its hints."""
    run = emulator.run(loaded.scenario, keep_events=False)
    problems = {verdict.id: verdict for verdict in run.verdicts if verdict.problem}
    return problems, " ".join(hint.text for hint in verdict_hints(subject_of(loaded), run.verdicts))


def test_a_record_that_takes_longer_than_the_interval_is_named():
    """The members that drop out, the partition, the record, and the setting that matters."""
    problems, hints = found(load_named("c1-slow-record-loop", ["run_for=5min"]))

    assert {VerdictId.MEMBER_LOOP, VerdictId.PARTITION_STUCK} == set(problems)
    assert "record 300 of orders-0" in problems[VerdictId.PARTITION_STUCK].sentence
    assert "max.poll.interval.ms (now 30000)" in hints
    assert "500 records of 5 ms each takes 2.5 s on average, the slowest record 45 s" in hints
    assert "smaller max.poll.records does not help" in hints


@pytest.mark.long
def test_a_partition_that_an_assignor_leaves_out_is_named(tmp_path):
    """The group is stable, and nothing else would tell."""
    (tmp_path / "first_one.py").write_text(
        "from assignors.types import FunctionAssignor, TopicPartition\n"
        "def create():\n"
        "    return FunctionAssignor('first-one', lambda topics, members: {\n"
        "        member: (TopicPartition('orders', place),) for place, member in enumerate(members)})\n"
    )
    path = tmp_path / "left_out.toml"
    path.write_text(CRASH.partition("[[fault]]")[0].replace('"range"', '"first_one:create"'))
    answer = rebalance("run", path, "--set", "run_for=90s", "--no-advise")

    assert "2 partitions had no owner that processes for a minute or more" in answer.out
    assert "No assignment had 2 partitions: let the assignor give each partition" in answer.out
    assert "[assign-every-partition]" in answer.out
    assert "every partition always had an owner" not in answer.out


@pytest.mark.long
def test_the_advice_for_a_slow_record_is_confirmed():
    """With the interval above its work nobody drops out; with small batches everybody does."""
    name = "c1-slow-record-loop"
    longer = ["run_for=5min", "group[billing].settings[max.poll.interval.ms]=60s"]
    smaller = ["run_for=5min", "group[billing].settings[max.poll.records]=1"]

    assert {} == found(load_named(name, longer))[0]
    assert VerdictId.MEMBER_LOOP in found(load_named(name, smaller))[0]


def test_an_instance_id_used_twice_kills_its_first_owner():
    """The advice is an id for each process."""
    problems, hints = found(load_named("k1-instance-id-reused"))

    assert {VerdictId.MEMBERS_DIED} == set(problems)
    assert "FENCED_INSTANCE_ID" in problems[VerdictId.MEMBERS_DIED].sentence
    assert "its own group.instance.id" in hints


def test_a_group_without_offsets_or_reset_dies_and_proves_nothing(tmp_path):
    """With auto.offset.reset=none nothing is processed: no bound on losses is met."""
    text = CRASH.replace('"earliest"', '"none"').replace('at = "18s"', 'at = "2s"')
    answer = rebalance("run", written(tmp_path, text))
    first = answer.out.split("\n\n")[1]

    assert 1 == answer.status
    assert "nothing was processed, and " in first
    assert "ended with an error: " in first
    assert "NoOffsetForPartitionException" in first
    assert "INCONCLUSIVE" in first
    assert "set earliest or latest" in answer.out.replace("\n   ", "")


def test_heartbeats_as_rare_as_the_session_are_advised_against():
    """M2: one late heartbeat removes a running member."""
    changes = (
        "group[billing].settings[session.timeout.ms]=10s",
        "group[billing].settings[heartbeat.interval.ms]=9999ms",
    )
    loaded = load_named("quiet", changes)
    hints = verdict_hints(subject_of(loaded), (looping("billing", "session expired"),))

    assert ["Set heartbeat.interval.ms (now 9999) to at most a third of"] == [
        hint.text.partition(" session")[0] for hint in hints
    ]


def looping(group, *reasons):
    return Verdict(
        id=VerdictId.MEMBER_LOOP,
        sentence="",
        numbers={"times": 3},
        group=group,
        reasons=frozenset(reasons),
        problem=True,
    )


@pytest.mark.parametrize(
    ("name", "verdict", "sentence", "advice"),
    [
        (
            "n1-one-member-stalls-all",
            VerdictId.LONG_DOWNTIME,
            "a rebalance waited 4 min 30 s for billing-1 to call poll(), up to its rebalance",
            "cooperative-sticky",
        ),
        (
            "n2-member-that-never-syncs",
            VerdictId.LONG_DOWNTIME,
            "waited 1 min 30 s for billing-1 to send SyncGroup",
            "max.poll.interval.ms (now 90000)",
        ),
        (
            "o1-expansion-with-latest",
            VerdictId.FOUND_LATE,
            "new partitions of orders had an owner in billing only after",
            "metadata.max.age.ms (now 300000)",
        ),
    ],
)
def test_partitions_without_owners_have_their_reason(name, verdict, sentence, advice):
    """A rebalance that waits for one member, and partitions that no member has found yet."""
    problems, hints = found(load_named(name))

    assert sentence in problems[verdict].sentence
    assert advice in hints


def test_a_quiet_run_has_no_verdict():
    """Nothing is said before its totals."""
    assert () == emulator.run(emulator.load("quiet", ["run_for=10s"]), keep_events=False).verdicts


def test_unread_records_of_partitions_that_never_had_an_owner_are_backlog():
    """All members ended at once: every record that was produced is left."""
    text = CRASH.replace('"earliest"', '"none"').replace('at = "18s"', 'at = "2s"')
    run = emulator.run(emulator.loads(text), keep_events=False)

    assert 0 == run.ledger.processed
    assert run.ledger.backlog == pytest.approx(40 * 20 * 4, abs=4)


def test_a_group_that_is_stopped_loses_nothing_when_its_topic_is_created_again():
    """The advice for commits of a deleted topic, tried out."""
    scenario = (CAUSES / "old_topic.toml").read_text()
    acts = [f'[[act]]\nclose = "g-{n}"\nat = "15s"\n' for n in (0, 1)]
    acts += [f'[[act]]\nstart = "g-{n}"\nat = "25s"\n' for n in (0, 1)]

    assert 0 < emulator.run(emulator.loads(scenario), keep_events=False).ledger.lost
    assert 0 == emulator.run(emulator.loads(scenario + "".join(acts))).ledger.lost


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        (["topic[orders].rate=60/s", "group[billing].work=10ms"], "at least 4 members"),
        (["topic[orders].rate=60/s", "group[billing].work=20ms"], "More members alone"),
        (["topic[orders].skew=[12]", "group[billing].work=5ms"], "spread the keys"),
    ],
)
def test_overload_is_known_from_the_scenario(changes, advice):
    """Four partitions and two members: too few members (of three, one would have two), or too few partitions."""
    scenario = emulator.loads(CRASH, overrides=["run_for=20s", *changes])
    problems, hints = found(LoadedScenario("crash", (), scenario, Path()))

    assert "lag grows without end" in problems[VerdictId.OVERLOAD].sentence
    assert advice in hints


UNEVEN = """
title = "six partitions for four members, and a fault that has no end"
run_for = "20s"
topic = [{ name = "orders", partitions = 6, rate = "30/s" }]
group = [{ id = "billing", topics = ["orders"], members = 4, work = "20ms" }]
fault = [{ pause = "billing-1", at = "10s", for = "1min" }]
"""


def test_a_member_with_more_partitions_than_it_can_process_is_an_overload():
    """Whatever the faults: four members process 200 a second, 180 arrive, and 60 for two of them."""
    problems, hints = found(LoadedScenario("uneven", (), emulator.loads(UNEVEN), Path()))

    assert (
        "gets 2 of the 6 partitions: 60 records arrive for it"
        in problems[VerdictId.OVERLOAD].sentence
    )
    assert "Run at least 6 members" in hints
    assert not overloaded(UNEVEN, "group[billing].members=6")
    assert not overloaded(UNEVEN, "topic[orders].rate=24.7/s")


def test_range_gives_one_member_the_extra_partition_of_each_topic():
    """Three topics of three partitions on two members: six for the first; together they are five at most."""
    text = UNEVEN.replace('partitions = 6, rate = "30/s"', 'partitions = 3, rate = "9/s"')
    for name in ("refunds", "returns"):
        text = text.replace(
            "}]\ngroup", f'}}, {{ name = "{name}", partitions = 3, rate = "9/s" }}]\ngroup'
        )
    text = text.replace('["orders"], members = 4', '["orders", "refunds", "returns"], members = 2')
    problems, hints = found(LoadedScenario("uneven", (), emulator.loads(text), Path()))

    assert "gets 6 of the 9 partitions" in problems[VerdictId.OVERLOAD].sentence
    assert "balances over all 3 topics" in hints
    assert not overloaded(
        text, "group[billing].settings[partition.assignment.strategy]=cooperative-sticky"
    )


def test_the_load_of_many_members_reads_the_topics_a_few_times(monkeypatch):
    """It is known before every run, so it must not grow with the square of the members."""
    calls = []
    monkeypatch.setattr(loads, "topics_of", lambda *given: calls.append(1) or topics_of(*given))
    (load,) = loads_of(emulator.loads(CRASH, overrides=["group[billing].members=200"]))

    assert 200 == load.members
    assert len(calls) < 10


FULL = """
title = "full"
run_for = "1min"
topic = [{ name = "orders", partitions = 3, rate = "RATE" }]
group = [{ id = "billing", topics = ["orders"], members = MEMBERS, work = "10ms" }]
"""
"""A member can process 100 records per second."""


@pytest.mark.parametrize(
    ("rate", "members", "full"),
    [
        ("33/s", 1, set()),  # 99 arrive, and one per cent more would still fit
        ("33.2/s", 1, {"is_short"}),
        ("33.3333333/s", 1, {"is_short"}),
        ("49.5/s", 2, set()),
        ("50/s", 2, {"is_uneven"}),  # one member has two partitions
        ("99/s", 3, set()),
        ("100/s", 3, {"is_short", "is_hot"}),
    ],
)
def test_a_member_keeps_up_if_it_can_process_one_per_cent_more_than_what_arrives(
    rate, members, full
):
    """One rule for all members, the one with most partitions, and the owner of one partition."""
    text = FULL.replace("RATE", rate).replace("MEMBERS", str(members))
    (load,) = loads_of(emulator.loads(text))
    asked = ("is_short", "is_uneven", "has_slow_member", "is_hot")

    assert {name for name in asked if getattr(load, name)} == full
    assert load.is_overload is bool(full)
    assert load.is_overload is (load.members_for() > members or load.is_hot)


def test_a_member_that_is_exactly_full_gets_the_hint():
    """Its lag does not grow, and does not fall after a fault either."""
    text = FULL.replace("RATE", "50/s").replace("MEMBERS", "2")
    problems, hints = found(LoadedScenario("full", (), emulator.loads(text), Path()))

    said = problems[VerdictId.OVERLOAD].sentence
    assert (
        "it can process at most 100: the lag that a fault or rebalance leaves hardly falls" in said
    )
    assert "Run at least 3 members" in hints


def overloaded(text: str, change: str) -> bool:
    """Return whether the only group of a scenario is overloaded after a change."""
    (load,) = loads_of(emulator.loads(text, overrides=[change]))
    return load.is_overload


def test_a_group_that_keeps_up_is_not_overloaded():
    """Nor one whose producers stop before the end."""
    stopped = ["topic[orders].rate=900/s", "topic[orders].produce_until=10s"]
    (load,) = loads_of(emulator.loads(CRASH))

    assert (80, 400, False) == (load.arrival, load.capacity, load.is_overload)
    assert [] == list(loads_of(emulator.loads(CRASH, overrides=stopped)))


def test_partitions_that_no_member_ever_finds_have_no_owner():
    """Their downtime begins when they are created, and the advice is that of partitions found late."""
    text = catalogue.read("o3-partitions-never-found")
    cut = text[: text.index("[[act]]\nrolling_restart")].replace('"5min"', '"2min"')
    run = emulator.run(emulator.loads(cut), keep_events=False)
    late = next(each for each in run.verdicts if each.id is VerdictId.FOUND_LATE)

    assert 60 == pytest.approx(run.metrics["downtime_max_s"], abs=1)
    assert (
        "new partitions of orders had no owner in billing until the end, 1 min later"
        == late.sentence
    )
    assert not run.conclusive


SHUTDOWN = """
title = "a deploy"
run_for = "90s"
topic = [{ name = "orders", partitions = 4, rate = "2/s" }]
act = [{ rolling_restart = "billing", at = "10s", grace = "1s", down_time = "2s" }]

[[group]]
id = "billing"
topics = ["orders"]
members = 2
listener = "3s"
listener_calls = ["revoked"]
settings = { "auto.offset.reset" = "earliest" }
"""
GRACE = "act[rolling_restart-1].grace"
PROTOCOL = "group[billing].settings[group.protocol]"


@pytest.mark.parametrize(
    ("change", "is_killed"),
    [
        (f"{GRACE}=1s", True),
        (f"{PROTOCOL}=consumer", True),
        (f"{GRACE}=5s", False),
        ("group[billing].static=true", False),
    ],
)
def test_a_process_that_is_killed_in_close_has_not_left(change, is_killed):
    """It stays a member until its session ends, unless its restart has the same instance id."""
    scenario = emulator.loads(SHUTDOWN, overrides=[change])
    problems, hints = found(LoadedScenario("deploy", (), scenario, Path()))
    said = problems.get(VerdictId.KILLED_IN_GROUP)

    assert (said is not None) == is_killed
    if said is not None:
        assert "were killed, 1 during a rebalance, before they had left billing" in said.sentence
        assert 40 < said.numbers["longest_s"] <= 45
        assert "the calls of the rebalance listener, the last commit and close()" in hints
