"""Changes of what keeps the offsets of a group outside Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.advice.drafts import Draft, Make
from emulator.advice.situation import Situation
from emulator.scenario.model import RestoreStore, RollingRestart
from emulator.scenario.tables.faults import After

STORAGE: Final = "offsets.storage"
DUAL_COMMIT: Final = "dual.commit.enabled"


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


def dual_commit(situation: Situation) -> Draft | None:
    """Both stores have every offset until each member reads both."""
    acts = [act for act in situation.restarts if (act.settings or {}).get(STORAGE) == "kafka"]
    if not acts:
        return None
    first, *later = acts
    overrides = []
    if (first.settings or {}).get(DUAL_COMMIT) is False:
        overrides.append(f"act[{first.id}].settings[{DUAL_COMMIT}]=true")
    overrides += [f"act[{act.id}].when={first.id} ends" for act in later if _precedes(act, first)]
    if not overrides:
        return None
    return Draft(
        "Members that read Kafka alone find no offsets that others write to ZooKeeper alone.",
        (f"{DUAL_COMMIT}=true in a first rolling restart, false in a second one",),
        tuple(overrides),
    )


def _precedes(act: RollingRestart, first: RollingRestart) -> bool:
    """Return whether an act begins with the first one, and does not wait for its end."""
    when = act.when
    return isinstance(when, After) and when.fault == first.id and when.phase == "begins"


STORE_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "dual-commit": (("dual-commit", dual_commit),),
    "fence-a-restored-store": (("fenced-database", fenced),),
    "fence-at-destination": (("fenced-database", fenced),),
    "restore-with-results": (("restore-with-results", restored_with_results),),
}
"""For each hint its changes."""
