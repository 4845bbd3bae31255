"""Whatever happens to brokers: what was acknowledged is kept, and logs agree in the end."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.events import LeaderChanged, LogTruncated

from .cluster_bench import MS, REPLICATION, SECOND, Bench

BROKERS = st.sampled_from([1, 2, 3])
SIDES = st.sampled_from(["broker-1", "broker-2", "broker-3", "controller"])
ACTS = st.one_of(
    st.just(("commit",)),
    st.just(("commit",)),
    st.tuples(
        st.sampled_from(["crash", "restart", "pause", "resume", "stop", "fill", "clear"]), BROKERS
    ),
    st.tuples(st.just("slow"), BROKERS, st.sampled_from([0, 40 * MS, 6 * SECOND])),
    st.tuples(st.just("cut"), SIDES, SIDES),
    st.tuples(st.just("move"), BROKERS),
    st.just(("heal",)),
)
WAITS = st.sampled_from([0, 1, 4 * MS, 6 * MS, 11 * MS, 60 * MS, 3 * SECOND, 10 * SECOND])
PLANS = st.lists(st.tuples(WAITS, ACTS), max_size=30)


class Played:
    """A cluster to which things happen, and a client that commits rising offsets."""

    def __init__(self, plan, config=""):
        self.bench = Bench(settings=f'"replica.lag.time.max.ms" = "8s"\n{config}')
        self.calls = []
        self.heals = []
        self.marks = {}
        for wait_us, (verb, *arguments) in plan:
            self.bench.wait(wait_us)
            getattr(self, verb)(*arguments)
            self.look()

    def look(self):
        """Hold what is true at every moment."""
        shard = self.bench.shard
        for broker, log in shard.led.items():
            mark = self.marks.get((broker, log.epoch), 0)
            assert mark <= log.high_watermark <= log.end
            self.marks[broker, log.epoch] = log.high_watermark
        for partition, log in self.bench.world.topics.partitions():
            visible = log.high_watermark(self.bench.now)
            assert self.marks.get(partition, 0) <= visible <= log.end(self.bench.now)
            self.marks[partition] = visible
        in_sync = shard.replicas.isr
        assert in_sync
        assert set(in_sync) <= set(shard.replicas.brokers)
        assert shard.leader in (*in_sync, -1)

    def end(self):
        """Let all be well again, and look at what is left."""
        bench = self.bench
        self.heal()
        for broker in (1, 2, 3):
            bench.brokers.resume(broker, 0)
            bench.brokers.restart(broker, 0)
            bench.brokers.clear_disk(broker, 0)
            bench.brokers.slow_disk(broker, 0, 0)
        bench.wait(30 * SECOND)
        self.look()
        shard, now = bench.shard, bench.now
        for _, log in bench.world.topics.partitions():
            assert log.replicas.whole
            assert log.high_watermark(now) == log.end(now - REPLICATION)
        shard.settle(now)
        log = shard.led[shard.leader]

        assert (1, 2, 3) == tuple(sorted(shard.replicas.isr))
        assert [shard.leader] == sorted(shard.hosts) == sorted(shard.led)
        assert log.end == log.high_watermark
        assert {log.end} == {copy.end for copy in shard._copies.values()}
        assert {log.log} == {copy.log for copy in shard._copies.values()}

    # -- acts ------------------------------------------------------------------------------------

    def commit(self):
        """Commit one more, wherever a coordinator is believed to be."""
        for broker in sorted(self.bench.shard.hosts):
            if self.bench.brokers.answers(broker):
                number = len(self.calls) + 1
                self.calls.append((number, self.bench.commit(number, broker)))

    def crash(self, broker):
        self.bench.brokers.crash(broker, 0)

    def restart(self, broker):
        self.bench.brokers.restart(broker, 0)

    def pause(self, broker):
        self.bench.brokers.pause(broker, 0)

    def resume(self, broker):
        self.bench.brokers.resume(broker, 0)

    def stop(self, broker):
        self.bench.brokers.stop(broker, 0)

    def fill(self, broker):
        self.bench.brokers.fill_disk(broker, 0)

    def clear(self, broker):
        self.bench.brokers.clear_disk(broker, 0)

    def slow(self, broker, by_us):
        self.bench.brokers.slow_disk(broker, by_us, 0)

    def cut(self, one, other):
        if one != other:
            self.heals.append(self.bench.cut(one, other))

    def heal(self):
        while self.heals:
            self.heals.pop()()

    def move(self, broker):
        controller, replicas = self.bench.world.controller, self.bench.shard.replicas
        able = broker in replicas.isr and controller.may_lead(broker)
        if able and broker != replicas.leader:
            controller.move(self.bench.shard, broker, 0)


few = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("config", ["", '"min.insync.replicas" = 2'])
@few
@given(plan=PLANS)
def test_an_acknowledged_commit_is_never_lost(config, plan):
    """Law 2: unless an unclean election breaks the log, and here none does."""
    played = Played(plan, config)
    played.end()
    safe = [number for number, call in played.calls if call.answer and call.error == "NONE"]

    kept = {
        record.value.offset for _, record in played.bench.host().log.log.read(10**9) if record.value
    }
    assert max(safe, default=-1) <= max(kept, default=-1)


@few
@given(plan=PLANS)
def test_all_replicas_agree_at_the_end_also_after_unclean_elections(plan):
    """A record lost on one replica is lost on all, and every truncation is emitted."""
    played = Played(plan, '"unclean.leader.election.enable" = true')
    played.end()

    assert all(cut.first < cut.next_offset for cut in played.bench.written(LogTruncated))


@few
@given(plan=PLANS)
def test_leader_epochs_rise_and_elections_are_clean_where_others_are_not_allowed(plan):
    """One epoch for each election, also of no leader."""
    played = Played(plan)
    played.end()
    partition = played.bench.shard.replicas.partition
    changes = played.bench.written(LeaderChanged, partition=partition)

    assert list(range(1, len(changes) + 1)) == [what.epoch for what in changes]
    assert all(what.clean for what in changes)
