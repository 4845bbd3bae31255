"""A real group as a scenario: accepted as it is, and like the group that it was taken from."""

from __future__ import annotations

import tomllib

import pytest

import emulator
from emulator.logs.errors import NoScenarioError
from emulator.logs.imports.scenario_file import scenario_text
from emulator.logs.imports.scenario_sketch import sketch
from emulator.scenario.load import loads
from emulator.scenario.model import Scenario

from .found import Log, Tables, found, group_rows, kept, member, played

MINUTE = 60_000

CLASSIC = """
title = "as it is"
run_for = "90s"

[[topic]]
name = "orders"
partitions = 4
rate = "4/s"

[[topic]]
name = "refunds"
partitions = 3
rate = "1/s"

[[group]]
id = "billing"
topics = ["orders", "refunds"]
members = 3
commit = "auto"

[group.settings]
"auto.offset.reset" = "earliest"
"partition.assignment.strategy" = "roundrobin"
"session.timeout.ms" = "10s"
"max.poll.interval.ms" = "2min"
"auto.commit.interval.ms" = "3s"
"""
CONSUMER = CLASSIC.replace(
    '"partition.assignment.strategy" = "roundrobin"', '"group.protocol" = "consumer"'
).replace('"session.timeout.ms" = "10s"\n', "")
STATIC = CLASSIC.replace("members = 3", "members = 3\nstatic = true")


def written(tables: Tables, group: str, epoch: int | None = None) -> str:
    return scenario_text(sketch(found(tables, group), group_rows(tables, group), epoch))


def scenario_of(tables: Tables, group: str, epoch: int | None = None) -> Scenario:
    """Return the scenario of a group, read as ``rebalance run`` reads it."""
    return loads(written(tables, group, epoch), "written.toml")


def near(expected: float, given: float, share: float = 0.1) -> bool:
    return abs(given - expected) <= share * expected


@pytest.mark.parametrize("text", [CLASSIC, CONSUMER, STATIC], ids=["classic", "consumer", "static"])
def test_a_scenario_comes_back_from_the_log_of_its_run(tmp_path, text):
    """Members, assignor, timeouts, topics, partitions; rates and cadence within a tenth."""
    first = loads(text)
    again = scenario_of(played(first, tmp_path / "log"), "billing")
    (group,), (was,) = again.group, first.group

    assert [each.name for each in was.members] == [each.name for each in group.members]
    assert [(each.name, each.partitions) for each in first.topic] == [
        (each.name, each.partitions) for each in again.topic
    ]
    assert all(
        near(one.rate, other.rate) for one, other in zip(first.topic, again.topic, strict=True)
    )
    assert was.topics == group.topics
    assert [was.static] * 3 == ["group.instance.id" in each.settings for each in group.members]
    assert was.settings == {
        name: group.settings[name] for name in was.settings if name in group.settings
    }


def test_an_epoch_of_the_consumer_protocol_is_called_so():
    """Only classic groups have generations."""
    with pytest.raises(NoScenarioError, match="no epoch 999 with members; there are"):
        scenario_of(kept(), "kip848-crash-1-cad7p", 999)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CLASSIC, id="classic"),
        pytest.param(CONSUMER, id="consumer", marks=pytest.mark.long),
    ],
)
def test_a_run_of_it_is_like_the_run_it_was_taken_from(tmp_path, text):
    """The log of the second run shows the same group, partition by partition."""
    first = played(loads(text), tmp_path / "first")
    again = scenario_of(first, "billing").model_copy(update={"run_for": 90_000_000})
    second = played(again, tmp_path / "second")
    one, other = found(first, "billing"), found(second, "billing")

    assert one.group_type == other.group_type
    assert one.assignors == other.assignors
    assert [each.reason for each in one.changes] == [each.reason for each in other.changes]
    assert [each.change.members for each in one.changes] == [
        each.change.members for each in other.changes
    ]
    assert [(each.topic, each.partition, each.owner) for each in one.partitions] == [
        (each.topic, each.partition, each.owner) for each in other.partitions
    ]
    assert near(one.rate, other.rate)
    assert near(one.median_ms, other.median_ms, 0.02)


@pytest.mark.parametrize("group", ["kip848-crash-1-cad7p", "rolling-static-1-26gt5"])
def test_a_real_group_is_a_scenario_that_runs(group):
    """Its members, six partitions, and their settings, from a real Kafka's segment."""
    tables = kept()
    scenario = scenario_of(tables, group)
    run = emulator.run(scenario.model_copy(update={"run_for": 20_000_000}), keep_events=False)
    (real,) = scenario.group
    names = {"kip848-crash-1-cad7p": "m", "rolling-static-1-26gt5": "i"}

    assert [(f"{group}.t0", 6)] == [(each.name, each.partitions) for each in scenario.topic]
    assert all(each.name.startswith(names[group]) for each in real.members)
    assert 0 == run.metrics["lost"] + run.metrics["reprocessed"]


def two_generations() -> Log:
    """Let three members work for ten minutes, two for ten, and one for a second."""
    log = Log()
    log.generation(0, 1, member("a", 0), member("b", 1), member("c", 2))
    log.steadily(5_000, 10 * MINUTE, 0, 1, 2)
    log.generation(10 * MINUTE, 2, member("a", 0, 2), member("b", 1))
    log.steadily(10 * MINUTE + 5_000, 20 * MINUTE, 0, 1, 2)
    log.generation(20 * MINUTE, 3, member("a", 0, 1, 2))
    log.generation(20 * MINUTE + 1_000, 4)
    return log


def test_the_newest_generation_that_lasted_is_taken():
    """Not the last one of a group that was about to end; the others are named."""
    log = two_generations()
    text = written(log.tables, "billing")

    assert ["a", "b"] == [each["name"] for each in tomllib.loads(text)["group"][0]["member"]]
    assert "# Used: generation 2 with 2 members, 10 min long." in text
    assert "1 (3 members, 10 min), 3 (1 member, 1 s)" in text


def test_any_generation_can_be_asked_for():
    """The group as it was before; one that is not there is refused, with those that are."""
    log = two_generations()

    assert 3 == len(scenario_of(log.tables, "billing", 1).group[0].members)
    with pytest.raises(NoScenarioError, match="no generation 9 with members; there are 1, 2, 3"):
        scenario_of(log.tables, "billing", 9)


def test_partitions_that_get_more_than_others_are_skewed():
    """By factors on the mean rate."""
    log = Log()
    log.generation(0, 1, member("a", 0, 1))
    for at_ms in range(0, MINUTE, 1_000):
        log.commit(at_ms, at_ms // 100, 0)
        log.commit(at_ms, 3 * at_ms // 100, 1)
    (topic,) = scenario_of(log.tables, "billing").topic

    assert (20.0, (0.5, 1.5)) == (topic.rate, topic.skew)


@pytest.mark.parametrize(
    ("every_ms", "records", "call", "when"),
    [
        (5_000, 100, "auto", "batch"),
        (40, 30, "sync", "batch"),
        (40, 1, "sync", "record"),
    ],
)
def test_the_policy_is_inferred_from_the_commit_rate(every_ms, records, call, when):
    """By the clock, after each batch, after each record."""
    log = Log()
    log.generation(0, 1, member("a", 0))
    for number in range(50):
        log.commit(number * every_ms, number * records, 0)
    commit = scenario_of(log.tables, "billing").group[0].commit

    assert (call, when) == (commit.call, commit.when)


def test_odd_names_and_settings_make_a_file_that_is_read():
    """Brackets, quotes, line breaks, equal client ids, an unknown assignor, short sessions."""
    log = Log('bil"ling [1]\n\x7f')
    odd = {"session_timeout_ms": 2_000}
    members = [member("consumer-1", number, member_id=f"{number}", **odd) for number in range(3)]
    log.generation(0, 1, *members, protocol="de.example.Own")
    log.steadily(0, MINUTE, 0, 1, 2)
    text = written(log.tables, log.group)
    (group,) = loads(text).group

    assert ["consumer-1-0", "consumer-1-1", "consumer-1-2"] == [each.name for each in group.members]
    assert {"consumer-1"} == {each.settings["client.id"] for each in group.members}
    assert "assumed: the group uses de.example.Own, which the emulator does not know" in text


def test_members_that_differ_keep_what_is_their_own():
    """Sessions, poll intervals and topics; most members' values are the group's."""
    log = Log()
    other = {"session_timeout_ms": 2_500, "rebalance_timeout_ms": 60_000, "topics": ["refunds"]}
    odd = member("c", **other) | {"assignment": [{"topic": "refunds", "partitions": [0]}]}
    log.generation(0, 1, member("a", 0), member("b", 1), odd)
    log.steadily(5_000, MINUTE, 0, 1)
    (group,) = scenario_of(log.tables, "billing").group

    assert (45_000, 300_000) == tuple(
        group.settings[name] for name in ("session.timeout.ms", "max.poll.interval.ms")
    )
    assert ("orders", "refunds") == group.topics
    assert [("orders",), ("orders",), ("refunds",)] == [each.topics for each in group.members]
    assert [
        {},
        {},
        {"session.timeout.ms": 2_500, "heartbeat.interval.ms": 833, "max.poll.interval.ms": 60_000},
    ] == [each.settings for each in group.members]


def test_a_group_of_offsets_alone_is_no_scenario():
    """The log does not have its members."""
    log = Log()
    log.commit(0, 5)

    with pytest.raises(NoScenarioError, match="committed offsets, but no members"):
        written(log.tables, "billing")


def test_a_share_group_is_no_scenario():
    """The emulator does not play it."""
    log = Log()
    log.record(0, 10, member_id="A", members=[member("a", member_id="A")])
    log.record(0, 11, epoch=1)

    with pytest.raises(NoScenarioError, match="a share group; the emulator plays"):
        written(log.tables, "billing")


def test_a_group_that_never_had_members_is_no_scenario():
    """It was created, and no member joined."""
    log = Log()
    log.generation(0, 0)

    with pytest.raises(NoScenarioError, match="it has no members"):
        written(log.tables, "billing")


def test_a_group_that_commits_once_a_month_is_a_scenario():
    """With the longest interval that the setting allows, and a comment that says so."""
    log, month_ms = Log(), 31 * 24 * 60 * MINUTE
    log.generation(0, 1, member("a", 0))
    for month in range(1, 9):
        log.commit(month * month_ms, month * 30)
    text = written(log.tables, "billing")
    (group,) = loads(text).group

    assert 2**31 - 1 == group.settings["auto.commit.interval.ms"]
    assert "measured: longer; this is the maximum of the setting" in text


def test_a_partition_beyond_those_of_a_scenario_is_refused():
    """The number comes from the log, which may be damaged; no list of that length is made."""
    log = Log()
    log.generation(0, 1, member("a", 0, 2**31 - 1))
    log.commit(1_000, 5, 2**31 - 1)

    with pytest.raises(NoScenarioError, match=r"partition 2147483647 of orders, .* 1,000,000"):
        written(log.tables, "billing")
