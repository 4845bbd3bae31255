"""Why a consumer cannot poll by arithmetic, as far as its application and its partitions decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.consumer.polling.folded_time import Live

if TYPE_CHECKING:
    from emulator.world.consumer.blueprints import AnyClient, Blueprint
    from emulator.world.consumer.interfaces import ConsumerProcess


def why_live(process: ConsumerProcess, client: AnyClient) -> Live | None:
    """Return why an application or its partitions need more than polls and work; None: they do not."""
    app, progress = process.application, process.progress
    if not process.blueprint.plain:
        return _why_not_plain(process.blueprint)
    if not process.run.triggers.idle:
        return Live.TRIGGER
    if not app.calm:
        return Live.HANG
    if client.consumer.fetcher.paused:
        return Live.PAUSED
    if progress.behind or not progress.alone:
        return Live.OWNERS
    return None


def _why_not_plain(blueprint: Blueprint) -> Live:
    """Return why the application does more than to poll and work."""
    if not blueprint.group.is_serial:
        return Live.WORKERS if blueprint.group.pool else Live.OWN
    if blueprint.poison is not None:
        return Live.POISON
    if blueprint.group.deduplication is not None:
        return Live.DEDUPLICATION
    context = Live.COMMITS if blueprint.conditions is None else Live.CONTEXT
    return Live.FORWARDED if blueprint.reads_forwarded else context
