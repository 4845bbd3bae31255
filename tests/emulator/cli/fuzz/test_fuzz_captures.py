"""Corrupt captures through ``rebalance verify``: judged or refused; never a traceback."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..commands import rebalance

RUN = Path(__file__).parents[3] / "captures" / "static-crash-return" / "run-21"
FILES = sorted(path.name for path in RUN.iterdir() if path.is_file())
ESSENTIAL = [name for name in FILES if name.endswith((".gz", ".json"))]


@pytest.fixture
def capture(tmp_path):
    """Give a copy of a captured run."""
    folder = tmp_path / RUN.parent.name
    folder.mkdir()
    shutil.copy(RUN.parent / "scenario.json", folder)
    shutil.copytree(RUN, folder / RUN.name)
    return folder / RUN.name


def judged_or_refused(capture):
    """Verify a capture; return the status, after a look at what was said."""
    status, out, err = rebalance("verify", capture, "--seeds", 0)
    assert "Traceback" not in err
    if status == 2:
        assert "" == out
        assert err.startswith(str(capture.parent))
        assert 1 == err.count("\n")
    else:
        assert status in (0, 1)
        assert "" == err
    return status


SPOILED = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 12),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.parametrize("name", ESSENTIAL)
def test_a_spoiled_file_is_refused_by_name(capture, name, how):
    """Each file of a capture, whatever became of it."""
    SPOILED[how](capture / name)

    assert 2 == judged_or_refused(capture)


def test_work_that_overlaps_is_refused(capture):
    """One thread works: a record twice would leave less than no time for the one between."""
    path = capture / "m3.2.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if b'"e":"r"' in line][10]
    lines.insert(at + 2, lines[at])
    path.write_bytes(gzip.compress(b"".join(lines)))

    status, out, err = rebalance("verify", capture)

    assert (2, "") == (status, out)
    assert f"m3.2.jsonl.gz, line {at + 3}: inconsistent times: processing begins " in err


def test_a_run_may_be_named_from_inside(capture, monkeypatch):
    """As ``.``, in its own folder."""
    usual = rebalance("verify", capture, "--seeds", 0)
    monkeypatch.chdir(capture)

    assert usual == rebalance("verify", ".", "--seeds", 0)


# -- mutated ------------------------------------------------------------------------------------


def mutate(text: str, chance) -> str:
    """Change a line or a value of a file: dropped, doubled, moved, or something else instead."""
    lines = text.splitlines()
    at = chance.randrange(len(lines))
    kind = chance.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(chance.randrange(len(lines)), lines[at])
    elif kind == 2:
        lines[at] = changed_value(lines[at], chance)
    elif kind == 3:
        del lines[at : at + chance.randrange(1, 50)]
    elif kind == 4:
        cut = chance.randrange(len(lines[at]) + 1)
        scrap = chance.choice(["", "0", "-", '"', "{", "null", "9" * 25, "é", " "])
        lines[at] = lines[at][:cut] + scrap + lines[at][cut + chance.randrange(3) :]
    else:
        del lines[at:]
    return "".join(f"{line}\n" for line in lines)


def changed_value(line: str, chance) -> str:
    """Give one field of a JSON line another value."""
    try:
        fields = json.loads(line)
    except ValueError:
        return line[::-1]
    if not isinstance(fields, dict) or not fields:
        return "[]"
    key = chance.choice(sorted(fields))
    odd = [None, True, -1, 0, 10**25, 1.5, float("nan"), "", "x", [], {}, [[None]]]
    if chance.randrange(3) == 0:
        del fields[key]
    else:
        fields[key] = chance.choice(odd)
    return json.dumps(fields)


def spoil(capture: Path, chance) -> None:
    """Mutate one file of a capture, or two."""
    for name in chance.sample(ESSENTIAL, chance.randrange(1, 3)):
        path = capture / name
        packed = path.read_bytes()
        zipped = path.suffix == ".gz"
        text = mutate((gzip.decompress(packed) if zipped else packed).decode(), chance)
        path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())


def check(capture, chance):
    shutil.rmtree(capture)
    shutil.copytree(RUN, capture)
    spoil(capture, chance)
    judged_or_refused(capture)


@pytest.mark.long
@given(chance=st.randoms(use_true_random=False))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=8
)
def test_a_mutated_capture_is_judged_or_refused(capture, chance):
    """Whatever is wrong with it."""
    check(capture, chance)


@pytest.mark.long
@pytest.mark.soak
@given(chance=st.randoms(use_true_random=False))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=12
)
def test_many_mutated_captures_are_judged_or_refused(capture, chance):
    """The same as above, for longer."""
    check(capture, chance)
