"""The shared parts of one run: the scenario, the clock, the wire, the recorder of events.

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
    """Values of a real history that a replay uses instead of drawing them."""

    work: WorkTimes | None = None
    member_ids: Callable[[str], str | None] | None = None
    """By client id: the next member id; its result None: draw one."""

    topic_ids: Mapping[str, str] | None = None
    """By name; a coordinator's order of topics in assignments depends on them."""

    appended: Callable[[tuple[Record, ...]], None] | None = None
    """Called with every batch appended to the offsets topic."""

    listened_us: Mapping[str, tuple[int, ...]] | None = None
    """By process: the earliest end times of its first listener calls."""

    log_files: LogFiles | None = None
    """Takes the bytes of the offsets log."""

    by_record: bool = False
    """Whether each record's processing is written separately when it is done, as in a real trace
    (slow).
    """


NOTHING_REPLAYED = Replay()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The shared parts of one run."""

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
    """By member id: the consumer that received it."""

    appended: list[Callable[[tuple[Record, ...]], None]] = field(default_factory=list)
    """Called with every batch appended to the offsets topic."""

    @property
    def epoch_ms(self) -> int:
        """The wall clock at time 0, in milliseconds since 1970."""
        start = self.scenario.start
        return 0 if start is None else int(start.timestamp() * 1000)

    def consumer(self, member_id: str) -> str:
        """Return the consumer that received a member id."""
        return self.consumers.get(member_id, member_id)

    def member_id(self, client_id: str) -> str | None:
        """Return a member id of the replayed history; None: it has none left."""
        given = self.replay.member_ids
        return None if given is None else given(client_id)
