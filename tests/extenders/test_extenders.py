"""The extenders of a configuration."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config import LoadResult, load_config_data
from mooring.errors import ConfigError
from mooring.extenders import (
    Extenders,
    ignored_resources,
    longest_wait,
    with_extenders,
    with_ignored_resources,
)
from mooring.plugins import BUILT_INS
from mooring.registry import Registry
from tests.extenders.webhooks import make_config


def test_ignorable_extenders_are_asked_last() -> None:
    configs = [
        make_config(urlPrefix="http://a", ignorable=True),
        make_config(urlPrefix="http://b"),
        make_config(urlPrefix="http://c", ignorable=True),
        make_config(urlPrefix="http://d"),
    ]
    names = [extender.name for extender in Extenders(configs)]
    assert names == ["http://b", "http://d", "http://a", "http://c"]
    assert len(Extenders()) == 0


@pytest.mark.parametrize(
    ("configs", "seconds"),
    [
        pytest.param([], 0, id="no extenders"),
        pytest.param(
            [{"filterVerb": "f", "httpTimeout": "30s"}], 60, id="filters, also the nominated node"
        ),
        pytest.param(
            [{"filterVerb": "f", "prioritizeVerb": "p", "preemptVerb": "q", "httpTimeout": "30s"}],
            90,
            id="prioritizes or preempts in one cycle",
        ),
        pytest.param([{"bindVerb": "b", "httpTimeout": "30s"}], 0, id="binds outside of the cycle"),
        pytest.param([{"filterVerb": "f"}], 10, id="without a timeout of its own"),
        pytest.param(
            [{"filterVerb": "f", "httpTimeout": "-1s"}], 0, id="without any, which sets no limit"
        ),
        pytest.param(
            [{"filterVerb": "f", "httpTimeout": "30s"}, {"preemptVerb": "q", "httpTimeout": "7s"}],
            67,
            id="one after the other",
        ),
    ],
)
def test_how_long_a_cycle_may_wait(configs: list[dict[str, Any]], seconds: float) -> None:
    assert longest_wait([make_config(urlPrefix="http://a", **one) for one in configs]) == seconds


def test_an_extender_that_cannot_be_built_is_named() -> None:
    config = make_config(urlPrefix="https://a", tlsConfig={"caFile": "/nowhere"})
    with pytest.raises(ConfigError) as raised:
        Extenders([config])
    assert str(raised.value) == (
        "couldn't build extenders: https://a: cannot read /nowhere: No such file or directory"
    )


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
