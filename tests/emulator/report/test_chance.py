"""A report over seeds says if nothing depends on them."""

from __future__ import annotations

from emulator.metrics.metrics import Metrics
from emulator.report.figures import all_alike, note_if_alike


def runs(*reprocessed):
    return [Metrics(values={"reprocessed": number, "lost": 0}) for number in reprocessed]


def test_seeds_are_alike_if_all_their_figures_are():
    """One figure that differs in one seed is enough."""
    assert all_alike(runs(7, 7, 7))
    assert not all_alike(runs(7, 7, 8))


def test_the_size_of_a_log_is_not_a_figure_that_counts():
    """Member ids are random, and so are the bytes of their records."""
    one, other = (Metrics(values={"reprocessed": 7, "log_bytes": size}) for size in (900, 901))

    assert all_alike([one, other])


def test_one_seed_has_no_spread():
    """There is nothing to compare with."""
    assert not all_alike(runs(7))


def test_it_is_said_if_no_column_depends_on_the_seed():
    """Only then, with advice."""
    said = " ".join(note_if_alike(runs(7, 7), runs(9, 9)))

    assert said.startswith("All seeds gave the same figures")
    assert "between" in said
    assert [] == list(note_if_alike(runs(7, 7), runs(9, 8)))
