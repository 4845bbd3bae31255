"""``rebalance init``: five answers, and a scenario that runs."""

from __future__ import annotations

import signal

import pytest
from typer.testing import CliRunner

import emulator
from emulator.cli.main import UNANSWERED, TerminatedError, app
from emulator.ledger.entries import Cause
from emulator.verdicts.verdict import VerdictId


@pytest.fixture
def init(tmp_path, monkeypatch):
    """Return a function that runs the command with what is typed."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, typed=""):
        return CliRunner().invoke(app, ["init", *arguments], input=typed)

    return call


def test_five_answers_make_a_scenario(init, tmp_path):
    """A wrong one is asked again; the file is valid and says what to run next."""
    (tmp_path / "consumer.properties").write_text("max.poll.records=9\n", encoding="utf-8")
    result = init("mine.toml", typed="2\n4\nfast\n40/s\n7ms\nconsumer.properties\n")

    assert result.exit_code == 0, result.output
    assert "Error: " in result.output
    assert result.stdout.endswith("mine.toml: written. Next: rebalance run mine.toml\n")
    scenario = emulator.load("mine.toml")
    (group,), (topic,) = scenario.group, scenario.topic
    assert (len(group.members), topic.partitions, topic.rate) == (2, 4, 10.0)
    assert group.work.constant == 7_000
    assert dict(group.settings) == {"max.poll.records": 9, "auto.offset.reset": "earliest"}
    assert emulator.run(scenario).ok


def test_the_first_run_shows_a_deploy_and_duplicates(init, tmp_path):
    """Of a backlog in full batches; its names are the user's."""
    result = init("mine.toml", "--topic", "payments", "--group", "invoicing", typed="\n\n\n\n\n")
    assert result.exit_code == 0, result.output
    run = emulator.run(emulator.load("mine.toml"))

    assert (["payments"], ["invoicing"]) == (
        [topic.name for topic in run.scenario.topic],
        [group.id for group in run.scenario.group],
    )
    assert run.ok
    assert run.ledger.by_cause()[Cause.CRASHED] > 500
    assert run.metrics["rebalances"] > 4


@pytest.mark.parametrize(
    ("work", "rate", "has_backlog"), [("4ms", "60/s", True), ("100ms", "60/s", False)]
)
def test_a_group_without_spare_time_has_no_backlog(init, tmp_path, work, rate, has_backlog):
    """It would never end."""
    init("mine.toml", "--work", work, "--rate", rate, typed="\n\n\n")

    assert has_backlog == bool(emulator.load("mine.toml").topic[0].backlog)


@pytest.mark.parametrize("option", [("--topic", "a b"), ("--topic", ""), ("--group", "a[0]")])
def test_a_name_that_a_scenario_cannot_have_is_refused(init, tmp_path, option):
    """And the allowed ones are named."""
    result = init("mine.toml", *option, typed="\n\n\n\n\n")

    assert result.exit_code == 2
    assert "is not a name we can use" in result.stderr
    assert not (tmp_path / "mine.toml").exists()


def test_options_answer_and_the_rest_has_defaults(init):
    """Return is enough."""
    result = init("--members", "1", typed="\n\n\n\n")

    assert result.exit_code == 0, result.output
    assert len(emulator.load("scenario.toml").group[0].members) == 1


def test_an_input_that_ends_at_a_question_is_bad_input(init, tmp_path):
    """As in a script that answers too few; nothing is written."""
    result = init("mine.toml", typed="2\n")

    assert result.exit_code == 2
    assert result.stderr.endswith(f"\n{UNANSWERED}\n")
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    ("ended", "status"), [(KeyboardInterrupt(), 130), (TerminatedError(signal.SIGTERM), 143)]
)
def test_a_signal_at_a_question_has_the_status_of_interrupted_commands(
    tmp_path, monkeypatch, ended, status
):
    """The prompt itself turns both into its own exception."""

    def interrupted(_: str) -> str:
        raise ended

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("typer._click.termui.visible_prompt_func", interrupted)

    with pytest.raises(SystemExit) as exited:
        app(["init", "mine.toml"])
    assert exited.value.code == status


def test_a_client_without_automatic_commits_commits_itself(init, tmp_path):
    """The file cannot say how; without a commit the group would lose or repeat everything."""
    (tmp_path / "c.properties").write_text("enable.auto.commit=false\n", encoding="utf-8")
    result = init("mine.toml", "--config", "c.properties", typed="\n\n\n\n")

    assert result.exit_code == 0, result.output
    assert emulator.load("mine.toml").group[0].commit.call == "sync"
    assert "assumed, as enable.auto.commit is false" in (tmp_path / "mine.toml").read_text()


@pytest.mark.parametrize(
    ("text", "client", "call"),
    [
        ("metadata.broker.list=b:9092\n", "librdkafka", "auto"),
        ("enable.auto.offset.store=false\n", "librdkafka", "store"),
        ("enable.auto.offset.store=false\nenable.auto.commit=false\n", "librdkafka", "sync"),
        ("auto.offset.reset=smallest\n", "librdkafka", "auto"),
        ("metadata.broker.list=b:9092\nmax.poll.records=9\n", "java", "auto"),
        ("bootstrap.servers=b:9092\n", "java", "auto"),
    ],
)
def test_a_file_of_librdkafka_makes_a_group_of_its_client(init, tmp_path, text, client, call):
    """It commits and polls differently; a file with a setting that it refuses is not its own."""
    (tmp_path / "client.conf").write_text(text, encoding="utf-8")
    result = init("mine.toml", "--config", "client.conf", typed="\n\n\n\n")
    assert result.exit_code == 0, result.output
    group = emulator.load("mine.toml").group[0]

    assert (client, call) == (group.client, group.commit.call)


@pytest.mark.parametrize(
    ("theirs", "kafkas"),
    [("smallest", "earliest"), ("beginning", "earliest"), ("largest", "latest"), ("end", "latest")],
)
def test_a_reset_policy_of_librdkafka_is_translated(init, tmp_path, theirs, kafkas):
    """A file that only librdkafka reads is its own; the scenario says itself where it starts."""
    (tmp_path / "client.conf").write_text(f"auto.offset.reset={theirs}\n", encoding="utf-8")
    init("mine.toml", "--config", "client.conf", typed="\n\n\n\n")
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    own = text.replace("settings.auto.offset.reset", "# settings.auto.offset.reset")

    settings = emulator.loads(own, folder=tmp_path).group[0].settings
    assert kafkas == settings["auto.offset.reset"]


def test_a_file_that_no_client_reads_is_refused_with_javas_words(init, tmp_path):
    """Both refuse this policy."""
    (tmp_path / "client.conf").write_text("auto.offset.reset=smalest\n", encoding="utf-8")
    result = init("mine.toml", "--config", "client.conf")

    assert result.exit_code == 2
    assert "smalest" in result.stderr


def test_the_shutdown_of_spring_is_the_grace_period(init, tmp_path):
    """The scenario leaves its own out, so that the file's counts."""
    text = "spring:\n  lifecycle:\n    timeout-per-shutdown-phase: 7s\n"
    (tmp_path / "application.yml").write_text(text, encoding="utf-8")
    result = init("mine.toml", "--config", "application.yml", typed="\n\n\n\n")
    assert result.exit_code == 0, result.output
    scenario = emulator.load("mine.toml")

    assert 7_000_000 == scenario.fault[1].grace
    assert "sync" == scenario.group[0].commit.call


def test_a_deploy_kills_members_whose_batch_is_longer_than_the_grace_period(init):
    """As Kubernetes does after 30 s unless told otherwise; a full batch takes 100 s here."""
    init("mine.toml", typed="3\n6\n14/s\n200ms\nnone\n")
    run = emulator.run(emulator.load("mine.toml"))

    assert VerdictId.KILLED_IN_GROUP in {verdict.id for verdict in run.verdicts}


def test_its_remarks_are_keys_for_a_deploy(init, tmp_path):
    """The hook, and a bound of what is reprocessed."""
    init("mine.toml", typed="\n\n\n\n\n")
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    for key in ("reprocessed", "pre_stop"):
        text = text.replace(f"# {key} =", f"{key} =")
    scenario = emulator.loads(text)
    act = scenario.fault[-1]

    assert (30_000_000, 5_000_000) == (act.grace, act.pre_stop)
    assert "reprocessed" in scenario.expect


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "none.properties"], "--config none.properties: cannot be read: No such file"),
        (["--config", "there.toml"], "cannot be read: TOML is not the form of a client's settings"),
        (
            ["there.toml", "--config", "none"],
            "there.toml: exists already; use another name, or --force",
        ),
        (["-o", "there.toml"], "there.toml: exists already; use another name, or --force"),
        (["a.toml", "-o", "b.toml"], "a.toml and -o b.toml: one scenario is written"),
    ],
)
def test_what_cannot_be_written_is_refused(init, tmp_path, arguments, message):
    """Before the questions, and nothing is written."""
    (tmp_path / "there.toml").touch()
    result = init(*arguments, typed="\n\n\n\n")

    assert result.exit_code == 2
    assert message in result.stderr
    assert "Members" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["there.toml"]


def test_the_group_is_that_of_the_clients_file(init, tmp_path):
    """What has no part here is noted once, in full; --force replaces a file, before or after it."""
    (tmp_path / "c.properties").write_text(
        "group.id=payments\nbootstrap.servers=b:9092\nsecurity.protocol=SSL\n", encoding="utf-8"
    )
    answered = ("--members=2", "--partitions=4", "--rate=40/s", "--work=7ms", "--config")
    first = init("mine.toml", *answered, "c.properties")
    again = init("mine.toml", *answered, "c.properties")
    forced = [
        init("mine.toml", "--force", *answered, "c.properties").exit_code,
        init("--force", "mine.toml", *answered, "none").exit_code,
    ]

    assert (
        "c.properties: ignored, not used by the emulator: bootstrap.servers, security.protocol"
        in first.stderr
    )
    assert (2, [0, 0]) == (again.exit_code, forced)
    assert "billing" == emulator.load("mine.toml").group[0].id


def test_a_group_id_that_is_no_name_is_left_out(init, tmp_path):
    """A placeholder without a default, as in Spring's files; else the name of Spring's key counts."""
    key = "spring.kafka.consumer.group-id"
    for value, expected in (("${GROUP}", "billing"), ("${GROUP:refunds}", "refunds")):
        (tmp_path / "s.properties").write_text(f"{key}={value}\n", encoding="utf-8")
        assert (
            0 == init("s.toml", "--force", "--config", "s.properties", typed="\n\n\n\n").exit_code
        )
        assert expected == emulator.load("s.toml").group[0].id


def test_a_rate_without_a_unit_is_per_second(init):
    """And -o names the file, as in other commands; a client's file that is not there is asked for again."""
    result = init("-o", "mine.toml", typed="2\n4\n200\n7ms\nabsent.properties\nnone\n")

    assert result.exit_code == 0, result.output
    assert "absent.properties: cannot be read" in result.output
    assert "mine.toml: written" in result.stdout
    assert emulator.load("mine.toml").topic[0].rate == 50.0
