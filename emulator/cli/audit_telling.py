"""``rebalance audit``: do it, and say what came of it."""

from __future__ import annotations

from emulator.audit.auditing import audit
from emulator.audit.document import audit_document, manifest
from emulator.audit.errors import AuditError
from emulator.audit.expectations import check
from emulator.audit.folder import write
from emulator.audit.ledger import AuditLedger, draw_up, entries_table, partitions_table
from emulator.audit.screen import audit_screen
from emulator.cli.audit_engines import choose_engine, opened
from emulator.cli.audit_request import Read, Request, read_request
from emulator.cli.refusals import RefusedError, reason_of
from emulator.cli.saying import say, say_all, say_json
from emulator.measure import Expected


def run_audit(request: Request, *, as_json: bool) -> bool:
    """Audit and print what came of it; return whether all expectations hold."""
    try:
        wanted = read_request(request)
        chosen = choose_engine(request, wanted)
        with opened(chosen, request, wanted) as engine:
            audited = audit(engine, wanted.terms)
    except AuditError as error:
        raise RefusedError(str(error)) from None
    group = wanted.committed.group if wanted.committed is not None else ""
    ledger = draw_up(audited, wanted.committed, group)
    expectations = check(wanted.expectations, ledger)
    _write(request, ledger, expectations)
    if as_json:
        say_json(audit_document(request.document(), ledger, expectations))
    else:
        _show(request, wanted, ledger, expectations)
        say("", f"Read by: {chosen.told}", *_folder(request))
    return all(expected.ok for expected in expectations)


def _show(
    request: Request, wanted: Read, ledger: AuditLedger, expectations: tuple[Expected, ...]
) -> None:
    more = f" and {len(request.logs) - 1} more" if len(request.logs) > 1 else ""
    source = f"{request.logs[0]}{more}"
    has_commits = wanted.committed is not None
    say_all(audit_screen(source, ledger, expectations, has_commits=has_commits))


def _folder(request: Request) -> list[str]:
    return [] if request.output is None else [f"Tables:  {request.output}"]


def _write(request: Request, ledger: AuditLedger, expectations: tuple[Expected, ...]) -> None:
    if request.output is None:
        return
    asked = request.document()
    tables = {"entries": entries_table(ledger), "partitions": partitions_table(ledger)}
    document = audit_document(asked, ledger, expectations)
    try:
        write(request.output, tables, document, manifest(asked, ledger))
    except OSError as error:
        raise RefusedError(
            f"-o {request.output}: cannot be written: {reason_of(error)}; nothing of it is left"
        ) from None
