"""Configurations with very many entries are read and built in linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from mooring.config import load_config_text
from mooring.config.defaults import API_VERSION, KIND
from mooring.errors import ConfigErrors
from mooring.registry import default_registry
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.support.growth import assert_linear

_FIT = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}

KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "profiles": lambda count: {
        "profiles": [
            {
                "schedulerName": f"s{i}",
                "plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}},
                "pluginConfig": [{"name": "NodeResourcesFit", "args": _FIT}],
            }
            for i in range(count)
        ]
    },
    "disabled plugins": lambda count: {
        "profiles": [
            {"plugins": {"score": {"disabled": [{"name": f"P{i}"} for i in range(count)]}}}
        ]
    },
    "plugin arguments": lambda count: {
        "profiles": [{"pluginConfig": [{"name": f"P{i}", "args": {}} for i in range(count)]}]
    },
    "extenders": lambda count: {
        "extenders": [
            {
                "urlPrefix": f"http://localhost/{i}",
                "filterVerb": "filter",
                "managedResources": [{"name": f"example.com/r{i}"}],
            }
            for i in range(count)
        ]
    },
}


def _text(body: dict[str, Any]) -> str:
    return yaml.safe_dump({"apiVersion": API_VERSION, "kind": KIND, **body})


@pytest.mark.parametrize("kind", KINDS)
def test_loading(kind: str) -> None:
    def prepare(count: int) -> Callable[[], object]:
        text, registry = _text(KINDS[kind](count)), default_registry()
        return lambda: load_config_text(text, registry=registry)

    prepare(1)()
    assert_linear(prepare, 25)


def test_a_plugin_that_is_enabled_over_and_over() -> None:
    def prepare(count: int) -> Callable[[], object]:
        enabled = [{"name": "ImageLocality"} for _ in range(count)]
        text = _text({"profiles": [{"plugins": {"score": {"enabled": enabled}}}]})
        registry = default_registry()

        def load() -> None:
            with pytest.raises(ConfigErrors):
                load_config_text(text, registry=registry)

        return load

    prepare(2)()
    assert_linear(prepare, 50)


def test_building_a_scheduler_of_many_profiles() -> None:
    def prepare(count: int) -> Callable[[], object]:
        config = load_config_text(_text(KINDS["profiles"](count)), registry=default_registry())
        return lambda: MemoryScheduler([], config=config)

    prepare(1)()
    assert_linear(prepare, 10)
