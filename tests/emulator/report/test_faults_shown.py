"""The report names the faults after which takeovers and the wait for lag took longest."""

from __future__ import annotations

from emulator.metrics.metrics import Metrics
from emulator.report.faults_shown import drain, takeover


def taken(fault, first_s, last_s):
    return {"fault": fault, "first_s": first_s, "last_s": last_s}


def drained(fault, drain_s, *, over=True):
    return {"fault": fault, "drain_s": drain_s, "drained": over}


def metrics(takeovers=(), drains=()):
    return Metrics(listings={"takeovers": takeovers, "drains": drains})


def test_a_takeover_names_its_fault():
    """Its id, as the scenario or the timeline has it."""
    assert "first record by another owner 7.1 s after crash-1, last partition 9.0 s" == takeover(
        metrics((taken("crash-1", 7.1, 9.0),))
    )


def test_of_several_takeovers_the_slowest_is_told():
    """The first record and the last partition may have been slowest after different faults."""
    rows = (taken("a", 1.0, 20.0), taken("b", 3.0, 4.0), taken("c", 2.0, 2.0))

    assert (
        "first record by another owner 3.0 s after b, last partition 20.0 s after a"
        " (the slowest of 3 faults)" == takeover(metrics(rows))
    )


def test_without_a_takeover_nothing_is_told():
    """Nor of lag that never rose."""
    assert ("", "") == (takeover(metrics()), drain(metrics()))


def test_a_drain_names_the_fault_that_took_longest():
    """Until lag was as it was before it."""
    rows = (drained("a", 2.0), drained("b", 30.0))

    assert "back to what it was before b after 30.0 s" == drain(metrics(drains=rows))


def test_faults_whose_lag_never_came_back_are_named():
    """Each once, however many groups it hit; two of them, and how many more."""
    rows = [drained(fault, 9.0, over=False) for fault in ("a", "a", "b", "c")]

    assert "still above what it was before a, b and 1 other at the end" == drain(
        metrics(drains=(*rows, drained("d", 1.0)))
    )
