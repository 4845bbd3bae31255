"""Find an assignor by its name, built in or custom.

A consumer names its assignors as Kafka does, by a short name or a Java class, or names a function
of the user, ``"module:function"``, that creates one. Each consumer gets a separate object.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assignors.errors import AssignorNotFoundError, did_you_mean
from assignors.lazy_imports import LazyMapping
from assignors.plugin import RANGE, ROUNDROBIN, user_code
from assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from assignors.types import AssignFunction, Assignor, RebalanceProtocol

BUILT_IN: Mapping[str, Callable[[], Assignor]] = {
    "range": lambda: replace(RANGE),
    "roundrobin": lambda: replace(ROUNDROBIN),
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
"""The names in ``partition.assignment.strategy``, each with a function that makes an assignor."""


SERVER_SIDE: Mapping[str, AssignFunction] = LazyMapping(
    {
        "uniform": "assignors.server_uniform:assign_server_uniform",
        "range": "assignors.server_range:assign_server_range",
    }
)
"""The names in ``group.consumer.assignors`` and ``group.remote.assignor``, default first.

A run with classic groups only needs none of them.
"""

_JAVA_CLASSES = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
_SERVER_JAVA_CLASSES = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
_METHODS = ("subscription_user_data", "assign", "on_assignment")


def load_assignor(
    spec: str, config: Mapping[str, Any] | None = None, *, folders: Iterable[str | Path] | None = ()
) -> Assignor:
    """Create one consumer's assignor.

    *spec*: ``range``, ``roundrobin``, ``sticky``, ``cooperative-sticky``, the name of Kafka's
    Java class, or ``"module:function"`` for a function of the user that returns an object like
    :class:`assignors.types.Assignor`. It is called with *config* if it takes an argument.
    *folders*: that of the scenario, whose modules may be named; None: the scenario has been loaded.
    Any other module must be allowed, see :mod:`assignors.own_code`.

    Raises :class:`AssignorNotFoundError` if *spec* names no assignor or its module is not allowed,
    :class:`PluginError` if the user's module or function raises.

    >>> load_assignor("sticky").name
    'sticky'
    """
    name = _JAVA_CLASSES.get(spec, spec)
    if name in BUILT_IN:
        return BUILT_IN[name]()
    if ":" not in spec:
        raise AssignorNotFoundError(_unknown(spec, [*BUILT_IN, *_JAVA_CLASSES]))
    from assignors.own_code import find_function  # noqa: PLC0415  few runs have one

    make = find_function(spec, folders)
    parameters = inspect.signature(make).parameters.values()
    if sum(each.default is each.empty and each.kind not in _VARIADIC for each in parameters) > 1:
        raise AssignorNotFoundError(
            f"The function {spec!r} needs several arguments, and gets assignor_config alone: name a function "
            f"that returns an assignor. {_FROM_A_FUNCTION}"
        )
    with user_code(spec, "be made"):
        made = make(dict(config or {})) if parameters else make()
    return _checked(spec, made)


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_FROM_A_FUNCTION = (
    'FunctionAssignor("my-name", assign) of assignors.types makes one of a function of topics and '
    "subscriptions."
)


def find_server_assignor(spec: str) -> AssignFunction:
    """Return the coordinator's assignor with that name or Java class.

    Raises :class:`AssignorNotFoundError` if there is none.

    >>> find_server_assignor("uniform").__name__
    'assign_server_uniform'
    """
    name = _SERVER_JAVA_CLASSES.get(spec, spec)
    if name not in SERVER_SIDE:
        raise AssignorNotFoundError(_unknown(spec, [*SERVER_SIDE, *_SERVER_JAVA_CLASSES]))
    return SERVER_SIDE[name]


def _unknown(spec: str, names: list[str]) -> str:
    short = ", ".join(name for name in names if "." not in name)
    return (
        f"There is no assignor {spec!r}.{did_you_mean(spec, names)} "
        f'Use {short}, one of Kafka\'s class names, or "module:function" for your own.'
    )


def _checked(spec: str, made: object) -> Assignor:
    """Return *made*. Raises :class:`AssignorNotFoundError` if it lacks parts of an assignor."""
    lacking = [one for one in _METHODS if not callable(getattr(made, one, None))]
    name = getattr(made, "name", None)
    if not isinstance(name, str) or not name:
        lacking.append("name (a text that is not empty)")
    protocols = getattr(made, "rebalance_protocols", None)
    if (
        not isinstance(protocols, tuple)
        or not protocols
        or not all(isinstance(one, RebalanceProtocol) for one in protocols)
    ):
        lacking.append("rebalance_protocols (a tuple of RebalanceProtocol)")
    if lacking or not isinstance(made, Assignor):
        raise AssignorNotFoundError(
            f"The object from {spec!r} ({type(made).__name__}) is not an assignor: it lacks "
            f"{', '.join(lacking)}. See assignors.types.Assignor for what it needs. "
            f"{_FROM_A_FUNCTION}"
        )
    return made
