"""Lag from samples: peak, area, drain time."""

from __future__ import annotations

from emulator.metrics.recovery import LagMeter

from ..ledger.history import History
from .meters import read


def sampled(*lags, every=1.0):
    """A history of samples of processed lag, one partition at a time at the end 1,000."""
    history = History()
    for lag in lags:
        if lag is None:
            history.now_us -= 1_000
            history.fault()
        else:
            history.now_us += round(every * 1e6) - 1_000
            history.lag((1000, 0), (1000 - 2 * lag, 0), (1000 - lag, 0))
    return history


def test_peak_and_area_are_sums_over_partitions():
    """A sample holds until the next one, and the last to the end."""
    values = read(LagMeter(), sampled(10, 30, 0), 5_000_000).values

    assert (30, 40.0) == (values["lag_processed_peak"], values["lag_processed_area"])
    assert (60, 80.0) == (values["lag_committed_peak"], values["lag_committed_area"])


def test_all_of_a_log_counts_where_nothing_is_committed():
    """The lag of a partition without commits and owners is its whole log."""
    history = History()
    history.topic(starts=(0, 40))
    history.lag((100, 100), (-1, 90), (-1, -1))
    values = read(LagMeter(), history).values

    assert (110, 160) == (values["lag_committed_peak"], values["lag_processed_peak"])
    assert 100 == values["lag_processed_peak_partition"]


def test_lag_has_drained_when_it_is_as_before_the_fault():
    """From the fault to the first sample at the level before it, a record a partition apart."""
    history = sampled(4, 6, None, 200, 90, 9, 8, 3)
    reading = read(LagMeter(), history)

    assert (4.0, 0) == (reading.values["lag_recovery_max_s"], reading.values["lag_unrecovered"])
    assert [True] == [row["recovered"] for row in reading.listings["lag_recoveries"]]


def test_lag_that_stays_up_is_undrained():
    """The wait lasts to the end of the run and is counted."""
    values = read(LagMeter(), sampled(4, None, 200, 300), 10_000_000).values

    assert (9.0, 1) == (values["lag_recovery_max_s"], values["lag_unrecovered"])


def test_a_fault_that_raised_no_lag_waits_for_nothing():
    """Lag that another fault raises is that one's."""
    reading = read(LagMeter(), sampled(4, None, 4, 4, None, 200, 4))

    assert 1 == len(reading.listings["lag_recoveries"])
    assert 2.0 == reading.values["lag_recovery_max_s"]
