from __future__ import annotations

import io
from pathlib import Path

import pytest

from mooring import Plugin
from mooring.cli.main import main
from mooring.config import default_config, to_v1, to_yaml

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGIN = """\
from mooring import Plugin


class Sample(Plugin):
    name = "sample"

    def filter(self, state, pod, node):
        return None
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(HEAD, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(HEAD + "parallelism: 0\nprofile: []\n", encoding="utf-8")
    body = "profiles: [{plugins: {filter: {enabled: [{name: sample}]}}}]\n"
    (tmp_path / "sample.yaml").write_text(HEAD + body, encoding="utf-8")
    (tmp_path / "old.yaml").write_text(HEAD.replace("/v1", "/v1beta3"), encoding="utf-8")
    (tmp_path / "sample.py").write_text(PLUGIN, encoding="utf-8")
    return tmp_path


pytestmark = pytest.mark.usefixtures("write")


def test_a_valid_file_is_said_to_be_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "validate", "good.yaml"]) == 0
    assert capsys.readouterr() == ("good.yaml: valid\n", "")


@pytest.mark.parametrize("action", ["validate", "convert"])
def test_every_error_is_printed_and_nothing_else(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", action, "bad.yaml"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: bad.yaml:3:14: parallelism: Invalid value: 0: "
        "should be an integer value greater than zero",
        'error: bad.yaml:4:1: profile: unknown field "profile", did you mean "profiles"?',
    ]


def test_a_file_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "validate", "absent.yaml"]) == 1
    assert capsys.readouterr().err == "error: absent.yaml: No such file or directory\n"


def test_a_plugin_may_be_registered_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "validate", "sample.yaml"]) == 1
    assert '"sample" is not registered' in capsys.readouterr().err
    assert main(["config", "validate", "sample.yaml", "--plugin", "sample.py:Sample"]) == 0


def test_a_plugin_may_be_registered_in_code() -> None:
    class Sample(Plugin):
        name = "sample"

        def filter(self, state: object, pod: object, node: object) -> None:
            return None

    assert main(["config", "validate", "sample.yaml"], plugins=[Sample]) == 0


def test_convert_prints_the_v1_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "convert", "good.yaml"]) == 0
    assert capsys.readouterr() == (to_yaml(to_v1(default_config().config)), "")


def test_convert_needs_no_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "convert", "sample.yaml"]) == 0
    assert "- name: sample" in capsys.readouterr().out


def test_convert_warns_about_an_older_version_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "convert", "old.yaml"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("apiVersion: kubescheduler.config.k8s.io/v1\n")
    assert err.startswith("warning: ")
    assert len(err.splitlines()) == 1


def test_standard_input_is_a_file_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(HEAD))
    assert main(["config", "validate", "-"]) == 0
    assert capsys.readouterr().out == "<stdin>: valid\n"


def test_feature_gates_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "validate", "good.yaml", "--feature-gates", "Nope=true"]) == 1
    assert capsys.readouterr().err == "error: unrecognized feature gate: Nope\n"
    gates = "DynamicResourceAllocation=true"
    assert main(["config", "validate", "good.yaml", "--feature-gates", gates]) == 0
    assert "setting GA feature gate" in capsys.readouterr().err
