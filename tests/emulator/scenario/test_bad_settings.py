"""Kafka's settings are checked against Kafka's rules when the scenario is read."""

from __future__ import annotations

import re

import pytest

import emulator
from emulator.scenario.load import load
from emulator.scenario.problems import ScenarioError

from .samples import SMALLEST, refusal

RANGE = '"partition.assignment.strategy" = "range"'
SESSION = '"session.timeout.ms" = 6000'


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('"session.timeout.ms" = "6000"', "a unit is missing; write 6000 without quotes"),
        ('"session.timeout.ms" = -1', "out of range; allowed is a whole number from 1 to"),
        ('"session.timeout.ms" = 3000000000', "out of range"),
        ('"session.timeout.ms" = "300us"', "Kafka counts this in whole ms"),
        ('"session.timeout.ms" = 2000', "not above heartbeat.interval.ms, which is 3000"),
        ('"heartbeat.interval.ms" = "45s"', "not below session.timeout.ms, which is 45000"),
        ('"enable.auto.commit" = "yes"', "allowed is true or false"),
        ('"max.poll.records" = "many"', "allowed is a whole number from 1"),
        ('"isolation.level" = "commited"', "unknown value; allowed is one of"),
        ('"group.protocol" = "streams"', "unknown value"),
        ('"auto.offset.reset" = "earlist"', 'did you mean "earliest"?'),
        ('"auto.offset.reset" = "by_duration:1h"', "not an ISO-8601 duration"),
        ('"auto.offset.reset" = "by_duration:-PT1H"', "must not be negative"),
        ('"group.instance.id" = "a b"', "allowed are 1 to 249 letters"),
        ('"group.id" = "billing"', "set by the id of the group"),
        ('"bootstrap.servers" = "localhost"', "a Kafka setting that the emulator does not model"),
        ('"group.max.size" = 5', "a setting of brokers; it belongs to [cluster] settings"),
        ('"client.rack" = 5', "wrong type; allowed is a text"),
        (f"{SESSION}, session.timeout.ms = 6000", "given twice"),
    ],
)
def test_a_wrong_setting_is_refused(given, said):
    """Settings are checked against Kafka's own kinds, bounds and rules."""
    assert said in refusal((f"{RANGE}, {SESSION}", given))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('"rnge"', 'did you mean "range"?'),
        ('""', "empty; a consumer without an assignor cannot subscribe"),
        ("[]", "empty"),
        ("3", "wrong type; allowed is a name or a list of names"),
        ('["range", "range"]', '"range" is named twice'),
        ('["range", 5]', "unknown assignor"),
        ('"uniform"', "unknown assignor"),
        ('"no_such_module:make"', "there is no module 'no_such_module'"),
        ('"json:loads_all"', "allow it: --plugin json on the command line"),
        ('"builtins:dict"', '[partition.assignment.strategy] = "builtins:dict"'),
    ],
)
def test_a_wrong_assignor_is_refused(given, said):
    """Assignors are found when the scenario is read, not when it runs."""
    assert said in refusal(('"range"', given))


def plugin(name: str, protocol: str) -> str:
    """Return the source of an assignor of one's own."""
    return f"""
from assignors.types import RebalanceProtocol

class Mine:
    name = "{name}"
    rebalance_protocols = (RebalanceProtocol.{protocol},)
    def subscription_user_data(self, topics): return None
    def assign(self, topics, subscriptions): return {{}}
    def on_assignment(self, partitions, generation): pass

def make(): return Mine()
"""


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("stays_eager", plugin("mine", "EAGER"), ""),
        ("only_new", plugin("mine", "COOPERATIVE"), "no rebalance protocol that all of them supp"),
        ("same_name", plugin("range", "EAGER"), 'two assignors are called "range"'),
        ("raises", "raise RuntimeError('on purpose')", "on purpose"),
        ("exits", "raise SystemExit(3)", "it called sys.exit(3)"),
    ],
)
def test_assignors_of_ones_own_must_agree_with_the_others(tmp_path, module, source, said):
    """A plug-in beside the scenario is imported, and must share a protocol with the others."""
    (tmp_path / f"{module}_assignor.py").write_text(source)
    file = tmp_path / "orders.toml"
    file.write_text(SMALLEST.replace('"range"', f'["{module}_assignor:make", "range"]'))
    if not said:
        load(file)
        return
    with pytest.raises(ScenarioError) as refused:
        load(file)

    assert said in str(refused.value)


LIMITED = """
title = "a setting that this client refuses"
run_for = "10s"
topic = [{{ name = "t", rate = "1/s" }}]

[[group]]
id = "g"
topics = ["t"]
members = 1
{group}
settings = {{ {settings} }}
"""


@pytest.mark.parametrize(
    ("group", "settings", "said"),
    [
        (
            'client = "librdkafka"',
            '"session.timeout.ms" = "60s", "max.poll.interval.ms" = "30s"',
            "librdkafka: `max.poll.interval.ms`must be >= `session.timeout.ms`",
        ),
        (
            'client = "librdkafka"',
            '"group.protocol" = "consumer", "session.timeout.ms" = "10s"',
            "librdkafka: `session.timeout.ms` is not supported for `group.protocol=consumer` or share",
        ),
        (
            'client = "librdkafka"',
            '"group.protocol" = "consumer", "partition.assignment.strategy" = "range"',
            "Use `group.remote.assignor` instead; leave it out",
        ),
        (
            'client = "librdkafka"',
            '"retry.backoff.ms" = 0',
            "outside allowed range 1..300000; allowed is a whole number from 1 to 300000 (milliseconds)",
        ),
        (
            'client = "librdkafka"',
            '"heartbeat.interval.ms" = "1h", "session.timeout.ms" = "2h", "max.poll.interval.ms" = "3h"',
            'librdkafka: Configuration property "session.timeout.ms" value 7200000 is outside',
        ),
        (
            'client = "franz-go"',
            '"auto.commit.interval.ms" = "99ms"',
            "franz-go: out of range; allowed is a whole number from 100 to",
        ),
        (
            'offsets = "zookeeper"',
            '"partition.assignment.strategy" = "cooperative-sticky"',
            "takes range for any other name",
        ),
        (
            'offsets = "zookeeper"\ncommit = { call = "sync", leader_epoch = true }',
            "",
            "a znode holds an offset and no leader epoch",
        ),
    ],
)
def test_what_one_client_refuses_is_refused_in_its_words(group, settings, said):
    with pytest.raises(ScenarioError, match=re.escape(said)):
        emulator.loads(LIMITED.format(group=group, settings=settings))


def test_the_java_consumer_takes_a_poll_interval_below_its_session():
    settings = '"session.timeout.ms" = "60s", "max.poll.interval.ms" = "30s"'

    assert emulator.loads(LIMITED.format(group="", settings=settings))
