"""Rolling updates with random names: those of a Deployment, whose pods boot beside those that terminate."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from emulator.loading import LoadedScenario
from emulator.scenario.deploys import replaced_together
from emulator.scenario.problems import ScenarioError
from emulator.subjects import subject_of

from .test_deploys import LACKS_RANGE, SCENARIO, begun, lives, of_processes, played

BUSY = 'work = "60s"'
"""A record takes a minute, and close() waits for it: the grace period ends first."""

POD = 'names = "random", grace = "4s", down_time = "1s", start_up = "2s", ready_after = "5s"'
"""A new pod calls its consumer 3 s after its creation, and is ready 5 s later."""

ONE_LESS = "surge = 0, max_unavailable = 1"
ONE_MORE = "surge = 1, max_unavailable = 0"


def starts(run: emulator.Run) -> list[tuple[str, int]]:
    return [(name, at_s) for name, how, at_s in lives(run) if how == "start"]


def kills(run: emulator.Run) -> list[tuple[str, int]]:
    """Return who was killed, and when: a grace period after the request to stop."""
    return [(name, at_s) for name, how, at_s in lives(run) if how == "killed"]


def test_a_pod_boots_beside_the_one_that_terminates():
    """The old one is asked to stop at 20 s and killed at 24 s; the new one is created at 20 s."""
    run = played(f'{POD}, {ONE_LESS}, order = ["g-0"]', group=BUSY)

    assert lives(run) == [("g-0+", "start", 23), ("g-0", "killed", 24)]


def test_with_ordinal_names_a_pod_starts_after_the_end_of_the_one_before():
    ordinal = POD.replace("random", "ordinal")
    run = played(f'{ordinal}, order = ["g-0"]', group=BUSY)

    assert lives(run) == [("g-0", "killed", 24), ("g-0", "start", 27)]


def test_the_next_replacement_does_not_wait_for_the_end_of_the_last_pod():
    """Each new pod is available 8 s after its creation; no grace period of 30 s is waited for."""
    run = played(f"{POD.replace('4s', '30s')}, {ONE_LESS}", group=BUSY)

    assert starts(run) == [("g-0+", 23), ("g-1+", 31), ("g-2+", 39)]
    assert kills(run) == [("g-0", 50), ("g-1", 58), ("g-2", 66)]


def test_a_surge_pod_is_followed_by_the_next_one_while_the_old_one_terminates():
    """The old pod stops, and the next new one is created, when a pod has been ready for 2 s."""
    run = played(f'{POD}, {ONE_MORE}, gap = "2s"', group=BUSY)

    assert starts(run) == [("g-0+", 23), ("g-1+", 33), ("g-2+", 43)]
    assert kills(run) == [("g-0", 34), ("g-1", 44), ("g-2", 54)]


def test_pre_stop_delays_the_end_of_the_old_pod_and_not_the_new_one():
    run = played(f'{POD}, {ONE_LESS}, pre_stop = "3s", order = ["g-0"]')

    assert sorted(lives(run)) == [("g-0", "closed", 23), ("g-0+", "start", 23)]


def test_the_act_ends_with_the_last_pod_that_terminates():
    run = played(f"{POD.replace('4s', '30s')}, {ONE_LESS}", group=BUSY)
    ended = [e.at_us for e in run.events if type(e.what).__name__ == "FaultEnded"]

    assert [at_us // 1_000_000 for at_us in ended] == [66]


@pytest.mark.parametrize(
    ("keys", "members", "together"),
    [
        ("", 3, (0, 1)),
        ("", 4, (1, 1)),
        ("", 10, (2, 3)),
        ("surge = 0", 3, (1, 0)),
        ("surge = 0", 8, (2, 0)),
        ("surge = false", 8, (2, 0)),
        ("surge = true", 8, (0, 2)),
        ("max_unavailable = 0", 8, (0, 2)),
        ("surge = 3", 8, (2, 3)),
    ],
)
def test_a_quarter_is_the_default_of_both_numbers(keys, members, together):
    """Rounded down for those unavailable, and up for the surge; the defaults of a Deployment."""
    act = f'names = "random", {keys}'.removesuffix(", ")
    given = {"act": act, "group": "", "static": "false", "strategy": "range", "earlier": ""}

    assert replaced_together(emulator.loads(SCENARIO.format(**given)).fault[0], members) == together


def test_of_four_replicas_one_stops_at_once_and_two_new_ones_are_created():
    """Then each new pod that is available lets one stop and one more start."""
    four = SCENARIO.replace("members = 3", "members = 4").replace(
        "partitions = 3", "partitions = 4"
    )
    given = {"act": POD, "group": BUSY, "static": "false", "strategy": "range", "earlier": ""}
    scenario = emulator.loads(four.format(**given))
    run = emulator.run(scenario)

    assert run.digest == emulator.run(scenario, mode="exact", keep_events=False).digest
    assert starts(run) == [("g-0+", 23), ("g-1+", 23), ("g-2+", 31), ("g-3+", 31)]
    assert sorted(kills(run)) == [("g-0", 24), ("g-1", 32), ("g-2", 32), ("g-3", 40)]


@pytest.mark.parametrize("limits", [ONE_LESS, ONE_MORE])
def test_a_canary_goes_back_while_its_predecessor_terminates(limits):
    """g-0 has been asked to stop, so it is not kept: the canary is replaced."""
    pod = POD.replace('"4s", ', '"2min", ').replace(', ready_after = "5s"', "")
    run = played(
        f"{pod}, {limits}, canary = 1, roll_back = true, {LACKS_RANGE}", group='work = "2min"'
    )

    assert begun(run, "give_up") == ["g stops: g-0+ has ended"]
    assert begun(run, "roll_back") == ["g-0+"]
    assert [name for name, _ in starts(run)] == ["g-0+", "g-0++"]
    assert "g-0" not in {name for name, how, at_s in lives(run) if how != "start" and at_s < 60}


def test_the_members_of_a_pod_are_replaced_together():
    found = lives(of_processes(f'{POD}, {ONE_LESS}, order = ["g-0"]'))

    assert [(name, at_s) for name, how, at_s in found if how == "start"] == [
        ("g-0+", 23),
        ("g-1+", 23),
    ]
    assert {name for name, how, _ in found if how == "closed"} == {"g-0", "g-1"}


DRAINED = SCENARIO.replace(
    '{{ id = "roll", rolling_restart = "g", at = "20s", {act} }}', "{{ {act} }}"
)
DRAIN = 'drain_node = ["g-1"], at = "30s", grace = "4s", restart_after = "1s", start_up = "2s"'


def drained(act: str) -> str:
    given = {"group": BUSY, "static": "true", "strategy": "range", "earlier": ""}
    return DRAINED.format(act=act, **given)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("random", [("g-1+", "start", 33), ("g-1", "killed", 34)]),
        ("ordinal", [("g-1", "killed", 34), ("g-1", "start", 37)]),
    ],
)
def test_a_pod_of_a_drained_node_is_replaced_as_in_a_deploy(names, found):
    """With a random name it is created at the drain, otherwise after the end of the old one."""
    assert lives(emulator.run(emulator.loads(drained(f'{DRAIN}, names = "{names}"')))) == found


@pytest.mark.parametrize(("names", "new_ids"), [("random", True), ("ordinal", False)])
def test_static_members_of_a_drained_node_leave_their_ids_behind_if_names_are_random(
    names, new_ids
):
    scenario = emulator.loads(drained(f'{DRAIN}, names = "{names}"'))
    [group] = subject_of(LoadedScenario("drained", (), scenario, Path())).groups

    assert group.new_ids is new_ids


def test_a_drained_node_whose_pods_do_not_come_back_has_no_names_for_them():
    with pytest.raises(ScenarioError, match="no pod replaces them; set restart_after"):
        emulator.loads(drained('drain_node = ["g-1"], at = "30s", names = "random"'))
