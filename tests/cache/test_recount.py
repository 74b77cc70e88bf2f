"""A recount finds whatever was counted wrongly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring.api.labels import Selector
from mooring.cache.counters import Counters
from mooring.cache.image_index import ImageStates
from mooring.cache.pod_index import PodIndex
from mooring.cache.recount import check
from mooring.framework.columns import Columns
from mooring.framework.features import FeatureGates
from mooring.framework.node_info import NodeInfo
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.testing import make_node, make_pod

WEB = Selector.from_map({"app": "web"})
AWAY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


class Parts:
    """The parts of a cache: two nodes, and a pod on the first."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.images = ImageStates(self.columns)
        self.index = PodIndex()
        self.counters = Counters(lambda info: 0, self.index)
        for name in ("n0", "n1"):
            info = NodeInfo(make_node(name, images={"i:1": 7}, taints=["a:NoSchedule"]))
            self.columns.add(info)
            self.images.add_node(info)
        self.counters.set_size(2)
        pod = make_pod(
            "p", node="n0", cpu="1", labels={"app": "web"}, host_ports=[80], affinity=AWAY
        )
        self.info = PodInfos(FeatureGates()).of(pod)
        self.pods: dict[str, PodInfo] = {self.info.uid: self.info}
        self.columns.infos[0].add_pod(self.info)
        self.columns.write_pods(0)
        self.index.add(self.info)
        self.counters.add_pod(self.info, 0)
        self.counters.matching(None, WEB, terminating=False)

    def check(self) -> None:
        check(self.columns, self.counters, self.images, self.index, self.pods)


def test_what_was_counted_well_passes() -> None:
    Parts().check()


def forget_pod(parts: Parts) -> None:
    parts.pods.clear()


def forget_row(parts: Parts) -> None:
    parts.columns.infos[0].add_pod(PodInfos(FeatureGates()).of(make_pod("q", node="n0")))


def free_port(parts: Parts) -> None:
    parts.columns.infos[0].used_ports.clear()


def keep_claim(parts: Parts) -> None:
    parts.columns.infos[0].pvc_refs["default/x"] = 1


def keep_request(parts: Parts) -> None:
    parts.columns.write_pod_change(1, {"cpu": 1000}, False)
    parts.columns.infos[0].requested["cpu"] = 5
    parts.columns.write_pods(0)


def change_node(parts: Parts) -> None:
    parts.columns.infos[1].node = make_node("n1", unschedulable=True)


def change_label(parts: Parts) -> None:
    parts.columns.label("disk")
    parts.columns.infos[1].node = make_node("n1", taints=["a:NoSchedule"], disk="ssd")


def forget_image(parts: Parts) -> None:
    parts.images.remove_node("n1")


def forget_count(parts: Parts) -> None:
    parts.counters.remove_pod(parts.info, 0)


def forget_index(parts: Parts) -> None:
    parts.index.remove(parts.info)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(forget_pod, "n0: pods differ", id="a pod that is gone"),
        pytest.param(forget_row, "n0: pods differ", id="a pod that nobody knows"),
        pytest.param(free_port, "n0: ports differ", id="a port"),
        pytest.param(keep_claim, "n0: claims differ", id="a claim"),
        pytest.param(keep_request, "n0: cpu requested", id="a request"),
        pytest.param(change_node, "n1: unschedulable", id="a node object"),
        pytest.param(change_label, "n1: label disk", id="a label"),
        pytest.param(forget_image, "image i:1", id="an image"),
        pytest.param(forget_count, "Selector", id="a counter"),
        pytest.param(forget_index, "the pod index differs", id="the index of pods"),
    ],
)
def test_what_differs_is_found(spoil: Callable[[Parts], None], message: str) -> None:
    parts = Parts()
    spoil(parts)
    with pytest.raises(AssertionError, match=message):
        parts.check()
