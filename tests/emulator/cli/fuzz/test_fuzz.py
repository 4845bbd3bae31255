"""Mutated scenario files through ``rebalance run``: played, or refused; never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.scenario.estimates.cpu_time import estimate
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError

from ..commands import CRASH, rebalance

SCRAPS = [
    *("[", "]", "{", "}", '"', "=", ".", ",", "\n", "#", "\\", "\x00", "é", "9" * 30, "-", "0"),
    *(
        "-1",
        "1e400",
        "nan",
        "true",
        "[[fault]]\n",
        "[[act]]\n",
        "[[topic]]\n",
        "[group.settings]\n",
    ),
    *('"5s"', '"0s"', '"100h"', '"billing-0"', '"orders"', "[]", "{}", '""', "1_000", "0x10"),
    *("static = true\n", 'commit = "sync"\n', 'close = "billing-0"\n', 'for = "1s"\n'),
]
ENOUGH_S = 0.5
"""Larger runs would only take longer."""


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Draw the small scenario with some of its text cut out, doubled or written over."""
    text = CRASH
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(text)))
        end = min(begin + draw(st.sampled_from([0, 1, 2, 5, 20])), len(text))
        scrap = draw(st.sampled_from(SCRAPS) | st.text(max_size=4) | st.just(text[begin:end] * 2))
        text = text[:begin] + scrap + text[end:]
    return text


@st.composite
def nudged(draw: st.DrawFn) -> str:
    """Draw the small scenario with some of its numbers changed: most of these can be played."""
    parts = []
    for word in CRASH.split(" "):
        digits = "".join(filter(str.isdigit, word))
        change = digits and draw(st.integers(0, 4)) == 0
        number = str(draw(st.sampled_from([0, 1, 2, 3, 7, 30, 100, 100_000])))
        parts.append(word.replace(digits, number) if change else word)
    return " ".join(parts)


def small(text: str) -> bool:
    """Say whether a text is refused anyway, or is a run that is soon over."""
    try:
        return estimate(loads(text, "fuzz.toml")).cpu_s < ENOUGH_S
    except ScenarioError:
        return True


def check(folder, text):
    if not small(text):
        return
    path = folder / "fuzz.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    status, out, err = rebalance("run", path)
    if status == 2:
        assert out == ""
        assert err.startswith(str(path))
    else:
        assert status in (0, 1)
        assert err == ""
        assert "Figures" in out


@pytest.mark.long
@given(text=mutated() | nudged())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
def test_a_mutated_file_is_played_or_refused(tmp_path, text):
    """Bad input never shows a traceback."""
    check(tmp_path, text)


@pytest.mark.long
@pytest.mark.soak
@given(text=mutated() | nudged())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
def test_many_mutated_files_are_played_or_refused(tmp_path, text):
    """The same as above, for longer."""
    check(tmp_path, text)
