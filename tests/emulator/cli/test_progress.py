"""What a command shows of its progress, and what it says before long work."""

from __future__ import annotations

import io
import sys
from time import monotonic, sleep

import pytest

from emulator.cli import progress
from emulator.cli.progress import Length, Progress
from emulator.errors import RefusedError
from emulator.events import Event, GroupEmptied

from .commands import rebalance, written

MOMENT_S = 0.02
US = 1_000_000
MINUTE = Length(60 * US, 60 * US)


class Terminal(io.StringIO):
    """Something that people look at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """Give a clock that tests move on."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def stderr(monkeypatch):
    """Show progress after a moment; return a function that replaces stderr."""
    monkeypatch.setenv(progress.SWITCH, "on")
    for name in ("PATIENCE_S", "LINE_PATIENCE_S", "BAR_EVERY_S", "LINE_EVERY_S"):
        monkeypatch.setattr(progress, name, MOMENT_S)

    def replaced(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replaced


def wait_for(stream: io.StringIO, text: str) -> None:
    """Wait until a text was written."""
    until = monotonic() + 10
    while text not in stream.getvalue():
        assert monotonic() < until, f"never written: {text}"
        sleep(MOMENT_S)


def test_the_time_left_follows_from_what_is_done(clock):
    """A quarter took ten seconds, so the rest takes thirty; two seconds later two less."""
    line = Progress("runs")

    clock[0] = 10.0
    line.show(250, 1000)
    clock[0] = 12.0

    assert "runs: 250 of 1,000 (25%), about 28 s left" == line.text()
    assert 0.25 == line.share()


def test_before_anything_is_done_the_estimate_counts(clock):
    """From the first second on; it is not believed to the end."""
    line = Progress("runs", expected_s=90)

    clock[0] = 30.0
    assert "runs, about 1 min left" == line.text()
    assert 0.3 < line.share() < 0.4
    clock[0] = 300.0
    assert "runs: started" == line.text()
    assert line.share() < 1


def test_what_little_is_done_says_less_than_the_estimate(clock):
    """A start that took long is not the pace of the rest."""
    line = Progress("simulated seconds", expected_s=90)

    clock[0] = 30.0
    line.show(0.04, 210)
    assert "simulated seconds: 0 of 210 (0%), about 1 min left" == line.text()
    line.show(21, 210)
    assert "simulated seconds: 21 of 210 (10%), about 4 min 30 s left" == line.text()


def test_what_little_is_done_without_an_estimate_promises_nothing(clock):
    """The pace of the start would be four days."""
    line = Progress("simulated seconds")

    clock[0] = 30.0
    line.show(0.018, 210)
    assert "simulated seconds: 0 of 210 (0%)" == line.text()
    line.show(21, 210)
    assert "simulated seconds: 21 of 210 (10%), about 4 min 30 s left" == line.text()


def test_the_number_of_runs_is_known_from_the_start(clock):
    """So that the first line names it."""
    line = Progress("runs", expected_s=90, total=40)

    clock[0] = 30.0
    assert "runs: 0 of 40 (0%), about 1 min left" == line.text()
    assert 0.3 < line.share() < 0.4


def test_without_an_estimate_nothing_is_promised():
    """It only says what goes on."""
    line = Progress("bytes read")

    assert "bytes read: started" == line.text()
    assert line.share() is None


def test_events_of_the_past_do_not_turn_back_the_time(clock):
    """Counts of ordinary work are written later than they happened."""
    line = Progress("simulated seconds")
    emptied = GroupEmptied(group="g", generation=1)

    for number, at_s in enumerate((10, 30, 20)):
        line.watch(Event(number, at_s * US, None, emptied, number), MINUTE)

    assert line.text().startswith("simulated seconds: 30 of 60 (50%)")
    line.watch(Event(3, 90 * US, None, emptied, 3), MINUTE)
    assert "simulated seconds: 90 of 90 (100%)" == line.text()


def test_a_run_that_ends_when_it_has_settled_has_about_a_length(clock):
    """Behind the estimate it goes on to its limit at most."""
    line = Progress("simulated seconds")
    emptied = GroupEmptied(group="g", generation=1)
    length = Length(expected_us=60 * US, longest_us=3600 * US)

    line.watch(Event(0, 30 * US, None, emptied, 0), length)
    assert line.text().startswith("simulated seconds: 30 of about 60 (50%)")
    line.watch(Event(1, 90 * US, None, emptied, 1), length)
    assert "simulated seconds: 90 of at most 3,600 (2%)" == line.text()


def test_a_terminal_has_a_bar_that_is_removed(stderr, monkeypatch):
    """The last thing written clears the line."""
    monkeypatch.setenv("TERM", "xterm")
    terminal = stderr(Terminal())

    with Progress("runs") as line:
        line.show(50, 100)
        wait_for(terminal, "50 of 100")

    assert terminal.getvalue().endswith("\x1b[2K")


def test_elsewhere_lines_are_written(stderr):
    """Without control characters."""
    log = stderr(io.StringIO())

    with Progress("runs") as line:
        line.show(50, 100)
        wait_for(log, "runs: 50 of 100 (50%)\n")

    assert "\x1b" not in log.getvalue()
    assert "\r" not in log.getvalue()


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_short_work_shows_nothing(monkeypatch, stream):
    """A line that only flashes is noise."""
    monkeypatch.setenv(progress.SWITCH, "on")
    monkeypatch.setattr(sys, "stderr", stream())

    with Progress("runs") as line:
        line.show(99, 100)

    assert "" == sys.stderr.getvalue()


def test_progress_can_be_switched_off(stderr, monkeypatch):
    """For logs that have no room for it."""
    monkeypatch.setenv(progress.SWITCH, "off")
    log = stderr(io.StringIO())

    with Progress("runs"):
        sleep(3 * MOMENT_S)

    assert "" == log.getvalue()


def test_a_closed_stderr_stops_only_the_progress(stderr):
    """The work goes on."""
    closed = io.StringIO()
    closed.close()
    stderr(closed)

    with Progress("runs") as line:
        sleep(3 * MOMENT_S)
        line.show(1, 1)


def test_a_run_of_more_than_ten_minutes_says_so_first(tmp_path, monkeypatch):
    """With what it is spent on, and what to do; stdout has the result alone."""
    path = written(tmp_path)
    monkeypatch.setattr("emulator.scenario.estimates.cpu_time.LONG_S", 1e-3)
    monkeypatch.setattr("emulator.scenario.estimates.cost_text.LONG_S", 1e-3)

    answer = rebalance("run", path, "--json")

    assert 0 == answer.status
    assert answer.err.startswith("This takes about ")
    assert "A shorter run_for reduces all of it" in answer.err
    assert answer.document["seed"] == 0


SAID = "80 records arrive for billing per second"


@pytest.mark.parametrize(("work", "times"), [("5ms", 0), ("200ms", 1)])
@pytest.mark.parametrize("seeds", [(), ("--seeds", 2, "--jobs", 1)])
def test_an_overload_is_said_once_on_the_screen(tmp_path, work, times, seeds):
    """It is in the opening: no problem of the run repeats it."""
    answer = rebalance("run", written(tmp_path), "--set", f"group[billing].work={work}", *seeds)
    said = " ".join(answer.out.split())

    assert times == said.count(f"OVERLOAD, by the scenario's rates and work times - {SAID}")
    assert times == said.count(SAID)
    assert "overload" not in answer.err


def test_an_overload_is_said_before_the_run(tmp_path, monkeypatch):
    """It follows from the scenario: a run that is stopped has said it already."""

    def stop(*_: object, **__: object) -> None:
        raise RefusedError("stopped")

    monkeypatch.setattr("emulator.cli.run.play", stop)
    slow = ("--set", "group[billing].work=200ms")
    screen, beside_json = (
        rebalance("run", written(tmp_path), *slow, *options) for options in ((), ("--json",))
    )

    assert (2, 2) == (screen.status, beside_json.status)
    assert SAID in " ".join(screen.out.split())
    assert beside_json.err.startswith(f"overload: {SAID}")


def test_json_has_the_overload_and_the_capacity_of_each_member(tmp_path):
    """Of a group that keeps up the overload is null."""
    path = written(tmp_path)
    document = rebalance("run", path, "--set", "group[billing].work=200ms", "--json").document
    (group,) = document["capacity"]
    (keeps_up,) = rebalance("run", path, "--json").document["capacity"]

    assert SAID in group["overload"]
    assert "its 2 members can process at most 10 (5 each)" in group["overload"]
    assert [5.0, 5.0] == [member["capacity_per_s"] for member in group["members"]]
    assert (80, 10) == (group["arrival_per_s"], group["capacity_per_s"])
    assert keeps_up["overload"] is None
