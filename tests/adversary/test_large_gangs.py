"""Gangs of very many pods: what they cost grows as their number does, and others are scheduled.

Operations are counted on gangs of some hundred pods; a gang of 10,000 takes as many more.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.api import POD_GROUP_LABEL
from mooring.cli.main import main
from mooring.contrib.coscheduling import Coscheduling
from mooring.queue.queueing_hints import Hints

Object = dict[str, Any]

NODES, OTHERS = 4, 10
COSCHEDULING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
    multiPoint: {enabled: [{name: Coscheduling}]}
"""


def pod(name: str, cpu: str, labels: Object | None = None, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    spec = {"containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def native_gang(count: int) -> list[Object]:
    """Return a PodGroup of Kubernetes' own and its pods."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": count}}},
    }
    members = (pod(f"m{n}", "1", schedulingGroup={"podGroupName": "g"}) for n in range(count))
    return [group, *members]


def coscheduled_gang(count: int) -> list[Object]:
    """Return a PodGroup of the plugin Coscheduling and its pods."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": count},
    }
    return [group, *(pod(f"m{n}", "1", {POD_GROUP_LABEL: "g"}) for n in range(count))]


class Schedule:
    """`mooring schedule` of a gang beside the pods of others, with counts of calls."""

    def __init__(
        self,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self._folder = folder
        self._capsys = capsys
        self.calls: Counter[str] = Counter()
        for owner, name in ((Hints, "strategy"), (Coscheduling, "pre_filter")):
            monkeypatch.setattr(owner, name, self._counting(name, getattr(owner, name)))

    def _counting(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self.calls[name] += 1
            return function(*args)

        return counted

    def run(self, gang: list[Object], *, fits: bool) -> Counter[str]:
        """Schedule, and return how many pods of which kind have a node."""
        count = len(gang) - 1
        size = {"cpu": str(count if fits else 2), "memory": "64Gi", "pods": str(2 * count)}
        nodes = (
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{number}"},
                "status": {"allocatable": size},
            }
            for number in range(NODES)
        )
        others = (pod(f"other{number}", "1m") for number in range(OTHERS))
        items = [*nodes, *gang, *others]
        file = self._folder / "cluster.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        command = ["schedule", "-f", str(file), "-o", "json"]
        if gang[0]["apiVersion"].startswith("scheduling.x-k8s.io"):
            config = self._folder / "config.yaml"
            config.write_text(COSCHEDULING)
            command += ["--config", str(config)]
        else:
            command.append("--feature-gates=GenericWorkload=true")
        self.calls.clear()
        assert main(command) == 0
        found = json.loads(self._capsys.readouterr().out)
        placed = (one["name"] for one in found["pods"] if one["node"])
        return Counter("others" if name.startswith("other") else "members" for name in placed)


@pytest.fixture
def schedule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Schedule:
    """Return a way to schedule a gang."""
    return Schedule(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("make", [native_gang, coscheduled_gang])
def test_a_gang_that_fits_is_placed_with_the_pods_of_others(
    schedule: Schedule, make: Callable[[int], list[Object]]
) -> None:
    assert schedule.run(make(300), fits=True) == {"members": 300, "others": OTHERS}
    assert schedule.calls["strategy"] <= 10 * 300


@pytest.mark.parametrize("make", [native_gang, coscheduled_gang])
def test_a_gang_that_fits_nowhere_holds_up_no_pods_of_others(
    schedule: Schedule, make: Callable[[int], list[Object]]
) -> None:
    attempts = []
    for count in (40, 120):
        assert schedule.run(make(count), fits=False) == {"others": OTHERS}
        attempts.append(schedule.calls["pre_filter"])
    assert attempts[1] <= 4 * attempts[0]


def test_the_status_of_a_member_is_no_question_to_the_others(schedule: Schedule) -> None:
    for count in (50, 200):
        schedule.run(native_gang(count), fits=False)
        # The members are asked about each pod of others that gets a node, and once about their own.
        assert schedule.calls["strategy"] <= (OTHERS + 3) * count
