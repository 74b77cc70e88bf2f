"""The plugins of contrib that are registered by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mooring.config.load import load_config_data, load_config_text
from mooring.contrib import PLUGINS
from mooring.errors import ConfigErrors
from mooring.framework.points import Point, points_of
from mooring.registry import default_registry
from tests.contrib.profiles import configuration


@pytest.mark.parametrize("name", PLUGINS)
def test_each_plugin_is_found_by_its_name_and_says_when_to_choose_it(name: str) -> None:
    plugin = default_registry().get(name)
    assert plugin is not None
    assert plugin.name == name
    assert plugin.__module__.startswith("mooring.contrib.")
    assert "Choose it" in (plugin.__doc__ or "")


def test_none_is_in_the_default_profile() -> None:
    result = load_config_data(configuration(), registry=default_registry())
    assert PLUGINS.keys().isdisjoint(result.profiles[0].plugins)


def test_the_contract_and_a_configuration_without_them_load_none() -> None:
    program = """
import sys
from mooring import Plugin
from mooring.config.load import default_config
from mooring.registry import default_registry
default_config(registry=default_registry())
print(*(name for name in sys.modules if name.startswith("mooring.contrib.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins:
      {plugins}
"""


@pytest.mark.parametrize(
    ("plugins", "error"),
    [
        pytest.param(
            "multiPoint: {enabled: [{name: Coscheduling}]}",
            "config.yaml:7:7: profiles[0].plugins.queueSort: only one queue sort plugin required "
            'for profile with scheduler name "default-scheduler", but got 2\n'
            "advice: to order the queue with Coscheduling alone, set "
            "queueSort.disabled: [{name: PrioritySort}]",
            id="two plugins that order the queue",
        ),
        pytest.param(
            "{permit: {enabled: [{name: Coscheduling}]}, queueSort: {disabled: [{name: '*'}]}}",
            "config.yaml:7:62: profiles[0].plugins.queueSort: only one queue sort plugin required "
            'for profile with scheduler name "default-scheduler", but got 0\n'
            "advice: set queueSort.enabled: [{name: Coscheduling}]",
            id="none, although Coscheduling could",
        ),
    ],
)
def test_a_wrong_number_of_queue_sorts_comes_with_advice(plugins: str, error: str) -> None:
    text = CONFIG.format(plugins=plugins)
    with pytest.raises(ConfigErrors) as raised:
        load_config_text(text, file="config.yaml", registry=default_registry())
    assert str(raised.value) == error


def test_coscheduling_that_does_not_order_the_queue_is_warned_about() -> None:
    config = configuration()
    config["profiles"][0]["plugins"] = {"permit": {"enabled": [{"name": "Coscheduling"}]}}
    result = load_config_data(config, registry=default_registry())
    (warning,) = result.warnings
    assert warning.endswith(
        "Coscheduling runs without ordering the queue, which PrioritySort does; to change that, "
        "enable Coscheduling and disable PrioritySort at queueSort"
    )


def test_the_plugins_of_the_chart_run_together() -> None:
    config = configuration("Coscheduling", "CapacityScheduling", disabled=["PrioritySort"])
    (profile,) = load_config_data(config, registry=default_registry()).profiles
    assert profile.names(Point.QUEUE_SORT) == ("Coscheduling",)
    assert {"Coscheduling", "CapacityScheduling"} <= set(profile.names(Point.POST_FILTER))


def test_points_are_those_of_the_originals() -> None:
    registry = default_registry()
    points = {
        name: {point.key for point in points_of(registry.get(name)) if point.key}  # type: ignore[arg-type]
        for name in ("Coscheduling", "CapacityScheduling", "PodState", "PreemptionToleration")
    }
    assert points == {
        "Coscheduling": {"queueSort", "preFilter", "postFilter", "permit", "reserve"},
        "CapacityScheduling": {"preFilter", "postFilter", "reserve"},
        "PodState": {"score"},
        "PreemptionToleration": {"postFilter"},
    }
