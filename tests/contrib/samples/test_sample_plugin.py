"""The log of the framework's first version, with today's extension points."""

from __future__ import annotations

import logging

import pytest

from mooring.contrib.samples import SamplePlugin
from mooring.errors import ConfigErrors
from mooring.framework.state import CycleState
from mooring.testing import make_node, make_pod, run_filter
from tests.contrib.samples.example import Example, messages

POD = "test-scheduler-6d779d9465-vsvxh"


async def test_a_whole_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mooring.contrib")
    example = Example("sample-plugin")
    scheduler = example.scheduler(SamplePlugin)
    decision = await scheduler.schedule_one(example.pod)
    assert decision.node_name in {"node01", "node02"}
    assert decision.evaluated_nodes == 3
    assert decision.feasible is not None
    assert len(decision.feasible) == 2
    told = messages(caplog, lambda text: "prebind" not in text)
    # The master is refused because of its taint before this plugin runs.
    assert told == [
        "get plugin config args: Args(favorite_color='#326CE5', favorite_number=7, "
        "thanks_to='tanjunchen')",
        f"prefilter pod: {POD}",
        f"filter pod: {POD}, node: node01",
        f"filter pod: {POD}, node: node02",
    ]
    (prebind,) = messages(caplog, lambda text: text.startswith("prebind node info: Node("))
    assert f"name='{decision.node_name}'" in prebind


def test_the_arguments_come_from_the_configuration() -> None:
    scheduler = Example("sample-plugin").scheduler(SamplePlugin)
    plugin = scheduler.profiles["sample-scheduler"].plugins["sample-plugin"]
    assert plugin.args == SamplePlugin.Args("#326CE5", 7, "tanjunchen")


def test_the_arguments_are_checked() -> None:
    with pytest.raises(ConfigErrors, match="favorite_number"):
        run_filter(
            SamplePlugin,
            pod=make_pod(),
            nodes=[make_node("a")],
            args={"favorite_number": "seven"},
        )


def test_a_node_that_is_gone_is_an_error() -> None:
    scheduler = Example("sample-plugin").scheduler(SamplePlugin)
    plugin = scheduler.profiles["sample-scheduler"].plugins["sample-plugin"]
    assert isinstance(plugin, SamplePlugin)
    status = plugin.pre_bind(CycleState(), make_pod(), "gone")
    assert status is not None
    assert status.is_error
    assert status.message == "prebind get node info error: gone"
