"""Plugin: the base class of all plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from mooring.api import Pod
from mooring.framework.decision import Candidate
from mooring.framework.handle import Handle
from mooring.framework.status import Status

#: Range of a normalised score. # kube-scheduler: framework/interface.go
MIN_NODE_SCORE = 0
MAX_NODE_SCORE = 100


class Nominate(msgspec.Struct, frozen=True):
    """A result of PostFilter: the pod is nominated to a node, or loses its nomination.

    With a node name the pod waits for room there. With `node_name=""` its nomination is cleared and
    `status` says why nothing was found. (A bare Status leaves the nomination as it is.)
    """

    node_name: str
    status: Status | None = None
    #: The pods to evict from the node, and every node that was considered; for the Decision.
    victims: tuple[Pod, ...] = ()
    candidates: Sequence[Candidate] = ()


class PreFlight(msgspec.Struct, frozen=True):
    """A result of PreBindPreFlight: the plugin has work to do in PreBind."""

    #: Whether other plugins' PreBind may run at the same time.
    allow_parallel: bool = False


class Plugin:
    """The base class of plugins. A plugin implements an extension point by having its method
    (framework/points.py).

    A subclass may declare `class Args(msgspec.Struct)`: the shape, defaults and checks of its
    `pluginConfig.args`.

    >>> class Sample(Plugin):
    ...     def filter(self, state, pod, node): ...
    >>> Sample().name
    'Sample'
    """

    #: Name in configuration, messages and metrics; the class name unless a subclass says otherwise.
    name: ClassVar[str]
    #: Shape of the plugin's arguments.
    Args: ClassVar[type[msgspec.Struct] | None] = None
    #: Whether Filter or Score look at the pods of a node. If they look at the node object alone,
    #: False lets identical pods reuse the answers while pods come and go.
    reads_pods: ClassVar[bool] = True
    #: Whether the results for a pod that `sign_pod` signs depend on the labels of a node's pods.
    #: False lets identical pods reuse the results even though the API server adds labels to the
    #: pods that it binds.
    reads_pod_labels: ClassVar[bool] = True
    #: Whether `filter_nodes` may take long. It is then called only with the nodes that no other
    #: plugin has refused, and asked for no more answers after an error.
    filters_slowly: ClassVar[bool] = False
    #: Whether PreFilter and Filter are left out for a pod that waits on its node for a resize: they
    #: decided about the node when the pod was placed there.
    skips_resizes: ClassVar[bool] = False
    #: Whether a pod whose resize is refused after Filter is retried on the events of this plugin.
    limits_resizes: ClassVar[bool] = False
    #: Whether the answers that the plugin gets through `handle.http` are measurements, which a
    #: journal may hold. Otherwise it leaves them out, because they may hold secrets.
    records_http: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Set the default name."""
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        """Store both; absent args become the defaults of `Args`."""
        if args is None and self.Args is not None:
            args = self.Args()
        self.args = args
        #: What the scheduler offers to a plugin. Tests of plugins that do not use it leave it out.
        self.handle: Handle = handle  # type: ignore[assignment]

    def start(self) -> None:
        """Prepare before informers sync: the place to ask for informers and indexes."""

    async def close(self) -> None:
        """Release what `start` acquired."""
