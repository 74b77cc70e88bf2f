"""The flags that name a cluster and the rules to apply to it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import yaml

from mooring.cli.rule_flags import add_rule_flags, read_rules
from mooring.config.rules import Rules
from mooring.errors import ConfigError

PLUGIN = """
from mooring import Plugin


class Mine(Plugin):
    def filter(self, state, pod, node): ...
"""


def parsed(*flags: str) -> Rules:
    parser = argparse.ArgumentParser()
    add_rule_flags(parser)
    args = parser.parse_args(flags)
    args.plugins = ()
    return read_rules(args)


def test_the_default_configuration() -> None:
    rules = parsed()
    assert rules.text == "the default configuration"
    assert rules.config.profiles[0].scheduler_name == "default-scheduler"


def test_a_plugin_is_enabled_and_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    rules = parsed("--plugin", f"{file}:Mine")
    assert rules.text == f"the default configuration, plugin {file}:Mine"
    assert "Mine" in rules.config.profiles[0].plugins


def test_extenders_of_a_file_are_not_asked(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}],
    }
    file.write_text(yaml.safe_dump(document))
    assert parsed("--config", str(file)).text == (
        f"{file}, without its extenders, which are not asked"
    )


def test_plugin_that_no_profile_uses_gets_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, file = tmp_path / "mine.py", tmp_path / "config.yaml"
    plugin.write_text(PLUGIN)
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    parsed("--config", str(file), "--plugin", f"{plugin}:Mine")
    assert capsys.readouterr().err == (
        f"warning: {file}: no profile uses plugin Mine: name it in `plugins`, "
        "or leave --config out\n"
    )


def test_gates_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ConfigError):
        parsed("--feature-gates", "Nonsense=true")
