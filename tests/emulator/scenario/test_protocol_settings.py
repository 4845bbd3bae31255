"""Settings of each of Kafka's two group protocols, and Kafka's refusals."""

from __future__ import annotations

import pytest

from emulator.scenario.load import load_with
from emulator.scenario.problems import ScenarioError
from emulator.scenario.resolution import broker_settings, consumer_settings

from .samples import SMALLEST, read, refusal

GIVEN = '"partition.assignment.strategy" = "range", "session.timeout.ms" = 6000'
CONSUMER = '"group.protocol" = "consumer"'
OF_BROKERS = "[cluster.settings]\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (f"{CONSUMER}, {GIVEN}", "[session.timeout.ms] = 6000: Kafka refuses it with group.proto"),
        (f"{CONSUMER}, {GIVEN}", "set group.consumer.session.timeout.ms in [cluster] settings"),
        (f'{CONSUMER}, "heartbeat.interval.ms" = 1000', "group.consumer.heartbeat.interval.ms in"),
        (f"{CONSUMER}, {GIVEN}", '[partition.assignment.strategy] = ["range"]: Kafka refuses it'),
        ('"group.remote.assignor" = "uniform"', "Kafka refuses it with group.protocol=classic"),
        (f'{CONSUMER}, "group.remote.assignor" = "unifrom"', 'did you mean "uniform"?'),
        (f'{CONSUMER}, "group.remote.assignor" = "sticky"', "UNSUPPORTED_ASSIGNOR"),
        ('"group.protocol" = "streams"', "unknown value"),
    ],
)
def test_settings_of_the_other_protocol_are_refused(given, said):
    """As Kafka does, with its reason, and with where the setting is made instead."""
    assert said in refusal((GIVEN, given))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            '"group.consumer.session.timeout.ms" = "6s"',
            "brokers do not start: allowed are 45000 to 60000",
        ),
        ('"group.consumer.heartbeat.interval.ms" = "1s"', "group.consumer.min.heartbeat.interval"),
        ('"group.consumer.assignors" = "sticky"', "unknown assignor; allowed are"),
        ('"group.consumer.assignors" = []', "empty; a coordinator needs one assignor"),
        ('"group.consumer.assignors" = 3', "wrong type"),
        ('"group.consumer.assignors" = "range, range"', "named twice"),
    ],
)
def test_settings_of_brokers_are_checked_against_their_own_bounds(given, said):
    """A broker that would not start is no cluster."""
    assert said in refusal((GIVEN, CONSUMER), more=f"{OF_BROKERS}{given}")


def test_a_group_of_both_protocols_has_no_settings_of_one_of_them():
    """A group may begin during a migration; settings of one protocol belong to its members."""
    member = f'[[group.member]]\nname = "billing-0"\nsettings = {{ {CONSUMER} }}\n\n[[fault]]'
    start = '"partition.assignment.strategy" = "range"'
    mixed = read((GIVEN, '"auto.offset.reset" = "earliest"'), ("[[fault]]", member)).group[0]
    spoken = [consumer_settings(mixed, member).group_protocol for member in mixed.members]

    assert ["consumer", "classic", "classic"] == spoken
    assert "set it for single members" in refusal((GIVEN, start), ("[[fault]]", member))


def test_the_settings_of_both_sides_are_read():
    """Java's names of assignors stand for Kafka's own, and the brokers' settings are theirs."""
    java = "org.apache.kafka.coordinator.group.assignor.RangeAssignor"
    brokers = f'{OF_BROKERS}"group.consumer.assignors" = ["{java}"]'
    asked = f'{CONSUMER}, "group.remote.assignor" = "range"'
    scenario = read((GIVEN, asked), more=brokers)
    group = scenario.group[0]

    assert ("range",) == broker_settings(scenario.cluster).group_consumer_assignors
    assert "range" == consumer_settings(group, group.members[0]).group_remote_assignor


def test_one_word_on_the_command_line_changes_the_protocol(tmp_path):
    """``--set`` takes what only the other protocol has out of the same table, and nothing else."""
    file = tmp_path / "orders.toml"
    file.write_text(SMALLEST.replace(GIVEN, f'{GIVEN}, "auto.offset.reset" = "earliest"'))
    path = "group[billing].settings[group.protocol]"
    new = load_with(file, [f"{path}=consumer"]).group[0].settings
    back = load_with(
        file,
        [
            f"{path}=consumer",
            "group[billing].settings[group.remote.assignor]=range",
            f"{path}=classic",
        ],
    )

    assert {"group.protocol": "consumer", "auto.offset.reset": "earliest"} == new
    assert {"group.protocol": "classic", "auto.offset.reset": "earliest"} == back.group[0].settings


def test_what_is_set_after_the_word_is_not_taken_out(tmp_path):
    """Contradictory settings are refused."""
    file = tmp_path / "orders.toml"
    file.write_text(SMALLEST)
    settings = "group[billing].settings"
    with pytest.raises(ScenarioError) as refused:
        load_with(
            file, [f"{settings}[group.protocol]=consumer", f"{settings}[session.timeout.ms]=10s"]
        )

    assert "Kafka refuses it with group.protocol=consumer" in str(refused.value)
