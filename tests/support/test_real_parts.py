"""Where a real part is looked for, and what happens to a test without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import real_parts
from tools.testenv import build


@pytest.fixture(autouse=True)
def _nothing_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOORING_TESTENV", str(tmp_path))
    monkeypatch.delenv(real_parts.REQUIRED, raising=False)
    for variable in build.PARTS:
        monkeypatch.delenv(variable, raising=False)


def pretend_built(release: str) -> None:
    """Make the folders that hold the parts of a release."""
    for programs in (build.kubernetes(release), build.etcd()):
        programs.folder.mkdir()


def test_a_variable_names_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend_built(build.REFERENCE)
    program = tmp_path / "my-etcd"
    program.touch(mode=0o755)
    monkeypatch.setenv("ETCD", str(program))
    assert real_parts.locate("ETCD") == program
    built = build.kubernetes(build.REFERENCE).folder
    assert real_parts.locate("KUBECTL") == built / "kubectl"


@pytest.mark.parametrize("release", sorted(set(build.RELEASES) - {build.REFERENCE}))
def test_a_variable_is_not_for_a_test_of_another_release(
    release: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_built(release)
    program = tmp_path / "mine"
    program.touch(mode=0o755)
    for variable in ("ETCD", "KUBE_APISERVER"):
        monkeypatch.setenv(variable, str(program))
    built = build.kubernetes(release).folder
    assert real_parts.locate("KUBE_APISERVER", release) == built / "kube-apiserver"
    assert real_parts.locate("ETCD", release) == program


def test_a_missing_release_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_built(build.REFERENCE)
    (other,) = set(build.RELEASES) - {build.REFERENCE}
    with pytest.raises(pytest.skip.Exception, match=f"needs kubectl {other}"):
        real_parts.locate("KUBECTL", other)


def test_a_variable_that_names_nothing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCD", "/nowhere/etcd")
    with pytest.raises(pytest.fail.Exception, match="ETCD=/nowhere/etcd is no program"):
        real_parts.locate("ETCD")


def test_without_the_program_the_test_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="needs etcd"):
        real_parts.locate("ETCD")


def test_where_parts_are_required_the_test_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(real_parts.REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match="needs etcd, which is missing"):
        real_parts.locate("ETCD")


@pytest.mark.parametrize(
    ("reasons", "line"),
    [
        pytest.param([], None, id="nothing was skipped"),
        pytest.param(["Skipped: not on this platform"], None, id="skipped for another reason"),
        pytest.param(
            ["Skipped: needs kubectl"],
            "skipped 1 test for want of kubectl: install Go and run `make testenv`",
            id="one test",
        ),
        pytest.param(
            [
                "Skipped: needs etcd",
                "Skipped: other",
                "Skipped: needs kubectl",
                "Skipped: needs etcd",
            ],
            "skipped 3 tests for want of etcd, kubectl: install Go and run `make testenv`",
            id="several tests and parts",
        ),
    ],
)
def test_the_summary_is_one_line(reasons: list[str], line: str | None) -> None:
    assert real_parts.summary(reasons) == line
