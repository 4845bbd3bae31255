"""Which settings are in force for whom."""

from __future__ import annotations

import pytest

from emulator.scenario.model import Cluster, CommitPolicy, Group, Member
from emulator.scenario.resolution import (
    broker_settings,
    consumer_settings,
    settings_in_force,
    subscription_of,
)
from protocols.settings import BrokerSettings, ConsumerSettings


def group(member: Member, **said: object) -> Group:
    """Return a group of one member."""
    return Group(id="billing", topics=("orders",), members=(member,), **said)


def test_nothing_said_means_kafkas_defaults():
    """Without settings, a consumer and a broker run with Kafka's defaults."""
    member = Member(name="a")

    assert ConsumerSettings() == consumer_settings(group(member), member)
    assert BrokerSettings() == broker_settings(Cluster())


def test_a_member_overrides_its_group():
    """First the member's setting, then its group's."""
    member = Member(name="a", settings={"max.poll.records": 5})
    settings = consumer_settings(
        group(member, settings={"max.poll.records": 7, "session.timeout.ms": "6s"}), member
    )

    assert (5, 6_000) == (settings.max_poll_records, settings.session_timeout_ms)


@pytest.mark.parametrize(("own", "instance"), [({}, "a"), ({"group.instance.id": "x"}, "x")])
def test_static_members_have_their_name_as_instance_id(own, instance):
    """A static group names its members to the coordinator, unless they name themselves."""
    member = Member(name="a", settings=own)

    assert instance == consumer_settings(group(member, static=True), member).group_instance_id


@pytest.mark.parametrize(
    ("call", "said", "enabled"),
    [
        ("auto", {}, True),
        ("sync", {}, False),
        ("none", {}, False),
        ("sync", {"enable.auto.commit": True}, True),
    ],
)
def test_other_commit_policies_switch_auto_commit_off(call, said, enabled):
    """The application's own commits replace automatic ones, unless a scenario wants both."""
    member = Member(name="a")
    settings = consumer_settings(
        group(member, commit=CommitPolicy(call=call), settings=said), member
    )

    assert enabled == settings.enable_auto_commit


@pytest.mark.parametrize(
    ("said", "longest"),
    [
        ({}, 1_000),
        ({"reconnect.backoff.ms": 200}, 200),
        ({"reconnect.backoff.ms": 200, "reconnect.backoff.max.ms": 400}, 400),
    ],
)
def test_a_reconnect_back_off_that_is_set_alone_does_not_grow(said, longest):
    """Kafka's clients take it for its own maximum."""
    member = Member(name="a", settings=said)

    assert longest == consumer_settings(group(member), member).reconnect_backoff_max_ms


def test_a_members_policy_decides_over_its_groups():
    """A member that commits by itself has no automatic commits, whatever its group has."""
    member = Member(name="a", commit=CommitPolicy(call="sync"))

    assert not consumer_settings(group(member), member).enable_auto_commit


def test_a_small_cluster_has_fewer_copies():
    """Default replication factors are lowered to what there is; said ones stay."""
    assert 1 == broker_settings(Cluster(brokers=1)).offsets_topic_replication_factor
    said = Cluster(brokers=3, settings={"default.replication.factor": 2})
    assert 2 == broker_settings(said).default_replication_factor


def test_a_member_may_subscribe_to_something_else():
    """A member's own topics or pattern replace those of its group."""
    member = Member(name="a", pattern="pay.*")

    assert ((), "pay.*") == subscription_of(group(member), member)


def test_settings_in_force_have_kafkas_names():
    """The full list has defaults and changes alike."""
    in_force = settings_in_force(ConsumerSettings(session_timeout_ms=6_000))

    assert (6_000, 500) == (in_force["session.timeout.ms"], in_force["max.poll.records"])
