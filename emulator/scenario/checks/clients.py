"""Check groups and members against their client: what it lacks is refused with its own reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emulator.scenario.checks.deviations import deviation_problems
from emulator.scenario.kafka_settings import (
    ASSIGNORS,
    OLD_CONSUMER,
    OTHER_CLIENTS,
    PROTOCOL,
    RESET,
    STRATEGY,
    allowed_range,
)
from emulator.scenario.model import Group, Member, Scenario
from emulator.scenario.problems import Problem, hint, listed
from emulator.scenario.resolution import (
    OFFSET_STORE,
    client_of,
    client_settings,
    commit_policy,
    consumer_settings,
    read_with,
    settings_in_force,
)
from protocols.consumer.clients import CLIENTS, Amount, ClientProfile, profile_of
from protocols.consumer.clients.policies import COMMIT
from protocols.settings import ClientSettings, ConsumerSettings, settings_of
from protocols.values import replace

COOPERATIVE = "cooperative-sticky"
INTERVAL = "max.poll.interval.ms"


def client_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what a group asks of clients that cannot do it."""
    for group in scenario.group:
        mine = {client_of(group, member) for member in group.members}
        path = f"group[{group.id}]"
        yield from old_consumer_problems(f"{path}.settings", group.settings, group)
        yield from _setting_problems(f"{path}.settings", group.settings, sorted(mine))
        for member in group.members:
            yield from member_problems(path, group, member)
    yield from deviation_problems(scenario)


def member_problems(path: str, group: Group, member: Member) -> Iterator[Problem]:
    """Yield what a member of the group at *path* asks of its client."""
    profile = profile_of(client_of(group, member))
    own = f"{path}.member[{member.name}]"
    yield from old_consumer_problems(f"{own}.settings", member.settings, group)
    yield from _setting_problems(f"{own}.settings", member.settings, [profile.name])
    yield from _reading_problems(group, member, profile)
    settings = consumer_settings(group, member)
    if settings.group_protocol not in profile.protocols:
        reason = f"{profile.name}: {profile.lacks_protocol}"
        where = own if PROTOCOL in member.settings else path
        yield Problem(f"{where}.settings[{PROTOCOL}]", reason, settings.group_protocol)
    if commit_policy(group, member).call == "store" and not profile.stores:
        able = listed(tuple(name for name in CLIENTS if profile_of(name).stores))
        reason = f"{profile.name} has no call that stores offsets; {able} have one"
        yield Problem(f"{path if member.commit is None else own}.commit", reason, "store")
    yield from _nothing_stored(path, group, member, profile)
    if settings.auto_offset_reset.startswith("by_duration") and profile.lacks_reset_by_duration:
        value = settings.auto_offset_reset
        reason = f"{profile.name}: {profile.lacks_reset_by_duration.format(value=value)}"
        where = own if RESET in member.settings else path
        yield Problem(f"{where}.settings[{RESET}]", reason, value)
    if group.close_operation != "DEFAULT" and profile.name != CLIENTS[0]:
        reason = f"close() of {profile.name} takes no CloseOptions (KIP-1092); leave it out"
        yield Problem(f"{path}.close_operation", reason, group.close_operation)
    for values in (settings, client_settings(group, member)):
        yield from _range_problems(path, own, member, values, profile)
    yield from _contradictions(group, member, profile)
    yield from _interval_problems(own if INTERVAL in member.settings else path, settings, profile)
    where = own if STRATEGY in member.settings else path
    yield from _assignor_problems(where, settings.partition_assignment_strategy, profile)


def _range_problems(
    path: str,
    own: str,
    member: Member,
    settings: ConsumerSettings | ClientSettings,
    profile: ClientProfile,
) -> Iterator[Problem]:
    """Yield values outside the client's own ranges, of Kafka's settings or of those of other clients."""
    kind: type = type(settings)
    for field, setting in settings_of(kind).items():
        name, value = setting.name, getattr(settings, field)
        least, most = profile.ranges.get(name, (setting.minimum, setting.maximum))
        if name in profile.ranges and not least <= value <= most:
            allowed = allowed_range(replace(setting, minimum=least, maximum=most))
            spelled = next((own for own, kafkas in profile.names.items() if kafkas == name), name)
            said = profile.out_of_range.format(name=spelled, value=value, least=least, most=most)
            reason = f"{profile.name}: {said}; allowed is {allowed}"
            where = own if name in member.settings else path
            yield Problem(f"{where}.settings[{name}]", reason, value)


def _nothing_stored(
    path: str, group: Group, member: Member, profile: ClientProfile
) -> Iterator[Problem]:
    """Yield an offset store that nothing fills, and that automatic commits would find empty."""
    if OFFSET_STORE not in profile.own or commit_policy(group, member).call != "auto":
        return
    if not client_settings(group, member).enable_auto_offset_store:
        reason = (
            "nothing stores offsets, and automatic commits commit only what is stored; set "
            f'commit = "store" ({profile.stores} behind the work), or commit = "none"'
        )
        own = OFFSET_STORE in member.settings
        where = f"{path}.member[{member.name}]" if own else path
        yield Problem(f"{where}.settings[{OFFSET_STORE}]", reason, given=False)


def _contradictions(group: Group, member: Member, profile: ClientProfile) -> Iterator[Problem]:
    """Yield values that this client refuses together, at the setting that is given."""
    if not profile.contradictions:
        return
    call = commit_policy(group, member).call
    of_client = settings_in_force(client_settings(group, member))
    values = settings_in_force(consumer_settings(group, member)) | of_client | {COMMIT: call}
    for each in profile.contradictions:
        if any(values[name] != value for name, value in each.values.items()):
            continue
        path = f"group[{group.id}]"
        given = {name: path for name in each.values if name in group.settings}
        given |= {
            name: f"{path}.member[{member.name}]" for name in each.values if name in member.settings
        }
        name = next(iter(given), COMMIT)
        where = f"{given[name]}.settings[{name}]" if given else f"{path}.commit"
        yield Problem(where, f"{profile.name}: {each.said}", values[name])
        return


def _interval_problems(
    path: str, settings: ConsumerSettings, profile: ClientProfile
) -> Iterator[Problem]:
    """Yield a poll interval below the session, which librdkafka refuses (``rd_kafka_conf_finalize``)."""
    interval_ms = settings.max_poll_interval_ms
    if not profile.limits_session or settings.group_protocol == "consumer":
        return
    if interval_ms < settings.session_timeout_ms:
        reason = f"{profile.name}: `max.poll.interval.ms`must be >= `session.timeout.ms`"
        yield Problem(f"{path}.settings[{INTERVAL}]", reason, interval_ms)


def _assignor_problems(
    path: str, names: tuple[str, ...], profile: ClientProfile
) -> Iterator[Problem]:
    where = f"{path}.settings[{STRATEGY}]"
    known = frozenset(profile.assignors.values())
    for name in names:
        if name not in known and (profile.name != CLIENTS[0] or name not in ASSIGNORS):
            yield from _lacking(where, name, profile)
    if not profile.mixes_protocols and COOPERATIVE in names and len(names) > 1:
        reason = (
            f"{profile.name}: All partition.assignment.strategy ({','.join(names)}) assignors must "
            "have the same protocol type, online migration between assignors with different protocol "
            "types is not supported"
        )
        yield Problem(where, reason, list(names))


def _lacking(where: str, name: str, profile: ClientProfile) -> Iterator[Problem]:
    """Yield a problem for an assignor that a client lacks; Java loads those of the user."""
    if profile.name == CLIENTS[0]:
        return
    said = profile.lacks_assignor.format(name=name, module=name.replace("-", "_"))
    reason = f"{profile.name}: {said}; it has {listed(tuple(profile.assignors))}"
    yield Problem(where, reason, name)


def _reading_problems(group: Group, member: Member, profile: ClientProfile) -> Iterator[Problem]:
    call = read_with(group, member)
    if call not in profile.reads:
        allowed = f"allowed are {listed(tuple(profile.reads))}{hint(call, profile.reads)}"
        path = _where(group, member, "read_with")
        yield Problem(f"{path}.read_with", f"{profile.name} has no such call; {allowed}", call)
        return
    records = group.read_records if member.read_records is None else member.read_records
    if records is not None and profile.reads[call] is not Amount.GIVEN:
        reason = f"{call} of {profile.name} takes no number of records"
        yield Problem(f"{_where(group, member, 'read_records')}.read_records", reason, records)


def _where(group: Group, member: Member, key: str) -> str:
    """Return the path of the table that a key of a member and its client come from."""
    is_own = member.client is not None or getattr(member, key) is not None
    return f"group[{group.id}].member[{member.name}]" if is_own else f"group[{group.id}]"


def _setting_problems(
    path: str, given: Mapping[str, object], clients: list[str]
) -> Iterator[Problem]:
    """Yield settings that none of the clients has."""
    profiles = [profile_of(name) for name in clients]
    for name, value in given.items():
        if not any(has_setting(profile, name) for profile in profiles):
            reason = f"{listed(tuple(clients))} has no such setting"
            owners = tuple(other for other in CLIENTS if name in profile_of(other).own)
            if name in OTHER_CLIENTS:
                reason += f"; it is one of {listed(owners)}"
            reason += "".join(f": {p.lacks[name]}" for p in profiles[:1] if name in p.lacks)
            yield Problem(f"{path}[{name}]", reason, value)


def old_consumer_problems(
    path: str, given: Mapping[str, object], group: Group
) -> Iterator[Problem]:
    """Yield settings of the consumer of Kafka 0.8 in a group of newer ones."""
    for name in OLD_CONSUMER if group.offsets != "zookeeper" else ():
        if name in given:
            reason = 'only the consumer of Kafka 0.8 has it: set offsets = "zookeeper" of the group'
            yield Problem(f"{path}[{name}]", reason, given[name])


def has_setting(profile: ClientProfile, name: str) -> bool:
    """Return whether a client has a setting of that name."""
    if name in OTHER_CLIENTS:
        return name in profile.own
    return name not in profile.lacks or name in profile.names.values()
