"""Words for what people see, and where the scenarios that show it say so; only a search needs them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_REPEATED: Final = r'^"?reprocessed\b[^=\n]*= *"?(?:> *0|[<>]=? *[1-9]|[1-9])'
_LOST: Final = r'^"?lost\b[^=\n]*= *"?(?:> *0|[<>]=? *[1-9]|[1-9])'
_LAG: Final = r'^"?(?:backlog|lag_\w+)\b[^=\n]*= *"?(?:> *0|[<>]=? *[1-9]|[1-9])'
_REFUSED: Final = r"\brefuse[sd]?\b"
_REMOVED: Final = r"\bevict|\bremoves? (?:it|them|the member)|\bfence"
_OUT_OF_RANGE: Final = r"out of range|\bretention|\btruncat"
_STATIC: Final = r"\binstance[._]id|\bstatic\b"
_COORDINATOR: Final = r"\bcoordinator"

SYMPTOMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("double", "doubled", "doubles", "duplicate", "duplicates", "twice"), _REPEATED
    ),
    **dict.fromkeys(("again", "repeated", "reprocessing"), _REPEATED),
    **dict.fromkeys(("dropped", "loss", "losses", "missed", "missing"), _LOST),
    **dict.fromkeys(("lagging", "overload", "overloaded", "stuck"), _LAG),
    "commitfailedexception": _REFUSED,
    "illegal_generation": _REFUSED,
    "rebalance_in_progress": _REFUSED,
    "rebalanceinprogressexception": _REFUSED,
    "stale_member_epoch": _REFUSED,
    "unknown_member_id": _REMOVED,
    "fenced_instance_id": _STATIC,
    "fencedinstanceidexception": _STATIC,
    "coordinator_not_available": _COORDINATOR,
    "not_coordinator": _COORDINATOR,
    "nooffsetforpartitionexception": r"auto\.offset\.reset\W+none",
    "offset_out_of_range": _OUT_OF_RANGE,
    "offsetoutofrangeexception": _OUT_OF_RANGE,
}
"""For a symptom or an error of Kafka the pattern of the text of scenarios that show it."""


def is_about(text: str, word: str) -> bool:
    """Return whether a scenario's text has a word, or shows the symptom that it names."""
    pattern = SYMPTOMS.get(word.lower())
    if word.lower() in text.lower():
        return True
    return pattern is not None and bool(re.search(pattern, text, re.MULTILINE | re.IGNORECASE))
