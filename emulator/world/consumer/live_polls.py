"""Determine why a poll of a consumer is an event."""

from __future__ import annotations

from emulator.world.consumer.blueprints import is_stable
from emulator.world.consumer.folded_time import Live
from emulator.world.consumer.interfaces import ConsumerProcess


def why_live(process: ConsumerProcess, now: int) -> Live:
    """Return why a poll of the process at *now* was not folded."""
    run, client, progress = process.run, process.client, process.progress
    if not run.folding:
        return Live.EXACT
    if not is_stable(client):
        return Live.NOT_STABLE
    if process.blueprint.group.poison:
        return Live.POISON
    if not process.blueprint.plain:
        return Live.COMMITS
    if not run.triggers.idle:
        return Live.TRIGGER
    if not process.application.calm:
        return Live.HANG
    if progress.behind or not progress.alone:
        return Live.OWNERS
    found = client.calm(now)
    if found is None or found[1].blocking_timer in process.timers:
        return Live.REQUEST
    return Live.FETCH
