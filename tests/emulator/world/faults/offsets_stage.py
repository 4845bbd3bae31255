"""A group that is away, or at work, while an administrator acts on its offsets."""

from __future__ import annotations

from emulator.events import ActRefused, EpochOpened

from ..stage import SECOND, Seen, staged

ONE = 'partitions = 3\nrate = "10/s"'
ALONE = """work = "1ms"

[[group.member]]
name = "g-1"
start = "by act"

[[group.member]]
name = "g-2"
start = "by act"
"""
CLOSED = '[[act]]\nclose = "g-0"\nat = "10s"\nrestart_after = "10s"\n'
"""The only member that runs is away from 10 s to 20 s; it has 100 records of each partition."""

SHORT_LIVED = """[cluster.settings]
"offsets.retention.minutes" = 1
"offsets.retention.check.interval.ms" = "10s"
"""

NO_MEMBERS = ALONE + '[[group.member]]\nname = "g-0"\nstart = "by act"\n'


def away(act: str, more: str = "", *, run: str = "", group: str = ALONE) -> Seen:
    """Play an act on a group that is away."""
    text = f'{CLOSED}\n[[act]]\nid = "x"\n{act}\n{more}'
    return staged(text, topic=ONE, group=group, run_for="40s", run=run)


def living(act: str) -> Seen:
    """Play an act on a group of three at work."""
    return staged(f'[[act]]\nid = "x"\n{act}\nat = "12s"\n')


def begins(seen: Seen) -> set[int]:
    """Return where the member that came back began its partitions."""
    return {event.what.offset for event in seen.after(20 * SECOND, EpochOpened)}


def refusal(seen: Seen) -> tuple[str, str]:
    """Return the error and the words of the one refusal."""
    what = seen.only(ActRefused).what
    return what.error, what.why
