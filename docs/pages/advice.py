"""The page of hints: what each recommends, and what it is given for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from emulator.advice.changes import CHANGES
from emulator.ledger.entries import Cause
from emulator.report.hints.advice import CONVERT_BACK, ONE_CLASSIC_JOIN
from emulator.report.hints.by_cause import HINTS
from emulator.report.hints.deviations import BROKER_HINTS, DEVIATION_HINTS
from emulator.report.hints.downtime import (
    FENCE_SOONER,
    INITIAL_DELAY,
    KEPT_BY_ID,
    ONLY_MOVED_STOP,
    POLLED_TOO_LATE,
    REMOVED_IN_SILENCE,
    SESSION_ABOVE_RESTARTS,
    SHORTER_SESSION,
    STABLE_IDS,
)
from emulator.report.hints.losses import LOST_MESSAGES
from emulator.report.hints.of_verdicts import VERDICT_HINTS
from emulator.report.hints.owners import WITHOUT_ID
from emulator.report.hints.refusals import CONSUMER_PROTOCOL, EAGER
from emulator.report.hints.removals import TAKES_ITS_PLACE

_OPENING = """\
# Hints

`rebalance run` ends with hints: changes that reduce what the run showed. Each has an id in square
brackets, which does not change, and a section here. This page is printed from `emulator/report/` by
`python -m docs.pages`; change the sentences there.

A run shows only the hints that apply to its scenario, with the settings in force in place of the
braces. [causes.md](causes.md) has the hints of each cause, [verdicts.md](verdicts.md) the problems.

Many hints recommend a change that a scenario can have, with a value that follows from its numbers:
a grace period from the time of a full batch, a session from heartbeats and pauses. With a margin of
a quarter, no value is at the edge of what works. `rebalance run --advise` plays the first three
changes under the same seeds as the run, and shows what each does: also if it does nothing, or makes
something worse. It plays three to five seeds, as many as a few seconds of CPU time allow
(fewer only if three take more than a minute), and up to 20 if these show no effect of any change, or
none of one that prevents a risk; with `--seeds N`, those N seeds and the hints of the worst of them.

Without the option, changes are tried on a terminal if about a second is enough, and only named in a
pipe, a file and `--json`; `--no-advise` prints the hints alone, with the same numbers. In `--json` they
are `advice.changes`; from Python, `emulator.advise("scenario.toml", seeds=10)` returns them with their trials.

The main figures of a change are records reprocessed, lost and truncated, takeover, downtime and rebalances; refused
commits where some are refused without it, and peak lag where lag is a problem. A figure falls or rises if its mean changes
by 5 % or more, and if it does so in some seeds and the opposite in none, or the 95 % confidence interval of the mean
difference does not contain 0.

- *better*: a figure falls or a problem is gone, and no figure rises. Also, whatever other figures do: no record is
  reprocessed, lost or truncated any more; none is lost or truncated any more; or the runs are no longer disqualified, with
  no more records reprocessed or lost.
- *worse*: a figure rises or there is a new problem, and no figure falls.
- *mixed*: one falls and another rises, in the mean if seeds disagree.
- *unclear*: seeds disagree. *no effect*: no figure falls or rises.
- *disqualified*: runs with the change are inconclusive, or have a problem that makes their figures too good, in more
  seeds than without it.

"With 3 seeds this may be chance" is added if neither the interval of the mean nor the sign test tells the effect from
chance. The main figures do not show everything: a smaller session timeout also removes members that pause, which shows
only in a scenario with pauses.
"""

OTHERS = {
    SHORTER_SESSION: "downtime of 10 s or more after a member that died",
    FENCE_SOONER: "partitions without new records after a broker that died",
    SESSION_ABOVE_RESTARTS: "static members that were removed before they were back",
    INITIAL_DELAY: "rebalances while the members of a group start one after the other",
    REMOVED_IN_SILENCE: "two owners of partitions without records, one of which did not notice its removal",
    LOST_MESSAGES: "members that are removed while they run, or process nothing, in a network that loses messages",
    STABLE_IDS: "static members that get new instance ids in a deploy",
    TAKES_ITS_PLACE: "a process that was killed and started again while the group still had it as a member",
    POLLED_TOO_LATE: "a member that left its group as it had not called poll() in time",
    KEPT_BY_ID: "a group that members left and joined again",
    ONLY_MOVED_STOP: "a group that members left and joined again",
    EAGER: "a cooperative group whose records were reprocessed since rebalances refused commits, or whose members went on without one",
    CONSUMER_PROTOCOL: "a cooperative group whose records were reprocessed since rebalances refused commits, or whose members went on without one",
    ONE_CLASSIC_JOIN: "a group in migration that is not served",
    CONVERT_BACK: "a group in migration that is not served",
    **{hint: f"members with `deviates.{key}`" for key, hint in DEVIATION_HINTS.items()},
    **{
        hint: f"brokers with `cluster.{key}` of an older Kafka"
        for key, hint in BROKER_HINTS.items()
    },
    WITHOUT_ID[0]: "a consumer without a group id that reads again",
}
"""The hints that belong to no cause and no verdict, with what they are given for."""


def advice_page() -> str:
    """Return the page as text."""
    return "\n".join([_OPENING, *(_section(name) for name in sorted(hint_ids()))])


def hint_ids() -> set[str]:
    """Return the ids of all hints, and of the changes that they recommend."""
    return {name for name, _, _ in _hints()} | {name for name, _, _ in _changes()}


def _hints() -> Iterator[tuple[str, str, str]]:
    """Yield each hint: its id, its text, and what it is given for."""
    for cause in Cause:
        anchor = f"{cause}".replace(" ", "-")
        for hint in HINTS[cause]:
            yield hint.id, hint.text, f"[{cause}](causes.md#{anchor})"
    for verdict, hints in VERDICT_HINTS.items():
        for name, text in hints.items():
            yield name, text, f"`{verdict.value}`"
    for hint, reason in OTHERS.items():
        yield hint.id, hint.text, reason


def _changes() -> Iterator[tuple[str, str, str]]:
    """Yield each change: its id, what it does, and the hint that recommends it."""
    for hint, changes in CHANGES.items():
        for name, make in changes:
            about = " ".join((make.__doc__ or "").split())
            yield name, about.replace("``", "`"), hint


def _section(name: str) -> str:
    reasons = defaultdict[str, list[str]](list)
    for other, text, reason in _hints():
        if other == name:
            reasons[text].append(reason)
    texts = [f"{text}\n\nGiven for: {', '.join(for_)}.\n" for text, for_ in reasons.items()]
    return "\n".join([f"## {name}\n", *texts, *_change_texts(name)])


def _change_texts(name: str) -> Iterator[str]:
    hints = defaultdict[str, list[str]](list)
    for other, text, hint in _changes():
        if other == name:
            hints[text].append(hint)
    for text, names in hints.items():
        from_ = ", ".join(f"[{hint}](#{hint})" for hint in dict.fromkeys(names))
        yield f"Change tried: {text[:1].lower()}{text[1:]} Recommended by: {from_}.\n"
