"""Translate Spring Boot's ``spring.kafka`` keys to Kafka's settings and keys of a group.

Sources: ``KafkaProperties`` of Spring Boot; ``ContainerProperties.AckMode`` and
``KafkaMessageListenerContainer`` of Spring for Apache Kafka (``processCommits``: between batches;
``onPartitionsRevoked``: pending acknowledgements are committed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from emulator.scenario.clients.keys import ClientFile
from emulator.scenario.problems import Problem, ScenarioError, listed

CONSUMER, LISTENER = "spring.kafka.consumer.", "spring.kafka.listener."
SHUTDOWN = "spring.lifecycle.timeout-per-shutdown-phase"

NAMES = {
    "auto-commit-interval": "auto.commit.interval.ms",
    "auto-offset-reset": "auto.offset.reset",
    "client-id": "client.id",
    "enable-auto-commit": "enable.auto.commit",
    "fetch-max-wait": "fetch.max.wait.ms",
    "fetch-min-size": "fetch.min.bytes",
    "heartbeat-interval": "heartbeat.interval.ms",
    "isolation-level": "isolation.level",
    "max-poll-interval": "max.poll.interval.ms",
    "max-poll-records": "max.poll.records",
}
"""Keys of ``spring.kafka.consumer`` that are settings of the client."""

GROUP_ID = "group-id"

ACK_TIME, ACK_COUNT = "5s", 1
"""Defaults of ``ContainerProperties``."""

ACK_MODES = ("RECORD", "BATCH", "TIME", "COUNT", "COUNT_TIME", "MANUAL", "MANUAL_IMMEDIATE")

OF_FRAMEWORK: Final = {
    "RECORD": "spring-record",
    "BATCH": "spring-batch",
    "MANUAL": "spring-manual",
    "MANUAL_IMMEDIATE": "spring-manual-immediate",
}
"""The modes that have a framework of their own (:mod:`emulator.scenario.clients.frameworks`)."""

TRANSLATED = ("ack-mode", "ack-time", "ack-count", "poll-timeout", "immediate-stop")
"""Keys of ``spring.kafka.listener`` that have a part here."""

_PLACEHOLDER = re.compile(r"\$\{[^}:]*(?::([^}]*))?\}")
_ISO = re.compile(r"PT(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?", re.IGNORECASE)


def translate(pairs: Mapping[str, object], found: ClientFile, path: str) -> dict[str, object]:
    """Return Kafka's settings of Spring's keys; add keys of the group, and notes, to *found*.

    Raise ScenarioError for an unknown acknowledgement mode.
    """
    values = {relaxed(key): _resolved(value) for key, value in pairs.items()}
    settings: dict[str, object] = {"enable.auto.commit": "false"}
    for prefix in ("spring.kafka.properties.", f"{CONSUMER}properties."):
        settings |= {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
    for key, name in NAMES.items():
        if f"{CONSUMER}{key}" in values:
            settings[name] = _quantity(values[f"{CONSUMER}{key}"])
    _commits(values, found, settings, path)
    if (timeout := values.get(f"{LISTENER}poll-timeout")) is not None:
        found.group["poll_timeout"] = _span(timeout)
    if SHUTDOWN in values:
        found.stop["grace"] = _span(values[SHUTDOWN])
    if str(values.get(f"{LISTENER}immediate-stop", "")).lower() == "true":
        found.stop["mid_batch"] = True
    if f"{LISTENER}concurrency" in values:
        count = values[f"{LISTENER}concurrency"]
        found.notes.append(
            f"{LISTENER}concurrency={count}: write threads = {count} for the group, whose members are the "
            "consumers of all processes"
        )
    found.group_id = str(values.get(f"{CONSUMER}{GROUP_ID}", ""))
    found.ignored += sorted(key for key in values if not _has_part(key))
    return settings


def _has_part(key: str) -> bool:
    """Return whether a key was translated, or is one of Kafka's own below ``properties``."""
    own = key.startswith(("spring.kafka.properties.", f"{CONSUMER}properties."))
    named = key.removeprefix(CONSUMER) in (*NAMES, GROUP_ID) or key == SHUTDOWN
    listener = key.removeprefix(LISTENER) in (*TRANSLATED, "concurrency")
    return own or named or listener


def _commits(
    values: Mapping[str, object], found: ClientFile, settings: Mapping[str, object], path: str
) -> None:
    """Translate the acknowledgement mode to the framework's, or to a commit policy of its containers."""
    found.group["framework"] = "spring-batch"
    if str(settings["enable.auto.commit"]).lower() == "true":
        found.group["commit"] = "auto"
        return
    given = str(values.get(f"{LISTENER}ack-mode", "BATCH"))
    mode = given.upper().replace("-", "_")
    if mode not in ACK_MODES:
        reason = f"unknown mode; allowed are {listed(ACK_MODES)}"
        raise ScenarioError(path, [Problem(f"{LISTENER}ack-mode", reason, given)])
    every = _span(values.get(f"{LISTENER}ack-time", ACK_TIME))
    records = int(str(values.get(f"{LISTENER}ack-count", ACK_COUNT)))
    pending = {"call": "sync", "when": "every", "on_revoke": True, "on_refusal": "keep"}
    if mode in OF_FRAMEWORK:
        found.group["framework"] = OF_FRAMEWORK[mode]
    else:
        found.group["commit"] = {
            "TIME": {**pending, "every": every},
            "COUNT": {**pending, "records": records},
            "COUNT_TIME": {**pending, "every": every, "records": records},
        }[mode]
    if mode.startswith("MANUAL"):
        found.notes.append(f"AckMode {mode}: every record is taken as acknowledged when it is done")


def _resolved(value: object) -> object:
    """Return a value with the defaults of its placeholders; those without one become empty."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: found[1] or "", value)
    return str(value).lower() if isinstance(value, bool) else value


def _span(value: object) -> object:
    """Return Spring's duration as the value of a key of the scenario; a plain number is in ms."""
    return f"{value}ms" if str(value).isdecimal() else _quantity(value)


def _quantity(value: object) -> object:
    """Return Spring's duration (``5s``, ``PT5S``) or size (``1KB``) as a setting's value."""
    text = str(value)
    if (iso := _ISO.fullmatch(text)) is not None:
        hours, minutes, seconds = (int(part or 0) for part in iso.groups())
        return f"{hours * 3600 + minutes * 60 + seconds}s"
    if re.fullmatch(r"\d+m", text):
        return f"{text}in"
    if (size := re.fullmatch(r"(\d+)([KMG])B", text)) is not None:
        return f"{size[1]}{size[2]}iB"
    return value


def relaxed(key: str) -> str:
    """Return a key in Spring's canonical form: ``maxPollRecords`` is ``max-poll-records``."""
    head, dots, last = key.rpartition(".")
    if ".properties." in key or not key.startswith("spring."):
        return re.sub(r"[\[\]]", "", key)
    words = re.sub(r"(?<=[a-z])([A-Z])", r"-\1", last).lower().replace("_", "-")
    return f"{head}{dots}{words}"


MAX_YAML: Final = 2**19
"""Characters of a YAML file; reading this many takes some seconds."""

MAX_VALUES: Final = 100_000
MAX_BITS: Final = 64
"""Of a whole number; no setting has more, and text of a very long one takes long to make."""

_NOT_BUILT: Final = (ArithmeticError, AttributeError, LookupError, TypeError)
"""What PyYAML raises for a value that its own tag does not allow, such as ``!!bool maybe``."""


def yaml_pairs(text: str) -> Iterator[tuple[str, object]]:
    """Yield the names and values of a YAML file; profiles other than the default are left out.

    Raise ValueError if it is not YAML.
    """
    import yaml  # noqa: PLC0415  only Spring's files need it

    if len(text) > MAX_YAML:
        raise ValueError(f"{len(text):,} characters; of YAML at most {MAX_YAML:,} are read")
    try:
        documents = list(yaml.safe_load_all(text))
        sizes = [_values_in(document, {}) for document in documents]
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except _NOT_BUILT:
        raise ValueError("not YAML: a value is not what its tag (!!…) says") from None
    if sum(sizes) > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values, those of aliases included")
    for document in documents:
        pairs = dict(_flat(document, ""))
        if not any(".on-profile" in key or key == "spring.profiles" for key in pairs):
            yield from pairs.items()


def _values_in(node: Any, known: dict[int, int]) -> int:
    """Return the number of values of a YAML document in which every alias is written out.

    A few lines of aliases of aliases may stand for billions. *known*: by the identity of each node.
    Raise RecursionError if a node contains itself, ValueError for a number that is too long.
    """
    if not isinstance(node, dict | list | tuple | set):
        _refuse_long(node)
        return 1
    if id(node) not in known:
        if isinstance(node, dict):
            for key in node:
                _refuse_long(key)
        below = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_values_in(each, known) for each in below)
    return known[id(node)]


def _refuse_long(value: object) -> None:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ValueError(
            f"a whole number of {value.bit_length():,} bits; at most {MAX_BITS} are read"
        )


def _flat(node: Any, prefix: str) -> Iterator[tuple[str, object]]:
    if isinstance(node, dict):
        for key, below in node.items():
            yield from _flat(below, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(node, list):
        yield prefix, ",".join(map(str, node))
    elif node is not None:
        yield prefix, node
