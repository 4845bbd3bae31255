"""What a user expects of an audit: ``reprocessed <= 100``, ``lost == 0``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from emulator.ledger.entries import EntryKind
from emulator.logs.audit.errors import AuditError
from emulator.logs.audit.judging import AuditCause
from emulator.logs.audit.ledger import TOTALS, AuditLedger
from emulator.metrics.checks import RELATIONS, Expected
from emulator.scenario.problems import hint, listed

_WRITTEN = re.compile(
    r"\s*(?P<name>[^<>=]+?)\s*(?P<relation><=|>=|==|=|<|>)\s*(?P<bound>[\d_,]+)\s*"
)
_OF_CAUSE = re.compile(r"(?P<kind>reprocessed|lost)\.by_cause\[(?P<cause>.+)\]")

Expectation = tuple[str, str, int]
"""A figure, a relation, a bound."""


def read_expectation(text: str) -> Expectation:
    """Read one expectation; raise AuditError if it is none."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise AuditError(
            f"--expect {text!r}: expected a figure, one of {listed(RELATIONS)}, and a number of "
            'records, such as "reprocessed <= 100"'
        )
    name = match["name"]
    of_cause = _OF_CAUSE.fullmatch(name)
    causes = [cause.value for cause in AuditCause]
    if of_cause is not None and of_cause["cause"] not in causes:
        near = hint(of_cause["cause"], causes) or f"; there are {listed(causes)}"
        raise AuditError(f"--expect {text!r}: there is no cause {of_cause['cause']!r}{near}")
    if of_cause is None and name not in TOTALS:
        near = hint(name, TOTALS) or f"; there are {listed(TOTALS)}"
        raise AuditError(f"--expect {text!r}: there is no figure {name!r}{near}")
    relation = "==" if match["relation"] == "=" else match["relation"]
    return name, relation, int(match["bound"].replace(",", "").replace("_", ""))


def check(expectations: Sequence[Expectation], ledger: AuditLedger) -> tuple[Expected, ...]:
    """Hold expectations against a ledger, in order."""
    return tuple(_check(each, ledger) for each in expectations)


def _check(expectation: Expectation, ledger: AuditLedger) -> Expected:
    name, relation, bound = expectation
    measured = _figure(name, ledger)
    text = f"{name} is {measured:,}, expected {relation} {bound:,}"
    return Expected(name, relation, bound, measured, RELATIONS[relation](measured, bound), text)


def _figure(name: str, ledger: AuditLedger) -> int:
    of_cause = _OF_CAUSE.fullmatch(name)
    if of_cause is None:
        return ledger.total(name)
    return ledger.by_cause(EntryKind(of_cause["kind"])).get(of_cause["cause"], 0)
