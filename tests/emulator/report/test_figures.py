"""The report names the faults after which takeovers and the wait for lag took longest."""

from __future__ import annotations

from rich import box
from rich.table import Table

from emulator.metrics.metrics import Metrics
from emulator.report.figures import as_lines, lag_recovery, note_on_spread, takeover


def taken(fault, first_s, last_s):
    return {"fault": fault, "first_s": first_s, "last_s": last_s}


def recovery(fault, recovery_s, *, over=True):
    return {"fault": fault, "recovery_s": recovery_s, "recovered": over}


def metrics(takeovers=(), recoveries=()):
    return Metrics(listings={"takeovers": takeovers, "lag_recoveries": recoveries})


def test_a_takeover_names_its_fault():
    """Its id, as the scenario or the timeline has it."""
    assert "first record by the next owner 7.1 s after crash-1, last partition 9 s" == takeover(
        metrics((taken("crash-1", 7.1, 9.0),))
    )


def test_the_slowest_of_several_takeovers_is_shown():
    """The first record and the last partition may have been slowest after different faults."""
    rows = (taken("a", 1.0, 20.0), taken("b", 3.0, 4.0), taken("c", 2.0, 2.0))

    assert (
        "first record by the next owner 3 s after b, last partition 20 s after a"
        " (maximum over 3 faults)" == takeover(metrics(rows))
    )


def test_a_fault_in_step_with_batches_is_noted_over_several_seeds():
    """The records are the same in each seed, other figures are not."""
    alike = [Metrics({"reprocessed": 5, "lost": 0, "downtime_max_s": at_s}) for at_s in (1.0, 2.0)]
    apart = [Metrics({"reprocessed": records, "lost": 0}) for records in (1, 2)]

    assert "between =" in " ".join(note_on_spread(alike))
    assert [[], []] == [list(note_on_spread(runs)) for runs in (apart, alike[:1])]


def test_without_a_takeover_nothing_is_shown():
    """Nor of a lag that never rose."""
    assert ("", "") == (takeover(metrics()), lag_recovery(metrics()))


def test_a_lag_recovery_names_the_fault_that_took_longest():
    """Until lag was as it was before it."""
    rows = (recovery("a", 2.0), recovery("b", 30.0))

    assert "back at its level before b after 30 s" == lag_recovery(metrics(recoveries=rows))


def test_faults_whose_lag_never_came_back_are_named():
    """Each once, however many groups it hit; two of them, and how many more."""
    rows = [recovery(fault, 9.0, over=False) for fault in ("a", "a", "b", "c")]

    assert "still above its level before a, b and 1 other at the end" == lag_recovery(
        metrics(recoveries=(*rows, recovery("d", 1.0)))
    )


def test_lines_of_a_table_are_plain_text_on_a_terminal_too(monkeypatch):
    """Codes for bold titles would be counted as columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    table = Table(box=box.MARKDOWN)
    table.add_column("change")

    assert ["| change |", "|--------|"] == list(as_lines(table))
