"""What ``rebalance blame`` prints."""

from __future__ import annotations

from emulator.blaming.explanations import Explanation
from emulator.blaming.figures import FIGURES, after, before, contradicted
from emulator.blaming.happening import NOTHING
from emulator.blaming.policies import policies
from emulator.blaming.screen import blame_screen
from emulator.blaming.setup import Setup
from emulator.blaming.symptoms import symptoms_of
from emulator.blaming.trials import Blame

from .incidents import evidence, steady

SEEN = evidence(steady("a", 0, 1, 20), steady("b", 1, 1, 40), steady("b", 0, 27, 40, first=150))


def printed(distance: float) -> str:
    """Return the screen of an explanation without repeats, which fits so badly."""
    symptoms = symptoms_of(SEEN)
    seen = before(SEEN, symptoms.formed_us, symptoms.onset_us)
    seen |= after(SEEN, symptoms.onset_us, ["a"])
    setup = Setup(
        group="billing",
        protocol="classic",
        assignor=None,
        session_timeout_ms=None,
        rebalance_timeout_ms=None,
    )
    played = {name: (value, value, value) for name, value in (seen | {"repeated": 0}).items()}
    against = contradicted(played, seen)
    explanation = Explanation(policies(SEEN, setup)[0], NOTHING, {}, played, distance, against)
    return " ".join(
        " ".join(blame_screen(Blame(setup, symptoms, seen, FIGURES, (explanation,)))).split()
    )


def test_what_was_seen_comes_first():
    assert printed(0.1).startswith(
        "What was seen: from 1970-01-01 00:00:19 (UTC) on, a finished no record from 00:00:19.9 on;"
    )


def test_figures_that_do_not_fit_are_named():
    assert (
        "1: does not fit: records reprocessed: 40 seen, 0 explained (contradicts it)."
        in printed(0.1)
    )


def test_a_bad_fit_is_said():
    assert "None of them fits well" not in printed(0.1)
    assert "None of them fits well. Something else may have happened" in printed(2)
