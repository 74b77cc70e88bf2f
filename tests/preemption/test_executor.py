"""The state after carrying out a preemption while the API server fails."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import Pod
from mooring.errors import ApiError, LeaseExpiredError
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions
from mooring.informers.store import Store
from mooring.observe.clock import VirtualClock
from mooring.observe.metrics import Metrics
from mooring.preemption.executor import RETRY_WAIT, Executor
from tests.plugins.cluster import make_pod

VICTIMS = [make_pod("first", "node", uid="1"), make_pod("last", "node", uid="2")]
PREEMPTOR = make_pod("preemptor", uid="3")


class FakeHandle:
    """A handle that records the executor's calls; `failures` are raised at "verb name"."""

    def __init__(self, **failures: ApiError) -> None:
        self.failures = failures
        self.sent: list[tuple[str, str, Any]] = []
        self.activated: list[Pod] = []
        self.client = self
        self.nominator = SimpleNamespace(nominated_on=lambda node: ())
        self.events = SimpleNamespace(event=lambda *args: None)
        self.pods: Store[Pod] = Store(VICTIMS)
        self.work: list[Any] = []
        self.metrics = Metrics()
        self.features = FeatureGates()
        self.clock = VirtualClock()
        #: The uids of the pods on the node, in the snapshot after the writes.
        self.left = "12"
        self.snapshot = SimpleNamespace(find=lambda name: SimpleNamespace(pods=set(self.left)))

    def lister(self, kind: Any) -> Store[Pod]:
        return self.pods

    def spawn(self, work: Any, pod: Pod) -> None:
        self.work.append(work)

    def activate(self, pods: Any) -> None:
        self.activated += pods

    def waiting_pod(self, uid: str) -> None:
        return None

    pre_binding_pod = waiting_pod

    async def patch(self, kind: Any, name: str, namespace: str, patch: Any, **more: Any) -> None:
        self._send("patch", name, patch)

    async def delete(self, kind: Any, name: str, namespace: str, *, uid: str) -> None:
        self._send("delete", name, uid)

    def _send(self, verb: str, name: str, what: Any) -> None:
        self.sent.append((verb, name, what))
        if (failure := self.failures.get(f"{verb}_{name}")) is not None:
            raise failure


def preempt(handle: FakeHandle) -> Executor:
    executor = Executor("DefaultPreemption", handle)
    executor.start(PREEMPTOR, "node", VICTIMS)
    assert executor.is_preempting("3")
    for work in handle.work:
        asyncio.run(work)
    assert not executor.is_preempting("3")
    return executor


def test_a_victim_is_told_why_and_since_when() -> None:
    handle = FakeHandle()
    preempt(handle)
    verb, name, patch = handle.sent[0]
    (condition,) = patch["status"]["conditions"]
    assert (verb, name, condition["type"]) == ("patch", "first", "DisruptionTarget")
    assert condition["lastTransitionTime"]
    assert condition["observedGeneration"] == VICTIMS[0].metadata.generation


GONE, FAULT = ApiError(404, "gone"), ApiError(500, "etcdserver: request timed out")


@pytest.mark.parametrize(
    ("failures", "left", "activated"),
    [
        pytest.param({}, "12", False, id="victims that leave bring the preemptor back themselves"),
        pytest.param({}, "2", False, id="one is enough"),
        pytest.param({}, "", True, id="victims that have left already do not"),
        pytest.param({"patch_last": GONE}, "", True, id="nor those that somebody else has deleted"),
        pytest.param({"delete_last": GONE}, "2", False, id="unless that is still to be told"),
        pytest.param({"patch_first": FAULT}, "12", True, id="after a fault it tries again"),
        pytest.param({"delete_last": FAULT}, "12", True, id="also where the last write met it"),
    ],
)
def test_a_preemptor_is_never_left_waiting_for_nothing(
    failures: dict[str, ApiError], left: str, activated: bool
) -> None:
    handle = FakeHandle(**failures)
    handle.left = left
    preempt(handle)
    assert handle.activated == [PREEMPTOR] * activated


@pytest.mark.parametrize(
    ("failure", "logged"),
    [
        pytest.param(LeaseExpiredError("not sent: the lease is not held"), 0, id="lease expired"),
        pytest.param(ApiError(422, "metadata.uid: field is immutable"), 1, id="stale victim"),
    ],
)
def test_a_failed_preemption_is_tried_again_after_a_pause(
    failure: ApiError, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    handle = FakeHandle(patch_first=failure)
    times: list[float] = []
    handle.activate = lambda pods: times.append(handle.clock.now())  # type: ignore[method-assign]
    preempt(handle)
    assert times == [RETRY_WAIT]
    assert len(caplog.records) == logged
    assert handle.metrics.preemption_goroutines_duration["error"].sum == 0


def test_writes_are_for_one_pod_and_not_for_the_next_of_its_name() -> None:
    handle = FakeHandle()
    preempt(handle)
    patched = [what["metadata"]["uid"] for verb, _, what in handle.sent if verb == "patch"]
    deleted = [what for verb, _, what in handle.sent if verb == "delete"]
    assert patched == deleted == ["1", "2"]


@pytest.mark.parametrize(
    ("failures", "result"),
    [
        pytest.param({}, "success", id="carried out"),
        pytest.param({"delete_last": FAULT}, "error", id="the server failed"),
    ],
)
def test_a_preemption_is_counted_with_its_victims_and_result(
    failures: dict[str, ApiError], result: str
) -> None:
    handle = FakeHandle(**failures)
    preempt(handle)
    metrics = handle.metrics
    assert (sum(metrics.preemption_victims.counts), metrics.preemption_victims.sum) == (1, 2)
    assert {key: series.value for key, series in metrics.preemption_goroutines.items()} == {
        result: 1
    }
    assert sum(metrics.preemption_goroutines_duration[result].counts) == 1
    assert sum(metrics.preemption_execution_duration["pod", result].counts) == 1


@pytest.mark.parametrize(
    ("failures", "result"),
    [
        pytest.param({}, "success", id="carried out"),
        pytest.param({"delete_last": FAULT}, "error", id="the server failed"),
    ],
)
def test_a_preemption_within_the_cycle_is_timed_too(
    failures: dict[str, ApiError], result: str
) -> None:
    handle = FakeHandle(**failures)
    executor = Executor("DefaultPreemption", handle)
    run = executor.run(PREEMPTOR, "node", VICTIMS)
    if failures:
        with pytest.raises(ApiError):
            asyncio.run(run)
    else:
        asyncio.run(run)
    counts = {
        key: sum(series.counts)
        for key, series in handle.metrics.preemption_execution_duration.items()
    }
    assert counts == {("pod", result): 1}


@pytest.mark.parametrize(("release", "counted"), [("1.36", 0), ("1.37", 1)])
def test_victims_that_are_leaving_already_are_counted_as_in_the_release(
    release: str, counted: int
) -> None:
    handle = FakeHandle()
    handle.features = FeatureGates(version=parse_versions([release]))
    leaving = [
        replace(pod, metadata=replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
        for pod in VICTIMS
    ]
    executor = Executor("DefaultPreemption", handle)
    executor.start(PREEMPTOR, "node", leaving)
    assert handle.work == []
    assert not executor.is_preempting("3")
    assert sum(handle.metrics.preemption_victims.counts) == counted
