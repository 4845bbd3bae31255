"""Measure the cost of a run against members and against simulated time, and draw the chart.

    python -m benchmarks.scaling            measures, and prints the tables
    python -m benchmarks.scaling --write    also writes benchmarks/scaling.svg, and the tables into
                                            benchmarks/README.md

Three ways to play the same groups without faults: a plain SimPy model (``plain_simpy.py``), exact
mode, folded mode; in turns, in one process, in CPU seconds of one core. A way that takes longer than
``ENOUGH_S`` is not measured at larger sizes.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import emulator
from benchmarks import plain_simpy
from emulator.scenario.model import Scenario

HERE = Path(__file__).parent
PICTURE = HERE / "scaling.svg"
README = HERE / "README.md"
BEGIN, END = "<!-- figures: python -m benchmarks.scaling --write -->", "<!-- end of figures -->"

ENOUGH_S = 4.0
SHORT_S = 1.5
"""Runs shorter than this are repeated, the three ways in turns."""

ROUNDS = 3
SECOND = 1_000_000
PARTITIONS = 5
"""For each member."""

MEMBERS = (3, 10, 30, 100, 300)
MINUTES = (1, 10, 60, 360)
WAYS = ("plain", "exact", "folded")
COLOURS = {"plain": "#8a8a8a", "exact": "#d1742b", "folded": "#2a6fb0"}

Rows = dict[int, dict[str, float]]
"""Seconds by size and way; a way that was not measured is missing."""

TEXT = """
title = "a group without faults"
run_for = "{seconds}s"
topic = [{{ name = "t", partitions = {partitions}, rate = "{rate}/s" }}]
[[group]]
id = "m"
topics = ["t"]
members = {members}
work = "2ms"
[group.settings]
"partition.assignment.strategy" = "range"
"auto.offset.reset" = "earliest"
"""


def scenario(members: int, rate: int, seconds: int) -> Scenario:
    """Return a group without faults."""
    partitions = members * PARTITIONS
    return emulator.loads(
        TEXT.format(members=members, partitions=partitions, rate=rate, seconds=seconds)
    )


def ways(members: int, rate: int, seconds: int) -> Mapping[str, Callable[[], object]]:
    """Return the three ways to play a group."""
    ours = scenario(members, rate, seconds)
    settings = plain_simpy.Settings(
        partitions=members * PARTITIONS, members=members, rate=rate, work=2_000
    )
    return {
        "plain": lambda: plain_simpy.simulate(settings, seconds * SECOND, []),
        "exact": lambda: emulator.run(ours, 0, keep_events=False, mode="exact"),
        "folded": lambda: emulator.run(ours, 0, keep_events=False),
    }


def measured(
    sizes: Sequence[int], make: Callable[[int], Mapping[str, Callable[[], object]]]
) -> Rows:
    """Return the CPU seconds of each size and way: the least of some rounds, if those are short."""
    rows: Rows = {}
    ended: set[str] = set()
    for size in sizes:
        left = {way: play for way, play in make(size).items() if way not in ended}
        row = {way: _seconds(play) for way, play in left.items()}
        ended |= {way for way, seconds in row.items() if seconds > ENOUGH_S}
        for _ in range(1, ROUNDS):
            short = [way for way in left if row[way] < SHORT_S]
            row |= {way: min(row[way], _seconds(left[way])) for way in short}
        rows[size] = row
        print(size, {way: round(seconds, 2) for way, seconds in rows[size].items()}, flush=True)
    return rows


def _seconds(play: Callable[[], object]) -> float:
    """Return the CPU seconds of one run."""
    begin = time.process_time()
    play()
    return time.process_time() - begin


# -- the tables and the chart ------------------------------------------------------------------


def table(heading: str, rows: Rows, name: Callable[[int], str]) -> list[str]:
    """Return the rows as a Markdown table."""
    lines = [f"| {heading} | {' | '.join(WAYS)} |", "| --- | ---: | ---: | ---: |"]
    for size, row in rows.items():
        cells = [f"{row[way]:.2f}" if way in row else "" for way in WAYS]
        lines.append(f"| {name(size)} | {' | '.join(cells)} |")
    return lines


def minutes_text(minutes: int) -> str:
    """Return a number of minutes as text."""
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h"


WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 330, 250, 46, 34, 40


def panel(x: int, title: str, rows: Rows, name: Callable[[int], str], legend: bool) -> list[str]:
    """Return one chart with logarithmic axes as SVG elements."""
    sizes = list(rows)
    times = [seconds for row in rows.values() for seconds in row.values()]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def across(size: int) -> float:
        share = math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
        return x + LEFT + share * (WIDTH - LEFT - 20)

    def up(seconds: float) -> float:
        share = (math.log10(seconds) - low) / (high - low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    out = [f'<text x="{x + LEFT}" y="18" font-weight="bold">{title}</text>']
    for power in range(low, high + 1):
        y, label = up(10.0**power), f"{10.0**power:g} s"
        out.append(f'<path d="M{x + LEFT} {y:.0f}H{x + WIDTH - 12}" stroke="#ddd"/>')
        out.append(f'<text x="{x + LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    for size in sizes:
        place = f'x="{across(size):.0f}" y="{HEIGHT - BOTTOM + 18}"'
        out.append(f'<text {place} text-anchor="middle">{name(size)}</text>')
    for order, way in enumerate(WAYS):
        points = [(across(size), up(row[way])) for size, row in rows.items() if way in row]
        line = " ".join(f"{left:.0f},{top:.0f}" for left, top in points)
        colour = COLOURS[way]
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{a:.0f}" cy="{b:.0f}" r="3" fill="{colour}"/>' for a, b in points]
        if legend:
            place = f'x="{x + LEFT + 8}" y="{TOP + 14 + 16 * order}"'
            out.append(f'<text {place} fill="{colour}">{way}</text>')
    return out


def picture(by_members: Rows, by_time: Rows) -> str:
    """Return both charts as one SVG file."""
    size = f'viewBox="0 0 {2 * WIDTH} {HEIGHT}" width="{2 * WIDTH}" height="{HEIGHT}"'
    style = 'font-family="sans-serif" font-size="12" fill="#333"'
    parts = [
        *panel(0, "CPU time by members, 1 min simulated", by_members, str, legend=True),
        *panel(WIDTH, "CPU time by simulated time, 3 members", by_time, minutes_text, legend=False),
    ]
    background = f'<rect width="{2 * WIDTH}" height="{HEIGHT}" fill="white"/>'
    lines = "\n".join([background, *parts])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n{lines}\n</svg>\n'


def write(by_members: Rows, by_time: Rows) -> None:
    """Write the chart, and the tables into the README."""
    PICTURE.write_text(picture(by_members, by_time), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    lines = [
        *table("members", by_members, str),
        "",
        *table("simulated time", by_time, minutes_text),
    ]
    figures = "\n".join(lines)
    README.write_text(f"{before}{BEGIN}\n\n{figures}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the chart and the tables")
    given = parser.parse_args()
    for play in ways(3, 10, 20).values():
        play()  # imports and caches
    by_members = measured(MEMBERS, lambda members: ways(members, 1, 60))
    by_time = measured(MINUTES, lambda minutes: ways(3, 10, 60 * minutes))
    if given.write:
        write(by_members, by_time)


if __name__ == "__main__":
    main()
