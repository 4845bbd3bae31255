"""Play one scenario under several settings and the same seeds: ``emulator.compare``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.loading import LoadedScenario, ScenarioText, load_text, text_of_scenario
from emulator.metrics.distribution import Comparison as Difference
from emulator.metrics.distribution import compare as differences
from emulator.metrics.distribution import summarise
from emulator.metrics.laws import Law
from emulator.metrics.metrics import pairs_of
from emulator.processes import OnProgress
from emulator.scenario.model import Scenario
from emulator.scenario.problems import ScenarioError, hint
from emulator.sweeps import SHOWN, SeedRun, Task, play_all, row_of, seeds_from
from emulator.tables import arrow_table, html_table, pandas_frame
from emulator.verdicts.disqualifying import Disqualified, disqualified, mark, reasons_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

INSTANCE_ID = "group.instance.id"
STRATEGY = "partition.assignment.strategy"
PROTOCOL = "group.protocol"
AS_WRITTEN = "as-written"


@dataclass(frozen=True, slots=True)
class Variant:
    """One setting to compare: its name, and its changes of the scenario."""

    name: str
    overrides: tuple[str, ...]
    """Changes, each as ``path=value``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRuns:
    """The runs of one variant, in the order of the seeds."""

    name: str
    loaded: LoadedScenario
    """Its scenario, with the changes of the variant."""

    runs: tuple[SeedRun, ...]

    @property
    def missed(self) -> list[str]:
        """A message for each fault that did not fire in a run."""
        return [
            found.message
            for run in self.runs
            for found in run.findings
            if found.law is Law.FAULT_MISSED
        ]

    @property
    def disqualified(self) -> tuple[Disqualified, ...]:
        """Why the variant must not be called best; empty: it may be."""
        return disqualified(run.verdicts for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """The results of several variants under the same seeds; the first one is the baseline."""

    seeds: tuple[int, ...]
    """The seeds of each variant, in order."""

    variants: tuple[VariantRuns, ...]
    """In the order of the call."""

    def __repr__(self) -> str:
        """Return one line with the names of the variants."""
        names = ", ".join(variant.name for variant in self.variants)
        title = self.variants[0].loaded.scenario.title
        return f"<Comparison of {title!r}, {len(self.seeds)} seeds: {names}>"

    def _repr_html_(self) -> str:
        """Return the mean of the main metrics as an HTML table, one row for each variant."""
        rows = [
            (
                each.name,
                *(summarise(_values(each, name)).mean.value for name in SHOWN),
                mark(each.disqualified, len(each.runs)),
            )
            for each in self.variants
        ]
        title = f"{self.variants[0].loaded.scenario.title}: means of {len(self.seeds)} seeds"
        return html_table(title, ("variant", *SHOWN, "disqualified"), rows)

    def difference(self, variant: str, metric: str) -> Difference:
        """Return the difference of a metric between a variant and the first one, paired by seed.

        Raises ``KeyError`` for an unknown variant or metric, ``ValueError`` if in no seed both have a
        value of it.
        """
        by_name = {each.name: each for each in self.variants}
        both = (self.variants[0], by_name[variant])
        first, other = ([run.metrics for run in each.runs] for each in both)
        return differences(*pairs_of(metric, first, other))

    def to_arrow(self) -> pa.Table:
        """Return one row for each variant and seed: variant, seed, digest, metrics, disqualified.

        The last one says in a few words why a run must not be called best; empty: it may be.
        """
        return arrow_table(
            [
                {
                    "variant": each.name,
                    **row_of(run),
                    "disqualified": ", ".join(reasons_of(run.verdicts)),
                }
                for each in self.variants
                for run in each.runs
            ]
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of :meth:`to_arrow` as a pandas data frame."""
        return pandas_frame(self.to_arrow())


def _values(variant: VariantRuns, metric: str) -> list[float]:
    return [run.metrics[metric] for run in variant.runs]


def compare(
    scenario: Scenario | str | Path,
    variants: Sequence[str] = (),
    *,
    seeds: int | Sequence[int] = 1,
    first: int | None = None,
    overrides: Sequence[str] = (),
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> Comparison:
    """Play a scenario under each of several settings and the same seeds.

    *scenario*: a scenario, or the path or catalogue name of one. *variants*: each a name
    (``eager``, ``cooperative``, ``static``, ``kip848``, ``as-written``) or ``"name: path=value,
    …"``; without any, those of the scenario, else the first three names. *seeds*: their number,
    from *first* (by default the scenario's own) on, or the seeds themselves. *overrides*: change
    every variant.
    *jobs*, *progress*: as for :func:`emulator.sweep`.

    Raises ``EmulatorError``. Call it below ``if __name__ == "__main__"`` in a script: worker
    processes import the script.

    >>> compare("quiet", ["eager", "kip848"], overrides=["run_for=5s"], jobs=1)
    <Comparison of 'nothing happens', 1 seeds: eager, kip848>
    """
    loaded = load_variants(text_of_scenario(scenario), variants, overrides, allow_large=True)
    base = next(iter(loaded.values())).scenario
    chosen = seeds_from(base, first, seeds) if isinstance(seeds, int) else list(seeds)
    return play_variants(loaded, chosen, jobs, progress)


def load_variants(
    text: ScenarioText,
    variants: Sequence[str] = (),
    overrides: Sequence[str] = (),
    *,
    allow_large: bool = False,
    seeds: int = 1,
) -> dict[str, LoadedScenario]:
    """Load a scenario once for each variant; its changes are applied after *overrides*.

    Raises ``ScenarioError`` and ``RefusedError``, the latter also if all runs together are too
    large, unless *allow_large*.
    """
    base = load_text(text, overrides, allow_large=True).scenario
    found = read_variants(variants, base)
    runs = seeds * len(found)
    return {
        variant.name: _load_variant(text, overrides, variant, allow_large, runs)
        for variant in found
    }


def play_variants(
    variants: dict[str, LoadedScenario],
    seeds: Sequence[int],
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> Comparison:
    """Play the same seeds under each loaded variant."""
    tasks = [Task(loaded.scenario, seed) for loaded in variants.values() for seed in seeds]
    folder = next(iter(variants.values())).folder
    runs = play_all(tasks, jobs, folder, progress)
    found = [
        VariantRuns(name=name, loaded=loaded, runs=tuple(next(runs) for _ in seeds))
        for name, loaded in variants.items()
    ]
    return Comparison(seeds=tuple(seeds), variants=tuple(found))


# -- reading variants ------------------------------------------------------------------------


def read_variants(texts: Sequence[str], scenario: Scenario) -> list[Variant]:
    """Return the variants that *texts* describe, else those of the scenario, else the default ones.

    A single variant is compared with the scenario as written, so there are at least two. Raises
    ``RefusedError`` if one is invalid, or if two have the same name.
    """
    if texts or not scenario.variant:
        variants = [_read(text, scenario) for text in texts or USUAL]
    else:
        variants = [Variant(each.name, each.changes) for each in scenario.variant]
    if len(variants) == 1:
        variants.insert(0, Variant(AS_WRITTEN, ()))
    names = [variant.name for variant in variants]
    for name in names:
        if names.count(name) > 1:
            raise RefusedError(
                f"`variants`: two variants are called {name!r}; names must be unique"
            )
    return variants


def _load_variant(
    text: ScenarioText, overrides: Sequence[str], variant: Variant, allow_large: bool, runs: int
) -> LoadedScenario:
    """Load a variant; a wrong key in it is reported as one of the variant."""
    sets = [*overrides, *variant.overrides]
    try:
        return load_text(text, sets, allow_large=allow_large, runs=runs, together=variant.overrides)
    except ScenarioError as error:
        named = {f"`overrides={each}`": f"`variants={each}`" for each in variant.overrides}
        problems = [replace(each, path=named.get(each.path, each.path)) for each in error.problems]
        raise ScenarioError(error.name, problems) from None


def _read(text: str, scenario: Scenario) -> Variant:
    """Read ``eager``, ``name: path=value, …`` or ``name: eager, path=value``."""
    name, colon, rest = _cut(text, ":")
    parts = split_list(rest) if colon else [text.strip()]
    if not parts or (colon and not name.strip()):
        raise RefusedError(f"`variants={text!r}`: write a name before the colon, and keys after it")
    overrides: list[str] = []
    for part in parts:
        if "=" in part:
            overrides.append(part)
        elif part in NAMED:
            overrides += NAMED[part](scenario)
        else:
            near = f'; did you mean "{MEANT[part]}"?' if part in MEANT else hint(part, NAMED)
            raise RefusedError(
                f"`variants={text!r}`: {part!r} is neither one of {', '.join(NAMED)} nor "
                f'path=value; write eager, or "short: group[billing].settings[…]=10s, eager"{near}'
            )
    return Variant(name.strip() or text.strip(), tuple(overrides))


def _cut(text: str, mark: str) -> tuple[str, str, str]:
    """Split at the first mark before any ``=`` or bracket; the mark ends the name."""
    name, found, rest = text.partition(mark)
    if any(letter in name for letter in "=[\"'"):
        return text, "", ""
    return name, found, rest


def split_list(text: str) -> list[str]:
    """Split at commas outside brackets and quotes.

    >>> split_list('a=[1, 2], b="x, y",c=3')
    ['a=[1, 2]', 'b="x, y"', 'c=3']
    """
    parts, depth, quoted = [""], 0, ""
    for letter in text:
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "\"'":
            quoted = letter
        depth += (letter in "[{") - (letter in "]}") if not quoted else 0
        if letter == "," and depth <= 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


# -- the named variants ----------------------------------------------------------------------


def _eager(scenario: Scenario) -> list[str]:
    return _protocol(scenario, "range", static=False)


def _cooperative(scenario: Scenario) -> list[str]:
    return _protocol(scenario, "cooperative-sticky", static=False)


def _static(scenario: Scenario) -> list[str]:
    return _protocol(scenario, "range", static=True)


def _kip848(scenario: Scenario) -> list[str]:
    """Use the consumer protocol in every group; remove settings of the classic protocol only."""
    overrides: list[str] = []
    for group in scenario.group:
        path = f"group[{group.id}]"
        overrides.append(f"{path}.settings[{PROTOCOL}]=consumer")
        overrides += [
            f"{path}.member[{member.name}].settings[{PROTOCOL}]=consumer"
            for member in group.members
            if member.settings
        ]
    return overrides


def _protocol(scenario: Scenario, assignor: str, *, static: bool) -> list[str]:
    """Use one assignor in every group, with or without instance ids.

    Raises ``RefusedError`` if instance ids are not wanted but written in the scenario.
    """
    overrides: list[str] = []
    for group in scenario.group:
        named = any(INSTANCE_ID in {**group.settings, **m.settings} for m in group.members)
        if named and not static:
            raise RefusedError(
                f"`variants`: members of {group.id} have their own {INSTANCE_ID} in the scenario, so "
                "it cannot be played without them; use as-written, and path=value"
            )
        path = f"group[{group.id}]"
        if PROTOCOL in group.settings:
            overrides += [f"{path}.settings[{PROTOCOL}]=classic"]
        overrides += [f"{path}.settings[{STRATEGY}]={assignor}"]
        overrides += [f"{path}.static={str(static).lower()}"]
        if group.pattern_by == "broker":
            overrides += [f"{path}.pattern_by=client"]
        for member in group.members:
            own = f"{path}.member[{member.name}].settings"
            if PROTOCOL in member.settings:
                overrides.append(f"{own}[{PROTOCOL}]=classic")
            if STRATEGY in member.settings:
                overrides.append(f"{own}[{STRATEGY}]={assignor}")
    return overrides


MEANT = {
    "classic": "eager",
    "consumer": "kip848",
    "KIP-848": "kip848",
    "cooperative-sticky": "cooperative",
    "range": "eager",
    "sticky": "eager",
}
"""Kafka's words, and the named settings that they mean."""

NAMED: dict[str, Callable[[Scenario], list[str]]] = {
    "eager": _eager,
    "cooperative": _cooperative,
    "static": _static,
    "kip848": _kip848,
    AS_WRITTEN: lambda _scenario: [],
}
USUAL = ("eager", "cooperative", "static")
"""``eager``: range. ``cooperative``: cooperative-sticky alone. ``static``: eager with instance ids.

Besides them, ``kip848``: the consumer protocol, with the coordinator's assignor.
"""
