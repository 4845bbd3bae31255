"""The wire: delays and losses by link and time sent, cuts by direction, order by connection."""

from __future__ import annotations

import itertools
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.events import CommitAnswered, CommitSent, MessageLost
from emulator.scenario.model import Constant, Exponential, Link, Network, Uniform
from emulator.world.network import Party, Wire, broker_name

from ..stage import staged

ONE, TWO = Party("one", "clients"), Party("two", "clients")
BROKER = Party(broker_name(1), "brokers")
NAMES = ("one", "two", "broker-1", "broker-2")

instants = st.lists(st.integers(0, 10**9), min_size=1, max_size=30)


def wire(seed=0, **network):
    return Wire(Network(**network), seed)


def link(sender, receiver, **what):
    return Link(**{"from": sender, "to": receiver, **what})


# -- delays ------------------------------------------------------------------------------------


@given(instants, st.randoms(use_true_random=False))
def test_a_delay_is_drawn_by_the_link_and_the_time_sent(times, order):
    """So it does not matter what else was sent, or who asked before."""
    straight, shuffled = (wire(latency=Exponential(exponential=3_000)) for _ in range(2))
    expected = {now: straight.delay(ONE, BROKER, now) for now in times}
    order.shuffle(times)
    for now in times:
        shuffled.delay(TWO, BROKER, now)
        shuffled.delay(BROKER, ONE, now)

        assert expected[now] == shuffled.delay(ONE, BROKER, now)


def test_each_direction_of_each_pair_has_delays_of_its_own():
    """No two seeds share them."""
    drawn = {
        (seed, *ends): [
            wire(seed, latency=Uniform(uniform=(0, 10**9))).delay(*ends, now) for now in range(50)
        ]
        for seed in (0, 1)
        for ends in ((ONE, BROKER), (BROKER, ONE), (TWO, BROKER))
    }
    for one, other in itertools.combinations(drawn.values(), 2):
        assert not set(one) & set(other)


def test_a_link_takes_the_last_description_that_names_it():
    """By name or by kind of party, in one direction only; the rest keeps the network's."""
    made = wire(
        latency=Constant(constant=500),
        link=(
            link("clients", "brokers", latency=Constant(constant=7)),
            link("one", "broker-1", latency=Constant(constant=9)),
            link("two", "broker-1", loss=0.5),
        ),
    )

    assert 9 == made.delay(ONE, BROKER, 0)
    assert 7 == made.delay(TWO, BROKER, 0)
    assert 500 == made.delay(BROKER, ONE, 0)


def test_a_constant_delay_is_known_beforehand():
    """The arithmetic of fetches asks for the link itself."""
    assert 500 == wire().link(ONE, BROKER)
    assert callable(wire(latency=Exponential(exponential=1)).link(ONE, BROKER))


# -- order -------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 50)), max_size=30))
def test_messages_of_one_connection_never_overtake_each_other(sent):
    """One that would arrives with the one before; other connections do not hold it up."""
    made = wire()
    latest = {1: 0, 2: 0}
    for connection, arrival in sent:
        latest[connection] = max(latest[connection], arrival)

        assert latest[connection] == made.in_order("one", "broker-1", connection, arrival)


def test_the_two_directions_of_a_connection_are_ordered_apart():
    """A late request does not hold up an answer."""
    made = wire()
    made.in_order("one", "broker-1", 1, 1_000)

    assert 5 == made.in_order("broker-1", "one", 1, 5)


# -- losses ------------------------------------------------------------------------------------


def test_a_share_of_messages_is_lost_by_the_time_they_are_sent():
    """About as many as said, always the same ones, others in each direction."""
    made = wire(loss=0.2)
    lost = {
        ends: [made.loses(*ends, now) for now in range(5_000)]
        for ends in ((ONE, BROKER), (BROKER, ONE))
    }

    assert 0.2 == pytest.approx(fmean(lost[ONE, BROKER]), abs=0.02)
    assert lost[ONE, BROKER] != lost[BROKER, ONE]
    assert lost[ONE, BROKER] == [wire(loss=0.2).loses(ONE, BROKER, now) for now in range(5_000)]


@pytest.mark.parametrize(("share", "expected"), [(0.0, {False}), (1.0, {True})])
def test_nothing_or_everything_may_be_lost(share, expected):
    """Both ends of the scale are exact, and a link may differ from the network."""
    by_network = wire(loss=share)
    by_link = wire(loss=0.5, link=(link("one", "brokers", loss=share),))

    assert expected == {by_network.loses(ONE, BROKER, now) for now in range(500)}
    assert expected == {by_link.loses(ONE, BROKER, now) for now in range(500)}


def test_only_group_messages_are_lost_by_chance():
    """Records, metadata and the search for the coordinator always come through."""
    seen = staged(run="network = { loss = 0.05 }", group='commit = "sync"', run_for="60s")
    kinds = {event.what.kind for event in seen.all(MessageLost)}

    assert kinds >= {"Heartbeat", "OffsetCommit"}
    assert not kinds & {"Fetch", "Metadata", "FindCoordinator", "ListOffsets"}
    assert {"broker-1"} == {
        name
        for event in seen.all(MessageLost)
        for name in (event.what.sender, event.what.receiver)
        if name.startswith("broker")
    }


# -- cuts --------------------------------------------------------------------------------------

cuts = st.lists(
    st.tuples(
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=2),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=2),
        st.booleans(),
    ),
    max_size=4,
)


@given(cuts)
def test_a_message_passes_unless_a_cut_in_force_is_in_its_way(planned):
    """Cuts are one-way, overlap, and are healed one by one."""
    made = wire()
    standing = []
    for senders, receivers, heals in planned:
        cut = made.cut(senders, receivers)
        if heals:
            made.heal(cut)
        else:
            standing.append((senders, receivers))

    assert bool(standing) == made.is_cut
    for sender, receiver in itertools.product(NAMES, repeat=2):
        blocked = any(sender in senders and receiver in rest for senders, rest in standing)
        assert made.passes(sender, receiver) is not blocked


def test_healing_one_of_two_equal_cuts_leaves_the_other():
    """Two faults may cut the same way at the same time."""
    made = wire()
    first, _ = made.cut(["one"], ["two"]), made.cut(["one"], ["two"])
    made.heal(first)

    assert not made.passes("one", "two")


@pytest.mark.long
def test_a_distant_member_waits_longer_for_each_answer():
    """A link of 200 ms to the brokers delays only that member's commits."""
    far = """
[[network.link]]
from = "g-2"
to = "brokers"
latency = "200ms"
"""
    seen = staged(far, group='commit = "sync"')
    waited = {
        member: [
            answered.at_us - sent.at_us
            for sent, answered in zip(
                seen.all(CommitSent, consumer=member),
                seen.all(CommitAnswered, consumer=member),
                strict=False,
            )
        ]
        for member in ("g-0", "g-1", "g-2")
    }

    assert {2_000} == set(waited["g-0"]) == set(waited["g-1"])
    assert {201_500} == set(waited["g-2"])
