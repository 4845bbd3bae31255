"""Explain a real incident from its logs: ``emulator.blame``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assignors.values import dataclass
from emulator.blaming.explanations import Explanation
from emulator.blaming.reading import Logs, read_logs
from emulator.blaming.screen import blame_screen
from emulator.blaming.trials import SEEDS, Blame, OnBegin, OnProgress, blame_for
from emulator.input_files import each_path
from emulator.scenario.load import scenario_of, tidy
from emulator.scenario.part import ScenarioSource
from emulator.scenario.toml import to_toml

Place = str | Path


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explained:
    """The explanations of a real incident, the best first."""

    blame: Blame
    """All explanations with their fit, and the figures of the logs that they were compared with."""

    def __repr__(self) -> str:
        """Return one line."""
        best = self.blame.explanations[0]
        return f"<Explained: {best.policy.words}; {best.happening.words}, fit {best.fit:.0f} %>"

    def scenario(self, place: int = 1) -> str:
        """Return the scenario of an explanation as TOML; *place*: 1 is the best."""
        table = self.blame.explanations[place - 1].scenario
        return to_toml(scenario_of(tidy(table), ScenarioSource("blame")))

    def screen(self) -> list[str]:
        """Return the lines that ``rebalance blame`` prints."""
        return list(blame_screen(self.blame))

    def as_dict(self) -> dict[str, Any]:
        """Return what ``rebalance blame --json`` prints."""
        symptoms = self.blame.symptoms
        return {
            "group": self.blame.setup.group,
            "onset_us": symptoms.onset_us,
            "stops": [
                {
                    "consumer": each.consumer,
                    "stopped_us": each.stopped_us,
                    "resumed_us": each.resumed_us,
                }
                for each in symptoms.stops
            ],
            "seen": dict(self.blame.seen),
            "explanations": [_as_dict(each) for each in self.blame.explanations],
            "figures": {
                name: {"meaning": figure.words, "unit": figure.unit, "tolerance": figure.tolerance}
                for name, figure in self.blame.figures.items()
            },
        }


def _as_dict(explanation: Explanation) -> dict[str, Any]:
    return {
        "client": explanation.policy.client,
        "read_with": explanation.policy.read_with,
        "policy": explanation.policy.name,
        "alike": [
            {
                "client": other.policy.client,
                "read_with": other.policy.read_with,
                "happening": other.happening.name,
                "fit": round(other.fit, 1),
            }
            for other in explanation.alike
        ],
        "happening": explanation.happening.name,
        "words": explanation.happening.words,
        "fit": round(explanation.fit, 1),
        "contradicted": list(explanation.contradicted),
        "figures": {name: list(each) for name, each in explanation.figures.items()},
    }


def blame(  # noqa: PLR0913  one keyword an option
    processing: Place | Sequence[Place],
    offsets: Place | Sequence[Place],
    group: str | None = None,
    *,
    begin_us: int | None = None,
    end_us: int | None = None,
    columns: Mapping[str, str] | None = None,
    unit: str | None = None,
    seeds: int = SEEDS,
    begin: OnBegin | None = None,
    progress: OnProgress | None = None,
) -> Explained:
    """Search for the scenario that explains what the logs of a real incident show.

    *processing*: files or folders of a processing log, in a form that ``emulator.audit`` reads.
    *offsets*: segments of the offsets topic, or folders of them. *begin_us*, *end_us*: the time to
    explain, epoch microseconds. *columns*, *unit*: as in ``emulator.audit``. *seeds*: runs of the
    best explanations.

    Raises ``RefusedError`` if a log cannot be read or used; its message says what to do.
    """
    logs = Logs(
        processing=tuple(map(Path, each_path(processing))),
        offsets=each_path(offsets),
        group=group,
        begin_us=begin_us,
        end_us=end_us,
        columns=columns,
        unit=unit,
    )
    evidence, setup = read_logs(logs)
    return Explained(blame=blame_for(evidence, setup, seeds=seeds, begin=begin, progress=progress))
