"""The CPU time of a run is estimated before it starts."""

from __future__ import annotations

from statistics import median

import pytest

from benchmarks.estimate import TEXT, USUAL, measured
from emulator.loading import load
from emulator.playing import run
from emulator.scenario import catalogue
from emulator.scenario.estimates.cost_text import CHEAPER, notice, refuse_large
from emulator.scenario.estimates.cpu_time import COSTS_US, MAX_S, Source, counts, estimate
from emulator.scenario.estimates.lifetimes import lifetimes, rebalances
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError

from .samples import read

HUGE = (("partitions = 6", "partitions = 1000000"), ('"10min"', '"36500d"'))


IRREGULAR = ('"10ms"', '{ uniform = ["5ms", "15ms"] }')
"""Work that no period of a run repeats."""


def test_a_member_lives_and_sends_heartbeats_until_its_crash():
    """Three members for ten minutes every three seconds, one of them for five."""
    lives = lifetimes(read())

    assert [600, 300, 600] == [life.living_us // 1_000_000 for life in lives.values()]
    assert 500 == counts(read(IRREGULAR))[Source.HEARTBEATS]


def test_whole_periods_of_an_undisturbed_run_are_skipped():
    """What is left are the periods with a metadata request, and those in which others are found."""
    played, skipped = (
        counts(read(('"10min"', '"10h"'), *changes))[Source.HEARTBEATS]
        for changes in ((IRREGULAR,), ())
    )

    assert skipped < played / 10


def test_polls_of_the_consumer_protocol_are_skipped_with_its_periods():
    """Their times are drawn, but repeat."""
    classic = '"partition.assignment.strategy" = "range", "session.timeout.ms" = 6000'
    protocol = (classic, '"group.protocol" = "consumer"')
    played, skipped = (
        counts(read(('"10min"', '"10h"'), protocol, *changes))[Source.FOLDED_POLLS]
        for changes in ((IRREGULAR,), ())
    )

    assert 0 < skipped < played / 10


NEWER = ("librdkafka", '"group.protocol" = "consumer"')
OLDER = [
    (client, '"session.timeout.ms" = 6000') for client in ("librdkafka", "aiokafka", "franz-go")
]


@pytest.mark.parametrize(("client", "settings"), [*OLDER, NEWER])
def test_records_of_clients_that_work_in_the_background_are_skipped_with_periods(client, settings):
    """Whatever the protocol."""
    own = ("members = 3", f'members = 3\nclient = "{client}"')
    classic = '"partition.assignment.strategy" = "range", "session.timeout.ms" = 6000'
    long, plain = ('"10min"', '"10h"'), (classic, settings)
    played, skipped = (
        counts(read(long, own, plain, *changes))[Source.RECORDS] for changes in ((IRREGULAR,), ())
    )

    assert 0 < skipped < played / 10


def test_an_autoscaler_starts_members_or_stops_them():
    """It starts 7 beside the first one within the run; where all run already, it stops them."""
    scenario = load("g6-one-partition-has-the-lag")
    grows = lifetimes(scenario)
    shrinks = lifetimes(load("g2-scale-down-kills"))

    assert [1] * 8 == [life.starts for life in grows.values()]
    assert 3.5 < sum(life.living_us for life in grows.values()) / scenario.run_for < 5
    assert 2 < sum(life.living_us for life in shrinks.values()) / 540_000_000 < 3


def test_disturbances_close_to_each_other_are_played_once():
    """Two restarts at a minute are one disturbance, one of them much later is another."""
    crash = '[[fault]]\ncrash = "billing-{}"\nat = "{}"\nrestart_after = "1s"'
    long = ('"10min"', '"10h"')
    together, apart = (
        counts(read(long, more="\n".join([crash.format(0, "1min"), crash.format(1, at)])))
        for at in ("1min", "5h")
    )

    assert together[Source.HEARTBEATS] < 0.75 * apart[Source.HEARTBEATS]


@pytest.mark.parametrize(
    ("more", "times", "starts"),
    [
        ("", 2, 3),
        ('[[act]]\nstart = "billing-1"\nat = "6min"', 3, 4),
        ('[[act]]\nrolling_restart = "billing"\nat = "1min"\ngap = "5s"', 8, 6),
        ('[[act]]\nadd_partitions = "orders"\nto = 9\nat = "1min"', 3, 3),
        ('[[act]]\nclose = "billing-0"\nwhen = "crash-1 begins"\nrestart_after = "6min"', 3, 3),
    ],
)
def test_starts_and_rebalances_follow_from_the_faults(more, times, starts):
    """The first rebalance, the crash, and what the act adds before the end of the run."""
    scenario = read(more=more)

    assert times == rebalances(scenario)["billing"]
    assert starts == sum(life.starts for life in lifetimes(scenario).values())


def test_more_records_make_more_polls_until_batches_fill():
    """Polls follow the records while members have time; a full member polls less often."""

    def polls(*changes):
        return counts(read(*changes))[Source.REGULAR_POLLS]

    assert polls(('"20/s"', '"5/s"')) < polls()
    assert polls(('"20/s"', '"2000/s"')) < polls()


def test_commits_follow_the_policy():
    """A commit a record costs more than one a batch, and that more than automatic ones."""
    auto, batch, record = (
        estimate(read(("members = 3", f'members = 3\ncommit = "{policy}"'))).cpu_s
        for policy in ("auto", "sync", "sync per record")
    )

    assert auto < batch < record


@pytest.mark.parametrize("work", ["2ms", "20ms"])
def test_a_queue_is_filled_as_often_if_the_application_is_behind(work):
    """Fetches of librdkafka follow what arrives, not what its application takes."""
    own = {"client": "librdkafka", "rate": "40/s", "work": work, "run_for": "20s"}
    scenario = loads(TEXT.format(**{**USUAL, **own}))
    counted = counts(scenario)
    played = run(scenario).metrics.tables["requests_per_s.by_kind"]["Fetch"] * 20

    assert played / 1.5 < counted[Source.FETCHES] < played * 1.5
    assert 0 == counted[Source.LIVE_BATCHES]


def test_records_that_were_written_too_fast_are_polled_in_full_batches():
    """However long the run goes on after the last of them."""
    fast = ('rate = "20/s" ', 'rate = "200/s"\nproduce_until = "1min" ')
    polls = counts(read(IRREGULAR, fast, ("members = 3", 'members = 3\ncommit = "sync"')))

    assert polls[Source.OWN_COMMITS] == pytest.approx(6 * 200 * 60 / 500)


@pytest.mark.parametrize(("each", "full"), [(0.1, False), (2.0, True)])
def test_members_that_slow_one_another_down_may_stay_at_work(each, full):
    """They all begin with records: three at a time take five times as long, which is more than comes in."""
    shared = f"members = 3\nwork_by.concurrency = {{ free = 1, each = {each} }}"
    batches = counts(read(("members = 3", shared)))[Source.LIVE_BATCHES]

    assert full == (batches < 6 * 20 * 600 / 100)


@pytest.mark.parametrize(("backlog", "full"), [(1, False), (5_000, True)])
def test_members_removed_in_a_batch_of_their_backlog_never_catch_up(backlog, full):
    """500 records of 16 ms outlast the session of 6 s; without backlog, no batch is so large."""
    changes = (
        ('rate = "20/s" ', f'rate = "20/s"\nbacklog = {backlog} '),
        ('"10ms"', '"16ms"'),
        ("members = 3", 'members = 3\ndeviates.heartbeats_wait_for = ["work"]'),
    )
    batches = counts(read(*changes))[Source.LIVE_BATCHES]

    assert full == (batches < 6 * 20 * 600 / 100)


@pytest.mark.parametrize(
    "change",
    [
        ("members = 3", 'members = 3\ndeduplication = { window = "10s" }'),
        (
            "members = 3",
            'members = 3\nmember = [{ name = "billing-0", assign = { orders = "all" } }]',
        ),
    ],
)
def test_members_whose_records_are_watched_poll_by_events(change):
    """Each record is compared, or the application assigns partitions by itself."""
    assert counts(read(change))[Source.LIVE_BATCHES] > 1_000
    assert counts(read())[Source.LIVE_BATCHES] == 0


@pytest.mark.parametrize(
    "rate", ['{ poisson = "20/s" }', '{ bursts = { rate = "40/s", for = "1s", every = "2s" } }']
)
def test_the_pattern_of_arrivals_makes_no_difference_on_average(rate):
    """Random and bursty producers count with their mean; their polls are not regular."""
    regular, random = (
        counts(read(('rate = "20/s" ', f"rate = {each} "))) for each in ('"20/s"', rate)
    )

    assert random[Source.FOLDED_POLLS] > regular[Source.REGULAR_POLLS]
    assert regular[Source.HEARTBEATS] < random[Source.HEARTBEATS] == 500


def test_every_source_has_a_cost_and_advice():
    """Nothing can be done about the run itself."""
    assert set(Source) == set(COSTS_US)
    assert set(Source) - {Source.RUN} == set(CHEAPER)


def test_an_ordinary_scenario_is_not_refused():
    """The smallest scenario is far from too large, and is not announced."""
    refuse_large(read(), "orders.toml")

    assert notice(estimate(read())) is None


def test_a_run_of_hours_is_refused_with_the_estimate():
    """The message has the estimate, what it is spent on, and what to do."""
    scenario = read(*HUGE)

    assert estimate(scenario).cpu_s > MAX_S
    with pytest.raises(ScenarioError, match=r"about .* days of CPU time.*lag_every.*`allow_large`"):
        refuse_large(scenario, "orders.toml")


def test_many_runs_are_announced_by_the_time_they_take_together():
    """Processes share the work."""
    one = estimate(read())
    runs = int(900 / one.cpu_s)

    assert "This takes about 15 min for" in (notice(one, runs) or "")
    assert "lag_every" in (notice(one, runs) or "")
    assert notice(one, runs, processes=2) is None


@pytest.mark.soak
@pytest.mark.long
def test_the_estimate_is_right_within_a_factor_of_two_on_the_catalogue():
    """On a third of it; the speed of this machine is taken out: ratios are compared with their median."""
    found = {name: load(name) for name in (*catalogue.names()[::3], "quiet", "kip848-zombie")}
    measured(found["quiet"], 1)
    measured(found["kip848-zombie"], 1)
    ratios = {name: estimate(s).cpu_s * 1e6 / measured(s, 2) for name, s in found.items()}
    middle = median(ratios.values())
    off = {name: max(r / middle, middle / r) for name, r in ratios.items()}

    assert {} == {name: factor for name, factor in off.items() if factor > 3}
    assert sum(factor <= 2 for factor in off.values()) >= 0.9 * len(off)


@pytest.mark.parametrize(
    ("setting", "source"),
    [
        ("offsets.retention.check.interval.ms=1", Source.EXPIRY),
        ("max.message.bytes=0", Source.REFUSED),
    ],
)
def test_a_setting_that_makes_a_loop_is_part_of_the_estimate(setting, source):
    """Kafka accepts it, and a day of it would take long: the message says what to change."""
    name, _, value = setting.partition("=")
    scenario = read(
        ('"10min"', '"1d"'), ("[[topic]]", f'[cluster]\nsettings."{name}" = {value}\n[[topic]]')
    )

    with pytest.raises(ScenarioError, match=CHEAPER[source]):
        refuse_large(scenario, "slow")


def test_each_change_of_topics_is_told_to_members_and_coordinators():
    """Three of them, with 3 members and the cost of 5 more, and a hundredth for each topic there."""
    new = '[[topic]]\nname = "{}"\npartitions = 1\nrate = "1/s"\ncreated = {}\n'
    acts = '[[act]]\ncreate_topic = "a"\nat = "1min"\n[[act]]\ndelete_topic = "a"\nat = "2min"\n'
    scenario = read(more=new.format("a", '"by act"') + new.format("b", '"3min"') + acts)

    assert pytest.approx(3 * 8 + 0.05) == counts(scenario)[Source.TOPICS]


def test_automatic_commits_are_no_more_often_than_polls():
    """A member that works all the time polls once a batch, whatever auto.commit.interval.ms is."""
    busy = [
        "group[billing].work=200ms",
        "topic[orders].rate=1/s",
        "topic[orders].backlog=5000",
        "group[billing].settings[auto.commit.interval.ms]=1",
    ]
    usual = estimate(load("member-crashes", busy[:-1]))

    assert estimate(load("member-crashes", busy)).cpu_s < 2 * usual.cpu_s


def test_records_younger_than_the_retention_are_not_looked_for():
    """Of an hour of a topic that keeps its records for 50 minutes, ten minutes are checked."""
    checks = [
        counts(
            read(('"10min"', '"1h"'), ('rate = "20/s" ', f'rate = "20/s"\nretention = "{kept}" '))
        )
        for kept in ("50min", "2h")
    ]

    assert [600, 0] == [each[Source.RETENTION] for each in checks]


@pytest.mark.parametrize(
    "change",
    [
        ('rate = "20/s" ', 'rate = "20/s"\ntransaction_records = 10 '),
        ('"10ms"', '"40ms"'),
        ("members = 3", 'members = 3\ndeviates.heartbeats_wait_for = ["work"]'),
    ],
)
def test_no_periods_are_skipped_that_do_not_repeat(change):
    """Of topics with gaps; of members without time left, or with heartbeats that wait."""
    quiet, played = (counts(read(('"10min"', '"10h"'), *more)) for more in ((), (change,)))

    assert played[Source.HEARTBEATS] > 10 * quiet[Source.HEARTBEATS]
