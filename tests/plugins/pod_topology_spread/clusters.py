"""Random clusters and pods for topology spreading."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mooring.api import Node, Pod
from mooring.plugins.pod_topology_spread.spread_constraints import (
    DO_NOT_SCHEDULE,
    SpreadConstraint,
    parse,
)
from tests.plugins.clusters import HOSTNAME, ZONE, make, make_pod

RACK = "rack"
APPS = ("web", "db")
SELECTORS: tuple[dict[str, Any], ...] = (
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "db"}},
    {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
)


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    """Draw some nodes; labels may be absent or empty."""
    found = []
    for index in range(draw(st.integers(1, 8))):
        labels = {
            key: value
            for key, value in (
                (HOSTNAME, draw(st.sampled_from([f"n{index}"] * 4 + [None]))),
                (ZONE, draw(st.sampled_from(["x", "y", "z", "", None]))),
                (RACK, draw(st.sampled_from(["1", "2", None]))),
                ("disk", draw(st.sampled_from(["ssd", "hdd"]))),
            )
            if value is not None
        }
        taints = [{"key": "gpu", "effect": "NoSchedule"}] if draw(st.booleans()) else []
        found.append(make(Node, f"n{index}", metadata={"labels": labels}, spec={"taints": taints}))
    return found


@st.composite
def pods(draw: st.DrawFn, on: list[Node]) -> list[Pod]:
    """Draw pods on nodes; some are terminating, some in another namespace."""
    found = []
    for index in range(draw(st.integers(0, 16))):
        meta: dict[str, Any] = {}
        if draw(st.sampled_from((False, False, False, True))):
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        found.append(
            make_pod(
                f"p{index}",
                {"app": draw(st.sampled_from(APPS))} if draw(st.booleans()) else {},
                node=draw(st.sampled_from(on)).metadata.name,
                namespace=draw(st.sampled_from(("default", "default", "other"))),
                metadata=meta,
            )
        )
    return found


def constraints(action: str, *, empty: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a constraint as JSON; with `empty`, its selector may be empty or absent."""
    selectors: tuple[dict[str, Any] | None, ...] = SELECTORS
    return st.fixed_dictionaries(
        {
            "maxSkew": st.integers(1, 3),
            "topologyKey": st.sampled_from((HOSTNAME, ZONE, ZONE, RACK)),
            "whenUnsatisfiable": st.just(action),
            "labelSelector": st.sampled_from((*selectors, {}, None) if empty else selectors),
            "minDomains": st.none() | st.integers(1, 4),
            "nodeAffinityPolicy": st.sampled_from((None, "Honor", "Ignore")),
            "nodeTaintsPolicy": st.sampled_from((None, "Honor", "Ignore")),
            "matchLabelKeys": st.sampled_from(((), ("app",), ("absent",))),
        }
    )


@st.composite
def incoming(draw: st.DrawFn, action: str, *, empty: bool = True) -> Pod:
    """Draw a pod with constraints of one action."""
    spec: dict[str, Any] = {
        "topologySpreadConstraints": draw(
            st.lists(constraints(action, empty=empty), min_size=1, max_size=3)
        )
    }
    if draw(st.booleans()):
        spec["nodeSelector"] = {"disk": "ssd"}
    if draw(st.booleans()):
        spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    labels = draw(st.sampled_from(({"app": "web"}, {"app": "db"}, {})))
    return make_pod("incoming", labels, **spec)


def parsed(pod: Pod) -> list[SpreadConstraint]:
    """Return the constraints of a pod."""
    return [
        parse(constraint, pod.metadata.labels)
        for constraint in pod.spec.topology_spread_constraints
    ]


def hard(selector: dict[str, object] | None, **fields: object) -> dict[str, object]:
    """Return a hard constraint over zones."""
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": DO_NOT_SCHEDULE,
        "labelSelector": selector,
        **fields,
    }
