"""Captures are found, read and refused with one clear word."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.conformance.captured.capture import find_runs, read_capture, why_not_comparable
from emulator.conformance.captured.reading import CaptureError
from emulator.conformance.figures import tolerances_of
from emulator.conformance.history.run import history
from emulator.conformance.observed import observe


def rewrite(path: Path, old: str, new: str) -> None:
    text = gzip.decompress(path.read_bytes()).decode()
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new, 1).encode()))


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_folder_of_scenarios_holds_all_their_runs_in_order(kept):
    """Runs are found in a run's folder, a scenario's, and a folder of scenarios."""
    all_runs = [path.relative_to(kept).as_posix() for path in find_runs(kept)]

    assert all_runs == sorted(all_runs, key=lambda run: run.split("/"))
    assert len(all_runs) == 38
    assert find_runs(kept / "crash-range-auto") == (kept / "crash-range-auto" / "run-1",)
    assert find_runs(kept / "crash-range-auto/run-1") == (kept / "crash-range-auto/run-1",)


def test_runs_are_in_order_of_their_number(tmp_path):
    """Run 2 comes before run 10."""
    for number in (10, 2, 1):
        (tmp_path / f"run-{number}").mkdir()

    assert [path.name for path in find_runs(tmp_path)] == ["run-1", "run-2", "run-10"]


def test_a_folder_without_runs_is_an_error(tmp_path):
    """Nothing to read is said so."""
    with pytest.raises(CaptureError, match=r"no captured run here"):
        find_runs(tmp_path)
    with pytest.raises(CaptureError, match=r"no such folder"):
        find_runs(tmp_path / "nowhere")


def test_a_log_of_processed_records_has_other_commands(tmp_path):
    (tmp_path / "processed.jsonl").write_text("{}")

    with pytest.raises(CaptureError, match=r"rebalance audit, or .* rebalance blame"):
        find_runs(tmp_path / "processed.jsonl")


def test_a_capture_is_read_in_microseconds_since_its_first_instant(capture):
    """Times count from the creation of the first topic, names are the real ones."""
    run = capture("crash-range-auto/run-1")

    assert run.name == "crash-range-auto/run-1"
    assert run.origin == 1795258460890141
    assert run.productions[0].created_us == 0
    assert run.fault_us == 1795258477342819 - run.origin
    assert run.productions[0].topic == "crash-range-auto-1-hrkn4.t0"
    assert [trace.name for trace in run.traces] == ["m1.1", "m2.1", "m3.1"]
    assert not run.quiet


@pytest.mark.long
def test_every_kept_capture_is_comparable(kept_runs):
    """Members are consumers of modelled clients, the runs drained."""
    assert [why_not_comparable(run) for run in kept_runs] == [None] * 38


def test_other_clients_are_a_value_not_an_error(copied):
    """Members of another library are not modelled in this version."""
    rewrite(copied / "m2.1.jsonl.gz", '"strip":', '"lib":"sarama","strip":')

    expected = "not modelled in this version: members that run sarama"
    assert expected == why_not_comparable(read_capture(copied))


def test_a_group_has_epochs_if_its_members_speak_the_consumer_protocol(capture):
    """Each says so in its configuration."""
    runs = [capture(name) for name in ("crash-range-auto/run-1", "kip848-crash/run-1")]

    assert [False, True] == [run.has_epochs for run in runs]


def test_a_run_that_did_not_drain_is_not_compared(copied):
    """Records left over at the end would look lost."""
    edit(copied / "meta.json", drained=False)

    expected = "the captured run itself failed: not drained to its end"
    assert expected == why_not_comparable(read_capture(copied))


@pytest.mark.parametrize(
    "name",
    ["meta.json", "summary.json", "m2.1.jsonl.gz", "m3.1.log.gz", "coordinator.log.gz"],
)
def test_a_missing_file_is_named(copied, name):
    """The error says which file is missing."""
    (copied / name).unlink()

    with pytest.raises(CaptureError, match=rf"{name}: the file is missing"):
        read_capture(copied)


@pytest.mark.parametrize("name", ["m1.1.jsonl.gz", "m1.1.log.gz", "coordinator.log.gz"])
def test_a_cut_gzip_file_is_named(copied, name):
    """The error says which file ends too early."""
    whole = (copied / name).read_bytes()
    (copied / name).write_bytes(whole[: len(whole) // 2])

    with pytest.raises(CaptureError, match=rf"{name}: the gzip file is cut off"):
        read_capture(copied)


def test_a_file_that_is_no_gzip_is_named(copied):
    """Plain text under a gzip name is refused."""
    (copied / "m1.1.jsonl.gz").write_text("{}")

    with pytest.raises(CaptureError, match=r"m1\.1\.jsonl\.gz: not a valid gzip file"):
        read_capture(copied)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('{"e":"subscribed"', '{"e":"subscribed', r"line 2: not JSON"),
        ('"e":"subscribed"', '"e":"slept"', r"line 2: unknown kind of entry 'slept'"),
        ('"e":"subscribed","t":', '"e":"subscribed","at":', r"line 2: field 't' is missing"),
        (
            '"e":"subscribed","t":1795258461695581',
            '"e":"subscribed","t":"soon"',
            r"line 2: field 't' is \"soon\"; expected a whole number",
        ),
        (
            '"e":"subscribed","t":1795258461695581',
            '"e":"subscribed","t":1795258460000000',
            r"line 2: inconsistent times: `t` lies 890141 us before the run began",
        ),
        ('"a":1795258468328088', '"a":1795258468999999', r"line 8: inconsistent times: it ends"),
        ('"t":1795258468327723', '"t":1795258408327723', r"line 7: inconsistent times: `t` lies"),
        ('"t0-0":[0,0]', '"t0-0":[0]', r"line 7: field 'ps.t0-0' is \[0\]"),
        ('"t0-0":[0,0]', '"t0":[0,0]', r"line 7: 't0' is not a partition"),
        ('"n":1,"ps":{"t0-0":[0,0]}', '"n":9,"ps":{"t0-0":[0,0]}', r"line 7: field 'n' is 9"),
        ('{"e":"started"', '{"e":"begun"', r"line 1: a trace begins with an entry `started`"),
    ],
)
def test_a_bad_line_of_a_trace_is_named(copied, old, new, problem):
    """The error says file, line and what is wrong."""
    rewrite(copied / "m1.1.jsonl.gz", old, new)

    with pytest.raises(CaptureError, match=rf"m1\.1\.jsonl\.gz, {problem}"):
        read_capture(copied)


def test_a_trace_that_jumps_back_is_named(copied):
    """A line much older than the one above it is refused."""
    rewrite(copied / "m1.1.jsonl.gz", '"t":1795258468358070', '"t":1795258464358070')

    with pytest.raises(CaptureError, match=r"line 9: inconsistent times: 3982057 us older"):
        read_capture(copied)


def test_a_member_whose_trace_is_missing_is_named(copied):
    """Every incarnation the run started must have its trace."""
    meta = json.loads((copied / "meta.json").read_text())
    start = {"do": "start", "member": "m1", "t": meta["t_fault"] + 1, "rel_s": 0.0}
    edit(copied / "meta.json", actions=[*meta["actions"], start])

    with pytest.raises(CaptureError, match=r"m1\.2\.jsonl\.gz: the file is missing"):
        read_capture(copied)


def test_times_of_the_run_must_follow_one_another(copied):
    """A fault after the end is a corrupt capture."""
    meta = json.loads((copied / "meta.json").read_text())
    edit(copied / "meta.json", t_end=meta["t_fault"] - 1)

    with pytest.raises(CaptureError, match=r"meta\.json: inconsistent times"):
        read_capture(copied)


def test_a_missing_field_of_the_run_is_named(copied):
    """Fields inside fields are named with their way."""
    meta = json.loads((copied / "meta.json").read_text())
    del meta["produce"]["t0"]["tick_ns"]
    (copied / "meta.json").write_text(json.dumps(meta))

    with pytest.raises(CaptureError, match=r"field 'produce\.t0\.tick_ns' is missing"):
        read_capture(copied)


def test_an_empty_json_file_is_named(copied):
    """An empty file is not JSON."""
    (copied / "meta.json").write_text("")

    with pytest.raises(CaptureError, match=r"meta\.json: not JSON"):
        read_capture(copied)


def test_a_foreign_line_in_the_coordinators_log_is_named(copied):
    """The first line must be a coordinator's."""
    (copied / "coordinator.log.gz").write_bytes(gzip.compress(b"hello\n"))

    with pytest.raises(CaptureError, match=r"coordinator\.log\.gz, line 1: not a coordinator's"):
        read_capture(copied)


def spoil(data: st.DataObject, text: bytes) -> bytes:
    """Change one place of a text: cut it, drop, double or overwrite a stretch."""
    place = data.draw(st.integers(0, max(len(text) - 1, 0)), label="place")
    length = data.draw(st.integers(0, 40), label="length")
    patch = data.draw(
        st.sampled_from([b"", b"0", b"-1", b"null", b"[]", b"{}", b'"', b"\n", b"\xff", b"9" * 30]),
        label="patch",
    )
    return text[:place] + patch + text[place + length :]


@pytest.mark.long
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_spoilt_capture_is_read_or_refused(kept, tmp_path_factory, data):
    """Whatever is changed in a capture, it is read to its figures or is one CaptureError."""
    folder = tmp_path_factory.mktemp("spoilt") / "crash-range-auto"
    shutil.copytree(kept / "crash-range-auto", folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file = data.draw(st.sampled_from(files), label="file")
    packed = file.suffix == ".gz"
    text = gzip.decompress(file.read_bytes()) if packed else file.read_bytes()
    spoilt = spoil(data, text)
    file.write_bytes(gzip.compress(spoilt) if packed else spoilt)

    assert outcome(folder / "run-1") in {"read", "refused"}
    shutil.rmtree(folder.parent)


def outcome(path: Path) -> str:
    try:
        run = read_capture(path)
        if why_not_comparable(run) is None:
            observe(history(run), tolerances_of(run).view)
    except CaptureError:
        return "refused"
    return "read"
