"""The ledger of an audit, with entries like those of a run's ledger, and its expectations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from assignors.values import dataclass
from emulator.ledger.entries import Cause, EntryKind
from emulator.logs.audit.causes import AuditCause, Judgement, judge_again, judge_never
from emulator.logs.audit.commits import Committed
from emulator.logs.audit.partitions import AffectedRange, PartitionLedger
from emulator.logs.audit.passes import Audited, Counts
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError
from emulator.scenario.problems import hint, listed

if TYPE_CHECKING:
    from emulator.metrics.checks import Expected


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One range that was reprocessed or lost; times in us since the epoch or the run's start."""

    id: str
    """``D1``, … reprocessed; ``L1``, … lost; by time, then partition."""

    kind: EntryKind
    topic: str
    partition: int
    first: int
    last: int
    """The last offset of the range itself."""

    cause: AuditCause | Cause
    detail: str
    first_owner: str | None
    first_at_us: int | None
    """Reprocessed: the first owner, and when its first record was finished. Lost: the owner of
    the record before the range, and when that was finished."""

    second_owner: str | None
    second_at_us: int | None
    """Reprocessed: the same of the second owner. Lost: the owner of the record after the range."""

    group: str = ""
    """Of the events of a run with several groups; otherwise that of the ledger."""

    without_record: int = 0
    """Offsets of the range that hold no record; only the events of a run show them."""

    @property
    def count(self) -> int:
        """Records in the range."""
        return self.last - self.first + 1 - self.without_record


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLedger:
    """The result of an audit, in records."""

    group: str
    entries: tuple[AuditEntry, ...]
    partitions: tuple[PartitionLedger, ...]
    rows: int
    late: int
    """Rows that were finished after the cut and omitted."""

    def total(self, name: str) -> int:
        """Return the sum over partitions of one of :data:`TOTALS`."""
        return sum(getattr(partition, name) for partition in self.partitions)

    def by_cause(self, kind: EntryKind | None = None) -> dict[str, int]:
        """Return the number of records by cause, descending; of one kind or of both."""
        return self._tally(lambda each: each.cause.value if kind in (None, each.kind) else None)

    def by_owners(self) -> dict[str, int]:
        """Return the number of reprocessed records by first and second owner, descending."""
        again = EntryKind.REPROCESSED
        return self._tally(
            lambda each: f"{each.first_owner} > {each.second_owner}" if each.kind is again else None
        )

    def _tally(self, key: Callable[[AuditEntry], str | None]) -> dict[str, int]:
        counts = Counter[str]()
        for entry in self.entries:
            name = key(entry)
            if name is not None:
                counts[name] += entry.count
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


TOTALS: Final = ("processed", "distinct", "reprocessed", "lost", "unread")

ENTRIES: Final = pa.schema(
    [
        ("id", pa.string()),
        ("kind", pa.string()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("count", pa.int64()),
        ("cause", pa.string()),
        ("detail", pa.string()),
        ("first_owner", pa.string()),
        ("first_at_us", pa.int64()),
        ("second_owner", pa.string()),
        ("second_at_us", pa.int64()),
    ]
)
PARTITIONS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in ("base", "frontier", *TOTALS)),
    ]
)


def draw_up(audited: Audited, log: Committed | None, group: str) -> AuditLedger:
    """Return the ledger; *log*: the history that shows causes, None if there is none."""
    again = _entries(audited, "again", partial(_by_rules, judge_again, log))
    never = _entries(audited, "never", partial(_by_rules, judge_never, log))
    entries = (
        *_numbered(again, EntryKind.REPROCESSED, "D"),
        *_numbered(never, EntryKind.LOST, "L"),
    )
    counts: Counts = audited.counts
    return AuditLedger(
        group=group,
        entries=entries,
        partitions=audited.partitions,
        rows=counts.rows,
        late=counts.late,
    )


Judged = tuple[PartitionName, AffectedRange, Judgement]


Rule = Callable[[AffectedRange, PartitionName, Committed | None], Judgement]


def _by_rules(
    rule: Rule, log: Committed | None, part: PartitionLedger, affected: AffectedRange
) -> Judgement:
    return rule(affected, part.name, log)


def _entries(
    audited: Audited,
    which: str,
    judge: Callable[[PartitionLedger, AffectedRange], Judgement],
) -> list[Judged]:
    found = [
        (part.name, affected, judge(part, affected))
        for part in audited.partitions
        for affected in attrgetter(which)(part)
    ]
    return sorted(found, key=lambda each: (_time_us(each[1]), each[0], each[1].first))


def _time_us(affected: AffectedRange) -> int:
    return next((at for at in (affected.second_us, affected.first_us) if at is not None), 0)


def _numbered(found: list[Judged], kind: EntryKind, letter: str) -> Iterator[AuditEntry]:
    for number, (name, affected, judgement) in enumerate(found, 1):
        yield AuditEntry(
            id=f"{letter}{number}",
            kind=kind,
            topic=name.topic,
            partition=name.partition,
            first=affected.first,
            last=affected.next_offset - 1,
            cause=judgement.cause,
            detail=judgement.detail,
            first_owner=affected.first_owner,
            first_at_us=affected.first_us,
            second_owner=affected.second_owner,
            second_at_us=affected.second_us,
        )


def entries_table(ledger: AuditLedger) -> pa.Table:
    """Return the entries as a table."""
    rows = [_row(ledger.group, entry) for entry in ledger.entries]
    return pa.Table.from_pylist(rows, ENTRIES)


def _row(group: str, entry: AuditEntry) -> Mapping[str, object]:
    row = {name: getattr(entry, name) for name in ENTRIES.names}
    return {
        **row,
        "group": entry.group or group,
        "kind": entry.kind.value,
        "cause": entry.cause.value,
    }


def partitions_table(ledger: AuditLedger) -> pa.Table:
    """Return the totals of each partition as a table."""
    rows = [
        {
            **{name: getattr(part, name) for name in PARTITIONS.names[2:]},
            "topic": part.name.topic,
            "partition": part.name.partition,
        }
        for part in ledger.partitions
    ]
    return pa.Table.from_pylist(rows, PARTITIONS)


_WRITTEN = re.compile(
    r"\s*(?P<name>[^<>=]+?)\s*(?P<relation><=|>=|==|=|<|>)\s*(?P<bound>[\d_,]{1,40})\s*"
)
_OF_CAUSE = re.compile(r"(?P<kind>reprocessed|lost)\.by_cause\[(?P<cause>.+)\]")

Expectation = tuple[str, str, int]
"""A figure, a relation, a bound."""


def read_expectation(text: str) -> Expectation:
    """Parse one expectation; raise AuditError if it is invalid."""
    from emulator.metrics.checks import RELATIONS  # noqa: PLC0415  only where something is expected

    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise AuditError(
            f"`expect={text!r}`: expected a figure, one of {listed(RELATIONS)}, and a number of "
            'records, such as "reprocessed <= 100"'
        )
    name = match["name"]
    of_cause = _OF_CAUSE.fullmatch(name)
    causes = list(dict.fromkeys(cause.value for cause in (*AuditCause, *Cause)))
    if of_cause is not None and of_cause["cause"] not in causes:
        near = hint(of_cause["cause"], causes) or f"; there are {listed(causes)}"
        raise AuditError(f"`expect={text!r}`: there is no cause {of_cause['cause']!r}{near}")
    if of_cause is None and name not in TOTALS:
        near = hint(name, TOTALS) or f"; there are {listed(TOTALS)}"
        raise AuditError(f"`expect={text!r}`: there is no figure {name!r}{near}")
    relation = "==" if match["relation"] == "=" else match["relation"]
    return name, relation, int(match["bound"].replace(",", "").replace("_", ""))


def check(expectations: Sequence[Expectation], ledger: AuditLedger) -> tuple[Expected, ...]:
    """Compare a ledger with expectations, in their order."""
    return tuple(_check(each, ledger) for each in expectations)


def _check(expectation: Expectation, ledger: AuditLedger) -> Expected:
    from emulator.metrics.checks import RELATIONS, Expected  # noqa: PLC0415  the same

    name, relation, bound = expectation
    measured = _figure(name, ledger)
    text = f"{name} is {measured:,}, expected {relation} {bound:,}"
    return Expected(name, relation, bound, measured, RELATIONS[relation](measured, bound), text)


def _figure(name: str, ledger: AuditLedger) -> int:
    of_cause = _OF_CAUSE.fullmatch(name)
    if of_cause is None:
        return ledger.total(name)
    return ledger.by_cause(EntryKind(of_cause["kind"])).get(of_cause["cause"], 0)
