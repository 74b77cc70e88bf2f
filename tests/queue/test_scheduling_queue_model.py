"""The queue compared with a naive one: after every step, both have the same pods in each part."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mooring.api import Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.queue.event_types import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, Changes
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from tests.queue.naive import NaiveQueue, Record
from tests.queue.pods import NODE_ADD, NODE_LABEL, NODE_TAINT, Queue, gate, held, node, pod, refuser

NAMES = ("a", "b", "c")
NODES = ("n1", "n2")
POD_LABEL = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)
POD_CHANGES = ClusterEvent(EventResource.POD, ActionType.ADD | ActionType.DELETE)


class Anything(Plugin):
    """A plugin that refuses pods and does not register events."""

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def wants(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """The hint of a plugin that waits for the node named in a pod's label."""
    wanted = pod.labels.get("wants") == new.name
    return QueueingHint.QUEUE if wanted else QueueingHint.SKIP


def wakes(plugin: str, pod: Pod, event: ClusterEvent, old: Any, new: Any) -> bool:
    """Return whether an event may help: what the plugins below register, written differently."""
    label = event.label
    if label.startswith("TargetPod") and new.metadata.uid != pod.metadata.uid:
        return False
    if plugin == "Picky":
        return label == "NodeAdd" and pod.labels.get("wants") == new.name
    if plugin == "Pods":
        return label in ("AssignedPodAdd", "AssignedPodDelete")
    if plugin in ("HoldA", "HoldB"):
        return label == "TargetPodUpdatePodLabel"
    return plugin in ("Anything", "Extender")


PLUGINS = (
    refuser("Picky", ClusterEvent(EventResource.NODE, ActionType.ADD, wants)),
    refuser("Pods", POD_CHANGES),
    gate("HoldA", held("a"), POD_LABEL),
    gate("HoldB", held("b"), POD_LABEL),
    Anything(),
)
ALL_REFUSERS = st.frozensets(st.sampled_from(("Picky", "Pods", "Anything", "Extender")), max_size=2)
NOBODY: frozenset[str] = frozenset()
#: The plugins that refused a pod and those that left it pending: often one, often none.
REFUSALS = st.one_of(
    st.just((NOBODY, NOBODY)),
    st.sampled_from(("Picky", "Pods", "Anything")).map(lambda name: (frozenset({name}), NOBODY)),
    st.tuples(ALL_REFUSERS, ALL_REFUSERS),
)
LABELS = st.fixed_dictionaries(
    {},
    optional={"a": st.just(""), "b": st.just(""), "wants": st.sampled_from(NODES)},
)
EVENTS = st.sampled_from(
    [
        *((NODE_ADD, None, node(name)) for name in NODES),
        (NODE_LABEL, node("n1"), node("n1")),
        (NODE_TAINT, node("n1"), node("n1")),
        (ASSIGNED_POD_ADD, None, pod("z")),
        (ASSIGNED_POD_DELETE, pod("z"), None),
    ]
)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue(*PLUGINS)
        self.clock = self.queue.clock
        gates = {"HoldA": held("a"), "HoldB": held("b")}
        self.naive = NaiveQueue(gates, wakes, self.clock.now())
        self.changes = Changes(FeatureGates())
        self.flying: list[tuple[QueuedPodInfo, Record]] = []
        self.made = 0

    @rule(name=st.sampled_from(NAMES), priority=st.integers(0, 2), labels=LABELS)
    def add(self, name: str, priority: int, labels: dict[str, str]) -> None:
        self.made += 1
        new = pod(name, priority=priority, uid=f"{name}{self.made}", **labels)
        self.queue.add(new)
        self.naive.add(new, self.clock.now())

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        record = self.naive.find(name)
        if record is not None:
            self.queue.delete(record.pod)
            self.naive.delete(name)

    @rule(name=st.sampled_from(NAMES), priority=st.integers(0, 2), labels=LABELS)
    def update(self, name: str, priority: int, labels: dict[str, str]) -> None:
        known = [record.pod for record in self.naive.records if record.pod.name == name]
        old = known[-1] if known else pod(name, uid=f"{name}0")
        new = pod(name, priority=priority, uid=old.metadata.uid, **labels)
        self.queue.update(old, new)
        self.naive.update(new, self.changes.of_pod(old, new, is_target=True), old, self.clock.now())

    @rule()
    def pop(self) -> None:
        info, record = self.queue.pop(), self.naive.pop()
        if info is None or record is None:
            assert info is record is None
            return
        assert info.pod is record.pod
        assert info.attempts == record.attempts
        self.flying.append((info, record))

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 100), refusal=REFUSALS)
    def fail(self, which: int, refusal: tuple[frozenset[str], frozenset[str]]) -> None:
        refused_by, pending = refusal
        info, record = self.flying.pop(which % len(self.flying))
        if self.naive.find(record.pod.name) is not None:
            # The pod was recreated meanwhile: the scheduling loop drops the old one.
            self.queue.done(info.uid)
            self.naive.records.remove(record)
            return
        self.queue.add_unschedulable(info, info.pod, refused_by, pending)
        self.naive.fail(record, refused_by, pending, self.clock.now())

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 100))
    def bind(self, which: int) -> None:
        info, record = self.flying.pop(which % len(self.flying))
        self.queue.done(info.uid)
        self.naive.records.remove(record)

    @rule(happened=EVENTS)
    def move_all(self, happened: Any) -> None:
        self.queue.move_all(*happened)
        self.naive.move_all(*happened, self.clock.now())

    @rule(name=st.sampled_from(NAMES))
    def activate(self, name: str) -> None:
        known = [record.pod for record in self.naive.records if record.pod.name == name]
        for one in known or [pod(name)]:
            self.queue.activate([one])
            self.naive.activate(one)

    @rule(seconds=st.sampled_from((0.25, 0.5, 1.0, 1.5, 2.0, 4.0, 31.0, 310.0)))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.flush()

    def flush(self) -> None:
        self.queue.flush()
        self.naive.flush(self.clock.now())

    @rule()
    def sleep(self) -> None:
        """Sleep until there is something to do, then do it, as the scheduling loop does."""
        wakeup = self.queue.next_wakeup()
        if wakeup is None:
            return
        if wakeup > self.clock.now():
            before = self.places()
            self.queue.flush()
            self.naive.flush(self.clock.now())
            assert self.places() == before, "there was something to do before the time"
            self.clock.advance(wakeup - self.clock.now())
        self.flush()

    def places(self) -> dict[str, list[str]]:
        return {place.value: self.queue.names(place) for place in Place}

    @invariant()
    def both_hold_the_same_pods_in_the_same_places(self) -> None:
        self.queue.validate()
        expected: dict[str, list[str]] = {place.value: [] for place in Place}
        for record in self.naive.records:
            if record.place != "Flying":
                expected[record.place].append(record.pod.name)
                info = self.queue.get(record.pod.key)
                assert info is not None
                assert info.pod is record.pod
                assert info.gating_plugin == record.gate
        assert self.places() == {place: sorted(names) for place, names in expected.items()}
        flying = sorted(one.metadata.uid for one in self.queue.in_flight())
        assert flying == sorted(info.uid for info, _ in self.flying)


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=300, stateful_step_count=60, deadline=None)
