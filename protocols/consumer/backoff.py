"""How long a client waits before it tries again (``ExponentialBackoff``, KIP-580)."""

from __future__ import annotations

from protocols.consumer.reader import Reader

MS = 1_000


def backoff_us(reader: Reader, what: str, attempt: int, now: int) -> int:
    """Return the exponential back-off before try number ``attempt`` + 2, in microseconds.

    ``min(max, uniform(0.8, 1.2) * base * 2^attempt)``.
    """
    settings = reader.settings
    jitter = reader.jitter(what, now)
    return _exponential(settings.retry_backoff_ms, settings.retry_backoff_max_ms, attempt, jitter)


def reconnect_backoff_us(reader: Reader, failures: int, now: int) -> int:
    """Return how long a broker is not connected to again, in microseconds.

    *failures*: how often before the connection broke without an answer in between. Source:
    ``ClusterConnectionStates.updateReconnectBackoff``.
    """
    settings = reader.settings
    base, limit = settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms
    return _exponential(base, limit, failures, reader.jitter("reconnect", now))


def _exponential(base_ms: int, limit_ms: int, attempt: int, jitter: float) -> int:
    if limit_ms <= base_ms:
        return limit_ms * MS
    spread = 0.8 + 0.4 * jitter
    return int(min(limit_ms, spread * base_ms * 2 ** min(attempt, 20)) * MS)
