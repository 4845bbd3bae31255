"""Changes that hints recommend: values that follow from the scenario's numbers, with a margin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import emulator
from emulator.advice.changes import CHANGES
from emulator.advice.proposing import changed
from emulator.advice.situation import Situation
from emulator.advising import reported
from emulator.loading import LoadedScenario, ScenarioText, load_named, load_text, text_of_scenario
from emulator.metrics.metrics import Metrics
from emulator.report.proposals import Proposal
from emulator.scenario import catalogue
from emulator.subjects import subject_of

NOTHING = Metrics(
    dict.fromkeys(
        (
            "downtime_max_s",
            "time_to_stable_max_s",
            "commit_round_max_s",
            "commits_refused",
            "commits_refused_covered",
        ),
        0,
    )
    | {"rebalances": 3},
    {},
    {},
    frozenset(),
)


def situation(loaded: LoadedScenario, **values: float) -> Situation:
    """Return the situation of a scenario's first group; *values*: metrics of its run."""
    subject = subject_of(loaded)
    return Situation(
        scenario=loaded.scenario,
        group=loaded.scenario.group[0],
        facts=subject.groups[0],
        brokers=subject.broker_settings,
        metrics=Metrics({**NOTHING.values, **values}, {}, {}, frozenset()),
    )


def made(hint: str, name: str, changes: tuple[str, ...], **values: float) -> tuple[str, ...]:
    """Return the overrides of all changes of a hint for a scenario of the catalogue."""
    found = [
        draft
        for _, make in CHANGES[hint]
        if (draft := make(situation(load_named(name, changes), **values))) is not None
    ]
    return tuple(override for draft in found for override in draft.overrides)


BILLING = "group[billing].settings"
WORK = "group[billing].work=40ms"


NEW_NAMES, SURGE = (f"act[rolling_restart-1].{key}" for key in ("names=random", "surge=true"))


@pytest.mark.parametrize(
    ("hint", "name", "changes", "expected"),
    [
        # 500 x 40 ms = 20 s, a quarter more, a second to close; 20 records are 0.8 s of 1 s
        (
            "longer-grace",
            "deploy-kills-in-mid-batch",
            (WORK,),
            ("act[rolling_restart-1].grace=30s", f"{BILLING}[max.poll.records]=20"),
        ),
        (
            "longer-grace",
            "deploy-kills-in-mid-batch",
            (WORK, "act[rolling_restart-1].grace=60s"),
            (),
        ),
        # A batch of 2.5 s may outlast a grace period of 3 s: 400 records are 2 s
        (
            "longer-grace",
            "deploy-kills-in-mid-batch",
            ("group[billing].work=5ms", "act[rolling_restart-1].grace=3s"),
            ("act[rolling_restart-1].grace=5s", f"{BILLING}[max.poll.records]=400"),
        ),
        # The preStop hook is part of the grace period: of 30 s, 5 s are left for 10.7 s
        (
            "longer-grace",
            "deploy-kills-in-mid-batch",
            ("act[rolling_restart-1].grace=30s", "act[rolling_restart-1].pre_stop=25s"),
            ("act[rolling_restart-1].grace=40s", f"{BILLING}[max.poll.records]=150"),
        ),
        # A rebalance waits for the longest batch: 500 x 40 ms, and heartbeats come every 3 s
        (
            "poll-then-commit",
            "deploy-kills-in-mid-batch",
            (WORK,),
            (f"{BILLING}[max.poll.records]=60",),
        ),
        # 20 s of batches shorten a rebalance of 30 s, but not much of 10 min
        (
            "rebalance-timeout",
            "deploy-kills-in-mid-batch",
            (WORK,),
            (f"{BILLING}[max.poll.records]=60",),
        ),
        # Static membership needs names that stay: not those of a Deployment, or of a surge
        ("static-membership", "rolling-restart-eager", (NEW_NAMES,), ()),
        ("static-membership", "rolling-restart-eager", (SURGE,), ()),
        # Four heartbeats of 3 s; and a quarter more than a pause of 25 s
        ("shorter-session", "member-crashes", (), (f"{BILLING}[session.timeout.ms]=12000",)),
        (
            "shorter-session",
            "l1-zombie-after-pause",
            (f"{BILLING}[session.timeout.ms]=60s",),
            (f"{BILLING}[session.timeout.ms]=40000",),
        ),
        (
            "session-above-pauses",
            "l1-zombie-after-pause",
            (),
            (f"{BILLING}[session.timeout.ms]=40000",),
        ),
        # Of a hundred restarts, 99 take 70 s or less
        (
            "session-above-restarts",
            "k5-restart-around-session",
            (),
            (f"{BILLING}[session.timeout.ms]=100000",),
        ),
        # With the consumer protocol brokers set it, and their lower limit is above it
        (
            "shorter-session",
            "kip848-member-crashes",
            (),
            (
                "cluster.settings[group.consumer.session.timeout.ms]=20000",
                "cluster.settings[group.consumer.min.session.timeout.ms]=20000",
            ),
        ),
        ("commit-more-often", "member-crashes", (), (f"{BILLING}[auto.commit.interval.ms]=1000",)),
        (
            "cooperative",
            "rolling-restart-cooperative",
            (),
            (f"{BILLING}[group.protocol]=consumer",),
        ),
        ("static-membership", "rolling-restart-eager", (), ("group[billing].static=true",)),
        # Ids alone do not help if members are away for longer than a session
        (
            "static-membership",
            "rolling-restart-eager",
            ("act[rolling_restart-1].down_time=60s",),
            ("group[billing].static=true", f"{BILLING}[session.timeout.ms]=80000"),
        ),
        # No value helps: one record takes longer than the interval with any batch
        ("slow-record", "c1-slow-record-loop", (), (f"{BILLING}[max.poll.interval.ms]=60000",)),
        (
            "finish-before-close",
            "close-in-mid-batch",
            (),
            ("act[close-1].mid_batch=false", "group[billing].commit=sync"),
        ),
        ("two-in-sync", "member-crashes", ("cluster.brokers=1",), ()),
    ],
)
def test_a_change_has_the_value_that_follows_from_the_scenario(hint, name, changes, expected):
    """With a margin; none where the value in force is as good."""
    assert expected == made(hint, name, changes)


def test_a_shorter_interval_is_for_rebalances_that_wait_longer():
    """Where a rebalance took 270 s, not where none took long."""
    name = "n1-one-member-stalls-all"
    shorter = f"{BILLING}[max.poll.interval.ms]=50000"

    assert shorter in made("rebalance-timeout", name, (), downtime_max_s=270)
    assert shorter not in made("rebalance-timeout", name, (), downtime_max_s=20)


def test_members_with_their_own_setting_get_the_change_too():
    """The group's value does not reach them."""
    own = "group[billing].member[billing-1].settings[auto.commit.interval.ms]"

    assert f"{own}=1000" in made("commit-more-often", "member-crashes", (f"{own}=4s",))


def test_no_change_of_what_a_deploy_sets():
    """The deploy would undo it."""
    act = "act[rolling_restart-1].settings={ 'max.poll.records' = 100 }"
    overrides = made("longer-grace", "deploy-kills-in-mid-batch", (WORK, act))

    assert ("act[rolling_restart-1].grace=30s",) == overrides


def test_a_reason_has_the_numbers_it_follows_from():
    """Not the name of the setting alone."""
    here = situation(load_named("deploy-kills-in-mid-batch", (WORK,)))
    draft = CHANGES["longer-grace"][0][1](here)

    assert draft is not None
    assert "A full batch takes 500 × 40 ms = 20 s, and the grace period is 1 s." == draft.why  # noqa: RUF001


@pytest.mark.parametrize("name", catalogue.names())
def test_every_change_can_be_made_or_not_for_every_scenario(name):
    """Without a failure, and with times that a person would set."""
    here = situation(load_named(name, (), allow_large=True))
    drafts = [make(here) for changes in CHANGES.values() for _, make in changes]

    for draft in filter(None, drafts):
        assert "inf" not in draft.why
        assert not re.search(r"grace=\d{5,}|interval\.ms=\d{9,}", " ".join(draft.overrides))


@pytest.mark.parametrize(
    "name", ["member-crashes", "d3-older-commit-wins", "o1-expansion-with-latest"]
)
def test_a_change_of_the_file_is_the_change_of_the_loaded_scenario(name):
    """The options that are printed play what was tried."""
    loaded = load_named(name, (), allow_large=True)
    for changes in CHANGES.values():
        for _, make in changes:
            draft = make(situation(loaded))
            if draft is not None and not any("group.protocol" in each for each in draft.overrides):
                proposal = Proposal(
                    id="", hint="", group="", why="", settings=(), overrides=draft.overrides
                )
                assert emulator.load(name, draft.overrides) == changed(loaded, proposal)


def why(name: str, *changes: str) -> str:
    """Return the reason of the change that commits more often."""
    ((_, make), *_) = CHANGES["commit-more-often"]
    draft = make(situation(load_named(name, changes)))
    assert draft is not None
    return draft.why


def test_a_backlog_makes_batches_that_outlast_the_commit_interval():
    """500 records of 40 ms are 20 s: the interval of 5 s does not bound what is uncommitted."""
    long, short = why("deploy-kills-in-mid-batch", WORK), why("member-crashes")

    assert "poll() commits after the first one that ends after the interval: that is 500" in long
    assert "500 records, 20 s" in long
    assert "2 of them are 1,000 records" in why("member-crashes", "group[billing].work=6ms")
    assert "with a backlog" in short


def test_no_session_of_hours_is_proposed():
    """A group that is down for a weekend cannot keep its members for so long."""
    ((_, make), *_) = CHANGES["static-membership"]

    assert make(situation(load_named("i2-weekend-down", ()))) is None


LONG_RESTART = ("act[crash-1].restart_after=80s", "run_for=200s")


@pytest.mark.parametrize(
    ("scenario", "overrides", "settings"),
    [
        # The consumer protocol: Kafka's default limit is 60 s
        (
            "kip848-static-crash",
            (),
            (
                "group.consumer.session.timeout.ms=100000",
                "group.consumer.max.session.timeout.ms=100000",
            ),
        ),
        (
            "kip848-static-crash",
            ("cluster.settings[group.consumer.max.session.timeout.ms]=120s",),
            ("group.consumer.session.timeout.ms=100000",),
        ),
        # The classic protocol: brokers whose limit is lower than Kafka's default
        (
            "k5-restart-around-session",
            ("cluster.settings[group.max.session.timeout.ms]=60s",),
            ("session.timeout.ms=100000", "group.max.session.timeout.ms=100000"),
        ),
    ],
)
def test_a_session_beyond_the_limit_of_the_brokers_comes_with_that_limit(
    scenario, overrides, settings
):
    """It is named, with its value now; the scenario with both is valid."""
    more = LONG_RESTART if scenario.startswith("kip848") else ()
    loaded = load_named(scenario, [*more, *overrides])
    ((name, make),) = CHANGES["session-above-restarts"]
    draft = make(situation(loaded))
    limits = [each for each in settings if ".max." in each]

    assert settings == draft.settings
    assert bool(limits) == ("refuse one above" in draft.why)
    assert all(each.partition("=")[0] in draft.why for each in limits)
    changed(loaded, Proposal(id=name, hint=name, group="billing", **draft._asdict()))


@pytest.mark.parametrize("table", ["act", "fault"])
def test_a_change_names_a_deploy_with_the_table_of_the_file(table):
    """Either word means it; the file has one."""
    text = text_of_scenario("deploy-kills-in-mid-batch").text.replace("[[act]]", f"[[{table}]]")
    written = ScenarioText("deploy", "deploy.toml", text, Path())
    _, report = reported(load_text(written), 0, 9)
    (longer,) = [each for each in report.proposals if each.id == "longer-grace"]

    assert all(each.startswith(f"{table}[rolling_restart-1].grace=") for each in longer.overrides)


def test_a_commit_in_the_listener_gives_members_one_that_have_none():
    """Without it the scenario would refuse the change."""
    without = ("group[billing].has_listener=false",)
    overrides = made("commit-on-revoke", "member-crashes", without)
    played = load_named("member-crashes", (*without, *overrides)).scenario.group[0]

    assert "group[billing].has_listener=true" in overrides
    assert (played.has_listener, played.commit.on_revoke) == (True, True)
