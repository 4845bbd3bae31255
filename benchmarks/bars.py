"""Measure the costs that have a target in ``benchmarks/README.md``, one case after the other.

    python -m benchmarks.bars               all cases but the two largest groups
    python -m benchmarks.bars NAME…         these cases

Each case is run in a process of its own and prints CPU seconds of one core, the largest memory, and, where
the plain SimPy model plays the same, its CPU seconds. Long cases are two runs, of which the longer one has
more crashes or more time: the slope between them times what is left gives the whole, marked *by slope*.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import emulator
from benchmarks import plain_simpy
from emulator.scenario.model import Scenario

SECOND = 1_000_000
HOUR = 3_600


class Group(NamedTuple):
    """A group that is measured: 10 records/s in each partition, 2 ms of work, if nothing else is said."""

    members: int
    partitions: int
    seconds: int
    crashes: int = 0
    rate: int = 10
    work: str = "2ms"
    policy: str = "auto"
    protocol: str = "classic"
    deploy: bool = False


def scenario_of(group: Group) -> Scenario:
    """Return a group as a scenario; its crashes are spread evenly, members return after 10 s."""
    between = group.seconds / (group.crashes + 1)
    acts = [
        f'[[fault]]\ncrash = "m-{number % group.members}"\nat = "{int(between * (number + 1))}s"\n'
        'restart_after = "10s"'
        for number in range(group.crashes)
    ]
    if group.deploy:
        acts.append('[[act]]\nrolling_restart = "m"\nat = "5min"\ndown_time = "5s"\ngap = "30s"')
    classic = '"partition.assignment.strategy" = "range"' if group.protocol == "classic" else ""
    return emulator.loads(
        f"""
        title = "a bar"
        run_for = "{group.seconds}s"
        lag_every = "{group.seconds}s"
        [[topic]]
        name = "t"
        partitions = {group.partitions}
        rate = "{group.rate}/s"
        [[group]]
        id = "m"
        topics = ["t"]
        members = {group.members}
        work = "{group.work}"
        commit = {{ call = "{group.policy}" }}
        [group.settings]
        "group.protocol" = "{group.protocol}"
        "auto.offset.reset" = "earliest"
        {classic}
        """
        + "\n".join(acts)
    )


def ours(group: Group, mode: str = "folded") -> float:
    """Return the CPU seconds of a run."""
    scenario = scenario_of(group)
    begin = time.process_time()
    emulator.run(scenario, 0, keep_events=False, mode=mode)  # type: ignore[arg-type]  # one of three
    return time.process_time() - begin


def plain(group: Group) -> float:
    """Return the CPU seconds of the plain model; it knows automatic commits only."""
    work_us = int(group.work.removesuffix("ms")) * 1_000
    settings = plain_simpy.Settings(
        partitions=group.partitions, members=group.members, rate=group.rate, work=work_us
    )
    between = group.seconds * SECOND // (group.crashes + 1)
    begin = time.process_time()
    crashes = [between * (number + 1) for number in range(group.crashes)]
    plain_simpy.simulate(settings, group.seconds * SECOND, crashes)
    return time.process_time() - begin


def slope(cost: Callable[[Group], float], short: Group, long: Group, seconds: int) -> float:
    """Return the cost of so many seconds from two slices without crashes."""
    first, second = cost(short), cost(long)
    return first + (second - first) * (seconds - short.seconds) / (long.seconds - short.seconds)


def per_crash(quiet: Group, crashes: int = 1) -> tuple[float, float]:
    """Return the cost of a run without crashes, and what each of some crashes adds to it."""
    calm = ours(quiet)
    return calm, (ours(quiet._replace(crashes=crashes)) - calm) / crashes


SMALL = Group(3, 6, HOUR)
MEDIUM = Group(100, 1_000, HOUR)
DEPLOY = Group(12, 48, 1_200, rate=5, work="40ms", policy="sync", deploy=True)


def quiet_hour() -> str:
    """Measure an hour of a small group in which nothing happens."""
    return ", ".join(f"{p} {ours(SMALL._replace(policy=p)):.2f} s" for p in ("auto", "sync"))


def ten_crashes() -> str:
    """Measure an hour of a small group with ten crashes."""
    group = SMALL._replace(crashes=10)
    found = [(plain(group), ours(group)) for _ in range(3)]
    plain_s, ours_s = (min(column) for column in zip(*found, strict=True))
    return f"ours {ours_s:.2f} s, plain {plain_s:.2f} s: {plain_s / ours_s:.1f} times"


def twenty_rebalances_auto() -> str:
    """Measure ten crashes, which are twenty rebalances, in an hour of 100 members, played whole.

    A crash cannot be told from the noise of two short runs.
    """
    quiet_s, whole_s = ours(MEDIUM), ours(MEDIUM._replace(crashes=10))
    return (
        f"quiet {quiet_s:.1f} s, with ten crashes {whole_s:.1f} s ({(whole_s - quiet_s) / 10:.2f} s each); "
        + _against_plain(whole_s)
    )


def twenty_rebalances_sync() -> str:
    """Measure the same with a synchronous commit per batch: slices, of which one has a crash."""
    slices_s = (20, 40)
    short, long = (MEDIUM._replace(seconds=each, policy="sync") for each in slices_s)
    quiet_s = slope(ours, short, long, HOUR)
    _, crash_s = per_crash(MEDIUM._replace(seconds=150, policy="sync"))
    whole_s = quiet_s + 10 * crash_s
    return (
        f"quiet {quiet_s:.1f} s by slope of {slices_s}, a crash and return {crash_s:.2f} s, "
        f"with ten {whole_s:.1f} s by slope; " + _against_plain(whole_s)
    )


def _against_plain(whole_s: float) -> str:
    """Compare an hour of 100 members with the plain model without crashes, by slope."""
    plain_s = slope(plain, MEDIUM._replace(seconds=10), MEDIUM._replace(seconds=30), HOUR)
    return f"plain {plain_s:.0f} s by slope: {plain_s / whole_s:.1f} times"


def saturated() -> str:
    """Measure 100 members with 1.2 times the work that they can do."""
    short, long = (MEDIUM._replace(seconds=each, work="12ms") for each in (20, 50))
    ours_s = (ours(long) - ours(short)) / 30
    plain_s = (plain(long) - plain(short)) / 30
    return f"ours {ours_s * 1e3:.1f} ms, plain {plain_s * 1e3:.2f} ms a simulated second"


def consumer_protocol() -> str:
    """Compare the protocols, without crashes and with one."""
    found = []
    for protocol in ("classic", "consumer"):
        quiet_s, crash_s = per_crash(MEDIUM._replace(seconds=150, protocol=protocol))
        found.append(f"{protocol} quiet {quiet_s:.2f} s, a crash {crash_s:.2f} s more")
    return "150 s: " + "; ".join(found)


def rolling_deploy() -> str:
    """Measure a rolling deploy of 12 members with a synchronous commit per batch, in 20 min."""
    return f"{ours(DEPLOY):.2f} s"


def thousand_members() -> str:
    """Measure slices of 1,000 members: one that starts, one that goes on, one with a crash."""
    short = Group(1_000, 10_000, 30)
    start_s, quiet_s = ours(short), ours(short._replace(seconds=120))
    return f"30 s {start_s:.1f} s, 120 s {quiet_s:.1f} s"


def thousand_members_crash() -> str:
    """Measure 1,000 members for 150 s with a crash."""
    return f"150 s with a crash {ours(Group(1_000, 10_000, 150, 1)):.1f} s"


def ten_thousand_members() -> str:
    """Measure the first 20 s of 10,000 members."""
    return f"20 s: {ours(Group(10_000, 100_000, 20)):.1f} s"


def one_crash() -> str:
    """Measure what one crash and return adds, to 3 and to 100 members."""
    small = per_crash(Group(3, 6, 1_200), 4)[1]
    large = per_crash(Group(100, 1_000, 600), 2)[1]
    return f"3 members {small * 1e3:.0f} ms, 100 members {large * 1e3:.0f} ms"


def tenfold_rate() -> str:
    """Compare an hour at 10 and at 100 records/s."""
    few, many = ours(SMALL), ours(SMALL._replace(rate=100))
    return f"10/s {few:.3f} s, 100/s {many:.3f} s: {many / few:.2f} times"


def quiet_growth() -> str:
    """Compare 1, 4 and 16 quiet hours."""
    times = [ours(SMALL._replace(seconds=hours * HOUR)) for hours in (1, 4, 16)]
    return ", ".join(f"{each:.3f}" for each in times) + " s for 1, 4, 16 h"


def exact_mode() -> str:
    """Compare the exact mode with the plain model."""
    group = SMALL._replace(seconds=300)
    auto_s, sync_s = ours(group, "exact"), ours(group._replace(policy="sync"), "exact")
    plain_s = plain(group)
    return (
        f"300 s of 3 x 6: plain {plain_s:.2f} s, exact {auto_s:.2f} s ({plain_s / auto_s:.2f} times as "
        f"fast), with sync commits {sync_s:.2f} s ({plain_s / sync_s:.2f})"
    )


CASES: dict[str, Callable[[], str]] = {
    "quiet-hour": quiet_hour,
    "ten-crashes": ten_crashes,
    "one-crash": one_crash,
    "rebalances-auto": twenty_rebalances_auto,
    "rebalances-sync": twenty_rebalances_sync,
    "saturated": saturated,
    "consumer-protocol": consumer_protocol,
    "rolling-deploy": rolling_deploy,
    "tenfold-rate": tenfold_rate,
    "quiet-growth": quiet_growth,
    "exact-mode": exact_mode,
    "1000-members": thousand_members,
    "1000-members-crash": thousand_members_crash,
    "10000-members": ten_thousand_members,
}
LARGE = ("1000-members-crash", "10000-members")
"""The cases of many minutes, which run only if they are named."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}")
    names = parser.parse_args(arguments).names
    unknown = sorted(set(names).difference(CASES))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}: choose of {', '.join(CASES)}")
    if len(names) == 1:
        ours(Group(3, 6, 60, 1))  # imports all modules
        found = CASES[names[0]]()
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024
        print(f"{names[0]}: {found} ({peak_mb} MB)", flush=True)
        return
    for name in names or [each for each in CASES if each not in LARGE]:
        subprocess.run([sys.executable, "-m", "benchmarks.bars", name], check=True)  # noqa: S603  our own module


if __name__ == "__main__":
    main()
