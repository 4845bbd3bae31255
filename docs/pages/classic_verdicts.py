"""The page of what a classic group answers, printed from its tables."""

from __future__ import annotations

from protocols.groups.classic.states import TABLES, Act, Request, State, Table, Verdict
from protocols.messages.errors import ErrorCode

_OPENING = """\
# What a classic group answers

Printed from `protocols/groups/classic/states.py` by `python -m docs.pages`; change
the tables, not this page. Rows: the sender, the first that applies. Columns: the state of the
group. A code is the error of the answer; a sentence is the action. A dash: not possible.
The consumer protocol (KIP-848) has [a page of its own](consumer-verdicts.md).
"""

_NOTES = {
    Request.JOIN_GROUP: "A group that does not exist is created for a member without a member id.",
    Request.LEAVE_GROUP: "For each entry of the request; a dead group rejects the request as a whole.",
    Request.OFFSET_COMMIT: "Up to version 8, GROUP_ID_NOT_FOUND is ILLEGAL_GENERATION.",
}


def classic_verdicts_page() -> str:
    """Return the page as text."""
    parts = [_OPENING]
    for request, table in TABLES.items():
        parts.append(f"## {request.value}\n")
        if request in _NOTES:
            parts.append(f"{_NOTES[request]}\n")
        parts.append(_table(table))
    return "\n".join(parts)


def _table(table: Table) -> str:
    columns = ("", *(state.label for state in State))
    rows = [(who.value, *(_cell(verdict) for verdict in row)) for who, row in table.items()]
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(verdict: Verdict | None) -> str:
    match verdict:
        case ErrorCode():
            return f"`{verdict.name}`"
        case Act():
            return verdict.value
        case None:
            return "-"
