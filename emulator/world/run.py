"""What all parts of one run share: the scenario, the clock, the wire, the record of events.

A part that needs another part gets it as an argument (:mod:`emulator.world.build`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from emulator.scenario.model import Scenario
from emulator.world.cluster.stored_segment import LogFiles
from emulator.world.consumer.handler import WorkTimes
from emulator.world.kernel import Kernel
from emulator.world.network import Wire
from emulator.world.recorder import Causes, Recorder
from emulator.world.triggers import Triggers
from protocols.offsets_topic.records import Record
from protocols.settings import BrokerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay of a real history takes from it instead of drawing it."""

    work: WorkTimes | None = None
    member_ids: Callable[[str], str | None] | None = None
    """By client id: the next member id; its result None: draw one."""

    topic_ids: Mapping[str, str] | None = None
    """By name: the order in which a coordinator assigns topics depends on them, too."""

    appended: Callable[[tuple[Record, ...]], None] | None = None
    """Called with every batch appended to the offsets topic."""

    listened_us: Mapping[str, tuple[int, ...]] | None = None
    """By process: its first listener calls do not end before these times."""

    log_files: LogFiles | None = None
    """Takes the bytes of the offsets log."""

    by_record: bool = False
    """Write the work on each record by itself, when it is done, as a real trace does (slow)."""


NOTHING_REPLAYED = Replay()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all parts of one run share."""

    scenario: Scenario
    seed: int
    broker_settings: BrokerSettings
    kernel: Kernel
    recorder: Recorder
    wire: Wire
    triggers: Triggers
    replay: Replay = NOTHING_REPLAYED
    folding: bool = True
    """Whether calm consumers poll by arithmetic (:mod:`emulator.world.consumer.poll_loop`)."""

    causes: Causes = field(default_factory=Causes)
    consumers: dict[str, str] = field(default_factory=dict)
    """By member id: the consumer that it was given to."""

    appended: list[Callable[[tuple[Record, ...]], None]] = field(default_factory=list)
    """Called with every batch appended to the offsets topic."""

    @property
    def epoch_ms(self) -> int:
        """The wall clock at time 0, in milliseconds since 1970."""
        start = self.scenario.start
        return 0 if start is None else int(start.timestamp() * 1000)

    def consumer(self, member_id: str) -> str:
        """Return the consumer that a member id was given to."""
        return self.consumers.get(member_id, member_id)

    def member_id(self, client_id: str) -> str | None:
        """Return a member id of the replayed history; None: there is none to take."""
        given = self.replay.member_ids
        return None if given is None else given(client_id)
