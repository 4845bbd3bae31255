"""What may have happened to the topics of a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from emulator.blaming.happening import Happening
from emulator.blaming.setup import Setup, Table, seconds_text
from emulator.blaming.symptoms import Symptoms

_METADATA_MS = 500
_DISCOVERED_US = 500_000
"""From a change of a topic until a member discovers it, with metadata that is refreshed so often."""

OVERTAKEN = ", and retention overtook it"


def of_topics(symptoms: Symptoms, setup: Setup) -> Iterator[Happening]:
    """Yield the changes of topics that were seen."""
    if symptoms.added:
        yield _expansion(symptoms, setup)
    if symptoms.appeared:
        yield _created(symptoms, setup)
    if symptoms.recreated:
        yield _recreated(symptoms, setup)


def overtaken(happening: Happening, symptoms: Symptoms) -> Happening:
    """Return it with topics that keep their records as long as was seen."""
    kept = symptoms.retentions
    named = ", ".join(f"{topic} ({kept_us / 1e6:.1f} s)" for topic, kept_us in kept.items())
    return replace(
        happening,
        name=f"{happening.name}{OVERTAKEN}",
        words=f"{happening.words}; the retention of {named} overtook them",
        trace=f"{happening.trace}; “Fetch position … is out of range” in the client's log",
        topics={topic: {"retention": seconds_text(kept_us)} for topic, kept_us in kept.items()},
    )


def _expansion(symptoms: Symptoms, setup: Setup) -> Happening:
    """Return the creation of partitions, so early that the group rebalances from the onset on."""
    counts: dict[str, int] = {}
    earlier: dict[str, int] = {}
    for (topic, number), _ in symptoms.added:
        counts[topic] = max(counts.get(topic, 0), number + 1)
        earlier[topic] = min(earlier.get(topic, number), number)
    at_us = -_discovered_us(setup)
    return Happening(
        "partitions added",
        f"partitions were added to {', '.join(counts)}",
        "the creation of the partitions",
        acts=tuple(
            {"add_partitions": topic, "to": to, "at": at_us} for topic, to in counts.items()
        ),
        settings=_soon(setup),
        topics={topic: {"partitions": number} for topic, number in earlier.items()},
    )


def _created(symptoms: Symptoms, setup: Setup) -> Happening:
    topics = [topic for topic, _ in symptoms.appeared]
    return Happening(
        "topic created",
        f"{', '.join(topics)} was created, or the group began to want it",
        "the creation of the topic, or other topics in the application's settings",
        acts=tuple(_act("create_topic", topic, -_discovered_us(setup)) for topic in topics),
        settings=_soon(setup),
        topics={topic: {"created": "by act"} for topic in topics},
    )


def _recreated(symptoms: Symptoms, setup: Setup) -> Happening:
    acts = list[Table]()
    for each in symptoms.recreated:
        back_us = max(each.gone_us + 1, each.back_us - _DISCOVERED_US)
        acts.append(_act("delete_topic", each.topic, each.gone_us - symptoms.onset_us))
        acts.append(_act("create_topic", each.topic, back_us - symptoms.onset_us))
    return Happening(
        "topic recreated",
        f"{', '.join(each.topic for each in symptoms.recreated)} was deleted and created again",
        "the deletion and the creation of the topic in the controller's log",
        acts=tuple(acts),
        settings=_soon(setup),
    )


def _act(verb: str, topic: str, at_us: int) -> Table:
    return {verb: topic, "at": at_us}


def _discovered_us(setup: Setup) -> int:
    """Return how long before the onset a topic changes: brokers of the consumer protocol see it at once.

    Clients of the classic protocol discover changes when their metadata is refreshed, which may be
    minutes later; how long is not in the logs, and each is played as if it were short.
    """
    return _DISCOVERED_US if setup.protocol == "classic" else 0


def _soon(setup: Setup) -> tuple[tuple[str, object], ...]:
    return (("metadata.max.age.ms", _METADATA_MS),) if setup.protocol == "classic" else ()
