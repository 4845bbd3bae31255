"""Events read back from a file are those of the run, or the file is refused with the reason."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import emulator
from emulator.errors import RefusedError
from emulator.events.parquet import EventFile
from emulator.ledger.builder import LedgerBuilder

from ..cli.commands import CRASH


def stored(path, run):
    with EventFile(path, {"seed": "1"}) as file:
        for event in run.events:
            file.write(event)
    return path


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_events_are_read_back_as_they_were(tmp_path, protocol):
    """With every field of every kind, so that the ledger can be computed again."""
    protocol = [f"group[billing].settings[group.protocol]={protocol}"]
    run = emulator.run(emulator.loads(CRASH, overrides=protocol), polls=True)
    events = emulator.read_events(stored(tmp_path / "events.parquet", run))

    assert run.events == events
    builder = LedgerBuilder()
    for event in events:
        builder.feed(event)
    assert run.ledger == builder.close()


def test_other_files_are_refused(tmp_path):
    """Each with the reason."""
    text, other, newer = (tmp_path / f"{name}.parquet" for name in ("text", "other", "newer"))
    text.write_text("no table")
    pq.write_table(pa.table({"row": [0]}), other)
    with EventFile(newer, {}) as file:
        for event in emulator.run(emulator.load("quiet")).events[:1]:
            file.write(event)
    table = pq.read_table(newer)
    kinds = pa.array(["Unheard"]).dictionary_encode()
    pq.write_table(table.set_column(table.schema.get_field_index("kind"), "kind", kinds), newer)

    for path, reason in (
        (tmp_path / "absent.parquet", "cannot be read"),
        (text, "not a Parquet file"),
        (other, "no column 'at_us'"),
        (newer, "row 0 is not an event of this version"),
    ):
        with pytest.raises(RefusedError, match=reason):
            emulator.read_events(path)
