"""Captured runs are compared with their emulation: verdicts, races, and damaged captures."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.conformance import verifying
from emulator.conformance.captured.reading import CaptureError
from emulator.conformance.figures import EQUAL, Figure, Figures, Verdict, judge_by_seeds
from emulator.conformance.prediction.rebuild import rebuild
from emulator.conformance.verifying import SEEDS, Play, figures_of, verify_run
from emulator.events import Event
from emulator.scenario.problems import ScenarioError
from emulator.world.build import play
from emulator.world.consumer.handling.handler import RecordWork

from .conftest import CAPTURES

CALM = [
    "coordinator-pause/run-3",
    "inhand-aiokafka-getone/run-1",
    "inhand-librdkafka/run-1",
    "kip848-crash/run-1",
    "kip848-join/run-21",
    "pause-zombie-range/run-21",
    "latest-increase-range/run-1",
    "nocommit-eager-join/run-1",
    "precommit-crash/run-2",
    "static-crash-return/run-21",
    "slow-listener-classic/run-1",
]
RACES = ["crash-range-auto/run-1", "join-cooperative-auto/run-21", "coordinator-kill/run-1"]
RACES += ["kip848-interval-batch/run-8", "pause-zombie-kip848/run-22"]
MADE_HERE = [
    "close-aiokafka",
    "close-consumer",
    "close-midbatch-classic",
    "coordinator-kill-consumer",
    "coordinator-pause-consumer",
    "crash-aiokafka",
    "crash-kafka-python",
    "crash-librdkafka",
    "crash-of-twenty",
    "migration",
    "pattern-broker-consumer",
    "pause-long-consumer",
    "pause-short-consumer",
    "poll-exceeded-consumer",
    "rolling-aiokafka",
    "rolling-kafka-python",
    "rolling-librdkafka",
    "slow-listener-consumer",
    "static-return-consumer",
    "sync-on-revoke-classic",
    "unequal-cooperative",
]
"""Captured by the command, with the files of ``examples/experiments``; no other folder has them."""

NOT_MET = ["static-late-consumer"]
"""Captured likewise; outside in the order of records: a process stood still (``trust.md``)."""

AHEAD_AND_BEHIND = (3, 1)
"""Seeds of that run: the victim's last commit covers the batch in hand, or not."""


@pytest.mark.plain_of(3)
@pytest.mark.parametrize("name", CALM)
def test_a_run_without_a_race_is_predicted_by_the_calm_run(kept, name):
    """One play, without randomness, is enough."""
    verdict = verify_run(kept / name)

    assert (name, (), 0) == (verdict.capture, verdict.outside, verdict.seeds)


SUFFICIENT_SEEDS = {
    "aiokafka-crash-auto-getone/run-1": (1, 28),
    "aiokafka-getmany-backlog-crash/run-1": (2,),
    "close-consumer/run-1": (1, 3),
    "close-midbatch-auto/run-1": (1, 55),
    "close-midbatch-auto/run-2": (1, 22),
    "close-range-auto/run-2": (1, 86),
    "coordinator-kill/run-1": (1, 81),
    "crash-aiokafka/run-1": (1, 54),
    "crash-kafka-python/run-1": (1, 22),
    "crash-range-auto/run-21": (1, 11),
    "crash-sync-batch/run-1": (1, 3),
    "crash-sync-batch/run-2": (1, 4),
    "crash-sync-batch/run-3": (2, 10),
    "join-cooperative-auto/run-2": (3, 57),
    "join-cooperative-auto/run-3": (5,),
    "kip848-crash/run-2": (1, 5),
    "kip848-interval-batch/run-1": (1, 146),
    "kip848-interval-batch/run-2": (1, 4),
    "kip848-interval-batch/run-8": (1,),
    "migration/run-1": (1,),
    "pause-long-consumer/run-1": (1, 48),
    "pause-zombie-kip848/run-1": (1,),
    "pause-zombie-kip848/run-2": (7,),
    "pause-zombie-kip848/run-22": (4,),
    "range-interval-batch/run-1": (4, 5),
    "range-interval-batch/run-2": (1, 2),
    "rolling-kafka-python/run-1": (12,),
    "slow-listener-consumer/run-1": (4,),
    "unequal-cooperative/run-1": (1, 2),
}
"""Seeds of a race that are far enough apart: with them its figures are inside."""


def judged(run):
    """Return the verdict of as few seeds as suffice, at most 200.

    More seeds only widen a range, so a figure that is inside with few of them is inside with all.
    """
    predicted = verify_run(run, 0)
    if not predicted.outside:
        return predicted
    known = SUFFICIENT_SEEDS.get("/".join(run.parts[-2:]), ())
    tens = (range(first, first + 10) for first in range(1, SEEDS + 1, 10))
    played: list[Figures] = []
    for seeds in filter(None, (known, *tens)):
        played += [figures_of(Play(run, seed)) for seed in seeds]
        figures = judge_by_seeds(predicted.figures, played)
        if all(figure.inside for figure in figures):
            return replace(predicted, figures=figures, seeds=len(played))
    return predicted


@pytest.mark.long
@pytest.mark.skipif(bool(CAPTURES), reason="all captures at hand are judged below, these too")
@pytest.mark.parametrize("name", RACES)
def test_a_race_lies_within_the_spread_of_seeds(kept, name):
    """A figure outside the calm run is inside the range of the seeds."""
    verdict = judged(kept / name)

    assert (name, ()) == (verdict.capture, verdict.outside)


@pytest.mark.long
@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", MADE_HERE)
def test_a_run_of_an_experiment_lies_within_the_spread_of_seeds(kept, name):
    """As above, for runs that anyone can make again."""
    verdict = judged(kept / name / "run-1")

    assert (f"{name}/run-1", ()) == (verdict.capture, verdict.outside)


@pytest.mark.long
@pytest.mark.parametrize("name", ["pattern-client-consumer", "replaced-static-classic"])
def test_a_run_that_no_page_shows_is_predicted_by_the_calm_run(kept, name):
    """Members that match a pattern know its topics when they join; one that is fenced closes."""
    verdict = verify_run(kept.parent / "captures-more" / name / "run-1", 0)

    assert ((), None) == (verdict.outside, verdict.skipped)


@pytest.mark.long
@pytest.mark.parametrize("name", NOT_MET)
def test_a_run_that_is_not_met_yet_is_compared(kept, name):
    """Each has a verdict; one that lies inside belongs to the runs above."""
    verdict = verify_run(kept / name / "run-1", 0)

    assert verdict.skipped is None
    assert verdict.outside


@pytest.mark.long
def test_whether_a_crash_loses_or_repeats_is_a_race_in_the_consumer_protocol(kept):
    """The next owner begins behind the batch in hand if the commit was ahead of it, else before."""
    run = kept / "kip848-interval-batch/run-8"
    ahead, behind = (
        {figure.name: figure.emulated for figure in figures_of(Play(run, seed))}
        for seed in AHEAD_AND_BEHIND
    )

    assert ahead["lost"] > 0 == ahead["duplicates"]
    assert behind["duplicates"] > 0 == behind["lost"]
    assert ahead["epochs"] == behind["epochs"] == [2, 3, 4, 5]


def test_epochs_are_compared_where_a_group_has_them(kept):
    """Those of the group, each target, and each consumer's steps towards it."""
    figures = figures_of(Play(kept / "kip848-join/run-21", None))
    named = [figure.name.partition(".")[0] for figure in figures]

    assert (1, 3, 4) == tuple(named.count(name) for name in ("epochs", "targets", "steps"))


def test_the_offsets_log_is_compared_where_it_was_dumped(kept):
    """Types and keys of the group's records, in the order of the log."""
    by_name = {
        figure.name: figure for figure in figures_of(Play(kept / "crash-range-auto/run-1", None))
    }

    records = by_name["records"]
    assert records.inside
    assert "GroupMetadata, generation 2" in records.emulated
    assert "OffsetCommit t0-2, t0-1, t0-0" in records.emulated
    assert records.real == records.emulated


def test_without_a_dump_there_is_nothing_said_of_records(kept):
    """Only some runs have one."""
    names = {figure.name for figure in figures_of(Play(kept / "precommit-crash/run-2", None))}

    assert "records" not in names
    assert {"generations", "duplicates", "lost", "takeover_first_s", "calls.m1.1"} <= names


@pytest.mark.long
def test_stalls_are_compared_where_a_broker_failed(kept):
    """The first partition that went on and the last, and the wait of commits."""
    names = {"stall_first_s", "stall_last_s", "commit_wait_s"}
    stalls = [
        {figure.name for figure in figures_of(Play(kept / run, None))} & names
        for run in ("coordinator-pause/run-3", "precommit-crash/run-2")
    ]

    assert [names, set()] == stalls


@pytest.mark.long
def test_a_seed_is_a_machine_of_its_own_and_always_the_same(kept):
    """Spreads can be found again."""
    path = kept / "pause-zombie-range/run-21"

    one, again, other = (figures_of(Play(path, seed)) for seed in (1, 1, 2))

    assert one == again
    assert one != other


def happened(run, seed: int, *, folding: bool) -> tuple[list[Event], list[RecordWork]]:
    """Return the events of an emulation of a captured run, and the work on its records."""
    rebuilt = rebuild(run, seed)
    events: list[Event] = []
    records: list[RecordWork] = []
    replay = replace(rebuilt.replay(), on_record=records.append)
    play(rebuilt.scenario, seed, (events.append,), replay=replay, folding=folding)
    return events, sorted(records)


@pytest.mark.parametrize("name", ["crash-range-auto/run-1", "kip848-crash/run-1"])
def test_verification_may_fold_quiet_members(capture, name):
    """Verification plays quiet members as arithmetic: the events are those of the exact mode."""
    run = capture(name)

    assert happened(run, 1, folding=False) == happened(run, 1, folding=True)


@pytest.mark.long
@pytest.mark.one_of(3)
def test_every_capture_at_hand_has_the_same_events_in_both_modes(comparable_capture):
    """With the delays of its own machine, of the first seed."""
    run = comparable_capture

    assert happened(run, 1, folding=False) == happened(run, 1, folding=True)


@pytest.mark.parametrize(("spread", "inside"), [((8.0, 9.0), True), ((8.0, 8.5), False)])
def test_figures_outside_the_calm_run_are_judged_by_the_seeds(kept, monkeypatch, spread, inside):
    """The seeds are only played if a figure is outside."""

    def takeover(seconds: float) -> tuple[Figure, ...]:
        return (Figure("takeover_first_s", 8.8, seconds, 0.3, abs(8.8 - seconds) <= 0.3),)

    asked: list[int | None] = []

    def play_all(plays):
        asked.extend(play.seed for play in plays)
        return map(takeover, spread)

    monkeypatch.setattr(verifying, "figures_of", lambda _: takeover(7.0))
    verdict = verify_run(kept / CALM[-1], 2, play_all)

    assert [1, 2] == asked
    assert (2, inside) == (verdict.seeds, not verdict.outside)


def test_seeds_are_played_until_every_figure_is_inside(kept, monkeypatch):
    """They are judged ten at a time; the order of the seeds decides how many are played."""
    met = {13}

    def figure(play: Play) -> Figures:
        value = [2] if play.seed in met else [1]
        return (Figure("generations", [2], value, EQUAL, value == [2]),)

    monkeypatch.setattr(verifying, "figures_of", figure)

    assert verify_run(kept / CALM[-1], 200).seeds == 20
    met.clear()
    verdict = verify_run(kept / CALM[-1], 25)
    assert (25, 1) == (verdict.seeds, len(verdict.outside))


def test_without_seeds_only_the_calm_run_counts(kept, monkeypatch):
    """For those in a hurry."""
    missed = Figure("generations", [1], [2], EQUAL, False)
    monkeypatch.setattr(verifying, "figures_of", lambda _: (missed,))

    verdict = verify_run(kept / CALM[-1], 0)

    assert Verdict(capture=CALM[-1], figures=(missed,)) == verdict


def test_an_unmodelled_run_is_skipped_with_the_reason(copied):
    """It is neither inside nor outside."""
    for path in copied.glob("*.jsonl.gz"):
        lines = gzip.decompress(path.read_bytes()).decode()
        stalls = lines.replace('"strip":', '"lib":"sarama","strip":')
        path.write_bytes(gzip.compress(stalls.encode()))

    verdict = verify_run(copied)

    assert verdict.skipped is not None
    assert "sarama" in verdict.skipped
    assert () == verdict.figures


# -- spoiled captures --------------------------------------------------------------------------

junk = st.sampled_from([None, True, -1, 0, 1, 10**20, 1.5, "", "x", "t0-99", [], [1], {}, {"a": 1}])


@st.composite
def spoiled(draw: st.DrawFn, document: Any) -> Any:
    """Draw a JSON document with one of its values replaced or left out."""
    node = document = json.loads(json.dumps(document))
    while True:
        place = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        below = node[place]
        if isinstance(below, dict | list) and below and draw(st.integers(0, 3)):
            node = below
        elif draw(st.booleans()):
            node[place] = draw(junk)
            return document
        else:
            del node[place]
            return document


def spoil(draw: st.DrawFn, run: Path) -> None:
    """Spoil one value, or one line, of one file of a captured run."""
    documents = [run / "meta.json", run / "summary.json", run.parent / "scenario.json"]
    file = draw(st.sampled_from([*documents, *sorted(run.glob("*.gz"))]))
    if file in documents:
        file.write_text(json.dumps(draw(spoiled(json.loads(file.read_text())))))
        return
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    at = draw(st.integers(0, len(lines) - 1))
    if file.name.endswith(".jsonl.gz"):
        lines[at] = json.dumps(draw(spoiled(json.loads(lines[at]))))
    else:
        cut = draw(st.integers(0, len(lines[at])))
        lines[at] = lines[at][:cut] + draw(st.text(max_size=3)) + lines[at][cut + 3 :]
    file.write_bytes(gzip.compress("\n".join(lines).encode("utf-8", "surrogatepass")))


def check_spoiled(tmp_path: Path, data: st.DataObject, run: Path) -> None:
    target = tmp_path / run.parent.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(run.parent, target)
    spoil(data.draw, target / run.name)
    verifying.clear_caches()
    with contextlib.suppress(CaptureError, ScenarioError):
        verdict = verify_run(target / run.name, 0)
        assert verdict.skipped or verdict.figures


@pytest.mark.long
@given(data=st.data())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=8
)
@pytest.mark.parametrize("name", ["static-crash-return/run-21", "kip848-join/run-21"])
def test_a_spoiled_capture_is_refused_or_judged(tmp_path, kept, data, name):
    """Whatever a file holds, it is never a traceback."""
    check_spoiled(tmp_path, data, kept / name)


@pytest.mark.long
@pytest.mark.one_of(2)
def test_every_capture_at_hand_is_inside(capture_at_hand):
    """All runs are inside, races with up to 200 seeds."""
    verdict = judged(capture_at_hand.path)

    assert () == verdict.outside
    assert verdict.skipped is None
    assert verdict.figures
