"""Words of other systems, and what they are called in a scenario file; only errors need them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from emulator.scenario.problems import hint, listed, nearest

VERBS = {
    "deploy": "rolling_restart",
    "disconnect": "cut",
    "drain": "drain_node",
    "freeze": "pause",
    "gc": "pause",
    "kill": "crash",
    "partition": "cut",
    "scale_up": "start",
    "shutdown": "close",
    "reclaim": "drain_node",
    "sigkill": "crash",
    "sigterm": "close",
    "stop": "close",
    "terminate": "close",
}
"""Words that people use for faults and acts, and the verbs they mean."""

RESTART = (
    'no verb; did you mean close = "MEMBER" with restart_after = "5s" (stop_broker for a broker), or '
    'rolling_restart = "GROUP" for all its members?'
)
"""The answer to a word that has no verb of its own."""

_AMOUNT = 'type = "Pods" with value = 1 is written replicas = 1, and type = "Percent" is percent'
_RULES = "belongs in scale_up or scale_down, as in behavior"
_OWN_GROUP = "leave it out: the autoscaler reads the lag of its own group"
_NOT_MODELLED = "not modelled; leave it out"

KEYS: dict[str, dict[str, str]] = {
    "ScalingPolicy": {
        "type": _AMOUNT,
        "value": _AMOUNT,
        "pods": "replicas",
        "periodSeconds": "period",
    },
    "ScalingRules": {
        "selectPolicy": "select",
        "stabilizationWindowSeconds": "stabilization_window",
    },
    "Autoscaler": {
        "averageValue": "lag_threshold",
        "type": "kind",
        "threshold": "lag_threshold",
        "target": "lag_threshold",
        "lag": "lag_threshold",
        "minReplicaCount": "min_replicas",
        "maxReplicaCount": "max_replicas",
        "terminationGracePeriodSeconds": "grace",
        "behavior": "scale_up and scale_down of behavior are keys of the autoscaler itself",
        "scaleUp": "scale_up",
        "scaleDown": "scale_down",
        "policies": _RULES,
        "stabilizationWindowSeconds": _RULES,
        "stabilization_window": _RULES,
        "selectPolicy": _RULES,
        "select": _RULES,
        "bootstrapServers": _OWN_GROUP,
        "consumerGroup": _OWN_GROUP,
        "fallback": _NOT_MODELLED,
        "idleReplicaCount": _NOT_MODELLED,
        "partitionLimitation": _NOT_MODELLED,
    },
    "Monitor": {
        "threshold": "above",
        "lag": "above",
        "max_lag": "above",
        "lag_threshold": "above",
        "interval": "every",
        "duration": "for",
    },
    "Scenario": {
        "duration": "run_for",
        "length": "run_for",
        "runtime": "run_for",
        "until": "run_for",
        "topics": "topic",
        "groups": "group",
        "faults": "fault",
        "acts": "act",
        "expectations": "expect",
    },
    "Topic": {"partition_count": "partitions", "replication_factor": "replicas"},
    "Group": {
        "replicas": "members",
        "consumers": "members",
        "instances": "members",
        "pods": "members",
        "group_id": "id",
        "name": "id",
        "protocol": 'write settings.group.protocol = "consumer" (KIP-848) or "classic"',
        "assignor": "write settings.partition.assignment.strategy",
        "session_timeout": "write settings.session.timeout.ms",
        "topic": "topics",
        "config": "settings",
        "properties": "settings",
    },
    "Seek": {"offset": "to", "to_offset": "to", "timestamp": "to_datetime"},
}
"""By table: keys of other systems, with the key that is meant, or with an explanation."""

KEYS_ANYWHERE = {
    "every": "gap",
    "interval": "gap",
    "grace_period": "grace",
    "gracePeriod": "grace",
    "terminationGracePeriodSeconds": "grace",
    "termination_grace_period": "grace",
    "preStop": "pre_stop",
    "hook": "pre_stop",
    "maxSurge": "surge",
    "maxUnavailable": "max_unavailable",
    "work_time": "work",
    "processing_time": "work",
    "time": "at",
    "after": "at",
    "duration": "for",
    "for": "restart_after",
    "restart": "restart_after",
}
"""Words for keys of any table, if it has the key that is meant."""

VALUES = {
    "dead_letter": "forward",
    "dead-letter": "forward",
    "dlq": "forward",
    "dlt": "forward",
    "db": "database",
    "sql": "database",
    "zk": "zookeeper",
    "threshold": "lag",
}
"""Words that people use as values, and those that a scenario file has for them."""


_OF_A_CALL = re.compile(r"[^a-z ]|commits?")


def unknown_policy(text: str, known: Collection[str]) -> str:
    """Return the reason against a text that is no commit policy; it may be the name of a call.

    >>> unknown_policy("commitSync()", ["sync", "async"])
    'unknown policy; did you mean "sync"?'
    """
    near = hint(_OF_A_CALL.sub("", text.lower()).strip() or text, known)
    return f"unknown policy{near or f'; allowed are a table or {listed(known)}'}"


def meant_key(key: str, known: Collection[str]) -> str:
    """Return the key of *known* that a word of other systems means; empty if there is none."""
    tables = (KEYS_ANYWHERE, *KEYS.values())
    return next((table[key] for table in tables if table.get(key) in known), "")


_BOUND = re.compile(r"\s*(\D*?)\s*([0-9][0-9.]{0,18})\s*(%|[a-z]*)\s*")
_RELATIONS = {
    "": "",
    **dict.fromkeys(("=<", "≤", "at most", "max", "up to"), "<= "),
    **dict.fromkeys(("=>", "≥", "at least", "min"), ">= "),
    **dict.fromkeys(("less than", "below", "under"), "< "),
    **dict.fromkeys(("more than", "above", "over"), "> "),
    **{relation: f"{relation} " for relation in ("<=", ">=", "<", ">", "==")},
}
"""How people write the relation of a bound, and how a scenario file does."""


def no_bound(text: str) -> str:
    """Return the reason against a text that is no bound."""
    return f'not understood; allowed is a number, or a text such as "<= 200"{_meant_bound(text)}'


def _meant_bound(text: str) -> str:
    """Return the bound that is probably meant, as the end of a message; empty: it is not known.

    >>> _meant_bound("=< 5"), _meant_bound("< 5%"), _meant_bound("few")
    ('; did you mean "<= 5"?', '; a bound is in the unit of its metric, such as "< 5", not in percent', '')
    """
    found = _BOUND.fullmatch(text)
    relation = None if found is None else _RELATIONS.get(found[1].lower())
    if found is None or relation is None:
        return ""
    meant = f'"{relation}{found[2]}"'
    if found[3]:
        unit = "percent" if found[3] == "%" else found[3]
        return f"; a bound is in the unit of its metric, such as {meant}, not in {unit}"
    return f"; did you mean {meant}?"


SWITCHES = {
    **dict.fromkeys(("yes", "on", "true", "y", "1"), "true"),
    **dict.fromkeys(("no", "off", "false", "n", "0"), "false"),
}
"""How other formats write true and false."""


def meant_switch(given: object) -> str:
    """Return what is probably meant by a text for true or false, as the end of a message.

    >>> meant_switch("yes"), meant_switch("maybe")
    ('; did you mean true, without quotes?', '')
    """
    meant = SWITCHES.get(given.lower()) if isinstance(given, str) else None
    return f"; did you mean {meant}, without quotes?" if meant else ""


def unknown_value(given: object, words: Collection[str]) -> str:
    """Return the reason against a value that is none of the allowed words."""
    meant = VALUES.get(given.lower()) if isinstance(given, str) else None
    near = f'; did you mean "{meant}"?' if meant in words else hint(given, words)
    is_part = isinstance(given, str) and sum(word.startswith(given.lower()) for word in words) > 1
    if near and not is_part:
        return f"unknown word{near}"
    return f"unknown word; allowed is one of {listed(words)}{near}"


def unknown_key(key: object, table: str, known: Iterable[str]) -> str:
    """Return the reason against a key that a table does not have, with the key that is meant."""
    known = list(known)
    anywhere = {word: meant for word, meant in KEYS_ANYWHERE.items() if meant in known}
    meant = anywhere | KEYS.get(table, {})
    for word in (key, *([] if nearest(key, known) else nearest(key, meant))):
        if word in meant:
            text = meant[str(word)]
            return "unknown key; " + (f'did you mean "{text}"?' if text in known else text)
    return f"unknown key{hint(key, known) or f'; allowed here are {listed(known)}'}"


def no_verb(table: Collection[str], verbs: Collection[str]) -> str:
    """Return the reason against a fault or act without a verb, with the verb that is meant."""
    if "restart" in table:
        return RESTART
    meant = next((VERBS[key] for key in table if key in VERBS), "")
    if meant:
        return f'no verb; did you mean "{meant}"?'
    near = next((hint(key, verbs) for key in table if hint(key, verbs)), "")
    return f"no verb{near or f'; allowed is one of {listed(verbs)}'}"
