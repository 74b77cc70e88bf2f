"""Random clusters and pods for inter-pod affinity."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mooring.api import Namespace, Node, Pod
from tests.plugins.clusters import HOSTNAME, ZONE, make, make_pod

RACK = "rack"
KEYS = (HOSTNAME, ZONE, ZONE, RACK)
SPACES = ("red", "blue", "green")
#: The namespace green has no object.
NAMESPACES = (
    make(Namespace, "red", metadata={"labels": {"team": "one"}}),
    make(Namespace, "blue", metadata={"labels": {"team": "two"}}),
)

SELECTORS: tuple[dict[str, Any] | None, ...] = (
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "db"}},
    {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    {},
    None,
)
NAMESPACE_SELECTORS: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    {},
    {"matchLabels": {"team": "one"}},
    {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["one"]}]},
)


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    """Draw some nodes; labels may be absent."""
    found = []
    for index in range(draw(st.integers(1, 7))):
        labels = {
            key: value
            for key, value in (
                (HOSTNAME, draw(st.sampled_from([f"n{index}"] * 4 + [None]))),
                (ZONE, draw(st.sampled_from(["x", "y", None]))),
                (RACK, draw(st.sampled_from(["1", "2", None]))),
            )
            if value is not None
        }
        found.append(make(Node, f"n{index}", metadata={"labels": labels}))
    return found


_TERM = st.fixed_dictionaries(
    {
        "topologyKey": st.sampled_from(KEYS),
        "labelSelector": st.sampled_from(SELECTORS),
        "namespaces": st.lists(st.sampled_from(SPACES), max_size=2, unique=True),
        "namespaceSelector": st.sampled_from(NAMESPACE_SELECTORS),
    }
)
_WEIGHED = st.fixed_dictionaries({"weight": st.integers(1, 3), "podAffinityTerm": _TERM})
_SIDE = st.fixed_dictionaries(
    {
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(_TERM, max_size=2),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(_WEIGHED, max_size=2),
    }
)
_AFFINITY = st.none() | st.fixed_dictionaries(
    {"podAffinity": st.none() | _SIDE, "podAntiAffinity": st.none() | _SIDE}
)


@st.composite
def pod(draw: st.DrawFn, name: str = "incoming", node: str = "") -> Pod:
    """Draw a pod with any terms."""
    return make_pod(
        name,
        draw(st.sampled_from(({"app": "web"}, {"app": "db"}, {}))),
        node=node,
        namespace=draw(st.sampled_from(SPACES)),
        affinity=draw(_AFFINITY),
    )


@st.composite
def pods(draw: st.DrawFn, on: list[Node]) -> list[Pod]:
    """Draw pods on nodes."""
    return [
        draw(pod(f"p{index}", draw(st.sampled_from(on)).metadata.name))
        for index in range(draw(st.integers(0, 6)))
    ]
