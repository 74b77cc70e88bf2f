"""Exceptions that somebody else raised into plugin code pass through the cycle."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.extender import ExtenderFilterResult
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import AbandonedError
from mooring.virtual.driving import drive
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin, refuse
from tests.cycle.test_extender_calls import FakeExtender, make_cycle

NODES = make_nodes("n1", "n2", "n3")


def ends(*_: Any) -> Any:
    raise AbandonedError


class Ends(FakeExtender):
    """An extender whose calls are ended from outside."""

    async def filter(self, pod: Any, nodes: Any) -> ExtenderFilterResult:
        raise AbandonedError

    async def prioritize(self, pod: Any, nodes: Any) -> Any:
        raise AbandonedError


@pytest.mark.parametrize("ignorable", [False, True], ids=["counts", "is ignorable"])
@pytest.mark.parametrize("nominated", ["", "n2"], ids=["any node", "the nominated node"])
def test_an_extender_that_filters(ignorable: bool, nominated: str) -> None:
    extender = Ends()
    extender.ignorable = ignorable
    cycle = make_cycle(make_scheduler([refuse()], NODES), extender)
    with pytest.raises(AbandonedError):
        drive(cycle.run(make_pod(nominated=nominated)))


def test_an_extender_that_scores() -> None:
    cycle = make_cycle(make_scheduler([refuse()], NODES), Ends(scores={"n1": 1}))
    with pytest.raises(AbandonedError):
        drive(cycle.run(make_pod()))


def test_a_plugin_that_signs() -> None:
    signs = plugin(
        "Signs",
        sign_pod=ends,
        filter=lambda *_: None,
        score_nodes=lambda state, pod, nodes: nodes.pod_count,
    )
    with pytest.raises(AbandonedError):
        make_scheduler([signs], NODES).cycle.run_sync(make_pod())


class Unreadable(Plugin):
    """Its method cannot be looked up."""

    name = "Unreadable"

    def __getattribute__(self, name: str) -> Any:
        if name == "permit" and object.__getattribute__(self, "handle") is not None:
            raise AbandonedError
        return object.__getattribute__(self, name)

    def permit(self, state: Any, pod: Any, node_name: str) -> None: ...


def _initialising(self: Any, args: Any, handle: Any) -> None:
    raise AbandonedError


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(plugin("Starts", start=ends, filter=lambda *_: None), id="starts"),
        pytest.param(Unreadable, id="is looked at"),
        pytest.param(
            type("Made", (Plugin,), {"__init__": _initialising, "filter": lambda *_: None}),
            id="is made",
        ),
    ],
)
def test_a_plugin_that(made: Any) -> None:
    with pytest.raises(AbandonedError):
        make_scheduler([made], NODES)
