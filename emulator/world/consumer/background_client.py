"""Build a client other than Java's: its fetches, what its commits cover, and where it works on its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.scenario.resolution import client_settings, read_with, records_at_once
from emulator.world import consumer
from emulator.world.consumer.blueprints import Blueprint, MemberIds, classic_consumer
from protocols.consumer.classic.background import BackgroundClient
from protocols.consumer.classic.machine import Client
from protocols.consumer.clients import ClientProfile, Covers
from protocols.consumer.drained_fetches import DrainedFetcher
from protocols.consumer.fetching import Fetcher
from protocols.consumer.kip848.threads import at_once
from protocols.consumer.offset_store import OffsetStore, Stores
from protocols.consumer.prefetches import PrefetchFetcher
from protocols.consumer.queued_fetches import QueuedFetcher, Rests
from protocols.settings import ClientSettings
from protocols.values import replace

if TYPE_CHECKING:
    from protocols.consumer.kip848.background_client import (
        BackgroundClient as AsyncBackgroundClient,
    )

__all__ = ["new_client"]


def new_client(
    blueprint: Blueprint, process: str, member_ids: MemberIds
) -> Client | BackgroundClient | AsyncBackgroundClient:
    """Return the client of a new incarnation.

    *member_ids*: returns the member id, which a client of the consumer protocol generates by itself.
    """
    if blueprint.profile.fetches_when_drained:
        rereads = read_with(blueprint.group, blueprint.member) in blueprint.profile.rereads
        drained = DrainedFetcher(rereads=rereads)
        return Client(replace(classic_consumer(blueprint, process), fetcher=drained))
    own = client_settings(blueprint.group, blueprint.member)
    limit = records_at_once(blueprint.group, blueprint.member)
    profile = blueprint.profile
    fetcher = _fetcher(profile, own)
    store = _store(blueprint, own)
    if blueprint.settings.group_protocol == "consumer":
        return _of_consumer_protocol(blueprint, process, member_ids, limit, store, fetcher)
    classic = classic_consumer(blueprint, process)
    return BackgroundClient(replace(classic, own=own, store=store, fetcher=fetcher), limit)


def _of_consumer_protocol(
    blueprint: Blueprint,
    process: str,
    member_ids: MemberIds,
    limit: int,
    store: OffsetStore | None,
    fetcher: Fetcher,
) -> AsyncBackgroundClient:
    from protocols.consumer.kip848.background_client import (  # noqa: PLC0415  only for its groups
        BackgroundClient as AsyncClient,
    )

    java = consumer.async_client.async_consumer(blueprint, process, member_ids)
    return AsyncClient(replace(java, lags=at_once, store=store, fetcher=fetcher), limit)


def _store(blueprint: Blueprint, own: ClientSettings) -> OffsetStore | None:
    """Return what automatic commits cover; None: all records returned."""
    profile = blueprint.profile
    if profile.covers is Covers.RETURNED:
        return None
    stored = profile.covers is Covers.STORED
    by_application = blueprint.commit.call == "store" or not own.enable_auto_offset_store
    at_hand_over = (stored or own.greedy_auto_commit) and not by_application
    return OffsetStore(
        Stores(
            at_hand_over=at_hand_over,
            at_next_poll=not (at_hand_over or by_application),
            only_forward=profile.only_forward,
        )
    )


def _fetcher(profile: ClientProfile, own: ClientSettings) -> Fetcher:
    if profile.prefetch_rest_ms is not None:
        return PrefetchFetcher(profile.prefetch_rest_ms)
    if profile.fills_queues:
        return QueuedFetcher(
            own.queued_min_messages,
            Rests(own.fetch_error_backoff_ms, own.fetch_queue_backoff_ms),
            takes_hints=profile.knows_epochs,
            frees_at_limit=profile.frees_at_limit,
        )
    return Fetcher(
        takes_hints=profile.knows_epochs,
        frees_at_limit=profile.frees_at_limit,
        errors_in_order=False,
    )
