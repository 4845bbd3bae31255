"""Read settings that a scenario writes under the names of a client other than Java's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from emulator.scenario import short_forms
from emulator.scenario.kafka_settings import (
    ASSIGNORS,
    CONSUMER,
    JAVA_ASSIGNORS,
    RESET,
    RESET_POLICIES,
    STRATEGY,
    flattened,
)
from emulator.scenario.problems import hint, listed, nearest, refuse
from protocols.consumer.clients import CLIENTS, ClientProfile, profile_of
from protocols.settings import BY_DURATION

Place = tuple[str | int, ...]
"""Where a table is, below what is validated."""


def with_kafkas_names(group: Any) -> Any:
    """Return a group as a file has it, its settings under Kafka's names instead of its client's.

    Other keys, and values, stay as they are; what is no table is left to later checks.
    """
    if not isinstance(group, dict):
        return group
    client = group.get("client", CLIENTS[0])
    changed = dict(group)
    if "settings" in group:
        changed["settings"] = _renamed(group["settings"], client)
    if isinstance(group.get("members"), list | tuple):
        changed["members"] = type(group["members"])(
            _member_renamed(member, client) for member in group["members"]
        )
    return changed


def _member_renamed(member: Any, client: object) -> Any:
    if not isinstance(member, dict) or "settings" not in member:
        return member
    mine = member.get("client") or client
    return {**member, "settings": _renamed(member["settings"], mine)}


def acts_with_kafkas_names(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a scenario as a file has it, with the settings of its acts under Kafka's names.

    An act has the names of the client that its group has, or the member that it starts.
    """
    acts, groups = scenario.get("fault"), scenario.get("group")
    if not isinstance(acts, list | tuple) or not isinstance(groups, list | tuple):
        return scenario
    clients: dict[object, object] = {}
    for group in groups:
        clients |= _clients(group)
    renamed = tuple(_act_renamed(number, act, clients) for number, act in enumerate(acts))
    return {**scenario, "fault": renamed}


def _clients(group: Any) -> dict[object, object]:
    """Return the client of a group and of each of its members, by the verb and name of an act."""
    try:
        spelled = short_forms.group(group)
    except ValueError:
        return {}
    if not isinstance(spelled, dict):
        return {}
    client = spelled.get("client", CLIENTS[0])
    members = spelled.get("members", ())
    tables = members if isinstance(members, list | tuple) else ()
    named = [(m.get("name"), m.get("client") or client) for m in tables if isinstance(m, dict)]
    found: dict[object, object] = {("start", str(name)): mine for name, mine in named}
    return found | {("rolling_restart", str(spelled.get("id"))): client}


def _act_renamed(number: int, act: Any, clients: Mapping[object, object]) -> Any:
    verb = short_forms.verb_of(act)
    if verb not in ("rolling_restart", "start"):
        return act
    target = act.get(verb, act.get(short_forms.TARGETS[verb]))
    client = clients.get((verb, str(target)), CLIENTS[0])
    if client not in CLIENTS[1:]:
        return act
    changed, names = dict(act), profile_of(str(client)).names
    if "settings" in act:
        changed["settings"] = _renamed(act["settings"], client, ("fault", number, "settings"))
    if isinstance(act.get("unset"), list | tuple):
        changed["unset"] = tuple(names.get(str(name), name) for name in act["unset"])
    return changed


def _renamed(table: Any, client: object, place: Place = ("settings",)) -> Any:
    if client not in CLIENTS[1:] or not isinstance(table, dict):
        return table
    profile = profile_of(str(client))
    found: dict[str, object] = {}
    for name, value in flattened(table):
        kafkas = profile.names.get(name, name)
        if kafkas in found:
            raise refuse("group", [((*place, name), value, f"given twice, also as {kafkas}")])
        if kafkas == name and "." not in name and name not in profile.names:
            raise refuse("group", [((*place, name), value, _unknown(name, profile))])
        try:
            found[kafkas] = kafkas_value(kafkas, value, profile)
        except ValueError as error:
            raise refuse("group", [((*place, name), value, str(error))]) from None
    return found


def of_other_client(name: str) -> bool:
    """Return whether a client other than Java's has a setting of this name."""
    return any(name in profile_of(client).names for client in CLIENTS[1:])


def other_name_of(one: str, name: str) -> bool:
    """Return whether a client has two names, its own and Kafka's, for one setting, and these are they."""
    renamed = (profile_of(client).names for client in CLIENTS[1:])
    return one != name and any(names.get(one, one) == names.get(name, name) for names in renamed)


def kafkas_value(name: str, value: object, profile: ClientProfile) -> object:
    """Return the value of Kafka's setting *name* that a client's own value means.

    Raise ValueError, in the words of the client, for a value that it does not have.
    """
    if profile.name == CLIENTS[0]:
        return value
    if name == STRATEGY:
        return _assignors(value, profile)
    return _reset(value, profile) if name == RESET else value


def _unknown(name: str, profile: ClientProfile) -> str:
    """Return why a client has no setting of this name: another client has it, or none has."""
    others = [profile_of(other) for other in CLIENTS[1:] if other != profile.name]
    for other in others:
        if name in other.names:
            kafkas = other.names[name]
            return f"this is the name of {kafkas} in {other.name}{_own_name(kafkas, profile)}"
    names = {*profile.names, *(CONSUMER.keys() - profile.lacks.keys() if _dotted(profile) else ())}
    return f"{profile.name} has no such setting{hint(name, sorted(names))}"


def _own_name(kafkas: str, profile: ClientProfile) -> str:
    """Return how a client calls a setting of Kafka, or what it has instead of it."""
    own = next((own for own, other in profile.names.items() if other == kafkas), None)
    if own is None and kafkas in profile.lacks:
        return f"; {profile.name} has no such setting: {profile.lacks[kafkas]}"
    if own is None and (kafkas not in CONSUMER and kafkas not in profile.own):
        return f"; {profile.name} has no such setting"
    return f'; {profile.name} calls it "{own or kafkas}"'


def _dotted(profile: ClientProfile) -> bool:
    """Return whether a client's names are Kafka's, with few exceptions."""
    return all("." in name for name in profile.names)


def _reset(value: object, profile: ClientProfile) -> object:
    """Return Kafka's name of a reset policy; raise ValueError if a client does not have it."""
    resets = profile.resets
    if not resets or not isinstance(value, str) or value in resets:
        return resets.get(str(value), value)
    if value.startswith(BY_DURATION):
        return value
    said = profile.lacks_reset.format(value=value) if value in RESET_POLICIES else "unknown policy"
    raise ValueError(f"{profile.name}: {said}; it has {listed(tuple(resets))}{hint(value, resets)}")


def _assignors(value: object, profile: ClientProfile) -> object:
    """Return names of assignors as Kafka has them; raise ValueError if a client lacks one."""
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",")]
    if not isinstance(value, list | tuple):
        return value
    unknown = [name for name in value if not _is_assignor(str(name), profile)]
    if unknown:
        name = str(unknown[0])
        said = profile.lacks_assignor.format(name=name, module=name.replace("-", "_"))
        near = hint(name, profile.assignors) or f"; it has {listed(profile.assignors)}"
        raise ValueError(f"{profile.name}: {said}{near}")
    return [profile.assignors.get(str(name), name) for name in value]


def _is_assignor(name: str, profile: ClientProfile) -> bool:
    """Return whether a client or Kafka has an assignor of this name; later checks refine it."""
    return name in profile.assignors or name in ASSIGNORS or name in JAVA_ASSIGNORS


PRODUCTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("apache-kafka", "kafka-clients", "spring-kafka", "spring"), "java"),
    **dict.fromkeys(
        (
            *("confluent-kafka", "confluent-kafka-python", "confluent-kafka-go"),
            *("confluent-kafka-dotnet", "confluent-kafka-javascript", "karafka", "rdkafka"),
            *("node-rdkafka", "php-rdkafka", "rust-rdkafka", "rdkafka-ruby"),
        ),
        "librdkafka",
    ),
    **dict.fromkeys(("kgo", "twmb-franz-go"), "franz-go"),
    **dict.fromkeys(("kafka-python-ng", "python-kafka"), "kafka-python"),
}
"""Names of products, each with the client that it is or is built on."""

NOT_MODELLED: Final = ("sarama", "kafka-go", "segmentio-kafka-go", "kafkajs", "ruby-kafka", "brod")


def unknown_client(given: object) -> str:
    """Return why a client's name is refused: what to write, or that it is not modelled.

    >>> unknown_client("confluent_kafka")
    'unknown client; "confluent-kafka" is or is built on librdkafka: client = "librdkafka"'
    """
    name = str(given).strip().lower().replace("_", "-").replace(".", "-").replace("/", "-")
    allowed = f"allowed is one of {listed(CLIENTS)}"
    if name in NOT_MODELLED:
        return f"this client is not modelled; {allowed}"
    for product in nearest(name, (*CLIENTS, *PRODUCTS, *NOT_MODELLED)):
        if product in NOT_MODELLED:
            return f'unknown client; "{product}" is not modelled; {allowed}'
        client = PRODUCTS.get(product, product)
        if client == product:
            return f'unknown client; did you mean "{client}"?'
        return f'unknown client; "{product}" is or is built on {client}: client = "{client}"'
    return f"unknown client; {allowed}"
