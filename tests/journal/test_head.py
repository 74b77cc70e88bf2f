"""The head of a segment."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec

from mooring import Plugin, Status
from mooring.config import default_config, load_config_data
from mooring.framework.features import FeatureGates
from mooring.journal.entries import SegmentHead
from mooring.journal.head import make_head
from mooring.registry import default_registry


class Nothing(Plugin):
    """A plugin that does nothing."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return None


def test_the_head_names_version_gates_and_plugins() -> None:
    registry = default_registry([Nothing])
    gates = FeatureGates.from_text("GenericWorkload=true")
    config = default_config(registry=registry, feature_gates=gates, enabled=["Nothing"])
    head = make_head(config, registry=registry, features=gates, now=5.0)
    assert (head.time, head.release, head.min_compatibility) == (5.0, "1.37", "1.36")
    assert head.gates == {"GenericWorkload": True}
    plugins = {plugin.name: plugin for plugin in head.plugins}
    assert "NodeResourcesFit" in plugins
    found = plugins["Nothing"]
    content = Path(found.file).read_bytes()
    assert Path(found.file).name == "test_head.py"
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert found.reference.endswith(":Nothing")


def test_each_head_has_its_own_run() -> None:
    registry = default_registry()
    config = default_config(registry=registry)
    heads = [
        make_head(config, registry=registry, features=FeatureGates(), now=5.0) for _ in range(2)
    ]
    assert heads[0].run != heads[1].run


def test_the_configuration_can_be_loaded_again() -> None:
    registry = default_registry()
    given = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 30,
        "profiles": [
            {
                "schedulerName": "packing",
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {"scoringStrategy": {"type": "MostAllocated"}},
                    }
                ],
                "plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}},
            }
        ],
    }
    loaded = load_config_data(given, registry=registry)
    head = make_head(loaded, registry=registry, features=FeatureGates(), now=5.0)
    again = msgspec.json.decode(msgspec.json.encode(head), type=SegmentHead)
    assert load_config_data(again.config, registry=registry).profiles == loaded.profiles


def test_keys_of_extenders_are_left_out() -> None:
    registry = default_registry()
    given = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [
            {
                "urlPrefix": "https://example.com",
                "filterVerb": "filter",
                "enableHTTPS": True,
                "tlsConfig": {"keyData": "c2VjcmV0", "certData": "Y2VydA=="},
            }
        ],
    }
    loaded = load_config_data(given, registry=registry)
    head = make_head(loaded, registry=registry, features=FeatureGates(), now=5.0)
    assert "c2VjcmV0" not in json.dumps(head.config)
    assert head.config["extenders"][0]["urlPrefix"] == "https://example.com"
