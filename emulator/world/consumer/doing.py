"""What the application thread of a consumer is in the middle of, and how it is to end."""

from __future__ import annotations

import enum


class Doing(enum.Enum):
    """What the application thread is in the middle of."""

    POLLING = "poll"
    WORKING = "its handler"
    COMMITTING = "commitSync"
    LISTENING = "its rebalance listener"
    CLOSING = "close"
    RECOVERING = "a pause after an exception it has caught"


class Ending(enum.Enum):
    """Whether the process was asked to end in order, and when it will close its consumer."""

    NOT_ASKED = "not asked to"
    AFTER_BATCH = "when its batch is done"
    AFTER_RECORD = "after the record under work"
    BEGUN = "close was called"
