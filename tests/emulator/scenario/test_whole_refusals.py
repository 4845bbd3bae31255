"""Refusals name what the file says, once each: short forms, keys of other systems, unused tables."""

from __future__ import annotations

import pytest

from emulator.loading import load_named

from .samples import refusal, text

THREE = "members = 3"
SETTINGS = '"session.timeout.ms" = 6000 }'
GIVEN_SETTINGS = '"partition.assignment.strategy" = "range", "session.timeout.ms" = 6000'
HPA = '[group.autoscaler]\nkind = "hpa"\nmax_replicas = 6\n'


def refused(more: str) -> list[str]:
    return refusal((SETTINGS, f"{SETTINGS}\n{more}")).splitlines()


def lag_rule(keys: str) -> str:
    return f'monitor = [{{ rule = "lag", {keys} }}]'


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("handler = { workers = 4 }", "a consumer is not safe for use by several threads"),
        ('offsets = "database"', "a transaction has the results and the offsets of one poll"),
    ],
)
def test_a_commit_policy_is_quoted_as_the_file_writes_it(more, said):
    """The short form stands for a call and its time; the file has neither of these keys."""
    [problem] = refused(f'commit = "sync per record"\n{more}')

    assert f'group[billing].commit = "sync per record": {said}' in problem


def test_a_table_of_a_commit_policy_is_quoted_by_its_key():
    """The file has the key."""
    wanted = '{ call = "sync", when = "record", on_revoke = true }'
    [problem] = refused(f"commit = {wanted}\nhandler = {{ workers = 4 }}")

    assert 'group[billing].commit.when = "record"' in problem


@pytest.mark.parametrize(
    "more",
    [
        'client = "aiokafka"\nread_with = "consume"',
        'client = "java"\nread_records = 5',
        'client = "librdkafka"\noffsets = "database"',
        'client = "librdkafka"\noffsets = "zookeeper"',
    ],
)
def test_a_client_of_the_group_is_refused_once(more):
    """Its three members have no key of their own, so no message names them."""
    said = refused(more)

    assert len(said) == 1
    assert ": group[billing]." in said[0]
    assert "member[" not in said[0]


def test_a_client_of_a_member_is_refused_there():
    """The others can do what the group asks for."""
    group = 'client = "librdkafka"\nread_with = "consume"\nread_records = 5'
    [problem] = refused(f'{group}\n[[group.member]]\nname = "billing-1"\nclient = "java"')

    assert "group[billing].member[billing-1].read_records = 5: poll of java" in problem


ROLL = '[[act]]\nrolling_restart = "billing"\nat = "9s"\n'


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (f"{HPA}scale_down = {{ policies = [{{ pods = 1 }}] }}", 'pods = 1: unknown key; did you mean "replicas"?'),
        (f"{HPA}scale_down = {{ policies = [{{ value = 1 }}] }}", "is written replicas = 1"),
        (f"{HPA}scale_down = {{ policies = [{{ periodSeconds = 1 }}] }}", 'did you mean "period"?'),
        (f'{HPA}scale_down = {{ selectPolicy = "Min" }}', 'did you mean "select"?'),
        (f"{HPA}threshold = 5", 'did you mean "lag_threshold"?'),
        (f"{HPA}stabilization_window = 5", "belongs in scale_up or scale_down"),
        (f"{HPA}fallback = {{}}", "fallback = {}: unknown key; not modelled"),
        ('poison = [{ every = 5, error = "dead_letter" }]', 'did you mean "forward"?'),
        ('offsets = "db"', 'did you mean "database"?'),
        ('monitor = [{ rule = "threshold" }]', 'did you mean "lag"?'),
        (lag_rule("threshold = 1"), 'threshold = 1: unknown key; did you mean "above"?'),
        (lag_rule("treshold = 1"), 'did you mean "above"?'),
        (lag_rule("alow = 1"), "allowed here are"),
        ('work_time = "5ms"', 'did you mean "work"?'),
        (f'{ROLL}grace_period = "5s"', 'did you mean "grace"?'),
        (f"{ROLL}terminationGracePeriodSeconds = 5", 'did you mean "grace"?'),
        (f"{ROLL}maxSurge = 1", 'did you mean "surge"?'),
        ('[act]\nclose = "billing-0"', "a list of tables is needed; write [[act]]"),
        (f"{ROLL}canary = 9", "act[rolling_restart-1].canary = 9: not below"),
        (lag_rule("above = 1, evry = 1"), 'did you mean "every"?'),
    ],
)  # fmt: skip
def test_keys_of_other_systems_are_known(more, said):
    """Kubernetes, KEDA and common words; a mistyped one of ours comes first."""
    assert said in refused(more)[0]


def test_each_key_of_the_other_autoscaler_has_its_line():
    """In the order of the file."""
    keys = ['topic = "orders"', "allow_idle_consumers = true", 'cooldown_period = "5min"']
    said = refused(HPA + "\n".join(keys))

    places = [each.partition(" = ")[0] for each in said]
    assert places == [
        "orders.toml:19: group[billing].autoscaler.topic",
        "orders.toml:20: group[billing].autoscaler.allow_idle_consumers",
        "orders.toml:21: group[billing].autoscaler.cooldown_period",
    ]
    assert all('only kind = "keda" has this key' in each for each in said)


def test_a_table_without_a_verb_is_named_by_its_number():
    """Among the tables of its own kind, since it has no id."""
    more = '[[act]]\nseek_to = "billing-0"\nat = "1s"\n[[fault]]\ncrsh = "billing-0"'
    said = refusal(more=more).splitlines()

    assert ': act[0]: no verb; did you mean "seek"?' in said[0]
    assert ': fault[1]: no verb; did you mean "crash"?' in said[1]


@pytest.mark.parametrize(
    "keys", ['rule = "lag", above = 9, every', 'rule = "burrow", offset_refresh']
)
def test_a_monitor_is_no_finer_than_the_samples_it_reads(keys):
    """It would see each sample several times."""
    [problem] = refused(f'monitor = [{{ {keys} = "250ms" }}]')

    assert f'{keys.rpartition(" ")[2]} = "250ms"' in problem
    assert "allowed is at least 1s" in problem


def test_a_mistyped_target_is_compared_with_topics_that_wait_for_records():
    """A target outside the scenario is allowed, unless a topic without producer has nearly its name."""
    retry = '[[topic]]\nname = "orders-retry"\npartitions = 6'
    rule = 'poison = [{ every = 500, error = "forward", to = "orders-rety" }]'
    said = refusal((THREE, f"{THREE}\n{rule}"), more=retry)

    assert 'poison[0].to = "orders-rety"' in said
    assert 'no group reads it; did you mean "orders-retry"?' in said


def written(tmp_path, *changes: tuple[str, str], more: str = ""):
    file = tmp_path / "a.toml"
    file.write_text(text(*changes, more=more))
    return load_named(str(file))


def test_a_target_outside_the_scenario_is_allowed(tmp_path):
    """It resembles the topic of the producer, which cannot be meant."""
    rule = 'poison = [{ every = 500, error = "forward", to = "orders-dlt" }]'

    assert written(tmp_path, (THREE, f"{THREE}\n{rule}")).notes == ()


def test_a_store_that_no_group_uses_is_noted(tmp_path):
    """A variant may use it."""
    store = '[database]\nlatency = "10ms"'
    variant = '[[variant]]\nname = "database"\nset = ["group[billing].offsets=database"]'

    assert written(tmp_path, more=store).notes == (
        '[database] has no effect: no group has offsets = "database"',
    )
    assert written(tmp_path, more=f"{store}\n{variant}").notes == ()
    assert written(tmp_path, (THREE, f'{THREE}\noffsets = "database"'), more=store).notes == ()


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ('settings."group.protocol" = "consumer"', "group[billing].settings[group.protocol]"),
        ("static = true", "group[billing].static"),
    ],
)
def test_the_consumer_of_kafka_0_8_knows_no_newer_membership(more, path):
    said = refusal((f"settings = {{ {GIVEN_SETTINGS} }}", f'offsets = "zookeeper"\n{more}'))

    assert path in said
    assert 'is not valid"' in said


def test_a_deploy_gives_the_consumer_of_kafka_0_8_no_newer_membership():
    """As in the settings of the group."""
    act = (
        '[[act]]\nrolling_restart = "billing"\nat = "1s"\n'
        'settings = { "group.instance.id" = "x" }\n[[fault]]'
    )
    said = refusal((SETTINGS, f'{SETTINGS}\noffsets = "zookeeper"'), ("[[fault]]", act))

    assert "settings[group.instance.id]" in said


def test_an_unknown_name_of_what_a_scenario_does_not_have_says_so():
    assert "no such rack; there is none" in refusal(("crash =", 'for = "9s"\nzone_outage ='))
