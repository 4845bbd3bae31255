"""The plan of a study: cells, seeds and chunks."""

from __future__ import annotations

from emulator.study.labels import label_of
from emulator.study.plan import Chunk, make_plan, settings_of

from .samples import load_cell, plan_of, study_of

SECOND = """
[[vary]]
name = "members"
set = "group[billing].members"
values = [2, 3]
"""


def test_a_grid_has_every_combination_under_every_protocol():
    """The protocols of one point stand side by side."""
    study = study_of(("seeds = 6", 'seeds = 6\nprotocols = ["eager", "static"]'), more=SECOND)

    names = [settings.name for settings in settings_of(study)]

    assert 2 * 2 * 2 == len(names)
    assert "commit interval=500ms, members=2, eager" == names[0]
    assert "commit interval=500ms, members=2, static" == names[1]


def test_a_protocols_overrides_come_before_those_of_the_axes():
    """So that a study can vary what a protocol sets."""
    seen = []
    study = study_of(("seeds = 6", 'seeds = 6\nset = "run_for=30s"'))

    def load(overrides):
        seen.append(list(overrides))
        return load_cell(overrides)

    make_plan(study, {"as-written": ["group[billing].static=true"]}, load)

    begin = ["run_for=30s", "group[billing].static=true"]
    end = 'group[billing].settings[auto.commit.interval.ms]="500ms"'
    assert [*begin, end] == seen[0]


def test_every_cell_has_the_same_seeds_once():
    """Differences are paired."""
    plan = plan_of(study_of(("seeds = 6", "seeds = { count = 70, first = 5 }")))

    by_cell = {}
    for chunk in plan.chunks(0, 70):
        by_cell.setdefault(chunk.cell, []).extend(range(chunk.first, chunk.first + chunk.runs))

    assert {0, 1} == set(by_cell)
    assert all([*range(5, 75)] == sorted(seeds) for seeds in by_cell.values())


def test_chunks_are_enough_for_many_cores_and_not_too_small():
    """However many runs there are."""
    runs = [
        [
            chunk.runs
            for chunk in plan_of(study_of(("seeds = 6", f"seeds = {seeds}"))).chunks(0, seeds)
        ]
        for seeds in (1, 6, 1_000, 100_000)
    ]

    assert [1, 1] == runs[0]
    assert set(runs[1]) == {1}
    assert len(runs[2]) >= 32
    assert 50 <= max(runs[3]) <= 2_000


def test_all_cells_are_begun_before_one_is_finished():
    """An early look at a study sees all of it."""
    plan = plan_of(study_of(("seeds = 6", "seeds = 100")))

    assert [0, 1, 0, 1] == [chunk.cell for chunk in plan.chunks(0, 100)][:4]


def test_names_of_chunks_sort_as_their_seeds():
    """Files are read in their order."""
    chunks = [Chunk(0, first, 10) for first in (0, 9, 10, 100, 2**62)]

    assert [chunk.name for chunk in chunks] == sorted(chunk.name for chunk in chunks)


def test_lag_counts_offsets_where_some_hold_no_record():
    """In the labels of a study, as in those of a run: transaction markers have offsets."""
    study = study_of(("scenario =", 'set = ["topic[orders].transaction_records=5"]\nscenario ='))
    lag, other = "lag_processed_area", "reprocessed"

    assert "lag_processed_area (offset-s)" == label_of(lag, plan_of(study))
    assert "lag_processed_area (record-s)" == label_of(lag, plan_of())
    assert "reprocessed (records)" == label_of(other, plan_of(study))
