"""Build a client that works on its group in the background (librdkafka, aiokafka, franz-go)."""

from __future__ import annotations

from emulator.scenario.resolution import client_settings, records_at_once
from emulator.world.consumer.blueprints import Blueprint, classic_consumer
from protocols.consumer.classic.background import BackgroundClient
from protocols.consumer.clients import ClientProfile, Covers
from protocols.consumer.fetching import Fetcher
from protocols.consumer.offset_store import OffsetStore, Stores
from protocols.settings import ClientSettings
from protocols.values import replace

__all__ = ["new_client"]


def new_client(blueprint: Blueprint, process: str) -> BackgroundClient:
    """Return the client of a new incarnation."""
    own = client_settings(blueprint.group, blueprint.member)
    consumer = replace(
        classic_consumer(blueprint, process),
        own=own,
        store=_store(blueprint, own),
        fetcher=Fetcher(_queue(blueprint.profile, own)),
    )
    return BackgroundClient(consumer, records_at_once(blueprint.group, blueprint.member))


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


def _queue(profile: ClientProfile, own: ClientSettings) -> int | None:
    if "queued.min.messages" in profile.own:
        return own.queued_min_messages
    return profile.queue
