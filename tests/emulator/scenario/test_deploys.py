"""Deploys that change settings: what members then have, and what Kafka refuses of it."""

from __future__ import annotations

import pytest

from emulator.scenario.deploys import deployed, deploys_of, ever_running, started_by
from emulator.scenario.load import load_with
from emulator.scenario.resolution import consumer_settings

from .samples import SMALLEST, read, refusal

GIVEN = '"partition.assignment.strategy" = "range", "session.timeout.ms" = 6000'
UNSET = 'unset = ["partition.assignment.strategy", "session.timeout.ms"]'
CONSUMER = 'settings = { "group.protocol" = "consumer" }'


def deploy(keys: str, verb: str = 'rolling_restart = "billing"') -> str:
    """Return an act as a file writes it, to be put before its first fault."""
    return f'[[act]]\nid = "migrate"\n{verb}\nat = "1min"\n{keys}\n\n[[fault]]'


def test_a_deploy_lays_its_settings_over_those_of_the_file():
    """Its own over the member's over the group's, without what it takes away."""
    act = deploy(f"{CONSUMER}\n{UNSET}")
    scenario = read(("[[fault]]", act))
    (found,) = deploys_of(scenario)
    group, member = scenario.group[0], scenario.group[0].members[0]
    after = consumer_settings(*deployed(group, member, found))

    assert ("classic", 6_000) == (
        consumer_settings(group, member).group_protocol,
        consumer_settings(group, member).session_timeout_ms,
    )
    assert ("consumer", 45_000) == (after.group_protocol, after.session_timeout_ms)
    assert 3 == len(started_by(found, scenario))
    assert 6 == len(ever_running(scenario))


def test_a_deploy_without_settings_changes_none():
    """Members start as they last ran; empty settings are those of the file."""
    assert [] == deploys_of(read(("[[fault]]", deploy(""))))
    assert 1 == len(deploys_of(read(("[[fault]]", deploy("settings = {}")))))


def test_a_deploy_of_some_members_starts_those():
    """By name; and a start is a deploy of one."""
    some = read(("[[fault]]", deploy(f'order = ["billing-2"]\n{CONSUMER}\n{UNSET}')))
    one = read(("[[fault]]", deploy(f"{CONSUMER}\n{UNSET}", 'start = "billing-1"')))

    assert ["billing-2"] == [member.name for _, member in started_by(deploys_of(some)[0], some)]
    assert ["billing-1"] == [member.name for _, member in started_by(deploys_of(one)[0], one)]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            CONSUMER,
            "group[billing].settings[session.timeout.ms] stays, and Kafka refuses it with group.pro",
        ),
        (
            f'settings = {{ "group.protocol" = "consumer", "heartbeat.interval.ms" = 1000 }}\n{UNSET}',
            "act[migrate].settings[heartbeat.interval.ms] = 1000: Kafka refuses it with",
        ),
        (
            'settings = { "group.remote.assignor" = "range" }',
            "act[migrate].settings[group.remote.assignor]",
        ),
        (
            f'settings = {{ "group.protocol" = "consumer", "group.remote.assignor" = "unifrom" }}\n{UNSET}',
            'did you mean "uniform"?',
        ),
        (CONSUMER, 'group.protocol=consumer; name it in "unset"'),
        ('unset = ["session.timeout"]', 'no such setting; did you mean "session.timeout.ms"?'),
        (
            'settings = { "session.timeout.ms" = 9000 }\nunset = ["session.timeout.ms"]',
            "is in settings, too",
        ),
        (
            'settings = { "heartbeat.interval.ms" = 7000 }',
            "act[migrate].settings[heartbeat.interval.ms] = 7000: not below session.timeout.ms",
        ),
        ('settings = { "group.protocl" = "consumer" }', 'did you mean "group.protocol"?'),
        ('settings = { "group.consumer.max.size" = 3 }', "a setting of brokers"),
    ],
)
def test_a_deploy_that_kafka_would_refuse_is_refused(keys, said):
    """With Kafka's reason, at the act, and with advice."""
    assert said in refusal(("[[fault]]", deploy(keys)))


def test_the_settings_of_a_deploy_have_paths_like_any_others(tmp_path):
    """``--set`` takes them, and one word of protocol takes what does not go with it away."""
    file = tmp_path / "orders.toml"
    keys = 'settings = { "session.timeout.ms" = "9s" }'
    file.write_text(SMALLEST.replace("[[fault]]", deploy(keys)))
    plain = load_with(file, ["act[migrate].settings[max.poll.records]=7"])
    there = load_with(
        file,
        [
            "act[migrate].settings[group.protocol]=consumer",
            'act[migrate].unset=["partition.assignment.strategy", "session.timeout.ms"]',
        ],
    )

    assert {"session.timeout.ms": 9_000, "max.poll.records": 7} == deploys_of(plain)[0].settings
    assert {"group.protocol": "consumer"} == deploys_of(there)[0].settings


@pytest.mark.parametrize("verb", ['rolling_restart = "billing"', 'start = "billing-1"'])
@pytest.mark.parametrize(
    ("client", "setting", "said"),
    [
        ("aiokafka", '"group.protocol" = "consumer"', "unexpected keyword argument"),
        ("librdkafka", '"partition.assignment.strategy" = "sticky"', "Unsupported partition."),
        ("librdkafka", '"max.poll.records" = 5', "consume() returns read_records"),
        ("java", '"enable.auto.offset.store" = false', 'it is one of "librdkafka"'),
        ("kafka-python", '"auto.offset.reset" = "by_duration:PT1H"', "Unrecognized offset_reset"),
    ],
)
def test_a_deploy_is_refused_what_the_client_of_its_members_lacks(client, setting, said, verb):
    """With the reason that the client gives, as in the settings of the group."""
    of_client = ("members = 3", f'members = 3\nclient = "{client}"')
    act = ("[[fault]]", deploy(f"settings = {{ {setting} }}", verb))

    assert f"act[migrate].settings[{setting.split(chr(34))[1]}]" in refusal(of_client, act)
    assert said in refusal(of_client, act)


VERBS = pytest.mark.parametrize("verb", ['rolling_restart = "billing"', 'start = "billing-1"'])


@VERBS
@pytest.mark.parametrize(
    ("client", "setting", "kafkas"),
    [
        ("kafka-python", "session_timeout_ms = 9000", {"session.timeout.ms": 9_000}),
        ("aiokafka", "max_poll_records = 7", {"max.poll.records": 7}),
        ("franz-go", 'SessionTimeout = "9s"', {"session.timeout.ms": 9_000}),
    ],
)
def test_a_deploy_takes_the_names_of_the_client(client, setting, kafkas, verb):
    """Those of the group's client, or of the started member's own; in ``unset``, too."""
    name = setting.split(" = ")[0]
    of_client = ("members = 3", f'members = 3\nclient = "{client}"')
    sets = read(of_client, ("[[fault]]", deploy(f"settings = {{ {setting} }}", verb)))
    removes = read(of_client, ("[[fault]]", deploy(f'unset = ["{name}"]', verb)))

    assert kafkas == deploys_of(sets)[0].settings
    assert tuple(kafkas) == deploys_of(removes)[0].unset


def test_a_start_takes_the_names_of_the_client_of_its_member():
    """A member may have another client than its group, whose names the act then has not."""
    member = '[[group.member]]\nname = "billing-1"\nclient = "aiokafka"\n\n[[fault]]'
    keys = "settings = { max_poll_records = 7 }"
    act = deploy(keys, 'start = "billing-1"').replace("[[fault]]", member)
    found = read(("[[fault]]", act))

    assert {"max.poll.records": 7} == deploys_of(found)[0].settings
    assert "unknown setting" in refusal(("[[fault]]", deploy(keys, 'start = "billing-1"')))


def test_a_name_that_the_client_lacks_is_refused_at_the_act():
    """With the nearest name."""
    of_client = ("members = 3", 'members = 3\nclient = "kafka-python"')
    said = refusal(of_client, ("[[fault]]", deploy("settings = { sesion_timeout_ms = 9000 }")))

    assert "act[migrate].settings[sesion_timeout_ms]" in said
    assert 'did you mean "session_timeout_ms"?' in said


def test_a_grace_period_that_the_hook_uses_up_is_refused_with_both():
    """Nothing is refused while some of it is left for close()."""
    said = refusal(("[[fault]]", deploy('grace = "30s"\npre_stop = "45s"')))
    read(("[[fault]]", deploy('grace = "46s"\npre_stop = "45s"')))

    assert 'act[migrate].grace = "30s": ' in said
    assert '"pre_stop" = 45s' in said
    assert 'make "grace" longer than 45s' in said
