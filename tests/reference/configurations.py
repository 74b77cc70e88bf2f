"""Configurations made from a seed: most are valid, some have one mistake."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]

#: One seed in this many has a mistake; the mistakes take turns.
MISTAKE_EVERY = 3

POINTS = {
    "preEnqueue": ["SchedulingGates", "DefaultPreemption"],
    "preFilter": ["NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeZone"],
    "filter": ["NodeName", "TaintToleration", "NodeResourcesFit", "InterPodAffinity"],
    "postFilter": ["DefaultPreemption"],
    "preScore": ["TaintToleration", "NodeAffinity", "PodTopologySpread"],
    "score": ["ImageLocality", "NodeResourcesFit", "TaintToleration", "NodeAffinity"],
    "reserve": ["VolumeBinding"],
    "preBind": ["VolumeBinding"],
    "multiPoint": ["NodeName", "ImageLocality", "InterPodAffinity", "TaintToleration"],
}


def make(seed: int) -> Document:
    """Return a configuration; the same for the same seed."""
    rng = random.Random(seed)
    names = rng.sample(["default-scheduler", "batch", "a.b-c"], rng.randint(1, 3))
    document: Document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [_profile(rng, name) for name in names],
        **_some(
            rng,
            parallelism=lambda: rng.randint(1, 64),
            percentageOfNodesToScore=lambda: rng.randint(0, 100),
            podInitialBackoffSeconds=lambda: rng.randint(1, 3),
            podMaxBackoffSeconds=lambda: rng.randint(3, 30),
            enableProfiling=lambda: rng.random() < 0.5,
            delayCacheUntilActive=lambda: rng.random() < 0.5,
            clientConnection=lambda: _some(
                rng, qps=lambda: rng.choice([1, 2.5, 5000]), burst=lambda: rng.randint(1, 500)
            ),
            leaderElection=lambda: _some(
                rng,
                leaderElect=lambda: rng.random() < 0.5,
                leaseDuration=lambda: rng.choice(["20s", "1m5s", "90s"]),
                resourceName=lambda: rng.choice(["mine", "kube-scheduler"]),
            ),
            extenders=lambda: [_extender(rng) for _ in range(rng.randint(1, 2))],
        ),
    }
    if seed % MISTAKE_EVERY == 0:
        MISTAKES[seed // MISTAKE_EVERY % len(MISTAKES)](document, rng)
    return document


def _some(rng: random.Random, **makers: Callable[[], Any]) -> Document:
    return {name: make() for name, make in makers.items() if rng.random() < 0.5}


def _profile(rng: random.Random, name: str) -> Document:
    profile: Document = {"schedulerName": name}
    if rng.random() < 0.3:
        profile["percentageOfNodesToScore"] = rng.randint(0, 100)
    points = rng.sample(sorted(POINTS), rng.randint(0, 4))
    if points:
        profile["plugins"] = {point: _plugin_set(rng, point) for point in points}
    args = rng.sample(sorted(ARGS), rng.randint(0, 4))
    if args:
        profile["pluginConfig"] = [{"name": name, "args": ARGS[name](rng)} for name in args]
    return profile


def _plugin_set(rng: random.Random, point: str) -> Document:
    plugins = POINTS[point]
    enabled = rng.sample(plugins, rng.randint(0, len(plugins)))
    found: Document = {}
    # All are disabled first, since a plugin can be enabled only once at a point.
    found["disabled"] = [{"name": "*"}] if point != "multiPoint" else [{"name": n} for n in plugins]
    if enabled:
        found["enabled"] = [
            {"name": name, **({"weight": rng.randint(1, 9)} if rng.random() < 0.5 else {})}
            for name in enabled
        ]
    return found


def _extender(rng: random.Random) -> Document:
    return {
        "urlPrefix": f"http://127.0.0.1:{rng.randint(1, 9)}/x",
        "weight": rng.randint(1, 5),
        **_some(
            rng,
            filterVerb=lambda: "filter",
            prioritizeVerb=lambda: "prioritize",
            preemptVerb=lambda: "preempt",
            httpTimeout=lambda: rng.choice(["100ms", "2s"]),
            nodeCacheCapable=lambda: True,
            ignorable=lambda: True,
            managedResources=lambda: [{"name": "example.com/gpu", "ignoredByScheduler": True}],
        ),
    }


def _fit(rng: random.Random) -> Document:
    kind = rng.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
    strategy: Document = {
        "type": kind,
        "resources": [{"name": "cpu", "weight": rng.randint(1, 5)}],
    }
    if kind == "RequestedToCapacityRatio":
        shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": rng.randint(1, 10)}]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    return {"scoringStrategy": strategy, "ignoredResources": ["example.com/a"]}


def _spread(rng: random.Random) -> Document:
    if rng.random() < 0.5:
        return {"defaultingType": "System"}
    constraint = {
        "maxSkew": rng.randint(1, 4),
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
    }
    return {"defaultingType": "List", "defaultConstraints": [constraint]}


ARGS: dict[str, Callable[[random.Random], Document]] = {
    "DefaultPreemption": lambda rng: {"minCandidateNodesAbsolute": rng.randint(1, 200)},
    "InterPodAffinity": lambda rng: {"hardPodAffinityWeight": rng.randint(0, 100)},
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": lambda rng: {"bindTimeoutSeconds": rng.randint(1, 900)},
}


def _set(name: str, value: Any) -> Callable[[Document, random.Random], None]:
    def change(document: Document, rng: random.Random) -> None:
        document[name] = value

    return change


def _args(plugin: str, args: Document) -> Callable[[Document, random.Random], None]:
    def change(document: Document, rng: random.Random) -> None:
        profile = rng.choice(document["profiles"])
        profile["pluginConfig"] = [{"name": plugin, "args": args}]

    return change


def _second_profile(document: Document, rng: random.Random) -> None:
    document["profiles"].append({"schedulerName": document["profiles"][0]["schedulerName"]})


def _unknown_plugin(document: Document, rng: random.Random) -> None:
    profile = rng.choice(document["profiles"])
    profile["plugins"] = {"score": {"enabled": [{"name": "NoSuchPlugin"}]}}


def _wrong_point(document: Document, rng: random.Random) -> None:
    profile = rng.choice(document["profiles"])
    profile["plugins"] = {"score": {"enabled": [{"name": "NodeName"}]}}


MISTAKES: tuple[Callable[[Document, random.Random], None], ...] = (
    _set("parallelism", -1),
    _set("percentageOfNodesToScore", 101),
    _set("podInitialBackoffSeconds", -1),
    _set("extra", 1),
    _set("parallelism", "many"),
    _set("leaderElection", {"leaderElect": True, "leaseDuration": "5s", "renewDeadline": "9s"}),
    _set("extenders", [{"urlPrefix": "http://127.0.0.1:1", "prioritizeVerb": "p", "weight": -1}]),
    _set("extenders", [{"weight": 1, "unknown": True}]),
    _args("InterPodAffinity", {"hardPodAffinityWeight": 101}),
    _args("NodeResourcesFit", {"scoringStrategy": {"type": "Nope"}}),
    _args("PodTopologySpread", {"defaultConstraints": [{"maxSkew": 0}]}),
    _args("VolumeBinding", {"bindTimeoutSeconds": -1}),
    _args("DefaultPreemption", {"unknownField": 1}),
    _second_profile,
    _unknown_plugin,
    _wrong_point,
)
