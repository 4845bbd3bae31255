"""A run without ``run_for`` ends when its consequences have happened."""

from __future__ import annotations

import pytest

import emulator
from emulator.modes import check_modes
from emulator.scenario.toml import to_toml
from emulator.scenario.writing import dump

from ..cli.commands import CRASH

OPEN_ENDED = CRASH.replace('run_for = "40s"\n', "")


def test_a_run_without_run_for_lasts_until_it_has_settled():
    """A minute at least; then all was processed and committed again, and lag is back."""
    run = emulator.run(emulator.loads(OPEN_ENDED), keep_events=False)

    assert run.conclusive
    assert run.ok
    assert 60 <= run.metrics["run_s"] <= 65
    assert 0 == run.metrics["lag_unrecovered"]


def test_it_waits_for_the_last_fault_and_its_session():
    """The same crash with the default session timeout, and a pause later."""
    changes = ["group[billing].settings[session.timeout.ms]=45s"]
    later = '[[fault]]\npause = "billing-0"\nfor = "5s"\nat = "100s"\n[expect]'
    one = emulator.run(emulator.loads(OPEN_ENDED, overrides=changes), keep_events=False)
    two = emulator.run(emulator.loads(OPEN_ENDED.replace("[expect]", later)), keep_events=False)

    assert 63 < one.metrics["run_s"] < 90
    assert 105 < two.metrics["run_s"] < 130
    assert one.conclusive
    assert two.conclusive


def test_a_run_that_does_not_settle_ends_after_an_hour():
    """The only member crashes."""
    text = OPEN_ENDED.replace("members = 2", "members = 1").replace("billing-1", "billing-0")
    run = emulator.run(emulator.loads(text, overrides=["lag_every=1min"]), keep_events=False)

    assert 3_600 == run.metrics["run_s"]
    assert not run.conclusive


def test_both_modes_end_at_the_same_instant():
    """Folded and exact."""
    assert check_modes(emulator.loads(OPEN_ENDED)).equal


SYNC = {
    "group[billing].commit": "sync",
    "group[billing].settings[enable.auto.commit]": "false",
}


@pytest.mark.long
@pytest.mark.parametrize("commits", [{}, SYNC])
def test_undisturbed_periods_are_skipped_until_the_last_fault(commits):
    """The run cannot settle before it; afterwards each sample may be the last."""
    quiet = {"fault[crash-1].at": "80s", "topic[orders].rate": "5/s", **commits}
    check = check_modes(emulator.loads(OPEN_ENDED, overrides=quiet))

    assert check.equal
    assert check.run.folded.share > 0.6


@pytest.mark.parametrize("text", [CRASH, OPEN_ENDED, OPEN_ENDED + "\n[network]\n"])
def test_the_end_survives_being_written(text):
    """A scenario and its file are equal, also with a run_for that is the default of the other."""
    scenario = emulator.loads(text)
    hour = emulator.load(scenario, ["run_for=1h", "until_settled=false"])

    for each in (scenario, hour):
        assert each == emulator.loads(to_toml(each))
    assert scenario.until_settled == ("run_for" not in dump(scenario))
