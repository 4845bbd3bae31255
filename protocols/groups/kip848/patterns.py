"""Subscriptions by pattern, which the coordinator matches against the existing topics.

The look-up is asynchronous: a heartbeat begins the look-up of all patterns of its group, its timer
ends it at once, and only then records are written with the matches. The first target of a member
with a new pattern is therefore computed by a later heartbeat than its first.

Source: ``GroupMetadataManager.maybeUpdateRegularExpressions``, ``TopicRegexResolver``,
``handleRegularExpressionsResult`` of 4.4.0. The syntax is that of RE2, matched by Google's
library; Kafka uses RE2/J, its port to Java, which refuses a little more.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import re2
from immutables import Map

from assignors.java import (
    HashTable,
    hash_map_order,
    java_hash,
    length_for_capacity,
    length_of_map_copy,
)
from protocols.facts import GroupEpochRaised
from protocols.groups.kip848.group import Group, subscribed_topics
from protocols.groups.kip848.records import Draft, epoch_record, pattern_tombstone
from protocols.groups.kip848.soft import LookUp, Soft, patterns_timer
from protocols.groups.shard import Moment, Turn
from protocols.machine import Effect, Report, SetTimer
from protocols.offsets_topic.records import Record
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from protocols.values import replace

LOOK_UP_GAP_MS = 10_000
"""Minimum time between two look-ups of one group."""

_QUIET = re2.Options()
_QUIET.log_errors = False


class Change(enum.Enum):
    """The change of a member's pattern by one heartbeat."""

    NONE = "it has the same pattern as before, or none"
    UNKNOWN = "it has another pattern, which was not looked up yet"
    KNOWN = "it has another pattern, which was looked up, or none any more"


def is_valid(pattern: str) -> bool:
    """Return whether a pattern is valid in the syntax of RE2."""
    try:
        matcher(pattern)
    except ValueError:
        return False
    return True


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that checks whether a pattern matches a whole topic name.

    Raise ValueError, with the message of the library or of RE2/J, for an invalid pattern.
    """
    if (refused := _refused_by_java(pattern)) is not None:
        raise ValueError(refused)
    try:
        compiled = re2.compile(pattern, _QUIET)
    except re2.error as error:
        (message,) = error.args or (b"",)
        raise ValueError(message.decode() if isinstance(message, bytes) else str(message)) from None
    return lambda topic: compiled.fullmatch(topic) is not None


_TOKENS: Final = re.compile(
    r"""\\Q.*?(?:\\E|\Z)                                 # a quotation
    | \\.                                              # an escape sequence
    | \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]            # a character class
    | \(\?P?<(?P<name>[^>]*)>                          # the begin of a named group""",
    re.VERBOSE | re.DOTALL,
)
"""The parts of a valid pattern that hold what RE2/J may refuse, or in which it refuses nothing."""

_GROUP_NAME: Final = re.compile(r"\w+", re.ASCII)


def _refused_by_java(pattern: str) -> str | None:
    r"""Return why RE2/J refuses what Google's library accepts, or None.

    It has no ``\C``, names a group in ASCII only, and no two groups alike (RE2/J 1.8).
    """
    names = set[str]()
    for token in _TOKENS.finditer(pattern):
        if token[0] == r"\C":
            return r"invalid escape sequence: \C"
        name = token["name"]
        if name is None:
            continue
        if not _GROUP_NAME.fullmatch(name):
            return f"invalid named capture group: {token[0]}"
        if name in names:
            return f"duplicate capture group name: {name}"
        names.add(name)
    return None


def change(group: Group, old: str | None, new: str | None) -> Change:
    """Return the kind of a member's change from one pattern to another."""
    if (old or "") == (new or ""):
        return Change.NONE
    return Change.UNKNOWN if new and new not in group.patterns else Change.KNOWN


def forgotten(group: Group, dropped: Iterable[str | None]) -> list[Record]:
    """Return tombstones of the patterns that no member of *group* uses any more.

    *dropped*: the dropped patterns, one entry for each member that drops one. A pattern that was
    never resolved has no record, but its tombstone is written as well.
    """
    fewer = Counter(pattern for pattern in dropped if pattern)
    unused = hash_map_order(
        (name for name, users in fewer.items() if group.pattern_users[name] == users), java_hash
    )
    return [pattern_tombstone(group.group_id, pattern) for pattern in unused]


# -- looking up --------------------------------------------------------------------------------


def look_up_is_due(before: Group, users: Map[str, int], soft: Soft, at: Moment) -> bool:
    """Return whether a look-up of all patterns of a group is due.

    *users*: users of each pattern after the heartbeat. *before*: the group before the heartbeat.
    Kafka compares the number of patterns after it with the number of resolved ones before it.
    """
    if not users or soft.looking_up is not None:
        return False
    known = list(before.patterns.values())
    if not known:
        return True
    last_ms = max(found.timestamp for found in known)
    if at.now_ms <= last_ms + LOOK_UP_GAP_MS:
        return False
    is_new = any(pattern not in before.pattern_users for pattern in users)
    if is_new or len(before.patterns) != len(users):
        return True
    if max(found.version for found in known) < at.broker.image.names_since:
        return True
    return at.now_ms > last_ms + at.settings.group_consumer_regex_refresh_interval_ms


def look_up_begun(
    before: Group, old: str | None, new: str | None, soft: Soft, at: Moment
) -> Turn[Soft]:
    """Begin a look-up among the current topics of all patterns of a group.

    *before*: the group before the heartbeat, by which a member has the pattern *new* instead of *old*.
    """
    begun = LookUp(_in_order(before.pattern_users, old, new), at.broker.image, at.now_ms)
    timer = SetTimer(patterns_timer(before.group_id), at.now_us + at.broker.pattern_us)
    return Turn(replace(soft, looking_up=begun), (timer,))


def _in_order(users: Mapping[str, int], old: str | None, new: str | None) -> tuple[str, ...]:
    """Return the patterns in the order in which Kafka writes their matches, that of its hash maps."""
    patterns: HashTable[str] = HashTable(java_hash, length_of_map_copy(len(users)))
    for pattern in sorted(users):
        patterns.put(pattern)
    if old and users[old] == 1:
        patterns.remove(old)
    if new:
        patterns.compute_if_absent(new)
    return tuple(hash_map_order(patterns, java_hash, length_for_capacity(len(patterns))))


def looked_up(group: Group, soft: Soft, at: Moment) -> Turn[Soft]:
    """Write the matches of the patterns; changed matches raise the group epoch."""
    begun = soft.looking_up
    if begun is None:
        return Turn(soft)
    soft = replace(soft, looking_up=None)
    draft, is_new = Draft(group), False
    for pattern in begun.patterns:
        if pattern not in group.pattern_users:
            continue
        topics = matching(pattern, begun)
        old = group.patterns.get(pattern)
        is_new = is_new or topics != (() if old is None else old.topics)
        draft = draft.with_record(_found(group.group_id, pattern, topics, begun))
    effects: tuple[Effect, ...] = ()
    new_hash = at.broker.image.hash_of(subscribed_topics(draft.group))
    if is_new or new_hash != group.metadata_hash:
        epoch = group.epoch + 1
        draft = draft.with_record(epoch_record(group.group_id, epoch, new_hash))
        soft = replace(soft, checked_epoch=epoch)
        raised = GroupEpochRaised(
            group=group.group_id, epoch=epoch, member_id="", reason="patterns match other topics"
        )
        effects = (Report(raised),)
    return Turn(soft, effects, draft.records)


def matching(pattern: str, begun: LookUp) -> tuple[str, ...]:
    """Return the topics whose whole name a pattern matches, sorted; none if it is invalid."""
    if not is_valid(pattern):
        return ()
    return tuple(sorted(filter(matcher(pattern), begun.image.by_name)))


def _found(group_id: str, pattern: str, topics: tuple[str, ...], begun: LookUp) -> Record:
    value = ConsumerGroupRegularExpressionValue(
        topics=topics, version=begun.image.version, timestamp=begun.now_ms
    )
    return Record(ConsumerGroupRegularExpressionKey(group_id, pattern), value)
