"""The effect of a configuration's extenders on the rest of it."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config import LoadResult, load_config_data
from mooring.config.extender_effects import (
    ignored_resources,
    with_extenders,
    with_ignored_resources,
)
from mooring.errors import ConfigError
from mooring.plugins import BUILT_INS
from mooring.registry import Registry

MANAGED = [
    {"name": "example.com/gpu", "ignoredByScheduler": True},
    {"name": "example.com/disk"},
    {"name": "example.com/fpga", "ignoredByScheduler": True},
]
WRITTEN = [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/written"]}}]


def load(profiles: list[dict[str, Any]], managed: list[dict[str, Any]]) -> LoadResult:
    data = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
        "extenders": [
            {"urlPrefix": "http://a", "filterVerb": "filter", "managedResources": managed}
        ],
    }
    return load_config_data(data, registry=Registry(BUILT_INS))


def test_what_extenders_manage_is_ignored_in_every_profile() -> None:
    loaded = load(
        [{"schedulerName": "a", "pluginConfig": WRITTEN}, {"schedulerName": "b"}], MANAGED
    )
    ignored = ("example.com/gpu", "example.com/fpga")
    assert ignored_resources(loaded.config.extenders) == ignored
    changed = with_ignored_resources(loaded)
    for profile, resolved in zip(changed.config.profiles, changed.profiles, strict=True):
        args = {one.name: one.args for one in profile.plugin_config}
        assert args["NodeResourcesFit"].ignored_resources == ignored
        assert resolved.args["NodeResourcesFit"].ignored_resources == ignored
    before = {one.name: one.args for one in loaded.config.profiles[0].plugin_config}
    assert before["NodeResourcesFit"].ignored_resources == ("example.com/written",)


def test_an_extender_without_a_timeout_gets_the_default() -> None:
    loaded = with_extenders(load([{"schedulerName": "a"}], []))
    assert [str(one.http_timeout) for one in loaded.config.extenders] == ["5s"]


def test_nothing_changes_where_nothing_is_ignored() -> None:
    loaded = load([{"schedulerName": "a", "pluginConfig": WRITTEN}], MANAGED[1:2])
    assert with_ignored_resources(loaded) is loaded


def test_a_profile_without_the_args_is_an_error() -> None:
    without = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    loaded = load([{"schedulerName": "a", "plugins": without}], MANAGED)
    with pytest.raises(ConfigError) as raised:
        with_ignored_resources(loaded)
    assert str(raised.value) == (
        "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    )
