"""The rules that a journal was recorded with, and others."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.config import default_config
from mooring.errors import ConfigError, JournalError, PluginError
from mooring.framework.features import FeatureGates
from mooring.journal.entries import SegmentHead
from mooring.journal.head import make_head
from mooring.registry import default_registry, load_plugins
from mooring.replay.recorded_plugins import trust_all
from mooring.replay.replay_rules import other_rules, recorded_gates, recorded_rules
from tests.replay.recordings import write_config

SOURCE = """\
from mooring import Plugin

class Mine(Plugin):
    def score(self, state, pod, node):
        return 1
"""


def head_with(*references: str) -> SegmentHead:
    plugins = load_plugins(references)
    registry = default_registry(plugins)
    features = FeatureGates({"GenericWorkload": True})
    config = default_config(
        registry=registry, feature_gates=features, enabled=[one.name for one in plugins]
    )
    return make_head(config, registry=registry, features=features, now=1.0)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def test_configuration_gates_and_plugins_are_the_recorded_ones(source: Path) -> None:
    head = head_with(f"{source}:Mine")
    rules = recorded_rules(head, trusts=trust_all)
    assert rules.is_recorded
    assert rules.gates == FeatureGates({"GenericWorkload": True})
    assert "Mine" in rules.config.profiles[0].plugins
    assert rules.text == "the recorded configuration"


def test_a_plugin_whose_file_has_changed(source: Path) -> None:
    head = head_with(f"{source}:Mine")
    source.write_text(SOURCE.replace("return 1", "return 2"))
    with pytest.raises(JournalError, match=r"plugin Mine .* has changed since: restore the file"):
        recorded_rules(head, trusts=trust_all)
    other = other_rules(head, None, [f"{source}:Mine"])
    assert not other.is_recorded
    assert "Mine" in other.config.profiles[0].plugins
    assert other.text == f"the recorded configuration, plugin {source}:Mine"


def test_a_plugin_that_is_no_longer_there(source: Path) -> None:
    head = head_with(f"{source}:Mine")
    source.unlink()
    with pytest.raises(JournalError, match=r"plugin Mine .* is no longer there: restore the file"):
        recorded_rules(head, trusts=trust_all)


def test_a_plugin_that_no_longer_loads(source: Path) -> None:
    head = head_with(f"{source}:Mine")
    renamed = [
        replace(one, reference="mine:Other") if one.name == "Mine" else one for one in head.plugins
    ]
    with pytest.raises(JournalError, match="a plugin of the journal no longer loads"):
        recorded_rules(replace(head, plugins=tuple(renamed)), trusts=trust_all)


def test_another_configuration_need_not_know_the_recorded_plugins(
    source: Path, tmp_path: Path
) -> None:
    head = head_with(f"{source}:Mine")
    source.unlink()
    rules = other_rules(head, str(write_config(tmp_path)), ())
    assert "Mine" not in rules.config.profiles[0].plugins
    assert rules.text.endswith("other.yaml")


def test_a_plugin_is_enabled_in_the_recorded_profiles(source: Path) -> None:
    rules = other_rules(head_with(), None, [f"{source}:Mine"])
    assert "Mine" in rules.config.profiles[0].plugins


def test_gates_of_another_version() -> None:
    head = replace(head_with(), gates={"NoSuchGate": True})
    with pytest.raises(JournalError, match="not those of this version"):
        recorded_gates(head)


def test_a_configuration_that_cannot_be_used() -> None:
    head = replace(head_with(), config={"kind": "Unknown"})
    with pytest.raises(JournalError, match="configuration cannot be used"):
        recorded_rules(head)


def test_mistakes_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        other_rules(head_with(), str(tmp_path / "missing.yaml"), ())
    with pytest.raises(PluginError):
        other_rules(head_with(), None, [str(tmp_path / "missing.py:One")])


def test_keys_of_extenders_that_are_left_out() -> None:
    tls = {"keyData": "(left out)"}
    extender = {
        "urlPrefix": "https://one",
        "filterVerb": "f",
        "httpTimeout": "5s",
        "tlsConfig": tls,
    }
    head = head_with()
    rules = recorded_rules(replace(head, config={**head.config, "extenders": [extender]}))
    assert [one.url_prefix for one in rules.config.config.extenders] == ["https://one"]
