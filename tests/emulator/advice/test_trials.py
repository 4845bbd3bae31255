"""Trials of changes: paired with the run, judged by its main figures, honest where nothing helps."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

import emulator
from emulator.advice.cost import rarer_within, round_s, seeds_within
from emulator.loading import load_named
from emulator.metrics.catalogue import VALUES
from emulator.metrics.distribution import compare
from emulator.metrics.metrics import Metrics
from emulator.report.proposal_wording import cell, columns_of, compared_text, verdict_of
from emulator.report.proposals import Effect, Proposal, Trial
from emulator.report.screens.trials import trials_screen
from emulator.verdicts.disqualifying import Disqualified

SHORT = """
title = "a deploy kills"
run_for = "50s"
[[topic]]
name = "orders"
partitions = 2
rate = "20/s"
[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "20ms"
settings = { "auto.offset.reset" = "earliest", "session.timeout.ms" = "10s" }
[[act]]
rolling_restart = "billing"
at = "20s"
grace = "1ms"
gap = "15s"
"""


@pytest.fixture(scope="module")
def advice():
    """Return the advice for a deploy that kills its members."""
    return emulator.advise(emulator.loads(SHORT), [3, 4], jobs=1)


def test_the_run_is_paired_with_runs_of_the_same_seeds(advice):
    """Played again with the printed options, the same figures come out."""
    trial = next(each for each in advice.trials if each.proposal.id == "longer-grace")
    again = [
        emulator.run(emulator.load(advice.run.scenario, trial.proposal.overrides), seed).metrics
        for seed in (3, 4)
    ]

    assert (3, 4) == trial.seeds
    assert advice.run.metrics == trial.before[0]
    assert tuple(again) == trial.after


def test_the_grace_period_that_fits_a_batch_is_found_to_help(advice):
    """It says in numbers what it follows from; instance ids come first, as no partition waits."""
    first, trial, *_ = advice.trials

    assert ("static-membership", "longer-grace") == (first.proposal.id, trial.proposal.id)
    assert Effect.BETTER == first.effect == trial.effect
    assert 0 == sum(run["reprocessed"] for run in trial.after)
    assert "500 × 20 ms = 10 s" in trial.proposal.why  # noqa: RUF001
    assert "--set 'act[rolling_restart-1].grace=15s'" in str(advice)


def test_trials_say_which_runs_they_compare(advice):
    """The same seeds on both sides, and how many of them have each figure."""
    compared = advice.as_dict()["changes"][0]["trial"]["compared"]

    assert "Means of the same 2 seeds, 3 to 4, without → with each change alone. " in (
        " ".join(str(advice).split())
    )
    assert {"reprocessed": 2, "lost": 2}.items() <= compared.items()


def test_the_figures_of_the_reported_seed_are_beside_the_means():
    """The report shows one run, the table means of two: what differs is named, with its seed."""
    before, after = runs(reprocessed=[40, 60]), runs(reprocessed=[0, 20])
    trial = Trial(proposal=PROPOSAL, seeds=(3, 4), before=before, after=after)
    (reported,) = runs(reprocessed=[60])
    run = SimpleNamespace(trials=(trial,), seed=4, metrics=reported)

    assert compared_text(run) == (
        "Means of the same 2 seeds, 3 to 4, without → with each change alone. The changes follow "
        "from the report of seed 4; its own figures: reprocessed 60."
    )


def test_means_are_of_the_seeds_that_have_the_figure_with_and_without_the_change():
    """A seed without a takeover under the change does not count on the other side either."""
    before, after = runs(takeover_last_s=[40, 60]), runs(takeover_last_s=[10, 0])
    none = replace(after[1], without_value=frozenset({"takeover_last_s"}))
    trial = Trial(proposal=PROPOSAL, seeds=(0, 1), before=before, after=(after[0], none))
    never = replace(trial, after=(none, none))

    assert "40 → 10" == cell(trial, "takeover_last_s")
    assert "Takeover: a value in 2 of 2 runs without it, in 1 with it; " in verdict_of(trial)
    assert "50 → none" == cell(never, "takeover_last_s")
    assert verdict_of(never).endswith("Takeover: a value in 2 of 2 runs without it, in 0 with it.")


def test_advice_is_plain_values_too(advice):
    """For --json, and a line for people."""
    document = advice.as_dict()

    assert advice.trials[0].proposal.id in {change["id"] for change in document["changes"]}
    assert all(change["trial"]["effect"] for change in document["changes"])
    assert "longer-grace: better" in repr(advice)
    assert "<table" in advice._repr_html_()


PROPOSAL = Proposal(id="x", hint="x", group="g", why="", settings=(), overrides=())


def runs(**values: list[float]) -> tuple[Metrics, ...]:
    """Return the metrics of some runs; those that are not given are 0."""
    return tuple(
        Metrics(
            {metric.name: values.get(metric.name, [0] * 9)[at] for metric in VALUES},
            {},
            {},
            frozenset(),
        )
        for at in range(len(next(iter(values.values()))))
    )


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({"lost": [5, 9]}, {"lost": [0, 9]}, Effect.BETTER),
        ({"lost": [0, 0]}, {"lost": [0, 1]}, Effect.WORSE),
        ({"lost": [5, 5]}, {"lost": [5, 5]}, Effect.NONE),
        ({"lost": [5, 5]}, {"lost": [0, 20]}, Effect.UNCLEAR),
        ({"reprocessed": [1000]}, {"reprocessed": [960]}, Effect.NONE),
        ({"rebalances": [2]}, {"rebalances": [3]}, Effect.NONE),
        ({"rebalances": [3]}, {"rebalances": [2]}, Effect.BETTER),
        (
            {"reprocessed": [9], "downtime_total_s": [1]},
            {"reprocessed": [3], "downtime_total_s": [9]},
            Effect.MIXED,
        ),
        (
            {"reprocessed": [9], "downtime_total_s": [1]},
            {"reprocessed": [0], "downtime_total_s": [9]},
            Effect.BETTER,
        ),
        ({"lost": [5], "reprocessed": [0]}, {"lost": [0], "reprocessed": [9]}, Effect.BETTER),
        ({"lost": [5], "reprocessed": [0]}, {"lost": [1], "reprocessed": [9]}, Effect.MIXED),
    ],
)
def test_a_change_is_judged_by_its_pairs(before, after, effect):
    """More rebalances alone are no harm, and a difference below a twentieth is none."""
    trial = Trial(proposal=PROPOSAL, seeds=(0, 1), before=runs(**before), after=runs(**after))

    assert effect == trial.effect
    assert verdict_of(trial).startswith(f"{effect}")


@pytest.mark.parametrize(
    ("after", "chance"),
    [
        ([1, 8, 9], "reprocessed (lower in 2)"),
        ([0, 1, 6], "reprocessed (lower in 3)"),
        ([4, 4, 4], ""),
        ([0], ""),
    ],
)
def test_an_effect_that_few_seeds_cannot_tell_from_chance_says_so(after, chance):
    """Of three seeds 9, 1 and 1 fewer may be chance, 5 fewer in each is not; one seed is said of all."""
    before = runs(reprocessed=[9, 9, 9][: len(after)])
    trial = Trial(
        proposal=PROPOSAL,
        seeds=(0, 1, 2)[: len(after)],
        before=before,
        after=runs(reprocessed=after),
    )
    (reported,) = runs(reprocessed=[9])
    run = SimpleNamespace(trials=(trial,), seed=0, metrics=reported)

    assert ("may be chance: " + chance in verdict_of(trial)) == bool(chance)
    assert ("--advise --seeds 20 tells more" in compared_text(run)) == bool(chance)


def test_six_seeds_that_agree_are_no_chance():
    """The sign test, where the interval of the mean contains 0; five would happen once in 16."""
    fewer = [1000, 1, 1, 1, 1, 1]

    assert not compare(fewer, [0] * 6).may_be_chance
    assert compare(fewer[:5], [0] * 5).may_be_chance


def test_a_change_that_brings_a_new_problem_is_worse():
    """Although no figure rises."""
    same = runs(lost=[0])
    trial = Trial(proposal=PROPOSAL, seeds=(0,), before=same, after=same, problems=("a loop",))

    assert Effect.WORSE == trial.effect
    assert "New problem: a loop." in verdict_of(trial)


def test_a_change_that_removes_a_problem_is_better():
    """Although no figure falls; the price in time of a change that removes all duplicates is named."""
    same = runs(lost=[0])
    solved = Trial(proposal=PROPOSAL, seeds=(0,), before=same, after=same, solved=("lag grows",))
    before, after = (
        runs(reprocessed=[many], downtime_total_s=[down]) for many, down in ((9, 1), (0, 9))
    )
    clean = Trial(proposal=PROPOSAL, seeds=(0,), before=before, after=after)

    assert Effect.BETTER == solved.effect
    assert "Removes a problem: lag grows." in verdict_of(solved)
    assert "at the price of higher summed downtime" in verdict_of(clean)
    assert Effect.MIXED == replace(clean, problems=("a loop",)).effect


def test_of_changes_that_help_the_one_that_removes_a_problem_is_first():
    """The report begins with it; but losses count for more than both."""
    after = [runs(lost=[lost], reprocessed=[again]) for lost, again in ((0, 9), (4, 9), (4, 0))]
    same = Trial(proposal=PROPOSAL, seeds=(0,), before=after[1], after=after[1])
    saves, fewer = replace(same, after=after[0]), replace(same, after=after[2])
    solved = replace(same, solved=("a loop",))
    assert [saves, solved, fewer] == sorted([fewer, solved, saves], key=lambda trial: trial.rank)


def test_a_change_whose_runs_are_no_success_is_not_preferred():
    """Its figures are low because the deploy stopped; a reason that it shares is named, too."""
    before, after = runs(reprocessed=[9]), runs(reprocessed=[0])
    stopped = (Disqualified("deploy stopped", "it stopped", 1),)
    fine = Trial(proposal=PROPOSAL, seeds=(0,), before=before, after=runs(reprocessed=[8]))
    broken = replace(fine, after=after, disqualified=stopped)
    still = replace(broken, without_it=stopped)

    assert Effect.DISQUALIFIED == broken.effect
    assert verdict_of(broken).startswith("disqualified (deploy stopped): lower reprocessed")
    assert "Deploy stopped: it stopped." in verdict_of(broken)
    assert verdict_of(still).startswith("better (deploy stopped as without it): lower")
    assert "" == still.mark
    assert [fine, still, broken] == sorted([broken, still, fine], key=lambda trial: trial.rank)


def test_a_change_that_loses_more_records_is_behind_all_others():
    """Also behind one whose runs are disqualified, however much less it reprocesses."""
    before = runs(lost=[0], reprocessed=[500])
    loses = Trial(proposal=PROPOSAL, seeds=(0,), before=before, after=runs(lost=[24]))
    stopped = (Disqualified("deploy stopped", "it stopped", 1),)
    worse = replace(loses, after=runs(reprocessed=[900]), disqualified=stopped)

    assert Effect.MIXED == loses.effect
    assert [worse, loses] == sorted([loses, worse], key=lambda trial: trial.rank)


def test_without_room_for_a_column_the_figures_are_text(monkeypatch):
    """Long reasons against the changes leave none in the widest report."""
    monkeypatch.setenv("COLUMNS", "100")
    reasons = tuple(Disqualified(f"a long reason of number {at}", "it is", 1) for at in range(5))
    trial = Trial(
        proposal=PROPOSAL,
        seeds=(0,),
        before=runs(reprocessed=[9]),
        after=runs(reprocessed=[3]),
        disqualified=reasons,
    )
    run = SimpleNamespace(trials=(trial,), subject=SimpleNamespace(name="x", options=""))

    lines = list(trials_screen(run))

    assert any("reprocessed 9 → 3" in line for line in lines)
    assert max(map(len, lines)) <= 100


def test_a_change_that_makes_a_dead_group_process_is_better_at_a_price():
    """Downtime that a group without progress did not have is no argument against it."""
    grows = (Disqualified("lag grows", "it grows", 1),)
    before, after = (
        runs(downtime_total_s=[down], lag_processed_peak=[peak]) for down, peak in ((0, 90), (3, 9))
    )
    cured = Trial(
        proposal=PROPOSAL, seeds=(0,), before=before, after=after, without_it=grows, of_lag=True
    )

    assert Effect.BETTER == cured.effect
    assert verdict_of(cured).startswith("better: lower peak lag; at the price of higher summed")
    assert "lag_processed_peak" in columns_of([cured])
    assert "lag_processed_peak" not in columns_of([replace(cured, of_lag=False)])


def test_of_changes_with_about_the_same_effect_the_cheaper_one_is_first():
    """A migration of the group is not worth a record in a hundred."""
    before = runs(reprocessed=[100])
    dear, cheap, best = (
        Trial(
            proposal=replace(PROPOSAL, id=name),
            seeds=(0,),
            before=before,
            after=runs(reprocessed=[left]),
        )
        for name, left in (("cooperative", 40), ("smaller-batches", 41), ("commit-on-revoke", 0))
    )

    assert [best, cheap, dear] == sorted([dear, cheap, best], key=lambda trial: trial.rank)


@pytest.mark.parametrize(("run_for", "seeds"), [("4min", 5), ("8h", 3), ("2000h", 1)])
def test_three_seeds_are_played_unless_they_take_a_minute(run_for, seeds):
    """Of one alone, a difference may be chance."""
    loaded = load_named("member-crashes", [f"run_for={run_for}"])

    assert seeds == seeds_within(4 * round_s(loaded, ()))


def test_a_change_that_makes_runs_longer_gets_fewer_seeds():
    """Commits after each batch are played batch by batch, the automatic ones of the scenario are not."""
    loaded = load_named("d3-older-commit-wins")
    dear = replace(PROPOSAL, overrides=("group[billing].commit=sync",))

    assert round_s(loaded, [dear]) > 5 * round_s(loaded, ())
    assert rarer_within(round_s(loaded, [dear]), 5) < rarer_within(round_s(loaded, ()), 5)


RARE = """
title = "a deploy that rarely meets a long batch"
run_for = "40s"

[[topic]]
name = "orders"
partitions = 2
rate = "15/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = { lognormal = { median = "20ms", p99 = "300ms" } }
static = true
settings = { "session.timeout.ms" = "6s", "auto.commit.interval.ms" = "2s" }

[[act]]
rolling_restart = "billing"
between = ["10s", "20s"]
down_time = "2s"
gap = "2s"
grace = "200ms"
"""


@pytest.mark.long
def test_a_hint_on_a_risk_is_tried_under_more_seeds_until_they_show_it():
    """The first three repeat nothing; of twenty, some do, and none with a longer grace period."""
    scenario = emulator.loads(RARE)
    (few,) = [
        t for t in emulator.advise(scenario, 3, first=1).trials if t.proposal.id == "longer-grace"
    ]
    advice = emulator.advise(scenario, first=1, jobs=1)
    (more,) = [t for t in advice.trials if t.proposal.id == "longer-grace"]

    assert advice.run.ledger.reprocessed == 0
    assert few.proposal.of_risk
    assert (Effect.NONE, Effect.BETTER) == (few.effect, more.effect)
    assert "reprocessed" in more.differences()
    assert (3, 20) == (len(few.seeds), len(more.seeds))


def test_a_change_that_two_groups_need_is_tried_for_each():
    """The number of changes counts it once; the trials name the group."""
    group = """
    [[group]]
    id = "{}"
    topics = ["orders"]
    members = 2
    work = "20ms"
    settings = {{ "auto.offset.reset" = "earliest", "partition.assignment.strategy" = "range" }}
    commit = {{ call = "sync", when = "every", every = "10s" }}
    """
    scenario = emulator.loads(
        """
        title = "two groups, and a deploy of each"
        run_for = "40s"
        topic = [{ name = "orders", partitions = 2, rate = "5/s" }]
        act = [{ rolling_restart = "billing", at = "20s" }, { rolling_restart = "audit", at = "25s" }]
        """
        + group.format("billing")
        + group.format("audit")
    )
    trials = emulator.advise(scenario, 1, most=1).trials

    assert {trial.proposal.title: trial.effect for trial in trials} == {
        "commit-on-revoke of billing": Effect.BETTER,
        "commit-on-revoke of audit": Effect.BETTER,
    }
    assert {trial.proposal.overrides for trial in trials} == {
        ("group[billing].commit.on_revoke=true",),
        ("group[audit].commit.on_revoke=true",),
    }
