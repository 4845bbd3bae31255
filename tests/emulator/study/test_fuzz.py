"""Whatever the file of a study holds, it is a study with cells or it is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.errors import EmulatorError
from emulator.study.model import FOLDER, load
from emulator.study.planning import plan_study

from .samples import STUDY

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


@pytest.mark.long
@settings(CAREFUL, deadline=None, max_examples=60)
@given(content=mutated())
def test_the_cells_of_a_mutated_file_are_planned_or_refused(tmp_path, content):
    """Its scenario and the changes of its axes are checked, too."""
    read_or_refused(tmp_path, content, plan_study)
