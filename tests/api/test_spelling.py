"""Go and JSON spellings of attributes: each is explained where it is used."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import CycleState, Nodes, Plugin, QueuedPod, Status
from mooring.api.spelling import add_spellings
from mooring.testing import make_node, make_pod, run_filter

POD = make_pod("web")


@pytest.mark.parametrize(
    ("use", "instead"),
    [
        (lambda: POD.spec.nodeSelector, "node_selector"),
        (lambda: POD.spec.NodeSelector, "node_selector"),
        (lambda: POD.status.podIPs, "pod_ips"),
        (lambda: POD.Spec, "spec"),
        (lambda: POD.ObjectMeta, "metadata"),
        (lambda: POD.Labels, "labels"),
        (lambda: POD.metadata.UID, "uid"),
        (lambda: make_node("a").status.Allocatable, "allocatable"),
        (lambda: CycleState().Write, "write"),
        (lambda: Status.skip().IsSkip, "is_skip"),
        (lambda: QueuedPod(POD, 0.0).InitialTimestamp, "initial_timestamp"),
        (lambda: Nodes.get, "find(name)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_python_name_is_said(use: Any, instead: str) -> None:
    with pytest.raises(AttributeError) as raised:
        use()
    assert str(raised.value).endswith(f": in Python use {instead!r}")


class Ported(Plugin):
    """A plugin that uses names of Go's framework."""

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        """Use every object that a plugin gets."""
        uses = (
            (lambda: node.NonZeroRequested, "non_zero_requested"),
            (lambda: node.Node(), "node"),
            (lambda: self.handle.snapshot.get("a"), "find(name)"),
            (lambda: self.handle.SnapshotSharedLister(), "snapshot"),
            (lambda: self.handle.GetWaitingPod(pod.uid), "waiting_pod(uid)"),
            (lambda: self.handle.pod_info(pod).HostPorts, "host_ports"),
        )
        for use, instead in uses:
            with pytest.raises(AttributeError) as raised:
                use()
            assert str(raised.value).endswith(f": in Python use {instead!r}")


def test_what_a_plugin_gets_explains_itself() -> None:
    assert run_filter(Ported, pod=POD, nodes=[make_node("a")]).feasible == ["a"]


def test_attributes_of_a_class_are_never_replaced() -> None:
    class Boat:
        Speed = 3
        speed = 4

    add_spellings(Boat, ["speed", "max_load", "_hull"])
    assert Boat.Speed == 3
    assert "_Hull" not in vars(Boat)
    with pytest.raises(AttributeError, match="'Boat' object has no attribute 'maxLoad'"):
        _ = Boat().maxLoad  # type: ignore[attr-defined]


def test_other_missing_attributes_are_as_ever() -> None:
    with pytest.raises(AttributeError, match=r"^'Pod' object has no attribute 'boat'$"):
        _ = POD.boat  # type: ignore[attr-defined]
    assert not hasattr(POD, "Spec")
