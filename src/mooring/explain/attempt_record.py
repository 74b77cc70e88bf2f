"""AttemptRecord: what is kept of one attempt to schedule a pod, without the answers per node."""

from __future__ import annotations

import msgspec


class AttemptRecord(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """One attempt in a few hundred bytes.

    When the binding cycle ends, `bound` is set, or the record gets the failure and a new sequence.
    """

    #: Numbers the records of all pods in the order in which they were made or changed, from 1;
    #: unique within one run of the scheduler. The attempt itself is known by `uid` and `attempt`.
    sequence: int
    #: When the attempt began, in seconds since the epoch.
    time: float
    namespace: str
    name: str
    uid: str
    profile: str
    #: The number of the pod's attempt, from 1.
    attempt: int
    #: "scheduled", "unschedulable" or "error", as the values of Outcome.
    outcome: str
    #: The chosen node; "" if there is none. A pod that is "unschedulable" lost it later.
    node: str = ""
    #: The state of the random source when the cycle began (`AttemptRandom.state`).
    seed: int = 0
    #: Where a search that does not need all nodes began (`NodeSearch.next_start_node_index`).
    sampling_start: int = 0
    #: Why the pod stayed pending, in kube-scheduler's words.
    message: str = ""
    #: The plugins that refused the pod or left it pending, sorted.
    refusing_plugins: tuple[str, ...] = ()
    #: How many nodes were filtered, and how many of them passed.
    evaluated: int = 0
    feasible: int = 0
    #: The node that PostFilter nominated.
    nominated_node: str = ""
    #: The pods that PostFilter preempted, as "namespace/name".
    victims: tuple[str, ...] = ()
    #: The pod's group, with which it was tried, as "namespace/name".
    pod_group: str = ""
    #: The top of the group's tree, as "namespace/name", if the whole tree was tried.
    composite_pod_group: str = ""
    #: Whether the pod was bound.
    bound: bool = False
    #: Why it was not, if the binding cycle failed.
    binding_error: str = ""

    @property
    def key(self) -> str:
        """Return "namespace/name" of the pod."""
        return f"{self.namespace}/{self.name}"
