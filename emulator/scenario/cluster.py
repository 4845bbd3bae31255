"""The brokers and what lies between the parties."""

from pydantic import Field

from emulator.scenario.distributions import Distribution, always
from emulator.scenario.kafka_settings import BrokerTable
from emulator.scenario.part import Part
from emulator.scenario.quantities import ByteRate, Rate, Size


class Cluster(Part):
    """The brokers."""

    brokers: int = Field(3, ge=1, le=1000)
    """How many; they are called ``broker-1``, ``broker-2``, …"""

    racks: tuple[str, ...] = ()
    """Rack of broker 1, 2, …; empty: none configured."""

    settings: BrokerTable = Field(default_factory=dict)
    """Kafka's broker settings by name, the same on every broker."""

    replication: Distribution = always(1_000)
    """From an append to the high watermark that covers it; followers have it after half of that."""

    load: Distribution = always(10_000)
    """How long a new coordinator takes to load a group's partition, however small that is."""

    load_bytes: ByteRate | None = None
    """How fast a load reads, on top of that; left out: at once."""

    load_records: Rate | None = Field(None, gt=0)
    """How fast a load applies records, on top of both; left out: at once."""

    offsets_backlog: Size = 0
    """Bytes that lie in each offsets partition when the run begins: never compacted, then or later."""

    offsets_backlog_records: int = Field(0, ge=0, le=10**12)
    """Records that lie there."""


class Link(Part):
    """One direction between two parties, where it differs from the rest of the network.

    A party is a consumer's name, ``broker-N``, ``clients`` or ``brokers``.
    """

    sender: str = Field(alias="from")
    receiver: str = Field(alias="to")
    latency: Distribution | None = None
    loss: float | None = Field(None, ge=0, le=1)


class Network(Part):
    """What lies between consumers and brokers."""

    latency: Distribution = always(500)
    """One way."""

    loss: float = Field(0.0, ge=0, le=1)
    """Share of group requests and responses that never arrive."""

    link: tuple[Link, ...] = ()
