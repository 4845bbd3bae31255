"""Whatever a file holds, it is a scenario or it is refused: never anything else."""

from __future__ import annotations

import tomllib
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from emulator.scenario import catalogue
from emulator.scenario.estimates.cpu_time import estimate
from emulator.scenario.load import load, loads, scenario_of, tidy
from emulator.scenario.model import Scenario
from emulator.scenario.part import ScenarioSource
from emulator.scenario.paths import all_paths
from emulator.scenario.problems import ScenarioError
from emulator.scenario.short_forms import STEPS, TARGETS
from emulator.scenario.writing import dump, manifest

from .documents import files

TEXTS = [catalogue.read(name) for name in catalogue.names()]
SCRAPS = [
    *("[", "]", "[[", "{", "}", '"', "'", "=", ".", ",", "\n", "#", "\\", "\x00", "é", "9" * 30),
    *("-1", "1e400", "nan", "true", "[[fault]]\n", "[[act]]\n", "[group.settings]\n", '"5min"'),
    *(f'{verb} = "billing-1"\n' for verb in TARGETS),
]

junk: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(),
        st.integers(-(10**400), 10**400),
        st.floats(),
        st.text(max_size=10),
        st.sampled_from(["5s", "1/s", "1KiB", "orders", "billing", "billing-1", "by act", "range"]),
        st.sampled_from([f"billing-1 {step}" for step in STEPS]),
        st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1)]),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def accept(read: Any) -> Scenario | None:
    """Read a scenario; what was read must be usable, what was refused must say why."""
    try:
        scenario: Scenario = read()
    except ScenarioError as refused:
        says_why = bool(str(refused)) and all(problem.reason for problem in refused.problems)
        return None if says_why else pytest.fail("refused without a reason")
    assert dump(scenario)
    assert manifest(scenario)
    assert estimate(scenario).cpu_s > 0
    return scenario


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    """Draw a file of the catalogue with some of its text cut out, doubled, or written over."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = min(begin + draw(st.sampled_from([0, 1, 2, 10, 80])), len(text))
        scrap = draw(st.sampled_from(SCRAPS) | st.text(max_size=5) | st.just(text[begin:end] * 2))
        text = text[:begin] + scrap + text[end:]
    return text


@st.composite
def mutated_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a right document with one to three places of it changed for anything."""
    document = draw(files())
    for _ in range(draw(st.integers(1, 3))):
        _mutate(draw, document)
    return document


def _mutate(draw: st.DrawFn, node: Any) -> None:
    """Walk down to some place and replace, remove, rename or double it."""
    while True:
        places = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not places:
            return
        place = draw(st.sampled_from(places))
        below = node[place]
        if isinstance(below, dict | list) and below and draw(st.booleans()):
            node = below
            continue
        match draw(st.sampled_from(["replace", "remove", "rename", "double"])):
            case "replace":
                node[place] = draw(junk)
            case "remove":
                del node[place]
            case "rename" if isinstance(node, dict):
                node[f"{place}{draw(st.text(max_size=2))}"] = node.pop(place)
            case "double" if isinstance(node, list):
                node.append(below)
        return


@given(mutated_texts())
@example('title = "x"\n[group]\nid = "g"\n')
@example('run_for = "1s"\n[[group]]\nmember = 3\n[[fault]]\n')
def test_a_mutated_text_is_a_scenario_or_refused(text):
    """Damaged files are refused with a message, or still say something."""
    accept(lambda: loads(text, "fuzz.toml"))


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_of_mutated_bytes_is_a_scenario_or_refused(data, tmp_path):
    """Bytes that are no text, or no TOML, are refused with a message."""
    content = bytearray(data.draw(st.sampled_from(TEXTS)).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path / "fuzz.toml"
    file.write_bytes(content)
    accept(lambda: load(file))


@pytest.mark.long
@given(mutated_documents())
@settings(max_examples=60)
def test_a_mutated_document_is_a_scenario_or_refused(document):
    """Wrong types, missing tables, strange keys: all are refused with a message."""
    accept(lambda: scenario_of(tidy(document), ScenarioSource("fuzz.toml")))


@pytest.mark.long
@pytest.mark.soak
@given(mutated_documents())
@settings(max_examples=200, deadline=None)
def test_many_mutated_documents_are_scenarios_or_refused(document):
    """The same as above, for longer."""
    accept(lambda: scenario_of(tidy(document), ScenarioSource("fuzz.toml")))


@pytest.mark.long
@pytest.mark.soak
@given(mutated_texts())
@settings(max_examples=200, deadline=None)
def test_many_mutated_texts_are_scenarios_or_refused(text):
    """The same as above, for longer."""
    accept(lambda: loads(text, "fuzz.toml"))


def paths():
    """Draw a path of any key of any file; they are found when the first one is drawn."""
    each = (path for text in TEXTS for path in all_paths(tidy(tomllib.loads(text), text)))
    return st.sampled_from(sorted({*each}))


@pytest.mark.long
@given(
    st.sampled_from(TEXTS),
    st.deferred(paths) | st.text(max_size=20),
    st.sampled_from(["", ".x", "[0]", "[billing]", ".constant"]),
    st.sampled_from(["5", "5s", "true", "[1]", "{ a = 1 }", "", '"', "sync"]) | st.text(max_size=9),
)
@settings(max_examples=60)
def test_an_override_of_anything_gives_a_scenario_or_is_refused(text, path, more, value):
    """Any path and any value: applied, or refused with a message."""
    accept(lambda: loads(text, "fuzz.toml", [f"{path}{more}={value}"]))


@pytest.mark.long
@given(files())
@settings(max_examples=60)
def test_a_valid_document_is_never_refused(document):
    """Valid documents give scenarios: the mutations above start from them."""
    assert accept(lambda: scenario_of(tidy(document), ScenarioSource("right.toml"))) is not None
