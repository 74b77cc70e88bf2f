"""The flags of `mooring controllers` are those of `mooring run`."""

from __future__ import annotations

import pytest

from mooring.app.controllers_command import (
    PROGRAM,
    ControllersSettings,
    make_settings,
    run_controllers_command,
)
from mooring.app.controllers_flags import FLAGS
from mooring.app.flag_table import ALL
from mooring.app.flags import parse_flags
from mooring.errors import ConfigError
from mooring.observe.logs import configure


def settings(*argv: str) -> ControllersSettings:
    return make_settings(parse_flags(FLAGS, argv, program=PROGRAM), configure())


def test_every_other_flag_has_the_name_of_one_of_a_scheduler() -> None:
    known = {flag.name: flag.kind for group in ALL for flag in group.flags}
    own = {
        flag.name for group in FLAGS for flag in group.flags if known.get(flag.name) != flag.kind
    }
    assert own == {"elastic-quota-pod-requests"}


@pytest.mark.parametrize("mode", ["Containers", "Scheduler"])
def test_the_requests_that_quotas_count_are_chosen(mode: str) -> None:
    assert settings().quota_requests == "Containers"
    assert settings(f"--elastic-quota-pod-requests={mode}").quota_requests == mode
    with pytest.raises(ConfigError, match='must be Containers or Scheduler, got "All"'):
        settings("--elastic-quota-pod-requests=All")


def test_defaults_do_not_meet_those_of_a_scheduler() -> None:
    found = settings()
    assert found.serving.port == 10260
    assert found.election.leader_elect
    assert (found.election.resource_namespace, found.election.resource_name) == (
        "kube-system",
        "mooring-controllers",
    )


def test_flags_become_settings() -> None:
    found = settings(
        "--kubeconfig=here",
        "--master=https://there",
        "--kube-api-qps=7",
        "--kube-api-burst=9",
        "--leader-elect-lease-duration=4s",
        "--leader-elect=false",
        "--secure-port=0",
        "--authorization-kubeconfig=k",
    )
    assert (found.kubeconfig, found.master, found.qps, found.burst) == (
        "here",
        "https://there",
        7.0,
        9,
    )
    assert found.election.lease_duration.seconds == 4
    assert not found.election.leader_elect
    assert found.serving.port == 0
    assert found.authorization.kubeconfig == "k"


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConfigError, match=r"(?s)--secure-port 70000.*resource-name must not be"):
        settings("--secure-port=70000", "--leader-elect-resource-name=")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--nope"], "unknown flag: --nope"),
        (["--secure-port=-1"], "--secure-port -1 must be between"),
        (["--logging-format=xml"], "Unsupported log format"),
        (["more"], '"mooring controllers" does not take any arguments, got ["more"]'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_printed(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_controllers_command(argv, lambda _: 0) == 1
    error = capsys.readouterr().err
    assert message in error
    assert 'Run "mooring controllers --help" for the flags.' in error


def test_help_lists_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_controllers_command(["--help"], lambda _: 1) == 0
    text = capsys.readouterr().out
    assert "--leader-elect-resource-name" in text and "mooring-controllers" in text


def test_what_fails_later_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    def run(_: ControllersSettings) -> int:
        raise ConfigError("no kubeconfig")

    assert run_controllers_command([], run) == 1
    assert 'err="no kubeconfig"' in capfd.readouterr().err


def test_the_exit_status_is_passed_on() -> None:
    assert run_controllers_command(["-v=0"], lambda _: 7) == 7
