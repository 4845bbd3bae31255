"""Which client libraries the members of a group may have, from what the offsets log says.

``client.id`` has a default in every library. Where an application sets its own, the assignor, the
timeouts and the leader epochs of commits leave some libraries out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from emulator.blaming.batches import LARGEST_BATCH
from protocols.consumer.clients import CLIENTS, Amount, ClientProfile, profile_of
from protocols.settings import ConsumerSettings, defaults_of

if TYPE_CHECKING:
    from emulator.blaming.setup import Setup, Table

DEFAULT_IDS: Final = {
    "java": re.compile(r"consumer-.+-\d+|connector-consumer-.+|.+-StreamThread-\d+-consumer"),
    "librdkafka": re.compile(r"rdkafka(-.*)?"),
    "aiokafka": re.compile(r"aiokafka-.+"),
    "kafka-python": re.compile(r"kafka-python-.+"),
    "franz-go": re.compile(r"kgo"),
}
"""The ``client.id`` of members whose application sets none.

Sources: ``ConsumerConfig.maybeOverrideClientId``, ``CONFIGURATION.md`` of librdkafka,
``AIOKafkaConsumer``, ``KafkaConsumer.DEFAULT_CONFIG``, ``kgo.ClientID``."""

REBALANCE_TIMEOUT: Final = "rebalance.timeout.ms"

ALSO_POSSIBLE: Final = 0.01
"""Added to the distance of a library for each more usual one that is possible, too."""

AGAINST_DEFAULTS: Final = 0.2
"""Added to that of the others where the log shows the defaults of one library."""


def clients_of(setup: Setup) -> tuple[str, ...]:
    """Return the libraries that may be the one of the group, the most likely first."""
    named = tuple(filter(None, map(client_named, setup.client_ids)))
    if named:
        return tuple(sorted(set(named), key=lambda name: (-named.count(name), CLIENTS.index(name))))
    possible = tuple(_possible(setup))
    return tuple(sorted(possible, key=lambda name: name != _by_default(setup))) or CLIENTS[:1]


def unusual(setup: Setup, client: str) -> float:
    """Return what is added to the distance of explanations with a library, see ``clients_of``."""
    clients = clients_of(setup)
    is_against = clients[0] != CLIENTS[0] and not setup.client_ids and client != clients[0]
    return clients.index(client) * ALSO_POSSIBLE + (AGAINST_DEFAULTS if is_against else 0)


def client_named(client_id: str) -> str | None:
    """Return the library whose default a ``client.id`` is; None: the application has set it."""
    found = (name for name, pattern in DEFAULT_IDS.items() if pattern.fullmatch(client_id))
    return next(found, None)


def _possible(setup: Setup) -> Iterator[str]:
    """Yield the libraries that have the protocol and the assignor, and usual timeouts."""
    for name in CLIENTS:
        profile = profile_of(name)
        if not setup.protocols <= set(profile.protocols) or not _has_assignor(setup, profile):
            continue
        if setup.carries_epochs and not profile.commits_epochs:
            continue
        if _has_timeouts(setup, profile):
            yield name


def _has_assignor(setup: Setup, profile: ClientProfile) -> bool:
    """Return whether a library has the assignor; users add their own to the Java client."""
    if setup.protocol != "classic" or setup.assignor is None or profile.name == CLIENTS[0]:
        return True
    return setup.assignor in profile.assignors.values()


def _has_timeouts(setup: Setup, profile: ClientProfile) -> bool:
    """Return whether the rebalance timeout is one that a library sends.

    Where it is the largest time between two polls, users often set it; else it is the default.
    """
    if REBALANCE_TIMEOUT not in profile.own:
        return not (profile.limits_session and _outlasts_interval(setup))
    usual = profile.defaults.get(REBALANCE_TIMEOUT, setup.session_timeout_ms)
    return setup.rebalance_timeout_ms in (None, usual)


def _outlasts_interval(setup: Setup) -> bool:
    """Return whether the session is longer than the poll interval, which librdkafka refuses."""
    session_ms = setup.session_timeout_ms or defaults_of(ConsumerSettings)["session.timeout.ms"]
    interval_ms = setup.rebalance_timeout_ms or session_ms
    return setup.protocol == "classic" and bool(interval_ms < session_ms)


def timeout_settings(profile: ClientProfile, settings: Table) -> Table:
    """Return the settings of a group with the rebalance timeout under the library's own name.

    *settings*: of the Java client, which has it in ``max.poll.interval.ms``.
    """
    if REBALANCE_TIMEOUT not in profile.own:
        return settings
    mine = dict(settings)
    timeout_ms = mine.pop("max.poll.interval.ms", None)
    return mine if timeout_ms is None else mine | {REBALANCE_TIMEOUT: timeout_ms}


def batch_keys(profile: ClientProfile, read_with: str | None, batch: int | None) -> Table:
    """Return the keys of a group by which a client's call hands out at most *batch* records.

    They are its settings (``settings``) or what it asks for; none for a call that does neither.
    """
    if batch is None:
        return {"settings": {}}
    amount = profile.reads[read_with or next(iter(profile.reads))]
    asked = {"read_records": batch} if amount is Amount.GIVEN else {}
    return {"settings": {LARGEST_BATCH: batch} if amount is Amount.SETTING else {}} | asked


def _by_default(setup: Setup) -> str:
    """Return the library whose defaults the log shows; the Java client if it shows none's."""
    others = (name for name in CLIENTS[1:] if _has_defaults(setup, profile_of(name)))
    return next(others, CLIENTS[0])


def _has_defaults(setup: Setup, profile: ClientProfile) -> bool:
    """Return whether the assignor and the rebalance timeout are defaults of this library only."""
    if REBALANCE_TIMEOUT not in profile.own or setup.rebalance_timeout_ms is None:
        return False
    assignors = profile.defaults.get("partition.assignment.strategy")
    return assignors == (setup.assignor,) and _has_timeouts(setup, profile)
