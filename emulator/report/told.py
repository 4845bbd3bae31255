"""A finished run as its reports see it."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.ledger.entries import Ledger
from emulator.metrics.checks import Expected
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics
from emulator.report.chronicle import Chronicle
from emulator.report.described import DescribedGroup
from emulator.report.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A finished run, and what it is about."""

    subject: Subject
    seed: int
    digest: str
    ledger: Ledger
    metrics: Metrics
    findings: tuple[Finding, ...]
    expectations: tuple[Expected, ...]
    chronicle: Chronicle
    groups: tuple[DescribedGroup, ...]
    """Each group as its coordinator would describe it at the end."""
