"""Events to ledger, metrics and checks; sees events alone."""

from emulator.measure.checks import Expected, check_expectations, is_expectable, split_name
from emulator.measure.distribution import Comparison, Estimate, Summary, compare, summarise
from emulator.measure.explain import explain
from emulator.measure.laws import Finding, Law, LawChecker, Severity
from emulator.measure.ledger.accountant import Accountant
from emulator.measure.ledger.entries import Cause, Entry, EntryKind, Ledger, Link, Owner, Root
from emulator.measure.measurement import Measured, Measurement, measure
from emulator.measure.meters.metrics import Metrics, MetricsMeter, is_metric, unknown_metric
from emulator.measure.refrains import Line

__all__ = [
    "Accountant",
    "Cause",
    "Comparison",
    "Entry",
    "EntryKind",
    "Estimate",
    "Expected",
    "Finding",
    "Law",
    "LawChecker",
    "Ledger",
    "Line",
    "Link",
    "Measured",
    "Measurement",
    "Metrics",
    "MetricsMeter",
    "Owner",
    "Root",
    "Severity",
    "Summary",
    "check_expectations",
    "compare",
    "explain",
    "is_expectable",
    "is_metric",
    "measure",
    "split_name",
    "summarise",
    "unknown_metric",
]
