"""Mutated files through the other commands that read them: answered or refused; never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..commands import CRASH, rebalance
from ..log.test_log_fuzz import damaged
from .test_fuzz import mutated, nudged, small

pytestmark = pytest.mark.long
FEW = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ROWS = "topic,partition,consumer,offset,end\n" + "".join(
    f"orders,0,c-{number // 30},{number - number // 30 * 5},{1_700_000_000_000 + number}\n"
    for number in range(60)
)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """Draw a processing log with some bytes cut out, doubled or written over."""
    data = ROWS.encode()
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        end = min(begin + draw(st.sampled_from([0, 1, 2, 5, 200])), len(data))
        scrap = draw(st.binary(max_size=3) | st.sampled_from([b",", b'"', b"\n", b"-1", b"9" * 30]))
        data = data[:begin] + draw(st.sampled_from([scrap, data[begin:end] * 2])) + data[end:]
    return data


def answered_or_refused(*words: object) -> None:
    """Call a command: a result on stdout, or one refusal on stderr."""
    status, out, err = rebalance(*words)
    assert "Traceback" not in out + err
    if status == 2:
        assert err.strip()
    else:
        assert status in (0, 1)
        assert out.strip()


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "D1"),
        ("explain", "billing-0"),
        ("compare", "--with", "group[billing].members=1"),
    ],
)
@given(text=mutated() | nudged())
@FEW
def test_a_mutated_scenario_is_explained_or_compared_or_refused(tmp_path, words, text):
    """Whatever it holds, and whatever of it is asked for."""
    path = tmp_path / "fuzz.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    if small(text):
        answered_or_refused(words[0], path, *words[1:])


@given(data=spoiled())
@FEW
def test_a_spoiled_processing_log_is_judged_or_refused(tmp_path, data):
    """Its rows are not those of any consumer."""
    (tmp_path / "log.csv").write_bytes(data)
    answered_or_refused("audit", tmp_path / "log.csv")


@given(data=damaged())
@FEW
def test_a_damaged_segment_is_imported_or_refused(tmp_path_factory, data):
    """Its commits go with a processing log, and explain that, or are refused."""
    folder = tmp_path_factory.mktemp("damaged")
    segments = folder / "logs" / "__consumer_offsets-0"
    segments.mkdir(parents=True)
    (segments / "00000000000000000000.log").write_bytes(data)
    (folder / "log.csv").write_text(ROWS)

    answered_or_refused("import", folder / "logs", "-o", folder / "imported")
    answered_or_refused("audit", folder / "log.csv", "--commits", folder / "logs")
    answered_or_refused("blame", folder / "log.csv", folder / "logs", "--seeds", 1)


def test_what_is_mutated_is_answered_as_it_is(tmp_path):
    """Otherwise every mutated file would be refused for the same reason."""
    (tmp_path / "fuzz.toml").write_text(CRASH)
    (tmp_path / "log.csv").write_text(ROWS)

    assert 0 == rebalance("explain", tmp_path / "fuzz.toml", "D1").status
    assert 0 == rebalance("audit", tmp_path / "log.csv").status
