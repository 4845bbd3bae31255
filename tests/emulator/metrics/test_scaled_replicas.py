"""The replica that a member, its successor or its stand-in counts for."""

from __future__ import annotations

import pytest

from emulator.metrics.scaling import Workload


@pytest.mark.parametrize("consumer", ["g-0", "g-0+", "g-0++", "g-0*", "g-0*+", "g-0+*"])
def test_successors_and_stand_ins_are_no_replicas_of_their_own(consumer):
    replica = ("g-0", "g-1")
    workload = Workload(1, 2, {"g-0": replica, "g-1": replica})

    assert replica == workload.replica_of(consumer)
    assert ("h-0*",) == workload.replica_of("h-0*")
