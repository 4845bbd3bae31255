"""Every order of events in a world of two clients and two partitions.

Two topics of one partition each, both clients read both, one coordinator. A *perturbation* is:
a connection that breaks with a request or its answer on the way, a failover of the coordinator, a
session or a revocation timeout that expires, an application that is busy, that does not poll in
time, that drops one of its topics, or that closes its consumer.
"""

from __future__ import annotations

import pytest

from protocols.consumer.kip848 import heartbeat
from protocols.groups.kip848 import reconcile

from .breadth_first import search
from .world import World


@pytest.mark.parametrize(
    ("perturbations", "eager", "auto", "least"),
    [
        (0, True, True, 100),
        (0, False, False, 500),
        pytest.param(1, True, True, 10_000, marks=pytest.mark.long),
        pytest.param(2, True, False, 200_000, marks=(pytest.mark.long, pytest.mark.soak)),
        pytest.param(1, False, False, 100_000, marks=(pytest.mark.long, pytest.mark.soak)),
    ],
)
def test_no_order_of_events_breaks_a_law(perturbations, eager, auto, least, record_property):
    """In every state each partition has one owner, and from each all comes to rest.

    *eager*: applications poll all the time unless they are busy, else whenever they like; *auto*:
    they commit before each reconciliation.
    """
    found = search(World(perturbations, eager=eager, enable_auto_commit=auto))
    record_property("states", found.states)

    assert found.fault is None, found.fault
    assert found.states > least, found
    assert found.settled


def test_a_coordinator_that_does_not_wait_for_the_revocation_is_found_out(monkeypatch):
    """Without the wait two members own one partition; the search describes how."""
    monkeypatch.setattr(reconcile, "_may_own", lambda _partitions, _owned: False)

    found = search(World(0, eager=False, enable_auto_commit=False))

    assert found.fault is not None
    steps = found.fault.splitlines()
    assert "1. A polls, and sends ConsumerGroupHeartbeat at epoch 0 owning nothing" == steps[0]
    assert "A owns t-0, which it was not given" == steps[-1]


@pytest.mark.long
def test_a_client_that_never_asks_again_is_found_out(monkeypatch):
    """Were a lost heartbeat not made up for, there would be states that nothing leads out of."""
    monkeypatch.setattr(heartbeat, "on_failure", lambda state, *_: heartbeat.Step(state))

    found = search(World(1, eager=True, enable_auto_commit=False))

    assert found.fault is not None
    assert "from here no way leads to where all is settled" == found.fault.splitlines()[-1]
