"""Members without a rebalance listener: what they give up, and when."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import EpochClosed, ListenerCalled, MemberAdded

SLOW = """
title = "a member is cut off while it works for 20 s at a time"
run_for = "2min"

[cluster.settings]
"group.consumer.session.timeout.ms" = 6_000
"group.consumer.min.session.timeout.ms" = 6_000
"group.consumer.heartbeat.interval.ms" = 1_000
"group.consumer.min.heartbeat.interval.ms" = 1_000

[[topic]]
name = "orders"
partitions = 4
rate = "10/s"

[[group]]
id = "billing"
topics = ["orders"]
members = [{ name = "slow" }, { name = "other", work = "1ms" }]
work = "100ms"
SETTINGS

[[fault]]
cut = ["slow", "brokers"]
at = "60s"
for = "8s"
"""


def written(protocol: str, listener: str) -> str:
    """Return a scenario in which a member that works on a long batch is removed from its group."""
    settings: dict[str, object] = {"group.protocol": f'"{protocol}"', "max.poll.records": 200}
    if protocol == "classic":
        settings |= {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}
    lines = (f'"{name}" = {value}' for name, value in settings.items())
    keys = (f"has_listener = {listener}", "[group.settings]", *lines)
    return SLOW.replace("SETTINGS", "\n".join(keys))


def played(protocol: str, listener: str) -> emulator.Run:
    """Return the run of that scenario."""
    return emulator.run(emulator.loads(written(protocol, listener)), 1)


def calls(run: emulator.Run) -> list[tuple[float, str, str, bool]]:
    """Return the calls since the cut: time (s), consumer, name, whether it was made."""
    return [
        (event.at_us / 1e6, event.what.consumer, event.what.call, event.what.made)
        for event in run.events
        if isinstance(event.what, ListenerCalled) and event.at_us >= 60_000_000
    ]


def lost(run: emulator.Run) -> tuple[float, bool]:
    """Return when (s) the removed member gave its partitions up, and whether a call told it."""
    return next((at, made) for at, who, call, made in calls(run) if (who, call) == ("slow", "lost"))


def joined_s(run: emulator.Run) -> float:
    """Return when it joined again."""
    return next(
        event.at_us / 1e6
        for event in run.events
        if isinstance(event.what, MemberAdded) and event.at_us > 60_000_000
    )


def test_a_removed_member_joins_again_beside_its_work():
    """With a listener it drops its partitions in the poll that follows the batch of 20 s."""
    with_one, without = (played("consumer", has) for has in ("true", "false"))
    (heard_s, heard), (dropped_s, told) = lost(with_one), lost(without)

    assert (heard, told) == (True, False)
    assert 15 < heard_s - dropped_s < 20
    assert heard_s < joined_s(with_one) < heard_s + 0.1
    assert dropped_s < joined_s(without) < dropped_s + 0.1


def test_the_records_in_hand_are_processed_though_their_partitions_are_gone():
    """The application hears nothing and works its batch to the end."""
    run = played("consumer", "false")
    closed_s = [
        event.at_us / 1e6
        for event in run.events
        if isinstance(event.what, EpochClosed) and event.what.consumer == "slow"
    ]

    assert lost(run)[0] + 15 < max(closed_s)


def test_a_classic_member_gives_up_in_poll_either_way():
    """No other thread of it makes calls."""
    with_one, without = (calls(played("classic", has)) for has in ("true", "false"))

    assert with_one
    assert [call[:3] for call in with_one] == [call[:3] for call in without]
    assert {True} == {call[3] for call in with_one}
    assert {False} == {call[3] for call in without}


def test_a_member_can_differ_from_its_group():
    """One of two has none."""
    text = written("consumer", "true").replace('"slow" }', '"slow", has_listener = false }')
    run = emulator.run(emulator.loads(text), 1)

    assert {("slow", False), ("other", True)} == {(who, made) for _, who, _, made in calls(run)}


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (
            'listener = "10ms"',
            "listener and listener_partition are times of the rebalance listener",
        ),
        (
            'commit = { call = "sync", on_revoke = true }',
            "commit.on_revoke commits in the rebalance listener",
        ),
        ('client = "librdkafka"', "the bindings of librdkafka install a rebalance callback"),
        ("handler = { workers = 2 }", "is told in the rebalance listener"),
        (
            'framework = "spring-batch"',
            "spring-batch decides whether there is a rebalance listener",
        ),
        (
            'offsets = "database"',
            "offsets that are not in Kafka are read in the rebalance listener",
        ),
    ],
)
def test_what_needs_a_listener_is_refused_without_one(keys, why):
    """The error names the key, and what to do."""
    text = written("classic", "false").replace("has_listener", f"{keys}\nhas_listener")
    with pytest.raises(emulator.ScenarioError) as refused:
        emulator.loads(text)

    assert "group[billing].has_listener" in str(refused.value)
    assert f"{why}; leave it out" in str(refused.value)


def test_a_listener_that_is_not_there_cannot_fail():
    """The fault has to name a member that has one."""
    fault = '[[fault]]\nfail_listener = "slow"\nat = "10s"\nfor = "5s"\n'
    with pytest.raises(emulator.ScenarioError, match="it has no rebalance listener"):
        emulator.loads(written("consumer", "false") + fault)
