"""The policies and happenings that are tried, with the times that were seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.blaming.clients import clients_of
from emulator.blaming.completing import completed
from emulator.blaming.hypotheses import MIGRATION, SOME_KILLS, happenings
from emulator.blaming.policies import policies
from emulator.blaming.setup import scenario_of
from emulator.blaming.symptoms import symptoms_of
from emulator.scenario.load import scenario_of as checked
from emulator.scenario.load import tidy
from emulator.scenario.part import ScenarioSource

from .incidents import SECOND, SETUP, evidence, steady

STOPPED = evidence(
    steady("a", 0, 1, 20),
    steady("b", 1, 1, 40),
    commits=[(5, 1, 40), (9.97, 1, 90), (14.96, 1, 140)],
)
RETURNED = evidence(steady("a", 0, 1, 20), steady("a", 0, 30, 40, first=190), steady("b", 1, 1, 40))
GREW = evidence(steady("a", 0, 1, 40), steady("c", 1, 20, 40), generations=(0, 19))


def names(seen):
    return [each.name for each in happenings(symptoms_of(seen), SETUP)]


def test_what_is_tried_depends_on_what_was_seen():
    """No return is tried for a consumer that stays away, and no crash where none stopped."""
    assert "crash" in names(STOPPED)
    assert "crash and return" not in names(STOPPED)
    assert {"crash and return", "restart", "pause", "hang", "cut"} <= set(names(RETURNED))
    assert "crash" not in names(RETURNED)
    assert ["nothing", "coordinator crash", "coordinator pause", "partitions added", "join"] == (
        names(GREW)
    )


def test_the_interval_of_automatic_commits_is_the_one_seen():
    every_three = evidence(steady("a", 0, 1, 20), commits=[(at, 0, at) for at in (5, 8.1, 11.2)])
    automatic = policies(every_three, SETUP)[0]

    assert (("auto.commit.interval.ms", 3_100),) == automatic.settings


def test_the_default_interval_is_taken_where_it_is_among_the_times_seen():
    """A rebalance commits twice between two ticks; a wait for data puts one off by 10 ms."""
    disturbed = evidence(
        steady("a", 0, 1, 40), commits=[(at, 0, at) for at in (5, 10.01, 12.2, 14.1, 19.1)]
    )

    for seen in (STOPPED, disturbed):
        assert (("auto.commit.interval.ms", 5_000),) == policies(seen, SETUP)[0].settings


@pytest.mark.parametrize("seen", [STOPPED, RETURNED, GREW], ids=["stopped", "returned", "grew"])
def test_each_explanation_is_a_valid_scenario(seen):
    symptoms = symptoms_of(seen)
    base = scenario_of(SETUP, seen, symptoms)
    for policy in policies(seen, SETUP):
        for happening in happenings(symptoms, SETUP):
            table = completed(base, policy, happening, 15 * SECOND)
            scenario = checked(tidy(table), ScenarioSource("blame"))
            assert len(happening.faults) + len(happening.acts) == len(scenario.fault)


def test_faults_begin_at_the_onset():
    symptoms = symptoms_of(STOPPED)
    crash = next(each for each in happenings(symptoms, SETUP) if each.name == "crash")
    base = scenario_of(SETUP, STOPPED, symptoms)
    table = completed(base, policies(STOPPED, SETUP)[0], crash, 15 * SECOND)

    assert [{"crash": "a", "at": "15.000s"}] == table["fault"]


def test_rates_work_times_and_settings_are_those_of_the_logs():
    base = scenario_of(SETUP, STOPPED, symptoms_of(STOPPED))
    (topic,), (group,) = base["topic"], base["group"]

    assert ("orders", 2, "7.45/s") == (topic["name"], topic["partitions"], topic["rate"])
    assert "10000us" == group["work"]
    assert 6_000 == group["settings"]["session.timeout.ms"]
    assert ["a", "b"] == [member["name"] for member in group["member"]]


def test_a_group_that_always_works_has_a_backlog():
    busy = evidence(steady("a", 0, 1, 20, every_s=0.01), steady("b", 1, 1, 40, every_s=0.01))
    (topic,) = scenario_of(SETUP, busy, symptoms_of(busy))["topic"]

    assert ("0.01/s", 2900) == (topic["rate"], topic["backlog"])


def test_a_deploy_is_one_act():
    seen = evidence(
        *(
            steady(name, number, begin, end, first=int(begin * 10))
            for number, name in enumerate("abc")
            for begin, end in ((1, 20 + 15 * number), (26 + 15 * number, 90))
        )
    )
    symptoms = symptoms_of(seen)
    deploy = next(each for each in happenings(symptoms, SETUP) if each.name == "deploy")
    base = scenario_of(SETUP, seen, symptoms)
    scenario = checked(
        tidy(completed(base, policies(seen, SETUP)[0], deploy, 15 * SECOND)),
        ScenarioSource("blame"),
    )

    assert ["nothing", "coordinator crash", "coordinator pause", "deploy with kills"] == (
        names(seen)[:4]
    )
    assert ["a", "b", "c"] == deploy.acts[0]["order"]
    assert 1 == len(deploy.acts) == len(scenario.fault)
    (killed,) = next(x for x in happenings(symptoms, SETUP) if "kills" in x.name).acts
    assert (killed["rolling_restart"], killed["grace"]) == (deploy.acts[0]["rolling_restart"], "0s")


def test_a_deploy_at_uneven_times_keeps_the_times_of_each_member():
    seen = evidence(
        *(
            steady(name, number, begin, end, first=int(begin * 10))
            for number, (name, at) in enumerate((("a", 20), ("b", 30), ("c", 60)))
            for begin, end in ((1, at), (at + 6, 90))
        )
    )
    deploy = next(each for each in happenings(symptoms_of(seen), SETUP) if each.name == "deploy")

    assert ["a", "b", "c"] == [act["close"] for act in deploy.acts]


def test_a_kill_after_a_grace_period_is_tried_where_the_group_notices_late():
    """The session is 6 s: a group that rebalances 26 s after the stop had a member for 20 s more."""
    late = evidence(steady("a", 0, 1, 20), steady("b", 1, 1, 80), generations=(0, 46))
    (killed,) = (each for each in happenings(symptoms_of(late), SETUP) if "grace" in each.name)

    assert "kill after a grace period" not in names(STOPPED)
    assert 20 == round(float(killed.acts[0]["grace"].removesuffix("s")))


def test_consumers_with_new_names_start_in_every_explanation_of_the_stops():
    seen = evidence(steady("a", 0, 1, 20), steady("b", 1, 1, 60), steady("c", 0, 30, 60, first=190))
    crash = next(each for each in happenings(symptoms_of(seen), SETUP) if each.name == "crash")

    assert "c" == crash.acts[0]["start"]
    assert crash.words.endswith("; c joined")


def test_a_consumer_of_rare_records_crashes_when_its_session_says_so():
    """It finishes a record every three seconds, the last one at 19 s; the generation is at 29.5 s."""
    seen = evidence(steady("a", 0, 1, 20, every_s=3), steady("b", 1, 1, 60), generations=(0, 29.5))
    crash = next(each for each in happenings(symptoms_of(seen), SETUP) if each.name == "crash")
    (fault,) = crash.faults

    assert 3 < fault["at"] / SECOND < 4.5


def test_new_partitions_are_discovered_at_the_onset():
    """Clients of the classic protocol see them at the next refresh of their metadata, brokers at once."""
    seen = evidence(
        steady("a", 0, 1, 40), steady("b", 1, 1, 40), steady("b", 2, 20, 40), generations=(0, 19)
    )
    found = []
    for protocol in ("classic", "consumer"):
        setup = replace(SETUP, protocol=protocol)
        [grew] = [each for each in happenings(symptoms_of(seen), setup) if each.topics]
        base = scenario_of(SETUP, seen, symptoms_of(seen))
        [group] = completed(base, policies(seen, SETUP)[0], grew, 20 * SECOND)["group"]
        found.append((grew.acts[0]["at"], group["settings"].get("metadata.max.age.ms")))

    assert found == [(-SECOND // 2, 500), (0, None)]


def test_a_deploy_that_killed_only_those_whose_records_were_repeated():
    """The next owner of b's partition begins 30 records below what b had finished."""
    seen = evidence(
        *(
            steady(name, number, begin, end, first=first)
            for number, (name, at, back) in enumerate((("a", 20, 0), ("b", 35, 30), ("c", 50, 0)))
            for begin, end, first in ((1, at, 0), (at + 6, 90, 10 * (at - 1) - back))
        )
    )
    symptoms = symptoms_of(seen)
    some = next(each for each in happenings(symptoms, SETUP) if "some" in each.name)

    assert [False, True, False] == [stop.repeated for stop in symptoms.stops]
    assert "a deploy killed b and closed a, c, and started them again" == some.words
    assert [("a", None), ("b", "0s"), ("c", None)] == [
        (act["close"], act.get("grace")) for act in some.acts
    ]
    assert "deploy with some kills" not in names(RETURNED)


# -- migrations between the protocols --------------------------------------------------------------

MIGRATED = evidence(
    steady("a", 0, 1, 20),
    steady("a", 0, 24, 60, first=190),
    steady("b", 1, 1, 30),
    steady("b", 1, 33, 40, first=250),
    steady("b", 1, 44, 60, first=320),
)
"""The consumer b stops twice, and repeats records the first time."""


def test_a_group_that_changed_its_protocol_was_migrated():
    """Each consumer comes back from its last stop with the other protocol; a kill has no grace period."""
    migrated = replace(SETUP, migrated_to="consumer")
    symptoms = symptoms_of(MIGRATED)
    found = {each.name: each for each in happenings(symptoms, migrated)}
    base = scenario_of(migrated, MIGRATED, symptoms)
    for name in (MIGRATION, f"{MIGRATION}{SOME_KILLS}"):
        table = completed(base, policies(MIGRATED, migrated)[0], found[name], 15 * SECOND)
        assert 6 == len(checked(tidy(table), ScenarioSource("blame")).fault)
    starts = [act for act in found[MIGRATION].acts if "start" in act]
    killed = [act for act in found[f"{MIGRATION}{SOME_KILLS}"].acts if "grace" in act]

    assert ["a", "b", "b"] == [act["start"] for act in starts]
    assert [True, False, True] == ["settings" in act for act in starts]
    assert {"group.protocol": "consumer"} == starts[-1]["settings"]
    assert ["b"] == [act["close"] for act in killed]
    assert not {MIGRATION, f"{MIGRATION}{SOME_KILLS}"} & set(names(MIGRATED))


def test_a_library_without_the_new_protocol_did_not_migrate():
    usual = replace(SETUP, rebalance_timeout_ms=300_000)
    migrated = replace(usual, migrated_to="consumer")
    before, after = (set(clients_of(setup)) for setup in (usual, migrated))

    assert {"kafka-python"} <= before
    assert {"java", "librdkafka"} == after < before


# -- commits when partitions are revoked -----------------------------------------------------------


def test_commits_at_an_interval_are_tried_with_a_listener_that_commits():
    """Without a rebalance both commit alike, and are played once."""
    tried = [each for each in policies(STOPPED, SETUP) if each.family != each.name]

    assert [True] == [each.commit["on_revoke"] for each in tried]
    assert 2 == sum(
        each.quiet_commits == tried[0].quiet_commits for each in policies(STOPPED, SETUP)
    )


def test_a_poll_interval_that_the_log_shows_is_not_taken_for_a_session():
    """A member that polls too late leaves with its next heartbeat, half an interval later on average."""
    stopped = evidence(
        steady("a", 0, 1, 20), steady("b", 1, 1, 60), steady("b", 0, 29, 60), generations=(0, 28.5)
    )
    setup = replace(SETUP, protocol="consumer", session_timeout_ms=None)
    late, session = (
        scenario_of(replace(setup, rebalance_timeout_ms=each), stopped, symptoms_of(stopped))
        for each in (8_000, 300_000)
    )
    key = "group.consumer.{}.ms"
    interval, timeout = key.format("heartbeat.interval"), key.format("session.timeout")

    assert 1_000 == pytest.approx(late["cluster"]["settings"][interval], abs=200)
    assert timeout not in late["cluster"]["settings"]
    assert 8_500 == pytest.approx(session["cluster"]["settings"][timeout], abs=200)
