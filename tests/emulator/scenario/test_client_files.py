"""``settings_from``: settings of real clients, of Java, librdkafka and Spring."""

from __future__ import annotations

import pytest

import emulator
from emulator.errors import EmulatorError
from emulator.loading import load_named
from emulator.scenario.problems import ScenarioError

SCENARIO = """
title = "a deploy"
run_for = "3min"
topic = [{{ name = "orders", partitions = 6, rate = "20/s" }}]
act = [
    {{ rolling_restart = "billing", at = "60s" }},
    {{ close = "billing-1", at = "2min", grace = "1s" }},
    {{ close = "other-0", at = "2min" }},
]

[[group]]
id = "billing"
topics = ["orders"]
members = 3
settings_from = "{}"
settings = {{ "max.poll.records" = 7 }}

[[group]]
id = "other"
topics = ["orders"]
members = 1
"""

PROPERTIES = r"""
# of the deployment
bootstrap.servers=a:9092,\
                  b:9092
session.timeout.ms=10000
max.poll.records : 100
partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor
enable.auto.offset.store=false
"""

SPRING = """
spring:
  lifecycle.timeout-per-shutdown-phase: 20s
  kafka:
    bootstrap-servers: kafka:9092
    consumer:
      autoOffsetReset: earliest
      fetch-min-size: 1KB
      heartbeat-interval: PT2S
      properties:
        max:
          poll:
            interval.ms: ${POLL:60000}
    listener: {immediate-stop: true, concurrency: 3, poll-timeout: 500}
---
spring:
  config.activate.on-profile: prod
  kafka.consumer.heartbeat-interval: 1s
"""


@pytest.fixture
def load(tmp_path):
    """Return a function that loads the scenario with a client's file."""

    def call(name, text, *changes):
        (tmp_path / name).write_text(text, encoding="utf-8")
        path = tmp_path / "scenario.toml"
        scenario = SCENARIO
        for old, new in changes:
            scenario = scenario.replace(old, new)
        path.write_text(scenario.format(name), encoding="utf-8")
        return load_named(str(path))

    return call


def test_properties_of_a_client_are_the_settings_of_the_group(load):
    """The scenario's own come first; what has no part here is noted."""
    loaded = load("consumer.properties", PROPERTIES)

    assert dict(loaded.scenario.group[0].settings) == {
        "session.timeout.ms": 10_000,
        "max.poll.records": 7,
        "partition.assignment.strategy": ("cooperative-sticky",),
    }
    of_librdkafka, *notes = loaded.notes
    assert 'has client = "librdkafka"' in of_librdkafka
    assert tuple(notes) == (
        "consumer.properties: ignored: 2 settings that the emulator does not use, such as bootstrap.servers",
    )


def test_settings_of_librdkafka_ask_for_its_client(load):
    """Unless the group names one: a Java client commits other offsets."""
    named = ('settings = {{ "max.poll.records" = 7 }}', 'client = "librdkafka"')
    file = PROPERTIES.replace("max.poll.records : 100", "").replace(
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor", "cooperative-sticky"
    )
    of_client, _ = load("consumer.properties", PROPERTIES).notes
    stores, ignored = load("consumer.properties", file, named).notes

    assert '"enable.auto.offset.store": of librdkafka; the group is played as a Java' in of_client
    assert 'enable.auto.offset.store is false: commit = "store"' in stores
    assert "ignored" in ignored


LIBRDKAFKA = """
bootstrap.servers=broker:9092
auto.offset.reset=smallest
topic.metadata.refresh.interval.ms=60000
metadata.max.age.ms=900000
fetch.wait.max.ms=100
queued.min.messages=1000
enable.auto.offset.store=false
statistics.interval.ms=5000
"""


def test_a_file_of_librdkafka_is_read_by_its_own_names_and_values(load):
    """Those of the scenario come first, whichever name they have there."""
    own = (
        'settings = {{ "max.poll.records" = 7 }}',
        'client = "librdkafka"\nsettings = {{ "fetch.wait.max.ms" = 50 }}',
    )
    loaded = load("rdkafka.conf", LIBRDKAFKA, own)
    group = loaded.scenario.group[0]

    assert dict(group.settings) == {
        "auto.offset.reset": "earliest",
        "metadata.max.age.ms": 60_000,
        "fetch.max.wait.ms": 50,
        "queued.min.messages": 1_000,
        "enable.auto.offset.store": False,
    }
    assert group.commit.call == "store"
    assert (
        "3 settings that the emulator does not use, such as bootstrap.servers" in loaded.notes[-1]
    )


def test_a_file_of_aiokafka_is_read_by_its_own_names(load):
    """As keyword arguments in JSON."""
    own = ('settings = {{ "max.poll.records" = 7 }}', 'client = "aiokafka"')
    loaded = load("consumer.json", '{"session_timeout_ms": 9000, "max_poll_records": 20}', own)

    assert dict(loaded.scenario.group[0].settings) == {
        "session.timeout.ms": 9_000,
        "max.poll.records": 20,
    }


def test_a_value_that_librdkafka_does_not_have_is_refused_with_its_words(load):
    """With the name of the file."""
    own = ('settings = {{ "max.poll.records" = 7 }}', 'client = "librdkafka"')
    with pytest.raises(ScenarioError) as refused:
        load("rdkafka.conf", "auto.offset.reset=none", own)

    assert 'Invalid value "none" for configuration property' in str(refused.value)
    assert 'it has "earliest", "smallest"' in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.properties", "client.id=7\ngroup.instance.id=3"),
        ("c.json", '{"client.id": 7, "group.instance.id": "3"}'),
        ("c.yaml", "spring.kafka.consumer.properties: {client.id: 7, group.instance.id: 3}"),
    ],
)
def test_a_name_of_digits_is_a_text(load, name, text):
    """Clients take it; the ordinal of a pod is often an instance id."""
    settings = load(name, text).scenario.group[0].settings

    assert ("7", "3") == (settings["client.id"], settings["group.instance.id"])


def test_json_of_a_client_is_read_too(load):
    """As programs with librdkafka have it."""
    loaded = load("client.json", '{"session.timeout.ms": 6000, "enable.auto.commit": false}')

    assert loaded.scenario.group[0].settings["session.timeout.ms"] == 6_000
    (note,) = loaded.notes
    assert "nothing is committed unless the group has" in note


def test_a_file_of_spring_sets_commits_and_shutdown_too(load):
    """Of the default profile; its members stop as Spring stops them, those of others do not."""
    loaded = load("application.yml", SPRING)

    group, other = loaded.scenario.group
    assert dict(group.settings) == {
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.min.bytes": 1_024,
        "heartbeat.interval.ms": 2_000,
        "max.poll.interval.ms": 60_000,
        "max.poll.records": 7,
    }
    assert (group.commit.call, group.commit.when, other.commit.call) == ("sync", "batch", "auto")
    assert group.poll_timeout == 500_000
    deploy, close, another = loaded.scenario.fault
    assert (deploy.grace, deploy.mid_batch) == (20_000_000, True)
    assert (close.grace, close.mid_batch) == (1_000_000, True)
    assert (another.grace, another.mid_batch) == (None, False)
    concurrency, ignored = loaded.notes
    assert concurrency.endswith(
        "spring.kafka.listener.concurrency=3: write threads = 3 for the group, whose members are the "
        "consumers of all processes"
    )
    assert "spring.kafka.bootstrap-servers" in ignored


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("ack-mode=record", {"call": "sync", "when": "record", "on_refusal": "keep"}),
        ("ack-mode=MANUAL_IMMEDIATE", {"call": "sync", "when": "record"}),
        ("ack-mode=batch", {"call": "sync", "when": "batch", "on_revoke": True}),
        ("ack-mode=manual", {"call": "sync", "when": "batch"}),
        (
            "ack-mode=count-time\nspring.kafka.listener.ack-count=9",
            {"when": "every", "records": 9, "every": 5_000_000, "on_refusal": "keep"},
        ),
        (
            "ack-mode=time\nspring.kafka.listener.ack-time=300",
            {"when": "every", "records": None, "every": 300_000},
        ),
    ],
)
def test_every_acknowledgement_mode_is_a_commit_policy(load, keys, expected):
    """Also in Spring's properties; with the reactions and the poll timeout of a listener container."""
    group = load("spring.properties", f"spring.kafka.listener.{keys}\n").scenario.group[0]

    assert {key: getattr(group.commit, key) for key in expected} == expected
    assert group.framework.startswith("spring-")
    assert group.poll_timeout == 5_000_000


def test_a_container_of_spring_may_commit_automatically(load):
    """The client commits; what happens to records that fail is the container's."""
    text = "spring.kafka.consumer.enable-auto-commit=true\n"
    group = load("spring.properties", text).scenario.group[0]

    assert ("auto", "spring-batch") == (group.commit.call, group.framework)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.properties",
            "max.poll.records=many",
            r"a\.properties:1: max\.poll\.records = \"many\": ",
        ),
        ("a.properties", "max.poll.record=9", 'unknown setting; did you mean "max.poll.records"'),
        (
            "a.yml",
            "spring.kafka.consumer.auto-offset-reset: erliest",
            r'spring\.kafka\.consumer\.auto-offset-reset = "erliest": unknown policy; allowed are "earl',
        ),
        ("a.yml", "spring: [", r"a\.yml: cannot be read: not YAML"),
        ("a.json", "[]", "a JSON object is needed"),
        ("a.properties", "spring.kafka.listener.ack-mode=often", "unknown mode; allowed are"),
    ],
)
def test_a_file_with_an_error_is_refused(load, name, text, message):
    """With the file's name."""
    with pytest.raises(EmulatorError, match=message):
        load(name, text)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.properties", "# max.poll.records=x\n\nmax.poll.records = x\n", 3),
        ("a.properties", "max.poll.records=1\nmax.poll.records=x\n", 2),
        ("a.properties", "spring.kafka.listener.ack-mode=often\n", 1),
        ("a.properties", "a=1\nmax.poll.recordz=9\n", 2),
        ("a.json", '{\n  "group.id": "a",\n  "session.timeout.ms": "x"\n}', 3),
        ("a.yml", "spring:\n  kafka:\n    consumer:\n      max-poll-records: x\n", 4),
        ("a.yml", "spring.kafka.consumer: {group-id: a, autoOffsetReset: x}\n", 1),
        ("a.yml", "spring.kafka:\n  properties:\n    max:\n      poll.records: x\n", 4),
        (
            "a.yml",
            "spring.kafka.consumer:\n  max-poll-records: x\n---\nspring:\n  config.activate.on-profile: p\n  kafka.consumer.max-poll-records: 9\n",
            2,
        ),
    ],
)
def test_an_error_names_the_line_of_its_setting(load, name, text, line):
    """In each kind of file, of the setting that counts."""
    with pytest.raises(EmulatorError) as refused:
        load(name, text)

    assert line == refused.value.problems[0].line
    assert f"{name}:{line}: " in str(refused.value)


def test_only_a_scenario_file_can_name_one(tmp_path):
    """In Python and in a text without a folder there is nothing that the path is relative to."""
    with pytest.raises(EmulatorError, match="only a scenario file can have it"):
        emulator.scenario.model.Group(id="a", topics=["t"], members=[], settings_from="x")
    with pytest.raises(EmulatorError, match="cannot be read"):
        emulator.loads(SCENARIO.format("none.properties"), folder=tmp_path)


def test_the_protocol_of_the_scenario_leaves_out_what_it_does_not_have(load):
    """As --set of group.protocol does with settings of the scenario; the note says so."""
    other = ('"max.poll.records" = 7', '"group.protocol" = "consumer"')
    loaded = load("consumer.properties", PROPERTIES, other)

    assert dict(loaded.scenario.group[0].settings) == {
        "max.poll.records": 100,
        "group.protocol": "consumer",
    }
    assert (
        "consumer.properties: left out, as group.protocol=consumer of the scenario does not have them: "
        "session.timeout.ms, partition.assignment.strategy"
    ) in loaded.notes


def test_a_file_with_both_protocols_is_refused(load):
    """Kafka refuses it, too."""
    with pytest.raises(EmulatorError, match=r"session\.timeout\.ms"):
        load("consumer.properties", PROPERTIES + "group.protocol=consumer\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.properties", "# Länge\nsession.timeout.ms=10000".encode("iso-8859-1")),
        ("c.properties", "# Länge\r\nsession.timeout.ms=10000\r\n".encode("utf-8-sig")),
        ("c.yml", b"spring:\r\n  kafka:\r\n    properties:\r\n      session.timeout.ms: 10000"),
        ("c.json", '{"session.timeout.ms": "10000"}'.encode("utf-8-sig")),
    ],
)
def test_a_file_is_read_in_the_encodings_of_its_own_reader(tmp_path, name, content):
    """``java.util.Properties.load`` reads ISO 8859-1, editors on Windows write marks and CRLF."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / "s.toml").write_text(SCENARIO.format(name))

    group = load_named(str(tmp_path / "s.toml")).scenario.group[0]

    assert 10_000 == group.settings["session.timeout.ms"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("c.properties", "a=1".encode("utf-16"), "not UTF-8 but UTF-16, as PowerShell's > writes"),
        ("c.yml", "a: \xe9".encode("iso-8859-1"), "not UTF-8 at byte 3; save it as UTF-8"),
        ("c.json", b"", "not JSON: Expecting value: line 1"),
    ],
)
def test_a_file_in_another_encoding_is_refused_by_its_name(tmp_path, name, content, said):
    """Not by an error of Python's codecs."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / "s.toml").write_text(SCENARIO.format(name))

    with pytest.raises(EmulatorError, match=said):
        load_named(str(tmp_path / "s.toml"))
