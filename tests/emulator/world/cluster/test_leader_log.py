"""A log as its leader knows it: how far followers have come, and what is safe."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.world.cluster.offsets_log.leader_log import Copy, LeaderLog
from emulator.world.cluster.offsets_log.stored_log import StoredLog
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.kernel import Kernel, Rank

from .test_stored_log import record

TRIP = 10

batches = st.integers(1, 3).map(lambda count: (record(),) * count)
acts = st.one_of(batches, st.sampled_from(["stop", "go on"]))
plans = st.lists(st.tuples(st.integers(0, 60), acts), max_size=15)


class Led:
    """A leader (1) and two followers to which things happen at planned times."""

    def __init__(self, plan=(), trip_us=lambda _: TRIP, until=1_000):
        self.kernel = Kernel()
        self.written = []
        self.firsts = []
        shared = StoredLog()
        self.copies = {broker: Copy(broker, shared) for broker in (1, 2, 3)}
        self.log = LeaderLog(self.kernel, 0, self.copies[1], trip_us, self._durable)
        self.log.lead(0, (1, 2, 3))
        for broker in (2, 3):
            self.log.follow(self.copies[broker], 0, 0)
        self.log.gate(0)
        for when, act in sorted(plan, key=lambda entry: entry[0]):
            self.at(when, lambda act=act: self._do(act))
        self.kernel.run(until)

    def at(self, when, action):
        self.kernel.at(when, Rank.FAULT, 0, lambda _: action())

    def _durable(self, log_offset):
        self.written.append((self.kernel.now, log_offset))

    def append(self, count=1):
        batch = self.log.append((record(),) * count, self.kernel.now)
        self.firsts.append((self.kernel.now, batch.first, count))

    def stop(self, broker):
        self.log.settle(self.kernel.now)
        self.log.leave(broker)
        self.log.gate(NEVER)

    def go_on(self, broker, late_us=0):
        self.log.settle(self.kernel.now)
        self.log.follow(self.copies[broker], late_us, self.kernel.now)
        self.log.gate(late_us)

    def _do(self, act):
        match act:
            case "stop":
                self.stop(3)
            case "go on":
                self.go_on(3)
            case _:
                self.append(len(act))


def ends(led, broker, now):
    """Return how far a follower has the log, and what it knows to be safe."""
    led.log.settle(now)
    copy = led.copies[broker]
    return copy.end, copy.high_watermark


# -- the high watermark ------------------------------------------------------------------------


@given(plans)
def test_the_durable_offset_only_grows_and_is_reported_once(plan):
    """Never more than was appended a replication ago."""
    led = Led(plan)
    offsets = [offset for _, offset in led.written]

    assert sorted(set(offsets)) == offsets
    for when, offset in led.written:
        fetched = [first + n for at, first, n in led.firsts if at + TRIP <= when]
        assert offset in fetched


@given(plans)
def test_once_it_runs_again_everything_becomes_durable(plan):
    """A follower that stops holds back, it loses nothing."""
    led = Led([*plan, (500, "go on")])

    assert led.log.end == led.log.high_watermark


def test_while_a_follower_in_sync_is_missing_nothing_becomes_durable():
    """Records that others fetched meanwhile become durable at once when it is back."""
    one = (record(),)
    led = Led([(0, one), (5, "stop"), (20, one), (25, one), (40, "go on")])

    assert [(40, 3)] == led.written


def test_a_later_batch_that_is_replicated_first_covers_the_earlier_one():
    """Followers fetch in order, so the slow batch was there as well."""
    one = (record(),)
    led = Led([(0, one), (5, one)], trip_us=lambda first: 100 if first == 0 else 10)

    assert [(15, 2)] == led.written


def test_a_follower_that_takes_longer_holds_everything_back_by_as_much():
    """Also what was under way when its disk became slow."""
    led = Led(until=1)
    led.at(10, led.append)
    led.at(15, lambda: led.go_on(3, late_us=30))
    led.at(100, led.append)
    led.at(120, lambda: led.go_on(3))
    led.kernel.run(1_000)

    assert [(50, 1), (120, 2)] == led.written


# -- how far followers are ---------------------------------------------------------------------


def test_followers_have_a_record_after_half_of_its_replication():
    """The leader knows that after the other half, and they know that it does after a third one."""
    led = Led(until=100)
    led.append(2)
    seen = {}
    for after in (4, 5, 9, 10, 14, 15):
        led.at(100 + after, lambda at=100 + after: seen.update({at - 100: ends(led, 2, at)}))
    led.kernel.run(200)

    assert {4: (0, 0), 5: (2, 0), 9: (2, 0), 10: (2, 0), 14: (2, 0), 15: (2, 2)} == seen
    assert [(110, 2)] == led.written


def test_a_follower_that_stops_keeps_its_records():
    """And no more, whatever its leader appends."""
    led = Led([(10, (record(),)), (30, (record(),)), (33, "stop"), (50, (record(),))], until=90)

    assert (1, 1) == ends(led, 3, 90)
    assert (3, 1) == ends(led, 2, 90)
    assert led.log.is_behind(3, 90)
    assert not led.log.is_behind(2, 90)


def test_a_leader_without_followers_continues_alone():
    """It appends, and nothing of that is ever safe."""
    led = Led(until=20)
    led.log.leave(2)
    led.log.leave(3)
    led.log.gate(NEVER)
    led.append(4)
    led.kernel.run(500)

    assert (4, 0) == (led.log.end, led.log.high_watermark)
    assert (0, 0) == ends(led, 2, 500)


# -- a new leader ------------------------------------------------------------------------------


def succeeded(appended_us, crash_us):
    """Let the leader crash and 2 lead; return the new leader's log as it begins, and all."""
    led = Led(until=appended_us)
    led.append()
    led.kernel.run(crash_us)
    led.log.settle(crash_us)
    for broker in (2, 3):
        led.log.leave(broker)
    led.log.gate(NEVER)
    copy = led.copies[2]
    copy.detach()
    new = LeaderLog(led.kernel, 0, copy, lambda _: TRIP, led._durable)
    new.lead(1, (2, 3))
    new.follow(led.copies[3], 0, crash_us)
    return new, led


def test_unreplicated_records_are_lost_with_the_leader():
    """It was not safe, so no client got a success."""
    new, led = succeeded(100, 104)

    assert (0, 0) == (new.end, new.high_watermark)
    assert 0 == new.follow(led.copies[1], 0, 104)
    assert 0 == led.copies[1].end


def test_replicated_records_are_safe_when_the_new_leader_knows():
    """Until then they are above the high watermark, though a load reads them."""
    new, led = succeeded(100, 106)
    before = new.high_watermark
    loaded = [log_offset for log_offset, _ in new.log.read(new.end)]
    new.gate(0)
    led.kernel.run(1_000)

    assert (0, [0]) == (before, loaded)
    assert [(106 + TRIP, 1)] == led.written
    assert 1 == new.follow(led.copies[1], 0, 106)


def test_records_of_a_stale_leader_are_truncated():
    """When it follows the elected one; the epoch gives the divergence point."""
    new, led = succeeded(100, 120)
    new.gate(0)
    led.log.append((record(),) * 3, 120)
    new.append((record(),) * 2, 120)
    led.kernel.run(500)

    assert (4, 3) == (led.log.end, new.end)
    assert 1 == new.follow(led.copies[1], 0, 500)
    assert [(110, 1), (130, 3)] == led.written


def test_a_follower_out_of_sync_has_caught_up_after_one_replication():
    """It may be taken in again when it has all that is safe."""
    new, led = succeeded(100, 120)
    new.gate(0)
    new.append((record(),), 150)
    led.kernel.run(300)
    new.follow(led.copies[1], 0, 300)

    assert 300 + TRIP == new.from_us(1)
    assert not new.caught_up(1, 300 + TRIP - 1)
    assert new.caught_up(1, 300 + TRIP)
    new.settle(300 + TRIP)
    assert (2, 2) == (led.copies[1].end, led.copies[1].high_watermark)


def test_a_replica_out_of_sync_keeps_a_log_of_its_own():
    """Records compacted by its leader can still be read after its election."""
    led = Led([(10, (record(0, 1),)), (50, "stop")], until=60)
    led.log.lead(0, (1, 2))
    led.log.expel(3)
    led.log.gate(0)
    for at in (70, 90, 110):
        led.at(at, led.append)
    led.kernel.run(500)

    copy = led.copies[3]
    assert (1, 4) == (copy.end, led.log.high_watermark)
    assert [(0, record(0, 1))] == list(copy.log.read(copy.end))
