"""What a client refuses, and the values that it has of its own (docs/reference/clients.md)."""

from __future__ import annotations

import pytest

import emulator
import emulator.scenario.schema
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError
from protocols.consumer.clients import CLIENTS, profile_of

SCENARIO = """
title = "a member crashes with work in hand"
run_for = "60s"
topic = [{{ name = "orders", partitions = 2, rate = "0.2/s", backlog = 60 }}]

[[group]]
id = "g"
topics = ["orders"]
members = 2
work = "1ms"
{keys}
"""


def _group(keys: str) -> str:
    return SCENARIO.format(keys=keys)


REFUSED = {
    'settings = { "group.protocol" = "consumer" }': "unexpected keyword argument",
    'settings = { "partition.assignment.strategy" = "cooperative-sticky" }': (
        "No module named 'aiokafka.coordinator.assignors.cooperative_sticky'"
    ),
    "settings = { max_pol_records = 3 }": 'did you mean "max_poll_records"?',
    "settings = { session_timeout_ms = 6000, 'session.timeout.ms' = 6000 }": "given twice",
    'settings = { "retry.backoff.max.ms" = 100 }': '"aiokafka" has no such setting',
    'settings = { "queued.min.messages" = 100 }': 'it is one of "librdkafka"',
    'read_with = "getmny"': 'did you mean "getmany"?',
    "read_records = 3": "takes no number of records",
    'commit = "store"': "no call that stores offsets",
    'settings = { auto_offset_reset = "by_duration:PT1H" }': "config, using NONE",
    'close_operation = "REMAIN_IN_GROUP"': "takes no CloseOptions (KIP-1092)",
}


@pytest.mark.parametrize("keys", REFUSED)
def test_what_a_client_lacks_is_refused_with_its_own_words(keys):
    """Here: aiokafka."""
    with pytest.raises(ScenarioError) as refused:
        loads(_group(f'client = "aiokafka"\n{keys}'), "a test")
    assert REFUSED[keys] in str(refused.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "confluent-kafka",
            '"confluent-kafka" is or is built on librdkafka: client = "librdkafka"',
        ),
        ("Confluent.Kafka", 'client = "librdkafka"'),
        ("rdkafak", 'client = "librdkafka"'),
        ("kgo", 'client = "franz-go"'),
        ("jva", 'did you mean "java"?'),
        ("sarama", "this client is not modelled; allowed is one of "),
        ("saramma", '"sarama" is not modelled'),
        ("abc", 'unknown client; allowed is one of "java"'),
    ],
)
def test_a_product_is_known_by_the_client_that_it_is_built_on(given, said):
    """A client that is not modelled is named as such."""
    with pytest.raises(ScenarioError) as refused:
        loads(_group(f'client = "{given}"'), "a test")

    assert said in str(refused.value)


FOREIGN = {
    'client = "aiokafka"\nsettings = { SessionTimeout = "6s" }': (
        'in franz-go; aiokafka calls it "session_timeout_ms"'
    ),
    'client = "librdkafka"\nsettings = { session_timeout_ms = "6s" }': (
        'in aiokafka; librdkafka calls it "session.timeout.ms"'
    ),
    'client = "franz-go"\nsettings = { max_poll_interval_ms = 9 }': "time between polls is not limited",
    'client = "franz-go"\nsettings = { sesion_timeout = 9 }': 'did you mean "SessionTimeout"?',
    'client = "librdkafka"\nsettings = { "max.poll.records" = 9 }': "consume() returns read_records",
    'client = "franz-go"\nsettings = { Balancers = ["RangeBalancr"] }': (
        'undefined: kgo.RangeBalancr; did you mean "RangeBalancer"?'
    ),
    'client = "kafka-python"\nsettings = { "group.protocol" = "consumer" }': "Unrecognized configs",
    'client = "librdkakfa"': 'did you mean "librdkafka"?',
}


@pytest.mark.parametrize("keys", FOREIGN)
def test_a_name_of_another_client_is_refused_with_the_own_one(keys):
    """Or with what the client has instead."""
    with pytest.raises(ScenarioError) as refused:
        loads(_group(keys), "a test")

    assert FOREIGN[keys] in str(refused.value)


BOUNDS = [
    (
        "java",
        "heartbeat.interval.ms",
        45_000,
        "Heartbeat must be set lower than the session timeout",
    ),
    ("kafka-python", "heartbeat_interval_ms", 45_000, "the session timeout (45000 v 45000)"),
    ("kafka-python", "auto_offset_reset", '"error"', 'it has "earliest", "smallest"'),
    (
        "librdkafka",
        "auto.offset.reset",
        '"none"',
        'Invalid value "none" for configuration property',
    ),
    ("librdkafka", "auto.offset.reset", '"smalest"', 'did you mean "smallest"?'),
    (
        "librdkafka",
        "fetch.wait.max.ms",
        300_001,
        '"fetch.wait.max.ms" value 300001 is outside allowed range 0..300000',
    ),
    ("librdkafka", "topic.metadata.refresh.interval.ms", 4_000_000, "outside allowed range"),
    ("franz-go", "AutoCommitInterval", 50, "out of range; allowed is a whole number from 100"),
    ("franz-go", "RebalanceTimeout", 99, "out of range; allowed is a whole number from 100"),
    ("franz-go", "RequestTimeoutOverhead", 999, "allowed is a whole number from 1000"),
    ("franz-go", "ConsumeResetOffset", '"smallest"', 'it has "AtStart", "earliest"'),
]
"""What a client says about a value of one of its settings."""


@pytest.mark.parametrize(("client", "name", "value", "said"), BOUNDS)
def test_a_value_that_a_client_does_not_accept_is_refused_with_its_words(client, name, value, said):
    """Not with those of another client."""
    with pytest.raises(ScenarioError) as refused:
        loads(_group(f'client = "{client}"\nsettings = {{ "{name}" = {value} }}'), "a test")
    assert said in str(refused.value)


TOGETHER = [
    (
        'client = "franz-go"\ncommit = "store"\nsettings = { GreedyAutoCommit = true }',
        "settings[greedy.auto.commit] = true: franz-go: cannot enable both greedy",
    ),
    (
        'client = "franz-go"\ncommit = "sync"\nsettings = { GreedyAutoCommit = true }',
        "cannot both disable autocommitting and enable greedy autocommitting",
    ),
    (
        'client = "franz-go"\ncommit = "store"\nsettings = { "enable.auto.commit" = false }',
        "cannot both disable autocommitting and enable marked autocommitting",
    ),
    (
        'client = "librdkafka"\ncommit = "store"\nsettings = { "enable.auto.offset.store" = true }',
        'store_offsets() fails with "Local: Invalid argument or configuration"',
    ),
    (
        'client = "librdkafka"\nsettings = { "enable.auto.offset.store" = false }',
        'set commit = "store" (store_offsets() behind the work), or commit = "none"',
    ),
]


@pytest.mark.parametrize(("keys", "said"), TOGETHER)
def test_values_that_a_client_refuses_together_are_refused_with_its_words(keys, said):
    """Once for the group, not for each member."""
    with pytest.raises(ScenarioError) as refused:
        loads(_group(keys), "a test")
    assert said in str(refused.value)
    assert 1 == len(refused.value.problems)


ACCEPTED = [
    ("librdkafka", "auto.offset.reset", '"smallest"', "earliest"),
    ("librdkafka", "auto.offset.reset", '"error"', "none"),
    ("kafka-python", "auto_offset_reset", '"largest"', "latest"),
    ("franz-go", "ConsumeResetOffset", '"AtStart"', "earliest"),
    ("librdkafka", "heartbeat.interval.ms", 45_000, 45_000),
    ("aiokafka", "heartbeat_interval_ms", 10_000, 10_000),
    ("franz-go", "HeartbeatInterval", 45_000, 45_000),
]
"""Values that the Java consumer would refuse, with what they are here."""


@pytest.mark.parametrize(("client", "name", "value", "meant"), ACCEPTED)
def test_a_client_has_values_of_its_own(client, name, value, meant):
    """Only Java and kafka-python compare heartbeats with the session."""
    scenario = loads(_group(f'client = "{client}"\nsettings = {{ "{name}" = {value} }}'), "a test")

    assert meant in scenario.group[0].settings.values()


def test_librdkafka_does_not_mix_assignors_of_two_protocols():
    """It says so when the consumer is created."""
    strategy = 'settings = { "partition.assignment.strategy" = "range,cooperative-sticky" }'
    with pytest.raises(ScenarioError, match="must have the same protocol type"):
        loads(_group(f'client = "librdkafka"\n{strategy}'), "a test")


@pytest.mark.parametrize("client", ["librdkafka", "kafka-python", "franz-go"])
def test_only_java_resets_by_duration(client):
    keys = f'client = "{client}"\nsettings = {{ "auto.offset.reset" = "by_duration:PT1H" }}'
    with pytest.raises(ScenarioError, match=profile_of(client).lacks_reset_by_duration[:9]):
        loads(_group(keys), "a test")


def test_java_has_no_setting_of_another_client():
    """Its message names the client that has it."""
    with pytest.raises(ScenarioError, match="librdkafka"):
        loads(_group('settings = { "enable.auto.offset.store" = false }'), "a test")


@pytest.mark.long
def test_the_schema_has_every_client():
    """Editors complete their names."""
    schema = emulator.scenario.schema.file_schema()

    assert schema["$defs"]["Group"]["properties"]["client"]["enum"] == list(CLIENTS)
