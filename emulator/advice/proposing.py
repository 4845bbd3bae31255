"""Propose changes for a finished run: those of its hints, with values for its scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from operator import itemgetter
from typing import Final

from emulator.advice.changes import CHANGES
from emulator.advice.situation import Situation
from emulator.loading import LoadedScenario, ScenarioText, load_text
from emulator.report.hints.cases import GivenHint
from emulator.report.proposals import Proposal
from emulator.report.subject import FinishedRun
from emulator.scenario.model import Scenario
from emulator.scenario.problems import ScenarioError

LATER: Final = 1.5
"""How many hints further back the next change of a hint is proposed."""

MAX_CHANGES: Final = 3
"""Changes that a report shows and tries."""


def propose(
    loaded: LoadedScenario, run: FinishedRun, hints: list[GivenHint], most: int = MAX_CHANGES
) -> tuple[Proposal, ...]:
    """Return the first changes that the hints of a run recommend and that the scenario allows.

    The second change of a hint comes behind the first one of the next hint, the third behind that of
    the second next; *most*: their number, where the same change of several groups is one.
    """
    by_hint = [
        [_as_written(loaded, each) for each in _of_hint(loaded.scenario, run, hint)]
        for hint in hints
    ]
    places = [
        (at + LATER * number, proposal)
        for at, proposals in enumerate(filter(None, by_hint))
        for number, proposal in enumerate(proposals)
    ]
    found = dict[str, dict[tuple[str, ...], Proposal]]()
    for _, proposal in sorted(places, key=itemgetter(0)):
        found.setdefault(proposal.id, {}).setdefault(proposal.overrides, proposal)
    alike = (_by_group(loaded, [*proposals.values()]) for proposals in found.values())
    return tuple(chain.from_iterable(islice(filter(None, alike), most)))


def _by_group(loaded: LoadedScenario, proposals: list[Proposal]) -> list[Proposal]:
    """Return the first proposal of one change for each group, named by it if there are several."""
    first = dict[str, Proposal]()
    for proposal in proposals:
        if proposal.group not in first and _allowed(loaded, proposal):
            first[proposal.group] = proposal
    return [replace(each, of_several=len(first) > 1) for each in first.values()]


def _of_hint(scenario: Scenario, run: FinishedRun, hint: GivenHint) -> Iterator[Proposal]:
    if hint.id not in CHANGES:
        return
    group = next((each for each in scenario.group if each.id == hint.group), scenario.group[0])
    situation = Situation(
        scenario=scenario,
        group=group,
        facts=run.subject.group(group.id),
        brokers=run.subject.broker_settings,
        metrics=run.metrics,
        causes=hint.causes,
    )
    for name, make in CHANGES[hint.id]:
        draft = make(situation)
        if draft is not None:
            yield Proposal(
                id=name,
                hint=hint.id,
                group=group.id,
                why=draft.why,
                settings=draft.settings,
                overrides=draft.overrides,
                of_risk=hint.quiet,
            )


def _as_written(loaded: LoadedScenario, proposal: Proposal) -> Proposal:
    """Return a proposal whose overrides name faults and acts as the scenario's file does."""
    written = loaded.written
    if written is None or written.is_checked:
        return proposal
    if not any(each.startswith("act[") for each in proposal.overrides):
        return proposal
    from emulator.scenario.act_tables import act_places, as_written  # noqa: PLC0415  few need it
    from emulator.scenario.load import document_of  # noqa: PLC0415  few need it

    document = document_of(written.text, written.name, ())
    places = act_places(written.text, document.get("fault", ()))
    return replace(
        proposal, overrides=tuple(as_written(each, places) for each in proposal.overrides)
    )


def _allowed(loaded: LoadedScenario, proposal: Proposal) -> bool:
    try:
        changed(loaded, proposal)
    except ScenarioError:
        return False
    return True


def changed(loaded: LoadedScenario, proposal: Proposal) -> Scenario:
    """Return the scenario with a change, as the printed options make it.

    Raise ScenarioError if the scenario does not allow the change.
    """
    if loaded.written is not None:
        return _changed(loaded.written, tuple(loaded.overrides), proposal.overrides)
    from emulator.scenario.toml import to_toml  # noqa: PLC0415  most scenarios are files

    text = ScenarioText(loaded.name, "scenario", to_toml(loaded.scenario), loaded.folder)
    return load_text(text, proposal.overrides, allow_large=True).scenario


@lru_cache(maxsize=4 * MAX_CHANGES)
def _changed(written: ScenarioText, given: tuple[str, ...], more: tuple[str, ...]) -> Scenario:
    """Return a scenario that was read, with further overrides: to propose, to estimate and to try it."""
    return load_text(written, (*given, *more), allow_large=True, together=more).scenario
