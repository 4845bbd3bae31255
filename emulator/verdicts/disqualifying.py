"""Which runs are disqualified: no comparison, trial or study may call them best, or prefer them.

The figures of such a run are low because the run is no success: a deploy that stopped repeats nothing,
and a dead group neither. This is the one rule for ``compare``, ``run --advise`` and studies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from assignors.values import dataclass
from emulator.verdicts.verdict import Verdict, VerdictId

INCONCLUSIVE: Final = "inconclusive"

REASONS: Final[Mapping[VerdictId, str]] = {
    VerdictId.NOTHING_PROCESSED: "nothing processed",
    VerdictId.GROUP_DEAD: "group dead",
    VerdictId.MEMBERS_DIED: "members died",
    VerdictId.DEPLOY_STOPPED: "deploy stopped",
    VerdictId.FAULT_MISSED: "fault did not fire",
    VerdictId.ACT_REFUSED: "act refused",
    VerdictId.WITHOUT_OWNER: "partition without owner",
    VerdictId.LONG_DOWNTIME: "no owner for a minute",
    VerdictId.FOUND_LATE: "partitions found late",
    VerdictId.PARTITION_STUCK: "partition stuck",
    VerdictId.PARTITION_STALLED: "partition stuck",
    VerdictId.OVERLOAD: "overload",
    VerdictId.LAG_GROWS: "lag grows",
    VerdictId.IN_FLIGHT: "records unprocessed",
}
"""The verdicts that disqualify a run, in the few words of a table; so does any other verdict that is
inconclusive."""


MEANINGS: Final[Mapping[str, str]] = {
    "nothing processed": "no record was processed",
    "group dead": "members ended with an error, and none runs any more",
    "members died": "members ended with an error",
    "deploy stopped": "a rolling restart stopped before its end",
    "fault did not fire": "a fault of the scenario did not happen",
    "act refused": "an act of an administrator was refused",
    "partition without owner": "at the end a partition had no owner",
    "no owner for a minute": "partitions had no owner that processes for a minute or more",
    "partitions found late": "new partitions had no owner for a minute or more",
    "partition stuck": "owners made no progress in a partition, and records wait",
    "overload": "the group, or one of its members, can process less than 1 % more than what arrives",
    "lag grows": "lag grew until the end, although the members could process what arrived",
    "records unprocessed": "records in flight when their process ended were neither processed nor lost",
    INCONCLUSIVE: "the run ended before the consequences of its faults",
}
"""What each reason means, for a table that has no sentence for each."""


@dataclass(frozen=True, slots=True)
class Disqualified:
    """One reason for which some runs of a setting are disqualified."""

    reason: str
    """A few words, as in a column of a table."""

    sentence: str
    """What happened in the first of these runs."""

    runs: int


def reasons_of(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """Return why a run is disqualified: each reason with its first sentence; empty: it is not."""
    found: dict[str, str] = {}
    for verdict in verdicts:
        if _is_needless(verdict):
            continue
        reason = REASONS.get(verdict.id, INCONCLUSIVE if verdict.inconclusive else "")
        if reason:
            found.setdefault(reason, verdict.sentence)
    return found


def _is_needless(verdict: Verdict) -> bool:
    """Return whether all faults that did not fire are starts of processes that were running.

    Where a change keeps a process alive, the start that replaced it has nothing to do. By itself such a
    run is inconclusive, because the start may be meant for another process; compared, it is no worse.
    """
    if verdict.id is not VerdictId.FAULT_MISSED:
        return False
    return verdict.numbers.get("needless", 0) == verdict.numbers.get("faults")


def disqualified(runs: Iterable[Sequence[Verdict]]) -> tuple[Disqualified, ...]:
    """Return why the runs of a setting are disqualified, the reason of most runs first."""
    return summed(map(reasons_of, runs))


def summed(runs: Iterable[Mapping[str, str]]) -> tuple[Disqualified, ...]:
    """Count the reasons of several runs, as :func:`reasons_of` returns them."""
    times, sentences = Counter[str](), dict[str, str]()
    for reasons in runs:
        times.update(reasons.keys())
        for reason, sentence in reasons.items():
            sentences.setdefault(reason, sentence)
    return tuple(Disqualified(each, sentences[each], n) for each, n in times.most_common())


def mark(found: Sequence[Disqualified], runs: int) -> str:
    """Return the reasons for a cell of a table, with the number of runs unless all have one.

    >>> mark([Disqualified("deploy stopped", "…", 2), Disqualified("overload", "…", 5)], 5)
    'deploy stopped (2 of 5), overload'
    """
    return ", ".join(
        each.reason if each.runs == runs else f"{each.reason} ({each.runs} of {runs})"
        for each in found
    )


def sentences(found: Sequence[Disqualified], runs: int) -> Iterator[str]:
    """Yield what happened, a sentence a reason, with the number of runs if there are several."""
    for each in found:
        where = f" ({each.runs} of {runs} runs)" if runs > 1 else ""
        yield f"{each.reason}: {each.sentence}{where}"
