"""The flags of the commands that ask the leading scheduler."""

from __future__ import annotations

import argparse

import pytest

from mooring.cli.scheduler_flags import add_scheduler_flags, read_scheduler_address
from mooring.errors import ConfigError
from mooring.leader.leader_lookup import LeaseName
from mooring.leader.scheduler_questions import SchedulerAddress

SHA256 = "AB:" * 31 + "AB"


def parsed(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", default="")
    add_scheduler_flags(parser, lease_default="that of the test")
    return parser.parse_args(flags)


def test_the_flags_name_the_scheduler() -> None:
    assert read_scheduler_address(parsed()) == SchedulerAddress()
    given = parsed("--scheduler=https://s", f"--certificate-sha256={SHA256}", "--lease=a/b")
    given.kubeconfig = "file"
    assert read_scheduler_address(given) == SchedulerAddress(
        url="https://s",
        certificate_sha256="ab" * 32,
        lease=LeaseName("a", "b"),
        kubeconfig="file",
    )


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--lease=a", "--lease must be NAMESPACE/NAME, got 'a'"),
        ("--lease=/b", "--lease must be NAMESPACE/NAME, got '/b'"),
        (f"--certificate-sha256={SHA256}", "--certificate-sha256 needs --scheduler: give both"),
    ],
)
def test_flags_that_are_inconsistent_are_refused(flag: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_scheduler_address(parsed(flag))
    assert str(raised.value) == message


def test_a_fingerprint_has_64_digits(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--certificate-sha256=abc")
    assert "must be 64 hexadecimal digits, got 'abc'" in capsys.readouterr().err


def test_the_help_says_which_lease_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--help")
    assert "by default that of the test" in " ".join(capsys.readouterr().out.split())
