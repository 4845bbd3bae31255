"""Patterns of topic names: matched by consumers, or by the coordinator in its own syntax."""

from __future__ import annotations

import pytest

import emulator
from emulator.comparison import read_variants
from emulator.events import EpochOpened
from emulator.loading import load_named
from emulator.scenario import catalogue
from emulator.scenario.load import loads
from emulator.scenario.patterns import client_matcher
from emulator.scenario.problems import ScenarioError

NAME = "kip848-pattern-by-broker"
CLASSIC = "group[billing].settings[group.protocol]=classic"


def refused(*changes: str) -> str:
    """Return why the scenario is refused with these changes."""
    with pytest.raises(ScenarioError) as caught:
        loads(catalogue.read(NAME), "file", changes)
    return str(caught.value)


def test_a_pattern_of_the_broker_is_read_as_the_broker_reads_it():
    """Python and Java would take it; RE2J has no looking ahead."""
    lookahead = "group[billing].pattern=orders-(?=us).*"
    message = refused(lookahead)

    assert "group[billing].pattern" in message
    assert "INVALID_REGULAR_EXPRESSION" in message
    assert "invalid perl operator" in message
    assert (
        loads(catalogue.read(NAME), "file", (lookahead, "group[billing].pattern_by=client"))
        .group[0]
        .pattern
    )


def test_a_classic_consumer_matches_its_pattern_itself():
    """It has nothing to send to a broker."""
    assert "group.protocol=consumer" in refused(CLASSIC)


def test_a_broker_without_a_pattern_has_nothing_to_match():
    """Names of topics are no pattern."""
    text = catalogue.read(NAME).replace('pattern = "orders-.*"', 'topics = ["orders-eu"]')

    with pytest.raises(ScenarioError, match='no "pattern" to match'):
        loads(text, "file")


def test_a_pattern_that_matches_nothing_is_refused():
    """By whomever it is matched."""
    assert "matches none of the topics" in refused("group[billing].pattern=bills-.*")


@pytest.mark.parametrize("pattern", ["(a|a)*c", "(a+)+", "(a*)*b", "a*" * 40 + "b", "(?:a?){99}b"])
def test_no_pattern_of_a_client_takes_exponential_time(pattern):
    """Such a pattern backtracks for years in Python and in Java; RE2 reads each name once."""
    assert client_matcher(f"({pattern})|a*-eu")("a" * 240 + "-eu")
    assert not client_matcher(pattern)("a" * 248 + "!")


@pytest.mark.parametrize(
    "pattern", ["(?!x)(a|a)*c", r"(a+)+\1", "(?=a*a*a*a*b).*", "(?<=x)(?:ab){2,}", "(?!x)(a)*?"]
)
def test_a_pattern_that_only_backtracking_can_match_repeats_little(pattern):
    """RE2 has no look-arounds and no backreferences, and clients have."""
    message = refused(f"group[billing].pattern={pattern}", "group[billing].pattern_by=client")

    assert "group[billing].pattern" in message
    assert "repeat no group, and at most 3 single characters or classes" in message


@pytest.mark.parametrize(
    ("pattern", "topic", "matches"),
    [
        ("(?!internal)[a-z]+-.*", "orders-eu", True),
        ("(?!orders)[a-z]+-.*", "orders-eu", False),
        (r"(?!x)[*+(]?orders\-[(+*]*eu", "orders-eu", True),
        (r"(or)ders-\1.?", "orders-or", True),
        ("orders", "orders-eu", False),
    ],
)
def test_clients_match_whole_names_with_what_re2_lacks(pattern, topic, matches):
    """A few repetitions of single characters are matched by backtracking."""
    assert matches == client_matcher(pattern)(topic)


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (r"\p{L}+", ["orders", "Bills"]),
        (r"\p{Lu}\p{IsLl}+", ["Bills"]),
        (r"[\p{gc=Nd}_]+", ["2026_11"]),
        (r"[^\p{N}\p{Pd}]+", ["orders", "Bills", "a.b"]),
        (r"\P{Alpha}+", ["2026_11"]),
        (r"[]\p{Punct}ab]+", ["a.b"]),
        (r"\pL\p{Graph}\pL", ["a.b"]),
        (r"\p{Zs}*|[\p{Space}\P{Print}]+", []),
        (r"\Qa.b\E|orders[\Q-\E]\Qeu", ["orders-eu", "a.b"]),
        (r"(?!o)\p{Alnum}+", ["Bills"]),
        (r"\\Qorders\\E|\[orders&&\]", []),
    ],
)
def test_clients_match_with_the_properties_and_quotations_of_java(pattern, matched):
    """``java.util.regex.Pattern``, with the characters that names of topics may have."""
    names = ["orders", "Bills", "orders-eu", "2026_11", "a.b"]
    assert matched == list(filter(client_matcher(pattern), names))


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"\p{IsLatin}+", r"\p{IsLatin} is not supported; allowed are the general categories"),
        (r"\p{}", r"\p{} is not supported"),
        (r"\pq", r"\pq is not supported"),
        ("[a-z[0-9]]+", "[ in a class: Java reads a class within it"),
        ("[a-z&&[^b]]+", "&& in a class"),
        ("[[:alpha:]]+", "[ in a class"),
    ],
)
def test_what_java_alone_reads_is_refused_with_what_is_allowed(pattern, reason):
    """Python and RE2 would read other characters there."""
    message = refused(f"group[billing].pattern={pattern}", "group[billing].pattern_by=client")

    assert reason in message


@pytest.mark.parametrize("column", ["eager", "cooperative", "static"])
def test_a_comparison_with_the_classic_protocol_lets_clients_match(column):
    """So one word still gives the other protocol."""
    scenario = load_named(NAME, ()).scenario
    (_, variant) = read_variants([column], scenario)

    assert "client" == load_named(NAME, variant.overrides).scenario.group[0].pattern_by


def test_a_topic_that_comes_to_match_is_read():
    """The coordinator finds it; each of its partitions gets an owner."""
    run = emulator.run(load_named(NAME, ()).scenario, 0)
    opened = {e.what.partition for e in run.events if isinstance(e.what, EpochOpened)}

    assert {0, 1, 2} == {tp.partition for tp in opened if tp.topic == "orders-us"}
