"""``rebalance audit``: do it, and say what came of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from emulator.cli.audit_engines import choose_engine, opened
from emulator.cli.audit_request import Read, Request, read_request
from emulator.cli.output import say, say_all, say_json
from emulator.errors import RefusedError, reason_of
from emulator.logs.audit.auditing import audit
from emulator.logs.audit.fitting import refuse_strangers, remarks
from emulator.logs.audit.ledger import AuditLedger, check, draw_up, entries_table, partitions_table
from emulator.logs.audit.output import audit_document, manifest, write
from emulator.logs.audit.screen import audit_screen
from emulator.logs.errors import AuditError
from emulator.logs.offsets_log.words import printable
from emulator.metrics.checks import Expected
from emulator.report.wording import counted


def run_audit(request: Request, *, as_json: bool) -> bool:
    """Audit and print what came of it; return whether all expectations hold."""
    try:
        wanted = read_request(request)
        chosen = choose_engine(request, wanted)
        with opened(chosen, request, wanted) as engine:
            audited = audit(engine, wanted.terms)
        refuse_strangers(audited, wanted.terms, wanted.committed)
    except AuditError as error:
        raise RefusedError(printable(str(error))) from None
    group = wanted.committed.group if wanted.committed is not None else ""
    ledger = draw_up(audited, wanted.committed, group)
    expectations = check(wanted.expectations, ledger)
    _write(request, ledger, expectations)
    if as_json:
        say_json(audit_document(request.document(), ledger, expectations))
    else:
        _show(request, wanted, ledger, expectations, remarks(audited, wanted.terms))
        say("", f"Read by: {chosen.told}", *_folder(request), *_next_steps(request, ledger))
    return all(expected.ok for expected in expectations)


def _show(
    request: Request,
    wanted: Read,
    ledger: AuditLedger,
    expectations: tuple[Expected, ...],
    remarks_: Iterable[str],
) -> None:
    more = f" and {len(request.logs) - 1} more" if len(request.logs) > 1 else ""
    source = f"{request.logs[0]}{more}"
    has_commits = wanted.committed is not None
    lines = audit_screen(source, ledger, expectations, has_commits=has_commits, remarks=remarks_)
    say_all(map(printable, lines))


def _folder(request: Request) -> list[str]:
    return [] if request.output is None else [f"Tables:  {request.output}"]


def _next_steps(request: Request, ledger: AuditLedger) -> Iterator[str]:
    """Yield what to do with what was found."""
    if not ledger.entries:
        return
    if request.output is None:
        ranges = counted(len(ledger.entries), "range")
        yield f"Next:    {ranges}, one by one, as Parquet and JSON: the same command with -o DIR"
    logs = [path for path in request.commits if path.suffix != ".parquet"]
    if len(logs) == 1:
        source, group = shlex.quote(str(logs[0])), shlex.quote(ledger.group)
        yield "To try out what would help, on this group as a scenario:"
        yield f"  rebalance import {source} --scenario {group} -o group.toml"


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
