"""Hints for groups whose members are removed because the network loses their messages."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.events import Departure
from emulator.metrics.group_figures import figures_of
from emulator.metrics.metrics import Metrics
from emulator.report.hints.advice import with_values
from emulator.report.hints.cases import GivenHint, Hint
from emulator.report.subject import Subject

LOST_MESSAGES = Hint(
    "lost-messages",
    "After each loss a client waits for {request.timeout.ms}, or, for a JoinGroup of the classic "
    "protocol, for longer than {max.poll.interval.ms}; a member that loses several in a row is removed "
    "while it runs. No setting of the group ends that: a smaller request timeout shortens single waits "
    "only, and the session timeout decides only when the member is removed. Find out where messages are "
    "dropped, for example in a link, a firewall or a proxy.",
)


def loss_hints(subject: Subject, metrics: Metrics) -> Iterator[GivenHint]:
    """Yield a hint for each group whose members the losses of the network remove, or keep from work."""
    share = subject.loss
    numbers = (
        f"The network loses {share * 100:.3g} % of group requests and responses, so that "
        f"{(1 - (1 - share) ** 2) * 100:.2g} % of the exchanges fail."
    )
    for group in subject.groups:
        figures = figures_of(metrics, group.id)
        is_removed = figures.living and Departure.EXPIRED in figures.removals
        if is_removed or not metrics["processed"]:
            text = with_values(LOST_MESSAGES.text, subject, group)
            yield GivenHint(LOST_MESSAGES.id, f"{numbers} {text}", group.id, has_numbers=True)
