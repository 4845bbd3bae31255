"""Messages on the wire, as a trace of a run has them; they are no events and in no digest."""

from __future__ import annotations

from typing import NamedTuple

FETCH = "Fetch"
"""The kind of fetches."""


class MessageCarried(NamedTuple):
    """One request or response."""

    kind: str
    """``JoinGroup`` for its request and its response."""

    is_request: bool
    sender: str
    receiver: str
    """A consumer, an administrator's tool, or a broker such as ``broker-1``."""

    request: str
    """Names the request; its response has the same name."""

    sent_us: int
    arrives_us: int | None
    """None: lost on the way."""

    error: str
    """The error of a response as a whole, in Kafka's spelling; empty if it has none."""
