"""Whatever the file of a study holds, it is a study with cells or it is refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.errors import EmulatorError
from emulator.scenario.toml import toml_value
from emulator.study.model import FOLDER, load
from emulator.study.planning import plan_study

from ..cli.commands import rebalance
from .samples import SCENARIO, STUDY

TEXTS = [STUDY, *(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.toml")))]
SCRAPS = [
    *("[", "]", "[[", "{", "}", '"', "=", ".", ",", "\n", "\\", "\x00", "é", "9" * 30, "-1"),
    *("[[vary]]\n", "[seeds]\n", 'until = ["lost +- 1"]\n', "values = []\n", "nan", "true"),
]
CAREFUL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw a study with some of its text cut out, doubled or replaced, and then some bytes."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = min(begin + draw(st.sampled_from([0, 1, 2, 10, 80])), len(text))
        scrap = draw(st.sampled_from(SCRAPS) | st.text(max_size=5) | st.just(text[begin:end] * 2))
        text = text[:begin] + scrap + text[end:]
    content = bytearray(text.encode("utf-8", "replace"))
    for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content)


def read_or_refused(folder, content, read):
    path = folder / "study.toml"
    path.write_bytes(content)
    with suppress(EmulatorError):
        read(path)


@CAREFUL
@given(content=mutated())
def test_a_mutated_file_is_a_study_or_refused(tmp_path, content):
    """Nothing else."""
    read_or_refused(tmp_path, content, load)


# -- by structure ----------------------------------------------------------------------------

ODD = st.sampled_from(
    [
        *(0, -1, 1, 2**63, 10**30, 0.5, 1e300, float("nan"), float("inf"), True, date(2026, 1, 1)),
        *("", " ", "\u202e", "a" * 300, "5s", "1/s", "-", "..", "x=1", "reprocessed", "eager"),
        *([], [[]], ["a", "a"], {}, {"set": "run_for=20s"}, {"name": "a", "set": []}),
    ]
)
PATHS = st.sampled_from(
    [
        "group[billing].settings[auto.commit.interval.ms]",
        "group[billing].members",
        "group[billing].work",
        "topic[orders].rate",
        "run_for",
        "title",
        "group[other].work",
        "group[billing",
    ]
)
METRICS = st.sampled_from(["reprocessed", "lost", "takeover_first_s", "commits_sent", "lots"])
VALUES = st.sampled_from(["500ms", "5s", 1, 2, 3, "1/s", 2_000, "20s"])
ENDS = st.sampled_from([1, 2, 5, 1.5, "1s", "5s", "1/s", "9/s"])
LEVELS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "b", "5s"]),
        "set": st.lists(PATHS.map("{}=2".format), max_size=2),
    }
)
FEW = st.integers(1, 3)


def table(**keys: st.SearchStrategy) -> st.SearchStrategy:
    """Draw a table with some of these keys; now and then the value of one is odd."""
    return st.fixed_dictionaries(
        {}, optional={key.rstrip("_"): of | ODD for key, of in keys.items()}
    )


AXES = st.fixed_dictionaries(
    {"name": st.sampled_from(["x", "y", "z"]), "set": PATHS},
    optional={"values": st.lists(VALUES | LEVELS | ODD, max_size=3), "given": st.booleans() | ODD},
) | st.fixed_dictionaries(
    {"name": st.sampled_from(["x", "y"]), "set": PATHS, "from": ENDS | ODD, "to": ENDS | ODD},
    optional={"steps": FEW | ODD, "scale": st.sampled_from(["linear", "log"]) | ODD},
)
STUDIES = st.fixed_dictionaries(
    {
        "title": st.just("t") | st.just("t") | ODD,
        "scenario": st.just("crash.toml"),
        "seeds": FEW | st.fixed_dictionaries({"count": FEW}, optional={"most": FEW}) | ODD,
        "metrics": st.lists(METRICS, min_size=1, max_size=3),
    },
    optional={
        "question": st.just("why?") | ODD,
        "set": st.lists(PATHS.map("{}=2".format), max_size=2) | ODD,
        "protocols": st.lists(st.sampled_from(["eager", "kip848", "none"]), max_size=2) | ODD,
        "vary": st.lists(AXES, max_size=3),
        "latin_hypercube": table(points=FEW, seed=FEW),
        "until": st.lists(table(metric=METRICS, within=st.just("5%"), statistic=st.just("p95"))),
        "pareto": st.lists(st.lists(METRICS, max_size=3), max_size=2) | ODD,
        "goal": table(least=METRICS | st.just("x"), expect=st.dictionaries(METRICS, FEW | ODD)),
        "events": st.booleans() | ODD,
    },
)
ENOUGH_S = 0.5


def file_of(document: dict) -> bytes:
    """Return a study file; half a character of a pair is none in TOML."""
    lines = (f"{key} = {toml_value(value)}\n" for key, value in document.items())
    return "".join(lines).encode("utf-8", "replace")


@pytest.mark.long
@CAREFUL
@given(document=STUDIES)
def test_odd_values_are_planned_or_refused(tmp_path, document):
    """At every key, beside right ones."""
    (tmp_path / "crash.toml").write_text(SCENARIO)
    read_or_refused(tmp_path, file_of(document), plan_study)


@pytest.mark.long
@settings(CAREFUL, deadline=None, max_examples=60)
@given(document=STUDIES)
def test_odd_studies_are_played_or_refused(tmp_path, document):
    """Tables, page and figures of small ones; a refusal is one message and leaves nothing."""
    (tmp_path / "crash.toml").write_text(SCENARIO)
    path = tmp_path / "study.toml"
    path.write_bytes(file_of(document))
    with suppress(EmulatorError):
        plan = plan_study(path).plan
        if plan.work_s * (plan.study.seeds.most or 1) > ENOUGH_S:
            return
    with TemporaryDirectory(dir=tmp_path) as folder:
        status, out, err = rebalance("study", path, "-o", f"{folder}/out", "--jobs", 1)
        assert "Traceback" not in out + err
        assert (status == 2) == bool(err.strip()) == (not out.strip())


def test_a_right_document_is_played(tmp_path):
    """Otherwise every odd one would be refused for the same reason."""
    (tmp_path / "crash.toml").write_text(SCENARIO)
    axis = {"name": "x", "set": "group[billing].members", "values": [2, 3]}
    right = {
        "title": "t",
        "scenario": "crash.toml",
        "seeds": 1,
        "metrics": ["lost"],
        "vary": [axis],
    }
    (tmp_path / "study.toml").write_bytes(file_of(right))

    assert 0 == rebalance("study", tmp_path / "study.toml", "-o", tmp_path / "out").status


@pytest.mark.long
@settings(CAREFUL, deadline=None, max_examples=60)
@given(content=mutated())
def test_the_cells_of_a_mutated_file_are_planned_or_refused(tmp_path, content):
    """Its scenario and the changes of its axes are checked, too."""
    read_or_refused(tmp_path, content, plan_study)
