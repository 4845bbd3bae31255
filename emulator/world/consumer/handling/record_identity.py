"""What a record is, whatever its offset: its key, and of a copy the record that it repeats."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator.scenario.model import Scenario, Topic
from emulator.scenario.tables.handlers import KEYS
from emulator.world.draws import draw, stream_key


class Identities:
    """The identities of the records of a run."""

    __slots__ = ("_seed", "_streams", "_topics")

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._seed = seed
        self._topics = {topic.name: topic for topic in scenario.topic}
        self._streams: dict[TopicPartition, int] = {}

    def original(self, tp: TopicPartition, offset: int) -> int:
        """Return the offset of the record that a copy repeats; of any other record its own."""
        topic = self._topics.get(tp.topic)
        if topic is None or topic.repeats is None:
            return offset
        return topic.repeats.original(offset)

    def key(self, tp: TopicPartition, offset: int) -> int | str:
        """Return the key of a record: a name if its topic has keys, else one of 1,000 numbers."""
        stream = self._streams.get(tp)
        if stream is None:
            stream = self._streams[tp] = stream_key(self._seed, "key", str(tp))
        drawn = draw(stream, self.original(tp, offset))
        topic = self._topics.get(tp.topic)
        if topic is None or topic.keys is None:
            return int(drawn * KEYS)
        return _key_of(topic, tp.partition, drawn)


def _key_of(topic: Topic, partition: int, drawn: float) -> str:
    from emulator.scenario.keys import key_at  # noqa: PLC0415  few topics have keys

    return key_at(topic, partition, drawn)
