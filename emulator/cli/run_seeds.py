"""``rebalance run --seeds N``: how a scenario's figures are spread over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from emulator.cli.choosing import Chosen
from emulator.cli.describing import subject_of
from emulator.cli.output import say_all, say_json
from emulator.cli.seeds import SeedRun, Task, play_all, seeds_from
from emulator.metrics.catalogue import VALUES
from emulator.metrics.checks import check_expectations
from emulator.metrics.distribution import summarise
from emulator.playing import bounds_of
from emulator.report.seeds_screen import Tally, seeds_screen
from emulator.scenario.manifest import manifest


def run_seeds(
    chosen: Chosen,
    first: int | None,
    count: int,
    jobs: int | None,
    *,
    as_json: bool,
) -> bool:
    """Play the seeds and print the summary; return whether the expectations hold."""
    scenario = chosen.scenario
    tasks = [Task(scenario, seed) for seed in seeds_from(scenario, first, count)]
    runs = list(play_all(tasks, jobs, chosen.folder))
    expectations = check_expectations(bounds_of(scenario), [run.metrics for run in runs])
    tally = Tally(
        seeds=[run.seed for run in runs],
        metrics=[run.metrics for run in runs],
        causes=[run.by_cause for run in runs],
        findings=[run.findings for run in runs],
        expectations=expectations,
    )
    if as_json:
        say_json({**manifest(scenario), **_document(runs, tally)})
    else:
        say_all(seeds_screen(subject_of(chosen), tally))
    return all(expected.ok for expected in expectations)


def _document(runs: Sequence[SeedRun], tally: Tally) -> dict[str, object]:
    return {
        "seeds": tally.seeds,
        "worst_seed": tally.worst_seed,
        "runs": [
            {
                "seed": run.seed,
                "digest": run.digest,
                "reprocessed": run.metrics["reprocessed"],
                "lost": run.metrics["lost"],
                "truncated": run.metrics["truncated"],
                "partial": run.metrics["partial"],
                "by_cause": run.by_cause,
                "rebalances": run.metrics["rebalances"],
                "metrics": dict(run.metrics.values),
            }
            for run in runs
        ],
        "summary": {
            metric.name: asdict(summarise([run.metrics[metric.name] for run in runs]))
            for metric in VALUES
        },
        "expectations": [asdict(expected) for expected in tally.expectations],
    }
