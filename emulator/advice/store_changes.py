"""Changes of what keeps the offsets of a group outside Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.advice.drafts import Draft, Make
from emulator.advice.situation import Situation
from emulator.scenario.model import RestoreStore


def fenced(situation: Situation) -> Draft | None:
    """The database compares the stored offset with the expected one before it writes."""
    if not situation.facts.unfenced:
        return None
    why = f"The database takes results and offsets from members of {situation.group.id} that it should refuse."
    return Draft(why, ("database.fenced=true",), ("database.fenced=true",))


def restored_with_results(situation: Situation) -> Draft | None:
    """The results go back to the instant of the offsets."""
    alone = [
        act.id
        for act in situation.scenario.fault
        if isinstance(act, RestoreStore)
        and act.store == situation.group.offsets == "database"
        and act.what == "offsets"
    ]
    if not alone:
        return None
    return Draft(
        "The restored offsets are older than the results.",
        ("restore the results from the same backup",),
        tuple(f"act[{name}].what=everything" for name in alone),
    )


STORE_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "fence-a-restored-store": (("fenced-database", fenced),),
    "fence-at-destination": (("fenced-database", fenced),),
    "restore-with-results": (("restore-with-results", restored_with_results),),
}
"""For each hint its changes."""
