"""Which client libraries are searched, and with which policies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.blaming.clients import client_named, clients_of, timeout_settings
from emulator.blaming.policies import policies
from protocols.consumer.clients import profile_of

from .incidents import SETUP, evidence, steady

EACH = evidence(steady("a", 0, 1, 20), commits=[(at + 0.05, 0, 10 * at) for at in range(2, 18)])
ONE_BY_ONE = evidence(
    steady("a", 0, 1, 5), commits=[(1.011 + place / 10, 0, place + 1) for place in range(30)]
)
SILENT = evidence(steady("a", 0, 1, 20))


@pytest.mark.parametrize(
    ("client_id", "client"),
    [
        ("consumer-billing-1", "java"),
        ("connector-consumer-sink-0", "java"),
        ("rdkafka", "librdkafka"),
        ("aiokafka-0.14.0", "aiokafka"),
        ("kafka-python-3.0.2", "kafka-python"),
        ("kgo", "franz-go"),
        ("billing-0", None),
    ],
)
def test_default_client_ids_name_the_library(client_id, client):
    assert client == client_named(client_id)


def test_a_library_that_is_named_is_the_only_one():
    assert ("librdkafka",) == clients_of(replace(SETUP, client_ids=("rdkafka", "billing-0")))


@pytest.mark.parametrize(
    ("given", "clients"),
    [
        ({}, ("java", "librdkafka", "kafka-python")),
        ({"assignor": "sticky"}, ("java", "kafka-python")),
        ({"protocol": "consumer", "assignor": None}, ("java", "librdkafka")),
        (
            {"assignor": "roundrobin", "rebalance_timeout_ms": 6_000},
            ("aiokafka", "java", "librdkafka", "kafka-python"),
        ),
        (
            {"assignor": "roundrobin", "rebalance_timeout_ms": 6_000, "carries_epochs": True},
            ("java", "librdkafka", "kafka-python"),
        ),
        (
            {"assignor": "cooperative-sticky", "rebalance_timeout_ms": 60_000},
            ("franz-go", "java", "librdkafka", "kafka-python"),
        ),
        ({"assignor": "of-our-own"}, ("java",)),
        ({"rebalance_timeout_ms": 5_000}, ("java", "kafka-python")),
    ],
    ids=[
        *("range", "sticky", "consumer protocol", "aiokafka", "epochs", "franz-go"),
        *("own assignor", "session above poll interval"),
    ],
)
def test_other_libraries_are_left_out_by_what_they_lack(given, clients):
    """Those whose defaults the log shows come first."""
    assert clients == clients_of(replace(SETUP, **given))


def test_the_rebalance_timeout_has_the_name_that_the_library_gives_it():
    settings = {"max.poll.interval.ms": 6_000}

    assert settings == timeout_settings(profile_of("librdkafka"), settings)
    assert {"rebalance.timeout.ms": 6_000} == timeout_settings(profile_of("aiokafka"), settings)


def words(seen, **given):
    return [each.words for each in policies(seen, replace(SETUP, **given))]


def test_automatic_commits_of_every_possible_library_are_tried():
    found = words(EACH)

    assert "librdkafka with poll, automatic commits" in found
    assert "librdkafka, stored offsets" in found
    assert "kafka-python, automatic commits" in found
    assert 1 == sum("commitSync after each batch" in each for each in found)


def test_a_known_library_is_tried_with_all_policies():
    found = words(EACH, client_ids=("rdkafka",))

    assert "librdkafka, commitSync after each batch" in found
    assert not any(each.startswith("java") for each in found)


def test_policies_that_the_commits_exclude_are_not_tried():
    """Ten records a commit are no commit for each; commits of which there are none are no policy."""
    assert not any("each record" in each for each in words(EACH))
    assert any("each record" in each for each in words(ONE_BY_ONE))
    assert not any("no commits" in each for each in words(EACH))
    assert ["java, no commits"] == words(SILENT)


def test_policies_that_commit_unfinished_records_can_lose_some():
    known = {each.words: each.can_lose for each in policies(EACH, SETUP, busy=True)}

    assert known["librdkafka with poll, automatic commits"]
    assert known["java, commitSync before the work"]
    assert not known["librdkafka, stored offsets"]
    assert not known["java, automatic commits"]
