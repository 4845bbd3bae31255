"""The client settings for a live cluster: those of the user, and those that the import needs.

They are librdkafka's, which are mostly Kafka's own. Of the Java clients' settings,
``sasl.jaas.config`` is also parsed, for its user and password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from emulator.logs.errors import SettingError

GROUP_ID: Final = "rebalance-import"
"""librdkafka requires a group id. No consumer joins it, and no offset is committed for it."""

PATIENCE_S: Final = 10.0
"""Timeout for any response of the cluster."""

_OURS: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "check.crcs": True,
    "log_level": 0,
}
_DEFAULTS: Final[Mapping[str, Any]] = {
    "group.id": GROUP_ID,
    "client.id": GROUP_ID,
    "queued.max.messages.kbytes": 16_384,
    "fetch.queue.backoff.ms": 50,
}
_JAAS: Final = "sasl.jaas.config"
_CREDENTIAL: Final = re.compile(r'(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


def read_settings(text: str, source: str) -> dict[str, str]:
    """Return the settings of a properties file: ``key=value`` lines, ``#`` or ``!`` before remarks.

    Raise SettingError for an invalid line.
    """
    joined = re.sub(r"\\\r?\n[ \t]*", "", text)
    lines = enumerate(joined.splitlines(), start=1)
    kept = [(number, line.strip()) for number, line in lines]
    pairs = [(number, line) for number, line in kept if line and line[0] not in "#!"]
    return dict(parse_setting(line, f"{source}, line {number}") for number, line in pairs)


def parse_setting(text: str, source: str) -> tuple[str, str]:
    """Return key and value of one setting; raise SettingError if it is invalid."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        shown = key.strip()
        raise SettingError(
            f"{source}: {shown!r} is not a setting; expected KEY=VALUE, such as security.protocol=SASL_SSL"
        )
    return key.strip(), value.strip()


def merged(bootstrap: str, given: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the user's settings; later ones take precedence, the bootstrap address over all."""
    settings: dict[str, str] = {}
    for each in given:
        settings |= each
    jaas = settings.pop(_JAAS, None)
    if jaas is not None:
        for name, value in _CREDENTIAL.findall(jaas):
            settings.setdefault(f"sasl.{name}", re.sub(r"\\(.)", r"\1", value))
    return {**settings, "bootstrap.servers": bootstrap}


def for_consumer(settings: Mapping[str, str], *, committed_only: bool) -> dict[str, Any]:
    """Return the settings of a consumer; those that the import needs take precedence."""
    level = "read_committed" if committed_only else "read_uncommitted"
    return {**_DEFAULTS, **settings, **_OURS, "isolation.level": level}
