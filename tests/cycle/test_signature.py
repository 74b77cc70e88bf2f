"""Which pods have equal signatures, and which have none."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.api import Pod
from mooring.cycle.pre_filter import run_pre_filter
from mooring.cycle.signature import PodSigner, Signature
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_scheduler, plugin

NODES = [make_node("a"), make_node("b")]
PROFILE = "default-scheduler"


def sign(scheduler: MemoryScheduler, pod: Pod) -> Signature | None:
    """Sign a pod as the cycle does, after PreFilter."""
    profile, state = scheduler.profiles[PROFILE], CycleState()
    result = run_pre_filter(profile, state, pod, scheduler.cache.nodes)
    assert result.status is None
    return PodSigner(profile).sign(state, pod)


def key(scheduler: MemoryScheduler, **fields: Any) -> Any:
    signature = sign(scheduler, make_pod(**fields))
    return None if signature is None else signature.key


def test_filter_sees_requests_and_tolerations_and_neither_names_nor_labels_nor_images() -> None:
    scheduler = MemoryScheduler(NODES)
    plain = key(scheduler, cpu="1")
    assert plain is not None
    assert key(scheduler, name="other", cpu="1000m", labels={"a": "b"}, image="x") == plain
    different = [
        key(scheduler, cpu="2"),
        key(scheduler, cpu="1", tolerations=["x"]),
        key(scheduler, cpu="1", node_selector={"x": "y"}),
        key(scheduler, cpu="1", host_ports=[80]),
        key(scheduler, cpu="1", host_ports=[81]),
    ]
    assert len({plain, *different}) == 1 + len(different)


SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
TERM = {"topologyKey": "zone", "labelSelector": {}}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(
            {"spec": {"topologySpreadConstraints": [SPREAD]}}, id="pods of other nodes are counted"
        ),
        pytest.param(
            {
                "affinity": {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}
                }
            },
            id="pods of other nodes keep it away",
        ),
        pytest.param(
            {
                "spec": {
                    "volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}],
                }
            },
            id="a disk is to be attached",
        ),
    ],
)
def test_a_pod_is_not_signed_where_more_than_pod_and_node_decides(fields: dict[str, Any]) -> None:
    assert key(MemoryScheduler(NODES), **fields) is None


def test_every_filter_plugin_must_sign() -> None:
    signs = plugin("Signs", filter=lambda *_: None, sign_pod=lambda pod: 1)
    refuses = plugin("Refuses", filter=lambda *_: None, sign_pod=lambda pod: None)
    silent = plugin("Silent", filter=lambda *_: None)
    assert key(make_scheduler([signs], NODES)) == (("Signs", 1),)
    assert key(make_scheduler([signs, refuses], NODES)) is None
    assert key(make_scheduler([signs, silent], NODES)) is None


def test_a_plugin_that_steps_aside_is_not_asked() -> None:
    aside = plugin("Aside", pre_filter=lambda *_: Status.skip(), filter=lambda *_: None)
    assert key(make_scheduler([aside], NODES)) == ()


def test_a_score_plugin_is_asked_to_sign_when_its_part_is_needed() -> None:
    asked: list[str] = []

    class Scores(Plugin):
        def score(self, state: Any, pod: Any, node: Any) -> int:
            return 0

        def sign_pod(self, pod: Any) -> str:
            asked.append(pod.metadata.name)
            return "scores"

    signature = sign(make_scheduler([Scores], NODES), make_pod("p"))
    assert signature is not None and asked == []
    assert signature.fragment("Scores") == "scores"
    assert asked == ["p"]


@pytest.mark.parametrize(
    "sign_pod",
    [
        pytest.param(lambda pod: 1 // 0, id="it raises"),
        pytest.param(lambda pod: ["a list"], id="what it returns cannot be looked up"),
    ],
)
def test_a_plugin_that_fails_to_sign_is_logged_and_the_pod_not_signed(
    sign_pod: Any, caplog: pytest.LogCaptureFixture
) -> None:
    broken = plugin("Broken", filter=lambda *_: None, sign_pod=sign_pod)
    with caplog.at_level(logging.ERROR):
        assert key(make_scheduler([broken], NODES)) is None
    assert [record.message for record in caplog.records] == ["SignPod failed for plugin"]
