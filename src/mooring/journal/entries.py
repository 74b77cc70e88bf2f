"""Entries of a journal: what a scheduler took in, and what came out of each attempt.

A journal holds inputs. A reader builds the state of the scheduler from a checkpoint and
the changes after it, and decides each attempt again:

    SegmentHead                    configuration, gates, plugins
    CheckpointBegins               the order of nodes, nominations; then the objects that there are
      CheckpointObject ...         in the order of their stores, kind by kind
      CheckpointWork ...           the last runs of plugins' periodic work
      CheckpointPlacement ...      the order of pods on nodes, and the assumed pods
    CheckpointEnds
    Change, PodUpdate ...          each object change, when the loop takes it in
    WorkBegins, Fetched ...        periodic work of plugins, and the answers to their requests
    AttemptBegins                  everything that the cycle reads beside the state
      ExtenderAnswer ...           in the order of their arrival
    AttemptEnds                    the record of the decision, to compare with
    Reserved, Permitted, ...       what became of the placement
    Compared                       in a shadow: what the other scheduler did, after AttemptEnds

An entry is a JSON array that begins with its tag. A field may be added at the end, with a default
value, without a new `FORMAT`: older readers ignore it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.scheduler_rules import RecordedPlugin

#: The version of the format; readers refuse newer ones.
FORMAT = 4

#: Stands for no object where an object may be: msgspec cannot decode `Raw | None`.
NOT_ASSUMED = msgspec.Raw(b"null")

#: Stands for the names of all nodes in Compared.
EVERY_NODE = "*"

#: The kind of finished pods, which have a store of their own (`api.FinishedPod`).
FINISHED_PODS = "FinishedPod"


class JournalEntry(msgspec.Struct, frozen=True, array_like=True, gc=False, omit_defaults=True):
    """The common part of all entries."""

    #: Seconds since the epoch, by the scheduler's clock.
    time: float


class RecordedStatus(msgspec.Struct, frozen=True, array_like=True, gc=False, omit_defaults=True):
    """A plugin's status: code, reasons and plugin, as in `framework.status.Status`."""

    code: int
    reasons: tuple[str, ...] = ()
    plugin: str = ""


class SegmentHead(JournalEntry, frozen=True, tag="head", kw_only=True, gc=False):
    """The beginning of a segment: who wrote it, and under which rules it decided."""

    format: int
    #: The version of Mooring that wrote it.
    mooring: str
    #: Identifies the scheduler that wrote it: one from its start to its end, over all its segments.
    run: str
    #: The number of the segment in the folder; it grows by one from segment to segment.
    number: int
    #: Whether the run began with this segment.
    first: bool
    #: The release of Kubernetes that is emulated, such as "1.37".
    release: str = ""
    #: The effective configuration (`config.to_v1`), without keys and tokens.
    config: Any = None
    #: The oldest release that it must be compatible with.
    min_compatibility: str = ""
    #: The feature gates that were set; the others have their defaults.
    gates: dict[str, bool] = {}
    plugins: tuple[RecordedPlugin, ...] = ()
    #: Seconds after which a pod leaves the unschedulable pods.
    max_in_unschedulable: float = 300.0
    #: In a shadow: the configuration that the other scheduler is assumed to have.
    their_config: Any = None


# The checkpoint.


class CheckpointBegins(JournalEntry, frozen=True, tag="checkpoint", gc=False):
    """The state of the scheduler at one moment, apart from its objects."""

    #: Index in the node order at which the next sampled search begins.
    sampling_start: int
    #: The state of the random source.
    seed: int
    #: The names of the nodes in the order of their rows in the cache.
    rows: tuple[str, ...] = ()
    #: The names of the nodes by zone, in the order of the node tree.
    zones: tuple[tuple[str, ...], ...] = ()
    #: Nominations: (uid of the pod, node), in their order.
    nominations: tuple[tuple[str, str], ...] = ()


class CheckpointObject(JournalEntry, frozen=True, tag="object", gc=False):
    """An object of the informers' stores."""

    #: "plural.version.group", or FINISHED_PODS.
    kind: str
    object: msgspec.Raw


class CheckpointPlacement(JournalEntry, frozen=True, tag="placed", gc=False):
    """A pod with a node in the cache, in the order of the cache."""

    uid: str
    node: str
    #: The assumed pod; `NOT_ASSUMED` if the pod is confirmed, then it is among the objects.
    assumed: msgspec.Raw = NOT_ASSUMED
    #: If the pod waits at Permit: when the wait began, and for how many seconds each plugin waits.
    waits_since: float = 0.0
    waits: dict[str, float] = {}
    #: When a confirmed pod was seen with its node, or the latest possible time; 0 if unknown.
    seen: float = 0.0


class CheckpointEnds(JournalEntry, frozen=True, tag="checkpoint end", gc=False):
    """The end of a checkpoint."""

    #: The number of the entries since CheckpointBegins that belong to the checkpoint.
    entries: int


# Changes.


class Change(JournalEntry, frozen=True, tag="change", gc=False):
    """A change of an object, as the scheduling loop took it in."""

    #: As in CheckpointObject.
    kind: str
    namespace: str
    name: str
    #: The object after the change, or the last known state of a deleted one.
    object: msgspec.Raw
    #: Whether there was an object of this name before.
    known: bool = False
    deleted: bool = False


class PodUpdate(JournalEntry, frozen=True, tag="pod", gc=False):
    """A change of a pod that concerns only the fields here, written in place of a Change.

    All other fields of the pod are unchanged.
    """

    kind: ClassVar[str] = "pods.v1."
    known: ClassVar[bool] = True
    deleted: ClassVar[bool] = False

    namespace: str
    name: str
    resource_version: str
    #: The node that the pod is assigned to; "" if it has none.
    node: str
    status: msgspec.Raw
    #: The labels if they have changed, as they do when a pod is bound to a node with a zone.
    labels: dict[str, str] | None = None


class Fetched(JournalEntry, frozen=True, tag="fetched", gc=False):
    """The answer to a request of a plugin to a server, which may change the plugin's state."""

    #: "GET URL" of `handle.http`, or verb, kind, and namespace and name of `handle.client`, such as
    #: "patch resourceclaims.v1.resource.k8s.io shop/gpu". The URL is that of `errors.safe_url`; if
    #: the same work sends requests with equal texts at once, " #1", " #2"… follows from the second
    #: on.
    request: str
    #: The HTTP status of `handle.http`; otherwise 0.
    status: int
    #: The response as text, the object as JSON, or the objects of a list as a JSON array.
    body: str = ""
    #: Why there is no answer; "" if there is one.
    error: str = ""
    #: The name of the periodic work that sent the request, as in WorkBegins; "" if none did.
    work: str = ""
    #: Whether the body is left out because it equals the body of the previous answer to this
    #: request in the segment. Readers restore it.
    repeated: bool = False
    #: If the body is left out because it may hold secrets: its keyed digest (`left_out.digest`).
    left_out: str = ""


class WorkBegins(JournalEntry, frozen=True, tag="work", gc=False):
    """The beginning of a run of a plugin's periodic work; the answers to its requests follow."""

    #: The name of the work, such as "LoadSource.fetch 1".
    work: str


class CheckpointWork(JournalEntry, frozen=True, tag="worked", gc=False):
    """A run of a plugin's periodic work before the checkpoint; `time` is when it began.

    For each periodic work, a checkpoint holds the last finished run whose requests all succeeded,
    and the run that began last.
    """

    work: str
    #: The answers to its requests, in order.
    answers: tuple[Fetched, ...] = ()


# Attempts.


class GroupBegins(JournalEntry, frozen=True, tag="group", gc=False):
    """The attempt to schedule a pod group begins; those of its pods follow until GroupEnds.

    Groups that form a tree are tried together; the entry then names the top of the tree.
    """

    namespace: str
    name: str
    #: The state of the random source.
    seed: int
    #: The uids of the queued pods of the group or of the whole tree, in the order in which they
    #: are tried. In a tree, each pod group tries its own pods of these.
    members: tuple[str, ...] = ()
    #: Whether the name is that of a composite pod group; a pod group may have the same name.
    composite: bool = False


class GroupEnds(JournalEntry, frozen=True, tag="group end", gc=False):
    """The attempt to schedule a pod group has ended."""

    namespace: str
    name: str
    #: "scheduled", "unschedulable" or "error".
    outcome: str = ""
    #: The pods that PodGroupPostFilter preempted, as "namespace/name".
    victims: tuple[str, ...] = ()
    #: By uid, which cycle of each pod counts, from 0 (`QueuedPodGroupInfo.counted`); None if an
    #: earlier version wrote the entry.
    counted: dict[str, int] | None = None


class AttemptBegins(JournalEntry, frozen=True, tag="attempt", gc=False):
    """A scheduling cycle begins; `time` is what a plugin that reads the clock gets."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    profile: str
    #: The number of the attempt of this pod, from 1.
    attempt: int
    #: The state of the random source before the cycle.
    seed: int
    #: Index in the node order at which a sampled search begins.
    sampling_start: int
    #: The rows of the snapshot that are in question; None for all.
    within: tuple[int, ...] | None = None
    #: Whether PostFilter runs if no node is found.
    post_filter: bool = True
    #: Whether this is a decision of a shadow, made outside the queue with all nodes filtered and
    #: scored. Compared follows.
    beside: bool = False


class ExtenderAnswer(JournalEntry, frozen=True, tag="extender", gc=False):
    """The answer of an extender in the cycle that began last."""

    extender: str
    #: "filter", "prioritize" or "preempt".
    verb: str
    uid: str
    #: Filter: [feasible names, {name: reason}, {name: reason, unresolvable}]; prioritize:
    #: {name: score}; preempt: {node: [[uid of each victim], number of violated budgets]}.
    answer: Any = None
    #: Why there is no answer; "" if there is one.
    error: str = ""


class AttemptEnds(JournalEntry, frozen=True, tag="decided", gc=False):
    """The decision of a scheduling cycle."""

    record: AttemptRecord
    #: CRC-32 of the low 16 bits of each total (little-endian), in the order of the feasible nodes;
    #: 0 if there are none.
    totals: int = 0
    #: The largest total, and how many nodes have it.
    top: int = 0
    best: int = 0
    #: The weighted points of the chosen node by plugin; empty if nothing was scored.
    points: dict[str, int] = {}
    #: When the pod had passed Reserve and Permit, if no other entry came in between. The reader
    #: turns these times into entries Reserved and Permitted.
    reserved: float = 0.0
    permitted: float = 0.0


class Reserved(JournalEntry, frozen=True, tag="reserved", gc=False):
    """The pod was assumed on a node and has passed Reserve."""

    uid: str
    node: str


class Permitted(JournalEntry, frozen=True, tag="permitted", gc=False):
    """The pod has passed Permit, or waits there."""

    uid: str
    #: For how many seconds each plugin waits; empty if the pod does not wait.
    waits: dict[str, float] = {}


class GaveBack(JournalEntry, frozen=True, tag="gave back", gc=False):
    """The pod lost its node: Unreserve has run, and it is no longer assumed.

    If Reserved does not precede it, Reserve failed.
    """

    uid: str
    node: str
    status: RecordedStatus | None = None


class Nominated(JournalEntry, frozen=True, tag="nominated", gc=False):
    """A plugin has nominated a pod to a node, or ended its nomination."""

    uid: str
    #: "" if the nomination has ended.
    node: str


class Forgot(JournalEntry, frozen=True, tag="forgot", gc=False):
    """The pod was deleted while it was being bound, and is no longer assumed; GaveBack follows.

    A pod that waits at Permit stays assumed until then.
    """

    uid: str


class Bound(JournalEntry, frozen=True, tag="bound", gc=False):
    """The pod was bound to its node."""

    uid: str
    node: str


class Failed(JournalEntry, frozen=True, tag="failed", gc=False):
    """The attempt failed, and the pod is back in the queue or gone."""

    uid: str
    message: str
    #: Whether a plugin refused the pod; False after an error.
    rejected: bool
    unschedulable: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    #: The nominated node; "" clears the nomination, None leaves it.
    nominated: str | None = ""


class Compared(JournalEntry, frozen=True, tag="compared", gc=False):
    """The comparison of a shadow's decision, the entry before, with the other scheduler's."""

    uid: str
    #: The result of the comparison, a value of `shadow.comparison.Verdict`.
    verdict: str
    #: The node that the other scheduler chose; "" if it declared the pod unschedulable.
    theirs: str = ""
    #: One of the shadow's best nodes; "" if there is none.
    ours: str = ""
    #: By how much the total of their node is lower than the highest.
    lost: int = 0
    #: The plugin that explains the difference, and its refusal.
    plugin: str = ""
    reason: str = ""
    #: The nodes whose last change is so recent that the other scheduler may not have seen it, or
    #: EVERY_NODE.
    unsettled: tuple[str, ...] = ()


Entry = (
    SegmentHead
    | CheckpointBegins
    | CheckpointObject
    | CheckpointPlacement
    | CheckpointWork
    | CheckpointEnds
    | Change
    | PodUpdate
    | Fetched
    | WorkBegins
    | GroupBegins
    | GroupEnds
    | AttemptBegins
    | ExtenderAnswer
    | AttemptEnds
    | Reserved
    | Permitted
    | GaveBack
    | Nominated
    | Forgot
    | Bound
    | Failed
    | Compared
)
