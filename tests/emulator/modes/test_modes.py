"""Folded and exact mode: the comparison, and the share of the members' time that is folded."""

from __future__ import annotations

from dataclasses import replace

import pytest

import emulator
from emulator import modes
from emulator.errors import RefusedError
from emulator.world.consumer.polling.folded_time import Live
from emulator.world.consumer.polling.poll_loop import PollLoop

from ..cli.commands import CRASH, changed, rebalance, written


@pytest.fixture(scope="module")
def crash():
    """Return a scenario with one crash."""
    return emulator.loads(CRASH)


def test_both_modes_are_equal(crash):
    """All that leaves the run."""
    check = emulator.check_modes(crash)

    assert check.equal
    assert check.events > 100
    assert 0.5 < check.run.folded.share < 1


def test_the_run_with_sums_is_compared_too(crash, monkeypatch):
    """The one that is played if nobody reads the events."""
    real = modes.run

    def run(*args, sink=None, **options):
        found = real(*args, sink=sink, **options)
        return found if sink is not None else replace(found, digest="other")

    monkeypatch.setattr(modes, "run", run)

    assert "the digest differs" in emulator.check_modes(crash).difference


def test_the_share_and_the_reasons_add_up_to_the_time_of_the_members(crash):
    """From the start of each process to its end: 40 s, and 18 s until the crash."""
    folded = emulator.run(crash).folded

    assert folded.folded_us + sum(folded.live_us.values()) == 58_000_000
    assert folded.share + sum(folded.live_shares().values()) == pytest.approx(1)
    assert Live.NOT_STABLE in folded.live_us


def test_skipped_periods_are_folded(crash):
    """Also where the application commits by itself, and each poll that is played is an event."""
    quiet = emulator.load(crash, ["run_for=6min", "fault=[]", "group[billing].commit=sync"])

    folded = emulator.run(quiet, keep_events=False).folded

    assert folded.share > 0.8
    assert folded.folded_us + sum(folded.live_us.values()) == 2 * 6 * 60 * 1_000_000


@pytest.mark.parametrize(
    ("mode", "overrides", "reason"),
    [
        ("exact", [], Live.EXACT),
        (
            "folded",
            [
                'group[billing].poison=[{topic = "orders", partition = 0, offset = 5, error = "skip"}]'
            ],
            Live.POISON,
        ),
        ("folded", ["group[billing].commit=sync"], Live.COMMITS),
        ("folded", ["network.latency=50ms"], Live.REQUEST),
    ],
)
def test_a_run_says_why_it_is_live(crash, mode, overrides, reason):
    """Among the reasons is the one that the scenario has."""
    scenario = emulator.load(crash, ["run_for=20s", *overrides])

    assert reason in emulator.run(scenario, mode=mode).folded.live_us


def test_an_unknown_mode_is_refused(crash):
    """With the modes there are."""
    with pytest.raises(RefusedError, match="`mode=quick` does not exist; there are folded and"):
        emulator.run(crash, mode="quick")


def test_a_wrong_folded_run_is_noticed(crash, monkeypatch, tmp_path):
    """The first different event is shown from both runs, and the status is 1."""
    unfold = PollLoop.unfold

    def forgetful(self, *first_left):
        self._fetches.sent = 0
        self._process.request_counts["Fetch"] += 1
        unfold(self, *first_left)

    monkeypatch.setattr(PollLoop, "unfold", forgetful)
    answer = rebalance("run", written(tmp_path), "--mode", "check")

    assert 1 == answer.status
    lines = [line.strip() for line in answer.out.splitlines()]
    assert any(line.startswith("event number") for line in lines)
    assert any(line.startswith("folded: at ") for line in lines)
    assert any(line.startswith("exact: at ") for line in lines)


def test_check_prints_equal(tmp_path):
    """As text and as JSON."""
    path = written(tmp_path, changed(("40s", "20s")))

    text = rebalance("run", path, "--mode", "check")
    document = rebalance("run", path, "--mode", "check", "--json").document

    assert 0 == text.status
    assert "seed 0: equal: " in text.out
    assert document["equal"]
    assert [None] == [run["difference"] for run in document["runs"]]
    assert set(document["runs"][0]["folded"]) == {"share", "live"}


def test_check_writes_no_files(tmp_path):
    """It plays two runs."""
    answer = rebalance("run", written(tmp_path), "--mode", "check", "--write-log", tmp_path / "l")

    assert 2 == answer.status
    assert "--mode check plays two" in answer.err.replace("\n│", "")
