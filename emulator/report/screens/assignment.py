"""Show the answers of ``rebalance assign`` as tables: assignment, moves and balance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from assignors.question import Answer, Outcome
from assignors.types import Assignment, TopicPartition
from emulator.report.wording import width


def table_lines(outcome: Outcome) -> list[str]:
    """Return the lines of *outcome* as a table that fits the terminal."""
    console = Console(width=width())
    with console.capture() as captured:
        console.print(as_table(outcome))
    return [line.rstrip() for line in captured.get().splitlines()]


def as_table(outcome: Outcome) -> RenderableType:
    """Return the assignment of *outcome* as a table, with gained and revoked partitions."""
    if outcome.answer is None:
        where = f"line {outcome.line_number}: " if outcome.defect else ""
        return Text(f"{where}{outcome.error}", style="yellow" if outcome.defect else "red")
    assignment, owned = outcome.answer.checked.assignment, outcome.answer.owned
    title = Text(f"line {outcome.line_number}: {outcome.assignor}", style="italic")
    table = Table(title=title, title_justify="left")
    for heading in ("member", "partitions", "has", "new to it", "gives up"):
        table.add_column(heading, justify="right" if heading == "partitions" else "left")
    for member in sorted(assignment):
        has, had = assignment[member], owned[member]
        new, lost = set(has).difference(had), set(had).difference(has)
        cells = (member, str(len(has)), runs(has), runs(new), runs(lost))
        table.add_row(*map(Text, cells))
    return Group(table, *map(Text, summary(outcome.answer)))


def runs(partitions: Iterable[TopicPartition]) -> str:
    """Return *partitions* by topic, with consecutive numbers as ranges.

    >>> runs(TopicPartition("t", number) for number in (4, 0, 1, 2))
    't 0-2 4'
    """
    by_topic: dict[str, list[list[int]]] = {}
    for topic, number in sorted(partitions):
        found = by_topic.setdefault(topic, [])
        if found and found[-1][-1] == number - 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join(
        " ".join([topic, *("-".join(map(str, run)) for run in found)])
        for topic, found in by_topic.items()
    )


def summary(answer: Answer) -> list[str]:
    """Return the lines below the table: balance, moves and irregularities."""
    assignment = answer.checked.assignment
    sizes = sorted(map(len, assignment.values())) or [0]
    balance = f"balance: {sizes[0]} to {sizes[-1]} partitions a member"
    lines = [f"{balance}, {sum(sizes)} in all, {len(assignment)} members"]
    if any(answer.owned.values()):
        moved, withheld = _moves(assignment, answer.owned)
        lines.append(f"moved to another member: {moved}; revoked and not yet assigned: {withheld}")
    if missing := _unassigned(answer):
        lines.append(f"unassigned: {runs(missing)}")
    if data := answer.checked.user_data:
        sent = ", ".join(f"{member} {len(each)} bytes" for member, each in sorted(data.items()))
        lines.append(f"user data for the assignors of: {sent}")
    if twice := answer.checked.given_twice:
        lines.append(f"assigned twice: {runs(one.partition for one in twice)}")
    return lines


def _moves(
    assignment: Assignment, owned: Mapping[str, tuple[TopicPartition, ...]]
) -> tuple[int, int]:
    """Count the owned partitions that another member has now, and those without an owner."""
    had = {one for partitions in owned.values() for one in partitions}
    given = {one for partitions in assignment.values() for one in partitions}
    new = {one for member in owned for one in set(assignment[member]).difference(owned[member])}
    return len(had & new), len(had - given)


def _unassigned(answer: Answer) -> list[TopicPartition]:
    """Return the partitions of subscribed topics that are not assigned."""
    given = {one for partitions in answer.checked.assignment.values() for one in partitions}
    asked = {topic for sub in answer.subscriptions.values() for topic in sub.topics}
    return [
        partition
        for topic in sorted(asked)
        for number in range(answer.topics.partition_counts.get(topic, 0))
        if (partition := TopicPartition(topic, number)) not in given
    ]
