"""A scheduler in memory for the cluster and the configuration of one scenario."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import KubeObject, Pod, PriorityClass, decode, decode_as
from mooring.api.timestamps import parse_time
from mooring.config.load import load_config_data
from mooring.contrib.peaks import MODEL_FILE
from mooring.cycle.profile import Profile
from mooring.cycle.scheduling_cycle import by_name
from mooring.errors import ConfigError, NoAnswerError, PluginError
from mooring.framework.handle import HttpAnswer
from mooring.framework.points import CONFIGURABLE_POINTS, Point
from mooring.observe.clock import VirtualClock
from mooring.registry import Registry, default_registry
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.conformance import replay

#: What a constructor or the loading of a configuration raises: the outcome "initError".
INIT_ERRORS = (ConfigError, PluginError)

#: Later than every time of the scenarios but those in 2099.
START = 1_800_000_000.0

OBJECTS: dict[str, type[KubeObject]] = {**replay.OBJECTS, "priorityClasses": PriorityClass}
#: Fields with custom resources, which are decoded by their apiVersion and kind.
CUSTOM = {
    "podGroups": "podgroups.v1alpha1.scheduling.x-k8s.io",
    "elasticQuotas": "elasticquotas.v1alpha1.scheduling.x-k8s.io",
    "nodeResourceTopologies": "noderesourcetopologies.v1alpha2.topology.node.k8s.io",
    "appGroups": "appgroups.v1alpha1.appgroup.diktyo.x-k8s.io",
    "networkTopologies": "networktopologies.v1alpha1.networktopology.diktyo.x-k8s.io",
    "seccompProfiles": "seccompprofiles.v1beta1.security-profiles-operator.x-k8s.io",
}


class RecordingClient(MemoryClient):
    """A client that notes what a preemption would write and leaves the pods as they are.

    A pod that is bound runs at once.
    """

    def __init__(self, cluster: Any) -> None:
        super().__init__(cluster)
        self._running = cluster
        #: "namespace/name" of pods that lost their nomination.
        self.cleared: list[str] = []

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind a pod, which becomes Running in the same change."""
        status = replace(pod.status, phase="Running", nominated_node_name="")
        spec = replace(pod.spec, node_name=node_name)
        self._running.add(replace(pod, spec=spec, status=status))

    async def delete(
        self, kind: type[Any], name: str, namespace: str = "", *, uid: str = ""
    ) -> None:
        """Delete an object, unless it is a pod."""
        if kind is not Pod:
            await super().delete(kind, name, namespace, uid=uid)

    async def patch(
        self,
        kind: type[Any],
        name: str,
        namespace: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> Any:
        """Note a nomination that is cleared; the pod's other fields stay as they are."""
        status = patch.get("status") or {}
        if "nominatedNodeName" in status and not status["nominatedNodeName"]:
            self.cleared.append(f"{namespace}/{name}")
        return await self.get(kind, name, namespace)


class LoadWatcher:
    """The load watcher of a scenario: it answers every request as recorded."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self._answer = answer

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        """Return the recorded answer."""
        if self._answer is None:
            raise NoAnswerError("no load watcher", sent=False, url=url)
        body = self._answer["body"]
        data = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
        return HttpAnswer(self._answer["status"], data)


@cache
def registry() -> Registry:
    return default_registry()


def build(scenario: dict[str, Any]) -> MemoryScheduler:
    """Return a scheduler for a scenario; raise one of INIT_ERRORS if it is refused."""
    loaded = load_config_data(scenario["config"], registry=registry())
    objects: list[KubeObject] = [
        decode_as(raw, kind) for field, kind in OBJECTS.items() for raw in scenario.get(field) or ()
    ]
    objects += [decode(raw) for field in CUSTOM for raw in scenario.get(field) or ()]
    now = parse_time(scenario["now"]) if "now" in scenario else START
    bound = {key: parse_time(time) for key, time in (scenario.get("boundAt") or {}).items()}
    late = sorted((bound[obj.key], obj.key, obj) for obj in objects if _is_bound(obj, bound))
    with _environment(scenario):
        scheduler = MemoryScheduler(
            [obj for obj in objects if not _is_bound(obj, bound)],
            config=loaded,
            registry=registry(),
            clock=VirtualClock(start=late[0][0] if late else now),
            random=replay.First(0),
            choose=by_name,
            client=RecordingClient,
            http=LoadWatcher(scenario.get("loadWatcher")),
        )
    for time, _, pod in late:
        scheduler.clock.advance(time - scheduler.clock.now())
        scheduler.cluster.add(pod)
    scheduler.clock.advance(max(0.0, now - scheduler.clock.now()))
    return scheduler


def _is_bound(obj: KubeObject, bound: dict[str, float]) -> bool:
    return isinstance(obj, Pod) and obj.key in bound


@contextmanager
def _environment(scenario: dict[str, Any]) -> Iterator[None]:
    """Put the file of power models where the environment says."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.delenv(MODEL_FILE, raising=False)
        if "nodePowerModelFile" in scenario:
            file = Path(folder) / "models.json"
            file.write_text(scenario["nodePowerModelFile"])
            patch.setenv(MODEL_FILE, str(file))
        yield


def only_profile(scheduler: MemoryScheduler) -> Profile:
    """Return the profile of a scenario; each has one."""
    (profile,) = scheduler.profiles.values()
    return profile


def plugins(scheduler: MemoryScheduler) -> dict[str, list[str]]:
    """Return the plugins of each point, as `plugins` of a recording."""
    resolved = only_profile(scheduler).resolved
    return {
        point.key: names for point in CONFIGURABLE_POINTS if (names := list(resolved.names(point)))
    }


def score_weights(scheduler: MemoryScheduler) -> dict[str, int]:
    """Return the weights of Score plugins, as `scoreWeights` of a recording."""
    return dict(only_profile(scheduler).resolved.points[Point.SCORE])
