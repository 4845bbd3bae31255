"""One thing that may have happened to a group, as the runs are given it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from assignors.values import dataclass
from emulator.blaming.setup import Table


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that may have happened: its name, its words, and its faults and acts."""

    name: str
    words: str
    trace: str
    """What it leaves elsewhere than in the two logs."""

    faults: tuple[Table, ...] = ()
    """As in a scenario file; ``at`` is the time since the onset, in microseconds."""

    acts: tuple[Table, ...] = ()
    settings: tuple[tuple[str, object], ...] = ()
    """Of the consumers, by the names of the Java client."""

    topics: Mapping[str, Table] = field(default_factory=dict)
    """Keys of topics that differ from those that the logs show at their end."""

    members: Mapping[str, Table] = field(default_factory=dict)
    """Settings of members that differ from those of the others."""

    unusual: float = 0.0
    """Added to its distance: of two that fit as well, the more usual one comes first."""

    @property
    def is_general(self) -> bool:
        """Whether it may have happened to any group, whatever was seen of its members."""
        return self.name in GENERAL

    @property
    def family(self) -> str:
        """The name without the way in which consumers close, and without what no log shows."""
        return self.name.removesuffix(MID_BATCH).removesuffix(BUT_REFUSED)


MID_BATCH = " in mid-batch"
BUT_REFUSED = " but a refused member"

IN_BATCH: Final[Table] = {"mid_batch": True}
NO_GRACE: Final[Table] = {"grace": "0s"}
"""The end of a member is a kill; a replay with a longer grace period shows what that would change."""

NOTHING = Happening("nothing", "nothing happened to a member or a broker", "nothing")

GENERAL: Final = frozenset({"nothing", "coordinator crash", "coordinator pause"})
"""The names of those that are tried whatever was seen."""
