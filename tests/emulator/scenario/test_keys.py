"""Rates of partitions that follow from the keys of records."""

from __future__ import annotations

import pytest

import emulator
from emulator.scenario.estimates.loads import loads_of
from emulator.scenario.keys import factors_of, murmur2, partition_of
from emulator.scenario.problems import ScenarioError

TEXT = """
title = "keys"
run_for = "60s"
[[topic]]
name = "orders"
partitions = 6
rate = "10/s"
{}
[[group]]
id = "g"
topics = ["orders"]
members = 1
"""


def topic(keys: str):
    return emulator.loads(TEXT.format(f"keys = {keys}")).topic[0]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
    ],
)
def test_keys_are_hashed_as_by_kafka(key, expected):
    """The values of Kafka's own test (``UtilsTest.testMurmur2``)."""
    assert expected % 2**32 == murmur2(key.encode())


def test_the_mean_of_the_rates_is_the_rate_of_the_topic():
    for keys in ("{}", "{ zipf = 1.3 }", "{ count = 7, hot = { a = 0.5, b = 0.2 } }"):
        assert 6 == pytest.approx(sum(factors_of(topic(keys))), abs=1e-4)


def test_a_hot_key_has_its_share_in_its_partition():
    factors = factors_of(topic("{ count = 100_000, hot = { big = 0.5 } }"))
    hot = partition_of("big", 6)

    assert 3 + 0.5 == pytest.approx(factors[hot], abs=0.02)
    assert factors[hot] == max(factors)


def test_a_split_key_goes_to_several_partitions():
    whole, parts = (
        max(factors_of(topic(f"{{ hot = {{ big = 0.5 }}, split = {split} }}"))) for split in (1, 16)
    )

    assert whole > 3.3
    assert parts < 2


def test_the_records_of_a_run_arrive_at_these_rates():
    scenario = emulator.loads(TEXT.format("keys = { zipf = 1, hot = { big = 0.3 } }"))
    run = emulator.run(scenario)
    (load,) = loads_of(scenario)
    factors = factors_of(scenario.topic[0])

    (hot,) = run.metrics.listings["hot_partitions"]
    assert load.hottest == hot["partition"] == f"orders-{factors.index(max(factors))}"
    assert max(factors) / 6 == pytest.approx(hot["share"], abs=0.01)
    assert ("big", 18) == (load.hottest_key, pytest.approx(load.key_arrival))


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("keys = { hot = { a = 0.5, b = 0.5 } }", "leave nothing"),
        ("keys = {}\nskew = [2]", "leave out"),
        ("keys = { zipff = 1 }", "zipf"),
        ('keys = {}\n[[fault]]\nadd_partitions = "orders"\nto = 8\nat = "9s"', "keys would move"),
    ],
)
def test_what_makes_no_sense_is_refused(keys, problem):
    with pytest.raises(ScenarioError, match=problem):
        emulator.loads(TEXT.format(keys))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('handler = { workers = 4, order = "key" }\ncommit = "sync"', "spread over all workers"),
        ("poison = [{ key = 3, work = '1s' }]", "which place records only"),
    ],
)
def test_a_handler_that_draws_other_keys_is_refused(more, problem):
    with pytest.raises(ScenarioError, match=problem):
        emulator.loads(TEXT.format("keys = { hot = { a = 0.5 } }") + more)

    assert emulator.loads(TEXT.format("") + more)
