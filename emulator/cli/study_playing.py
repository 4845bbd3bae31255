"""``rebalance study``: play what is missing, round by round, and say what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from emulator.cli.output import Progress, say, say_all, say_json
from emulator.cli.study_engines import Engine, Player, Wish, choose_engine
from emulator.cli.study_request import Planned, Request, planned
from emulator.errors import RefusedError, reason_of
from emulator.output_files import put
from emulator.report.wording import counted, span
from emulator.study import store
from emulator.study.attempts import ProcessDiedError
from emulator.study.findings import TABLES, Findings, find, tables, write
from emulator.study.model import load, names, path_of
from emulator.study.plan import Chunk, Plan, metrics_of
from emulator.study.rows import Task
from emulator.study.store import study_manifest
from emulator.study.summary import read_results, rules_not_met

MOST_DEATHS = 12
"""Of processes, in one round: then something is wrong that waiting does not mend."""

PAGE = "report.html"


def list_studies() -> None:
    """Print the studies that come along, each with its question."""
    for name in names():
        study = load(path_of(name))
        say(name, f"    {study.title}", *([f"    {study.question}"] if study.question else []))


def play_study(request: Request, *, as_json: bool) -> bool:
    """Play a study and print what came of it; return whether no run failed."""
    asked = planned(request)
    wish = Wish(request.engine, request.master, request.jobs, asked.scenario_folder)
    engine = choose_engine(asked.plan, wish, os.environ)
    try:
        _begin(asked)
        _play(asked, engine)
        store.delete_partial_files(asked.folder)
        findings = find(asked.folder, asked.plan)
        write(findings, asked.folder)
        page = _write_page(findings, asked.folder)
    except KeyboardInterrupt:
        store.delete_partial_files(
            asked.folder
        )  # no run is to blame for processes that we have ended
        raise
    except OSError as error:
        raise RefusedError(
            f"-o {request.output}: cannot be written: {reason_of(error)}. What is whole stays; "
            "the same command goes on from there"
        ) from None
    _tell(findings, asked.folder, engine, page, as_json=as_json)
    return findings.failed == 0


def _begin(asked: Planned) -> None:
    try:
        store.begin(asked.folder, study_manifest(asked.plan))
    except store.OtherStudyError as error:
        raise RefusedError(f"-o {asked.folder}: {error}; take another folder") from None


def _play(asked: Planned, engine: Engine) -> None:
    """Play rounds until every rule holds, or the seeds are used up; start no one for nothing."""
    seeds = asked.plan.study.seeds
    most = seeds.most or seeds.count
    begin, end = 0, seeds.count
    rounds = list(_missing(asked, begin, end))
    _announce(asked.plan, rounds, engine)
    if not rounds and not _goes_on(asked, end, most):
        return
    with engine.open() as player:
        while True:
            _play_round(asked, list(_missing(asked, begin, end)), player)
            if not _goes_on(asked, end, most):
                return
            begin, end = end, min(2 * end, most)


def _goes_on(asked: Planned, end: int, most: int) -> bool:
    """Say whether another round is due, and tell the user why."""
    rules = asked.plan.study.until
    if not rules or end >= most:
        return False
    open_rules = rules_not_met(read_results(asked.folder, asked.plan), rules)
    if open_rules:
        _note(f"{counted(end, 'seed')} are not enough yet for {open_rules[0]}")
    return bool(open_rules)


def _missing(asked: Planned, begin: int, end: int) -> Iterator[Chunk]:
    for chunk in asked.plan.chunks(begin, end):
        if not store.is_done(asked.folder, chunk):
            yield chunk


def _announce(plan: Plan, missing: list[Chunk], engine: Engine) -> None:
    runs = sum(chunk.runs for chunk in missing)
    if not runs:
        return
    work = plan.work_s * runs / plan.runs
    of_all = "" if runs == plan.runs else f" of {plan.runs:,}, the others are there"
    _note(
        f"{counted(runs, 'run')}{of_all}, in {counted(len(plan.cells), 'cell')}, about "
        f"{span(work)} of work for one core: {engine.told}"
    )


def _play_round(asked: Planned, chunks: list[Chunk], player: Player) -> None:
    plan = asked.plan
    metrics = metrics_of(plan)
    tasks = [
        Task(chunk, plan.cells[chunk.cell].scenario, metrics, plan.study.events) for chunk in chunks
    ]
    total, done = sum(chunk.runs for chunk in chunks), 0
    with Progress("runs", time_left=True) as progress:
        for chunk in _played(asked, tasks, player):
            done += chunk.runs
            progress.show(done, total)


def _played(asked: Planned, tasks: list[Task], player: Player) -> Iterator[Chunk]:
    """Yield each chunk that is done; go on when a process is killed.

    What was at work then is tried again first, each chunk alone: one that kills its process
    then takes no other with it, and in the end becomes a row with an error.
    """
    deaths = 0
    while tasks := [task for task in tasks if not store.is_done(asked.folder, task.chunk)]:
        suspects = [
            task for task in tasks if store.seed_in_progress(asked.folder, task.chunk) is not None
        ]
        try:
            yield from player(suspects[:1] or tasks, asked.folder)
        except ProcessDiedError as error:
            deaths += 1
            named = "; ".join(_at_work(asked, tasks)) or "nobody knows what"
            if deaths >= MOST_DEATHS:
                raise RefusedError(
                    f"{deaths} times {error}. At work last: {named}. What is whole stays; the same "
                    "command goes on from there"
                ) from None
            _note(f"a process was killed and is replaced; at work then: {named}")


def _at_work(asked: Planned, tasks: list[Task]) -> Iterator[str]:
    for task in tasks:
        seed = store.seed_in_progress(asked.folder, task.chunk)
        if seed is not None:
            yield f"seed {seed} in {asked.plan.cells[task.chunk.cell].settings.name}"


def _note(text: str) -> None:
    """Say what is going on to somebody who watches."""
    if sys.stderr.isatty():
        typer.echo(text, err=True)


# -- what came of it ---------------------------------------------------------------------------


def _write_page(findings: Findings, folder: Path) -> Path | None:
    """Write the page with pictures, if plotly is there."""
    try:
        from emulator.study.page import study_page
    except ModuleNotFoundError as error:
        if error.name != "plotly":
            raise
        return None
    path = folder / PAGE
    put(path, study_page(findings).encode())
    return path


def _tell(
    findings: Findings, folder: Path, engine: Engine, page: Path | None, *, as_json: bool
) -> None:
    if as_json:
        study = findings.plan.study
        head = {"study": study.title, "folder": str(folder), "engine": engine.name}
        counts = {"runs": findings.runs, "failed": findings.failed}
        say_json({**head, **counts, **dict.fromkeys(TABLES, ()), **tables(findings)})
        return
    from emulator.study.screen import study_screen

    say_all(study_screen(findings))
    shown = page or "none, plotly is missing: pip install 'rebalance-emulator[pictures]'"
    say("", f"Played by: {engine.told}", f"All rows:  {folder}", f"Pictures:  {shown}")
