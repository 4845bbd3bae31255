"""A real coordinator's log, line by line, replayed on ours.

Lines of a request (an id handed out, a member added, replaced or left, an assignment received,
offsets committed) are sent as that request at the time of the line. Lines of a consequence (a
rebalance and its reason, a new generation, an empty group, a member that failed) are compared
with the events of our coordinator. Rejoins have no line of their own: a missing member rejoins
when the log shows that one has, or that the join phase is over. Members live, by a
heartbeat a second, until the one second that makes them fail when the log has that line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from protocols.facts import (
    Departure,
    GroupEmptied,
    GroupLoaded,
    JoinPhaseEnded,
    MemberRemoved,
    RebalanceStarted,
)
from protocols.groups.classic.states import State
from protocols.messages import Protocol
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataValue, decode_assignment

from .driver import GroupDriver
from .wire import GROUP, protocols

SLACK_MS = 400
"""How much later than our timer a busy broker may have acted."""

LOG_JITTER_MS = 3
"""A line's clock may be read later than the clock that set a timer."""


class Line(NamedTuple):
    ms: int
    kind: str
    words: dict[str, str]


KINDS = {
    "handed out": r"Dynamic member with unknown member id joins group \S+ in (?P<state>\w+) state\. Created a new member id (?P<member_id>\S+) and requesting",
    "joined": r"Pending dynamic member with id (?P<member_id>\S+) joins group \S+ in (?P<state>\w+) state",
    "static": r"Static member with groupInstanceId=(?P<instance>\S+) and unknown member id joins group \S+ in (?P<state>\w+) state\. Created a new member id (?P<member_id>\S+) for",
    "returned": r"Static member with groupInstanceId=(?P<instance>\S+) and unknown member id joins group \S+ in (?P<state>\w+) state\. Replacing previously mapped member (?P<old>\S+) with",
    "preparing": r"Preparing to rebalance group \S+ in state PreparingRebalance with old generation (?P<generation>\d+) \(reason: (?P<reason>.*)\)\.$",
    "waiting": r"Cannot complete join phase of group \S+ because not all the members have rejoined\. Members=(?P<members>\d+), AwaitingJoinResponses=(?P<awaiting>\d+), PendingJoinMembers=(?P<pending>\d+)",
    "initial": r"Cannot complete join phase of group \S+ because this is an initial rebalance",
    "generation": r"Stabilized group \S+ generation (?P<generation>\d+) with (?P<members>\d+) members",
    "assigned": r"Assignment received from leader (?P<leader>\S+) for group \S+ for generation (?P<generation>\d+)\. The group has (?P<members>\d+) members, (?P<static>\d+) of which are static",
    "failed": r"Member (?P<member_id>\S+) in group \S+ has failed, removing it",
    "left": r"Member (?P<member_id>\S+) has left group through explicit `LeaveGroup` request; client reason: (?P<reason>.*)$",
    "empty": r"Group \S+ with generation (?P<generation>\d+) is now empty",
    "committed": r"Committing offsets \d+ for partition \S+ from member (?P<member_id>\S+) with",
    "loaded": r"Loaded classic group \S+ with (?P<members>\d+) members",
}


def parse(text: str) -> list[Line]:
    """Return the lines of a coordinator's log about one classic group."""
    lines = list[Line]()
    for line in text.splitlines():
        ms = int(line.split(" ", 2)[1])
        for kind, pattern in KINDS.items():
            if found := re.search(pattern, line):
                lines.append(Line(ms, kind, found.groupdict()))
    return lines


class Reenactment:
    def __init__(
        self, lines: Iterable[Line], *, session_ms: int, records: Iterable[GroupMetadataValue] = ()
    ) -> None:
        self.lines = list(lines)
        self.start_ms = self.lines[0].ms
        self.session_ms = session_ms
        self.records = [record for record in records if record.members]
        self.next_ids = list[str]()
        self.next_beat_ms = 1_000
        self.driver = GroupDriver(epoch_ms=self.start_ms, new_id=lambda _: self.next_ids.pop())
        self.failures = [
            (line.ms - self.start_ms, line.words["member_id"])
            for line in self.lines
            if line.kind == "failed"
        ]
        self.reasons = dict(self._reasons())
        self.mismatches = list[str]()
        self.compared = 0

    def _reasons(self) -> Iterator[tuple[int, str]]:
        """Client reasons by place: a rebalance's reason quotes the one who has just joined."""
        for place, line in enumerate(self.lines[:-1]):
            after = self.lines[place + 1]
            if line.kind in ("joined", "static") and after.kind == "preparing":
                yield place, after.words["reason"].partition("client reason: ")[2]

    # -- playing -----------------------------------------------------------------------------

    def play(self) -> Reenactment:
        for place, line in enumerate(self.lines):
            self._pass_time(line.ms - self.start_ms)
            getattr(self, "_" + line.kind.replace(" ", "_"))(place, **line.words)
        return self

    def rest(self, ms: int) -> None:
        """Let time pass without requests."""
        self.driver.advance(ms)

    @property
    def at_ms(self) -> float:
        return self.driver.now_us / 1000

    def _pass_time(self, until_ms: int) -> None:
        while self.next_beat_ms <= until_ms:
            self._advance(self.next_beat_ms)
            self._all_live()
            self.next_beat_ms += 1_000
        self._advance(until_ms)

    def _advance(self, end_ms: int) -> None:
        """Pass time; a member that is to fail sends its last heartbeat exactly when it must."""
        for fails_ms, member_id in self.failures:
            last_ms = fails_ms - self.session_ms
            if self.at_ms < last_ms <= end_ms:
                self.driver.advance(last_ms - self.at_ms)
                self.driver.heartbeat(self._alias(member_id))
        self.driver.advance(end_ms - self.at_ms)

    def _all_live(self) -> None:
        if GROUP not in self.driver.shard.groups:
            return
        doomed = {
            self._alias(member_id)
            for fails_ms, member_id in self.failures
            if fails_ms - self.session_ms <= self.at_ms <= fails_ms + 1
        }
        for member_id in sorted(set(self.driver.group.members) - doomed):
            self.driver.heartbeat(member_id)

    def _alias(self, member_id: str) -> str:
        """An id of the log as ours: a static member's new id is not in the log's line."""
        group = self.driver.group
        if member_id in group.members or member_id in group.pending_joins:
            return member_id
        return group.static_members.get(member_id[:-37], member_id)

    def _expect(self, what: str, expected: object, actual: object) -> None:
        self.compared += 1
        if expected != actual:
            self.mismatches.append(f"at {self.at_ms} ms: {what}: {expected!r}, ours {actual!r}")

    def _offers(self) -> tuple[Protocol, ...]:
        group = self.driver.shard.groups.get(GROUP)
        generation = group.generation if group and group.members else 0
        return protocols("range", generation_id=generation or -1)

    def _join(self, place: int, member_id: str, instance: str | None = None):
        reason = self.reasons.get(place, "")
        client = f"m{instance[1:]}" if instance else (member_id or self.next_ids[-1])[:-37]
        return self.driver.join(
            client,
            member_id,
            instance=instance,
            offers=self._new_offers(member_id or (self.next_ids[-1] if instance else "")),
            session_ms=self.session_ms,
            reason="" if reason == "not provided" else reason,
        )

    def _new_offers(self, member_id: str) -> tuple[Protocol, ...]:
        known = self.driver.shard.groups.get(GROUP)
        if known is not None and member_id in known.members:
            return self._offers()
        return protocols("range")

    def _rejoin(self, member_id: str, reason: str = "") -> None:
        member = self.driver.group.members[member_id]
        self.driver.join(
            member.client_id,
            member_id,
            instance=member.instance_id,
            offers=protocols("range", generation_id=self.driver.group.generation),
            session_ms=self.session_ms,
            reason="" if reason == "not provided" else reason,
        )

    def _missing(self) -> list[str]:
        group = self.driver.group
        return [name for name in sorted(group.members) if name not in group.joining]

    # -- lines that tell of a request --------------------------------------------------------

    def _handed_out(self, place: int, state: str, member_id: str) -> None:
        self._expect_state(state)
        self.next_ids.append(member_id)
        answer = self._join(place, "").answer
        self._expect("answer", ErrorCode.MEMBER_ID_REQUIRED, answer.error)

    def _joined(self, place: int, state: str, member_id: str) -> None:
        self._expect_state(state)
        self._join(place, member_id)

    def _static(self, place: int, state: str, instance: str, member_id: str) -> None:
        self._expect_state(state)
        self.next_ids.append(member_id)
        self._join(place, "", instance)

    def _returned(self, place: int, state: str, instance: str, old: str) -> None:
        self._expect_state(state)
        if old[:-37] == instance and old in self.driver.group.members:
            self._expect("replaced", old, self.driver.group.static_members[instance])
        self.next_ids.append(self._returning(instance) or f"{instance}-{place:036d}")
        self._join(place, "", instance)

    def _returning(self, instance: str) -> str | None:
        """Return the instance's next id from the log's records; its own line does not have it."""
        past = {fact.member_id for fact in self.driver.emitted(MemberRemoved)}
        past |= set(self.driver.group.members)
        stored = (member for record in self.records for member in record.members)
        fresh = (m.member_id for m in stored if m.group_instance_id == instance)
        return next((member_id for member_id in fresh if member_id not in past), None)

    def _committed(self, place: int, member_id: str) -> None:
        """Only accepted commits have a line."""
        ((_, error),) = self.driver.commit(self._alias(member_id)).answer.errors
        self._expect("commit", ErrorCode.NONE, error)

    def _left(self, place: int, member_id: str, reason: str) -> None:
        answer = self.driver.leave(self._alias(member_id)).answer
        self._expect("left", [ErrorCode.NONE], [member.error for member in answer.members])

    def _assigned(
        self, place: int, leader: str, generation: str, members: str, static: str
    ) -> None:
        group = self.driver.group
        self._expect("leader", self._alias(leader), group.leader_id)
        self._expect("generation", int(generation), group.generation)
        self._expect("members", int(members), len(group.members))
        self._expect("static members", int(static), len(group.static_members))
        given = {
            member.member_id: decode_assignment(member.assignment)
            for record in self.records
            if record.generation == group.generation
            for member in record.members
        }
        for member_id in sorted(group.members, key=lambda name: name == group.leader_id):
            self.driver.sync(member_id, given if member_id == group.leader_id else None)
        self._expect("state", State.STABLE, self.driver.state)

    # -- lines that tell of a consequence ----------------------------------------------------

    def _expect_state(self, label: str) -> None:
        state = self.driver.state
        ours = "Empty" if state is State.ABSENT else state.label
        self._expect("state", label, ours)

    def _preparing(self, place: int, generation: str, reason: str) -> None:
        rejoined = re.match(
            r"(Leader|Updating metadata for member) (\S+) .*client reason: (.*)$", reason
        )
        if rejoined:
            self._rejoin(self._alias(rejoined[2]), rejoined[3])
        emitted = self.driver.emitted(RebalanceStarted)[-1]
        self._expect("old generation", int(generation), emitted.generation)
        if "explicit" in reason or "heartbeat" in reason:
            ours, theirs = (self._without_ids(text) for text in (emitted.reason, reason))
            self._expect("reason", theirs, ours)
        else:
            self._expect("reason", reason, emitted.reason)

    def _without_ids(self, reason: str) -> str:
        """A static member's id may be one we made up."""
        return re.sub(r"(\S+)-[0-9a-f-]{36}", r"\1", reason)

    def _waiting(self, place: int, members: str, awaiting: str, pending: str) -> None:
        for member_id in self._missing():
            if len(self.driver.group.joining) < int(awaiting):
                self._rejoin(member_id)
        group = self.driver.group
        self._expect(
            "waiting",
            (int(members), int(awaiting), int(pending)),
            (len(group.members), len(group.joining), len(group.pending_joins)),
        )

    def _initial(self, place: int) -> None:
        self._expect("initial", True, self.driver.group.window is not None)

    def _generation(self, place: int, generation: str, members: str) -> None:
        for _ in range(len(self.driver.group.members)):
            if self.driver.state is State.PREPARING_REBALANCE and self._missing():
                self._rejoin(self._missing()[0])
        if self.driver.state is State.PREPARING_REBALANCE:
            wait_ms = (self.driver.timers[f"join-{GROUP}"] - self.driver.now_us) / 1000
            self._expect("wait at most", True, wait_ms <= SLACK_MS)
            self.driver.advance(wait_ms)
        emitted = self.driver.emitted(JoinPhaseEnded)[-1]
        self._expect("new generation", int(generation), emitted.generation)
        self._expect("its members", int(members), len(emitted.members))

    def _failed(self, place: int, member_id: str) -> None:
        if self._alias(member_id) in self.driver.group.members:
            self.driver.advance(LOG_JITTER_MS)
        emitted = [f for f in self.driver.emitted(MemberRemoved) if f.why is Departure.EXPIRED]
        self._expect("failed", member_id[:-37], emitted[-1].member_id[:-37] if emitted else None)

    def _empty(self, place: int, generation: str) -> None:
        emitted = self.driver.emitted(GroupEmptied)
        self._expect("empty at", int(generation), emitted[-1].generation if emitted else None)

    def _loaded(self, place: int, members: str) -> None:
        self.driver.fail_over()
        emitted = self.driver.emitted(GroupLoaded)[-1]
        self._expect("loaded", int(members), len(emitted.members))
