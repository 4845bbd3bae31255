"""An audit as one JSON document, and what its folder says about itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import emulator
from emulator.logs.audit.ledger import TOTALS, AuditLedger, entries_table, partitions_table
from emulator.metrics.checks import Expected
from emulator.scenario.manifest import KAFKA, SCHEMA_VERSION

Asked = dict[str, Any]
"""What the user asked for, by the names of options, as JSON values."""


def audit_document(
    asked: Asked, ledger: AuditLedger, expectations: Sequence[Expected]
) -> dict[str, Any]:
    """Return what ``audit --json`` prints."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "audit": asked,
        "group": ledger.group,
        "rows": ledger.rows,
        "late": ledger.late,
        **{name: ledger.total(name) for name in TOTALS},
        "by_cause": ledger.by_cause(),
        "by_owners": ledger.by_owners(),
        "ledger": entries_table(ledger).to_pylist(),
        "partitions": partitions_table(ledger).to_pylist(),
        "expectations": [asdict(expected) for expected in expectations],
    }


def manifest(asked: Asked, ledger: AuditLedger) -> dict[str, Any]:
    """Return what the folder of an audit says about itself."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "version": emulator.__version__,
        "audit": asked,
        "rows": ledger.rows,
        "late": ledger.late,
        **{name: ledger.total(name) for name in TOTALS},
    }
