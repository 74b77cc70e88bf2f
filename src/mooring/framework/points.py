"""The catalogue of extension points: each is described once, here.

A plugin implements a point by having one of its methods. The order of this catalogue is the order
of a scheduling attempt. `config` reads the camelCase names, the registry the methods and their
parameters; docs/extension-points.md is written from the descriptions by tools/extension_points.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum

import msgspec


class Method(msgspec.Struct, frozen=True):
    """One method of an extension point."""

    name: str
    #: The parameters after `self`.
    parameters: tuple[str, ...]
    #: What the method may return, in Markdown.
    returns: str
    #: When the method is called and what its answer means, in Markdown.
    description: str
    #: How many of the parameters a method must take; 0 stands for all of them.
    required: int = 0

    @property
    def signature(self) -> str:
        """Return the method with its parameters, as a plugin author writes it, without `self`."""
        return f"{self.name}({', '.join(self.parameters)})"


class ExtensionPoint(msgspec.Struct, frozen=True):
    """One extension point of the scheduling framework."""

    #: Key in a profile's `plugins` (kube-scheduler's spelling); empty if the file cannot name it.
    key: str
    #: Name in metrics and messages, as kube-scheduler writes it.
    label: str
    #: When the point runs and what it is for, in Markdown.
    description: str
    #: A plugin that has any of these takes part in the point.
    methods: tuple[Method, ...]
    #: Further methods of the point that do not by themselves make a plugin take part.
    extensions: tuple[Method, ...] = ()
    #: Whether the methods may be `async def`.
    may_suspend: bool = False


_ON_NODE = ("state", "pod", "node_name")
_OTHER = ("state", "pod", "other", "node")
_STATUS = "`Status` or `None`"


class Point(Enum):
    """The extension points of kube-scheduler, in the order of a scheduling attempt.

    Those of pod groups come last.
    """

    PRE_ENQUEUE = ExtensionPoint(
        "preEnqueue",
        "PreEnqueue",
        "Runs before a pod enters the active queue. A pod that is refused stays out, without an "
        "attempt and without an Event, until a cluster event that the plugin registered for.",
        (
            Method(
                "pre_enqueue",
                ("pod",),
                _STATUS,
                "Return a refusal to keep the pod out of the active queue.",
            ),
        ),
    )
    QUEUE_SORT = ExtensionPoint(
        "queueSort",
        "QueueSort",
        "Orders the active queue. Exactly one plugin, the same in all profiles.",
        (
            Method(
                "less",
                ("a", "b"),
                "`bool`",
                "Return whether `a` is scheduled before `b`; both are `QueuedPod`s.",
            ),
            Method(
                "sort_key",
                ("queued",),
                "`tuple`",
                "Return a key that sorts first for the pod that goes first. Faster than `less`, "
                "and used if a plugin has both.",
            ),
        ),
    )
    PRE_FILTER = ExtensionPoint(
        "preFilter",
        "PreFilter",
        "Runs once per attempt, before any node is looked at. The place to work out what Filter "
        "needs and to write it to `state`.",
        (
            Method(
                "pre_filter",
                ("state", "pod", "nodes"),
                "a set of node names, `Status`, or `None`",
                "A set narrows the search to these nodes. A refusal ends the search on all nodes. "
                "`Status.skip()` leaves this plugin's Filter out of the attempt.",
            ),
        ),
        (
            Method(
                "add_pod",
                _OTHER,
                _STATUS,
                "A dry run (preemption, nominated pods) assumes that the `PodInfo` `other` runs on "
                "`node`, a `NodeInfo`: update what `pre_filter` wrote to `state`.",
            ),
            Method(
                "remove_pod",
                _OTHER,
                _STATUS,
                "A dry run assumes that `other` no longer runs on `node`: update what `pre_filter` "
                "wrote to `state`.",
            ),
        ),
    )
    FILTER = ExtensionPoint(
        "filter",
        "Filter",
        "Decides which nodes can run the pod. One of the two methods is enough; a plugin with "
        "both must give the same answers in both, which `check_plugin` tests.",
        (
            Method(
                "filter",
                ("state", "pod", "node"),
                _STATUS,
                "Return a refusal for one node, a `NodeInfo`. `Status.unschedulable` says that "
                "preemption may help, `Status.unresolvable` that it cannot.",
            ),
            Method(
                "filter_nodes",
                ("state", "pod", "nodes"),
                "pairs of a `Status` and a `Mask`",
                "Yield each reason with a mask of the nodes that it refuses. Masks may overlap; a "
                "node's reasons are kept in the order in which they come.",
            ),
        ),
        (
            Method(
                "diagnose",
                ("state", "pod", "node"),
                "`str`, `Shortfall`s, or `None`",
                "Say more about one node, a `NodeInfo`, that the plugin refuses: what it lacks, as "
                "`Shortfall`s with amounts, or a short text. Called with the state of an attempt "
                "for nodes that somebody is shown, never in a scheduling cycle.",
            ),
        ),
    )
    POST_FILTER = ExtensionPoint(
        "postFilter",
        "PostFilter",
        "Runs if no node is left. The first plugin that nominates a node ends the point.",
        (
            Method(
                "post_filter",
                ("state", "pod", "statuses"),
                "`Nominate` or `Status`",
                "Make room, for example by preemption, and nominate the node; or say why that is "
                "impossible. `statuses` holds each node's refusal.",
            ),
        ),
        may_suspend=True,
    )
    PRE_SCORE = ExtensionPoint(
        "preScore",
        "PreScore",
        "Runs once with the nodes that can run the pod, if there is more than one.",
        (
            Method(
                "pre_score",
                ("state", "pod", "nodes"),
                _STATUS,
                "Work out what Score needs. `Status.skip()` leaves this plugin's Score out of the "
                "attempt.",
            ),
        ),
    )
    SCORE = ExtensionPoint(
        "score",
        "Score",
        "Ranks the nodes that can run the pod. One of the two methods is enough. After "
        "NormalizeScore a score must be between 0 and 100; it is multiplied by the plugin's "
        "weight and added to those of the other plugins.",
        (
            Method(
                "score",
                ("state", "pod", "node"),
                "`int` or `Status`",
                "Return the score of one node, a `NodeInfo`.",
            ),
            Method(
                "score_nodes",
                ("state", "pod", "nodes"),
                "an int64 array (`Scores`), `int`, or `Status`",
                "Return the score of each node. One `int` stands for all nodes.",
            ),
        ),
        (
            Method(
                "normalize_score",
                ("state", "pod", "scores", "nodes"),
                "an int64 array (`Scores`)",
                "Bring the plugin's scores to the range from 0 to 100. `scores` may be changed in "
                "place; `nodes` are the nodes that they belong to, in the same order. A method "
                "without the last parameter works too.",
                required=3,
            ),
        ),
    )
    RESERVE = ExtensionPoint(
        "reserve",
        "Reserve",
        "Runs once the node is chosen, before the next pod is tried. If a later step fails, "
        "`unreserve` of every plugin runs, last plugin first.",
        (
            Method(
                "reserve",
                _ON_NODE,
                _STATUS,
                "Take what the pod needs into account, in memory. A refusal gives the node up.",
            ),
            Method(
                "unreserve",
                _ON_NODE,
                "nothing",
                "Give back what `reserve` took. Also called if `reserve` of this plugin never ran, "
                "so it must be idempotent.",
            ),
        ),
        (
            Method(
                "assumed_status",
                _ON_NODE,
                "a `PodStatus`",
                "Return the status with which the scheduler counts the pod until the API server "
                "reports it on its node. Called before `reserve`; return `pod.status` to change "
                "nothing.",
            ),
        ),
    )
    PERMIT = ExtensionPoint(
        "permit",
        "Permit",
        "Runs last in the scheduling cycle. A pod may have to wait here for others, while other "
        "pods are scheduled.",
        (
            Method(
                "permit",
                _ON_NODE,
                _STATUS,
                "`Status.wait(seconds)` holds the pod until a plugin allows or rejects it through "
                "the handle, or until the time is over, which rejects it.",
            ),
        ),
    )
    PRE_BIND = ExtensionPoint(
        "preBind",
        "PreBind",
        "Runs before the pod is bound, beside the scheduling of other pods.",
        (
            Method(
                "pre_bind",
                _ON_NODE,
                _STATUS,
                "Do what must be done before the pod is bound, for example provision a volume. "
                "Anything but success gives the node up, and the pod is tried again.",
            ),
        ),
        (
            Method(
                "pre_bind_pre_flight",
                _ON_NODE,
                "`PreFlight` or `Status`",
                "Say whether `pre_bind` has work for this pod: `Status.skip()` if not, "
                "`PreFlight(allow_parallel=True)` if it may run beside other plugins' `pre_bind`.",
            ),
        ),
        may_suspend=True,
    )
    BIND = ExtensionPoint(
        "bind",
        "Bind",
        "Binds the pod. Plugins are asked in order until one does not skip.",
        (
            Method(
                "bind",
                _ON_NODE,
                _STATUS,
                "Bind the pod, or return `Status.skip()` to leave it to the next plugin.",
            ),
        ),
        may_suspend=True,
    )
    POST_BIND = ExtensionPoint(
        "postBind",
        "PostBind",
        "Runs after the pod was bound.",
        (
            Method(
                "post_bind",
                _ON_NODE,
                "nothing",
                "Take note, or clean up. A fault is logged and changes nothing.",
            ),
        ),
        may_suspend=True,
    )
    PLACEMENT_GENERATE = ExtensionPoint(
        "placementGenerate",
        "PlacementGenerate",
        "Begins the attempt for a pod group, with the gate TopologyAwareWorkloadScheduling: says "
        "which sets of nodes the group may go to as a whole. A profile may have one such plugin.",
        (
            Method(
                "generate_placements",
                ("state", "group", "nodes"),
                "`Placement`s, or `Status`",
                "Yield the sets of nodes to try, each a name and a `Mask` over `nodes`. The group "
                "is tried in every one of them.",
            ),
        ),
    )
    PLACEMENT_FEASIBLE = ExtensionPoint(
        "",
        "PlacementFeasible",
        "Runs before the first pod of a group is tried and after each pod: says whether enough of "
        "the group fits.",
        (
            Method(
                "placement_feasible",
                ("state", "group", "progress"),
                _STATUS,
                "`None` if the pods placed so far are enough (the others are tried as well), "
                "`Status.wait(0)` as long as the pods still to be tried can make them enough, a "
                "refusal to end the attempt in this placement.",
            ),
        ),
    )
    PLACEMENT_SCORE = ExtensionPoint(
        "placementScore",
        "PlacementScore",
        "Ranks the placements of a pod group, if it fits in more than one. After "
        "`normalize_placement_scores` a score must be between 0 and 100; it is multiplied by the "
        "plugin's weight and added to those of the other plugins.",
        (
            Method(
                "score_placement",
                ("state", "group", "assignments"),
                "`int` or `Status`",
                "Return the score of one placement. `assignments` holds its nodes, a `Nodes`, and "
                "the pods that were placed on them.",
            ),
        ),
        (
            Method(
                "normalize_placement_scores",
                ("state", "group", "scores"),
                "an int64 array (`Scores`)",
                "Bring the plugin's scores to the range from 0 to 100. `scores` has an entry per "
                "placement and may be changed in place.",
            ),
        ),
    )
    POD_GROUP_POST_FILTER = ExtensionPoint(
        "podGroupPostFilter",
        "PodGroupPostFilter",
        "Runs once for a pod group that does not fit. The first plugin that nominates nodes ends "
        "the point. PostFilter does not run for the pods of a group.",
        (
            Method(
                "pod_group_post_filter",
                ("state", "group", "trial"),
                "`NominatePods` or `Status`",
                "Make room, for example by preemption, and nominate nodes; or say why that is "
                "impossible. `trial`, a `GroupTrial`, removes pods from the snapshot, places the "
                "group again, and puts pods back.",
            ),
        ),
        may_suspend=True,
    )
    ENQUEUE_EXTENSIONS = ExtensionPoint(
        "",
        "EnqueueExtensions",
        "Says which cluster events may make a pod schedulable that this plugin refused.",
        (
            Method(
                "events_to_register",
                (),
                "a list of `ClusterEvent`",
                "Asked once, at start. A `ClusterEvent` may carry a hint, which looks at the "
                "changed object and decides. Without this method every event counts.",
            ),
        ),
    )
    SIGN = ExtensionPoint(
        "",
        "Sign",
        "Lets identical pods share answers. Pods with equal signatures get the same answers from "
        "the plugin's Filter and Score on a node, until that node, its pods or any node object "
        "changes.",
        (
            Method(
                "sign_pod",
                ("pod",),
                "any hashable value, or `None`",
                "Return the parts of the pod that the plugin's answers depend on; `None` if they "
                "depend on more than the pod and the node.",
            ),
        ),
    )

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

#: The points that a configuration file cannot name: all plugins of a profile that implement them
#: run.
IMPLICIT_POINTS: tuple[Point, ...] = (Point.PLACEMENT_FEASIBLE,)

#: All points for which a resolved profile lists the plugins that run.
PLANNED_POINTS: tuple[Point, ...] = (*CONFIGURABLE_POINTS, *IMPLICIT_POINTS)

#: The points that run for a pod group.
GROUP_POINTS: frozenset[Point] = frozenset(
    {
        Point.PLACEMENT_GENERATE,
        Point.PLACEMENT_FEASIBLE,
        Point.PLACEMENT_SCORE,
        Point.POD_GROUP_POST_FILTER,
    }
)

#: Point by the key of the configuration file.
POINT_BY_KEY: dict[str, Point] = {point.key: point for point in CONFIGURABLE_POINTS}

#: Every method name of the contract.
METHODS: dict[str, tuple[Point, Method]] = {
    method.name: (point, method)
    for point in Point
    for method in (*point.value.methods, *point.value.extensions)
}


def takes_all(method: Method, function: Callable[..., object], *first: str) -> bool:
    """Return whether a function takes all parameters of a method, after the arguments `first`."""
    try:
        inspect.signature(function).bind(*first, *method.parameters)
    except (TypeError, ValueError):
        # ValueError: a function that is not written in Python may have no signature.
        return False
    return True


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
