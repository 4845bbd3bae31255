"""Why a consumer cannot poll by arithmetic: always, or as its application and partitions are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.consumer.blueprints import is_stable
from emulator.world.consumer.polling.folded_time import Live
from protocols.consumer.clients import Busy

if TYPE_CHECKING:
    from emulator.world.consumer.blueprints import AnyClient, Blueprint
    from emulator.world.consumer.interfaces import ConsumerProcess


_OF_APPLICATIONS = frozenset(
    {
        Live.WORKERS,
        Live.OWN,
        Live.POISON,
        Live.DEDUPLICATION,
        Live.COMMITS,
        Live.CONTEXT,
        Live.FORWARDED,
    }
)
"""The reasons of :func:`always_live` that lie in the application."""


def always_live(blueprint: Blueprint) -> Live | None:
    """Return why no poll of a consumer is ever computed by arithmetic; None: they may be."""
    profile = blueprint.profile
    if blueprint.reads_gaps:
        return Live.GAPS
    if blueprint.assigned is not None:
        return Live.BY_HAND
    if not profile.heartbeats_wait_for <= {Busy.LISTENER}:
        return Live.HEARTBEATS
    if profile.in_background:
        return Live.CLIENT
    if profile.fetches_when_drained:
        return Live.FETCHES
    if blueprint.group.offsets != "kafka":
        return Live.STORE
    return None if blueprint.plain else _why_not_plain(blueprint)


def live_now(always: Live | None, client: AnyClient) -> Live | None:
    """Return the reason that holds now; *always*: the one that holds once the member is stable.

    A reason in the application does not count before: a member without partitions has no records.
    """
    if always in _OF_APPLICATIONS and not is_stable(client):
        return Live.NOT_STABLE
    return always


def why_live(process: ConsumerProcess, client: AnyClient) -> Live | None:
    """Return why the partitions or the application of a plain consumer need more now; None: they do not."""
    app, progress = process.application, process.progress
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
