"""The catalogue of extension points: each is described once, here.

A plugin implements a point by having one of its methods. The order of this catalogue is the order
of a scheduling attempt. `config` reads the camelCase names, the registry the methods and their
parameters.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Method(msgspec.Struct, frozen=True):
    """Describe one method of a point: its name and its parameters after `self`."""

    name: str
    parameters: tuple[str, ...]


class ExtensionPoint(msgspec.Struct, frozen=True):
    """Describe one extension point."""

    #: Key in a profile's `plugins` (kube-scheduler's spelling); empty where the file cannot name
    #: it.
    key: str
    #: Name in metrics and messages, as kube-scheduler writes it.
    label: str
    #: Any of these makes a plugin take part.
    methods: tuple[Method, ...]
    #: Further methods that belong to the point but do not alone make a plugin take part.
    extensions: tuple[Method, ...] = ()
    #: May be `async def`.
    may_suspend: bool = False


_ON_NODE = ("state", "pod", "node_name")
_OTHER = ("state", "pod", "other", "node")


class Point(Enum):
    """Name every extension point of kube-scheduler 1.36 that Mooring runs."""

    PRE_ENQUEUE = ExtensionPoint("preEnqueue", "PreEnqueue", (Method("pre_enqueue", ("pod",)),))
    QUEUE_SORT = ExtensionPoint(
        "queueSort",
        "QueueSort",
        (Method("less", ("a", "b")), Method("sort_key", ("queued",))),
    )
    PRE_FILTER = ExtensionPoint(
        "preFilter",
        "PreFilter",
        (Method("pre_filter", ("state", "pod", "nodes")),),
        (Method("add_pod", _OTHER), Method("remove_pod", _OTHER)),
    )
    FILTER = ExtensionPoint(
        "filter",
        "Filter",
        (
            Method("filter", ("state", "pod", "node")),
            Method("filter_nodes", ("state", "pod", "nodes")),
        ),
    )
    POST_FILTER = ExtensionPoint(
        "postFilter",
        "PostFilter",
        (Method("post_filter", ("state", "pod", "statuses")),),
        may_suspend=True,
    )
    PRE_SCORE = ExtensionPoint(
        "preScore", "PreScore", (Method("pre_score", ("state", "pod", "nodes")),)
    )
    SCORE = ExtensionPoint(
        "score",
        "Score",
        (
            Method("score", ("state", "pod", "node")),
            Method("score_nodes", ("state", "pod", "nodes")),
        ),
        (Method("normalize_score", ("state", "pod", "scores")),),
    )
    RESERVE = ExtensionPoint(
        "reserve",
        "Reserve",
        (Method("reserve", _ON_NODE), Method("unreserve", _ON_NODE)),
    )
    PERMIT = ExtensionPoint("permit", "Permit", (Method("permit", _ON_NODE),))
    PRE_BIND = ExtensionPoint(
        "preBind",
        "PreBind",
        (Method("pre_bind", _ON_NODE),),
        (Method("pre_bind_pre_flight", _ON_NODE),),
        may_suspend=True,
    )
    BIND = ExtensionPoint("bind", "Bind", (Method("bind", _ON_NODE),), may_suspend=True)
    POST_BIND = ExtensionPoint(
        "postBind", "PostBind", (Method("post_bind", _ON_NODE),), may_suspend=True
    )
    ENQUEUE_EXTENSIONS = ExtensionPoint(
        "", "EnqueueExtensions", (Method("events_to_register", ()),)
    )
    #: Pods that a plugin signs alike get the same answers from its Filter and Score on a node,
    #: until that node, its pods or any node object changes. None: the answers depend on more.
    SIGN = ExtensionPoint("", "Sign", (Method("sign_pod", ("pod",)),))

    @property
    def key(self) -> str:
        """Return the key in a profile's `plugins`."""
        return self.value.key

    @property
    def label(self) -> str:
        """Return the name in metrics and messages."""
        return self.value.label


#: The points that a configuration file can name, in the order of a scheduling attempt.
CONFIGURABLE_POINTS: tuple[Point, ...] = tuple(point for point in Point if point.key)

#: Point by the key of the configuration file.
POINT_BY_KEY: dict[str, Point] = {point.key: point for point in CONFIGURABLE_POINTS}

#: Every method name of the contract.
METHODS: dict[str, tuple[Point, Method]] = {
    method.name: (point, method)
    for point in Point
    for method in (*point.value.methods, *point.value.extensions)
}


def points_of(plugin: type) -> frozenset[Point]:
    """Return the points that a plugin class implements.

    >>> class Sample:
    ...     def filter(self, state, pod, node): ...
    >>> sorted(point.label for point in points_of(Sample))
    ['Filter']
    """
    return frozenset(
        point
        for point in Point
        if any(callable(getattr(plugin, method.name, None)) for method in point.value.methods)
    )
