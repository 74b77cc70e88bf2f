"""The handle of plugins: dry runs on what-if nodes, and the parts of the scheduler."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from mooring.api import Pod
from mooring.config.load import LoadResult, load_config_data
from mooring.cycle.profile_handle import ProfileHandle
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.registry import default_registry
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin
from tests.plugins.contested import CONTESTED, Contested

CROWDED = Status.unschedulable("crowded")


class NodeForm(Plugin):
    """A plugin that allows two pods per node."""

    name = "Crowd"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return CROWDED if len(node.pods) >= 2 else None


class VectorForm(Plugin):
    """A plugin that allows two pods per node."""

    name = "Crowd"

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield CROWDED, nodes.pod_count >= 2


def dry_run(crowd: type[Plugin], *pods: Pod) -> tuple[MemoryScheduler, ProfileHandle, WhatIf]:
    scheduler = make_scheduler([crowd], [*make_nodes("n1", "n2", "n3"), *pods])
    handle = scheduler.profiles["default-scheduler"].handle
    assert isinstance(handle, ProfileHandle)
    return scheduler, handle, WhatIf(handle.snapshot, np.arange(3))


FULL = [make_pod("a", node="n1"), make_pod("b", node="n1"), make_pod("c", node="n2")]


@pytest.mark.parametrize("crowd", [NodeForm, VectorForm], ids=["node form", "vector form"])
def test_filters_run_on_nodes_as_they_would_be(crowd: type[Plugin]) -> None:
    _, handle, nodes = dry_run(crowd, *FULL)
    crowded = CROWDED.by("Crowd")
    state, pod = CycleState(), make_pod()
    assert handle.run_filters(state, pod, nodes) == [crowded, None, None]
    nodes.remove(0, handle.pod_info(FULL[0]))
    nodes.add(1, handle.pod_info(make_pod("d")))
    assert handle.run_filters(state, pod, nodes) == [None, crowded, None]
    assert list(handle.run_filters(state, pod, nodes.alone(1))) == [crowded]
    untouched = handle.snapshot.find("n1")
    assert untouched is not None and len(untouched.pods) == 2


@pytest.mark.parametrize("crowd", [NodeForm, VectorForm], ids=["node form", "vector form"])
@pytest.mark.parametrize("rows", [[1], [1, 2]], ids=["one node", "two nodes"])
def test_nominated_pods_count_unless_the_caller_says_not(
    crowd: type[Plugin], rows: list[int]
) -> None:
    nominated = make_pod("nominated", priority=5, nominated="n2")
    _, handle, _ = dry_run(crowd, *FULL, nominated)
    nodes = WhatIf(handle.snapshot, np.array(rows))
    others = [None] * (len(rows) - 1)
    state, pod = CycleState(), make_pod(priority=5)
    assert list(handle.run_filters(state, pod, nodes)) == [CROWDED.by("Crowd"), *others]
    assert list(handle.run_filters(state, pod, nodes, nominated=False)) == [None, *others]
    higher = make_pod(priority=6)
    assert list(handle.run_filters(state, higher, nodes)) == [None, *others]


def test_a_refusal_for_nominated_pods_is_the_last_word() -> None:
    """Plugins do not run again for a node that was refused because of its nominated pods."""
    later = plugin("Later", filter=lambda state, pod, node: Status.unschedulable("later"))
    nominated = make_pod("nominated", priority=5, nominated="n2")
    scheduler = make_scheduler([NodeForm, later], [*make_nodes("n1", "n2", "n3"), *FULL, nominated])
    handle: Any = scheduler.profiles["default-scheduler"].handle
    nodes = WhatIf(handle.snapshot, np.arange(3))
    crowded, refused = CROWDED.by("Crowd"), Status.unschedulable("later").by("Later")
    pod = make_pod(priority=5)
    assert handle.run_filters(CycleState(), pod, nodes) == [crowded, crowded, refused]
    plain = handle.run_filters(CycleState(), pod, nodes, nominated=False)
    assert plain == [crowded, refused, refused]


def test_a_fault_in_a_dry_run_is_an_answer() -> None:
    def fails(state: Any, pod: Any, node: Any) -> None:
        raise ValueError("boom")

    _, handle, nodes = dry_run(plugin("A", filter=fails))
    answers = handle.run_filters(CycleState(), make_pod(), nodes)
    assert all(status is not None and status.is_error for status in answers)


class Counts(Plugin):
    """A plugin that keeps its own count up to date."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
        state.write("Counts", 0)

    def add_pod(self, state: Any, pod: Any, other: Any, node: Any) -> Status | None:
        state.write("Counts", state.read("Counts") + 1)
        return Status.error("too many") if state.read("Counts") > 1 else None

    def remove_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        state.write("Counts", state.read("Counts") - 1)

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def test_plugins_that_precompute_are_told_of_pods_that_come_and_go() -> None:
    _, handle, nodes = dry_run(Counts)
    state, pod = CycleState(), make_pod()
    state.write("Counts", 0)
    other, info = handle.pod_info(make_pod("other")), nodes.info(0)
    assert handle.precomputes(state)
    assert handle.run_add_pod(state, pod, other, info) is None
    assert state.read("Counts") == 1
    failed = handle.run_add_pod(state, pod, other, info)
    assert failed is not None
    assert failed.message == 'running AddPod on PreFilter plugin "Counts": too many'
    assert handle.run_remove_pod(state, pod, other, info) is None
    assert state.read("Counts") == 1


def test_the_handle_hands_out_what_it_was_made_with() -> None:
    scheduler, handle, _ = dry_run(NodeForm)
    assert handle.clock is scheduler.clock
    assert handle.random is scheduler.random
    assert handle.client is scheduler.client
    assert handle.events is scheduler.events
    assert handle.nominator is scheduler.nominator
    assert handle.snapshot is scheduler.cache.nodes
    assert not handle.extenders


def test_plugins_that_stepped_aside_are_not_told() -> None:
    _, handle, nodes = dry_run(Counts)
    state = CycleState()
    state.skip_filter_plugins = frozenset({"Counts"})
    assert not handle.precomputes(state)
    pod = make_pod()
    assert handle.run_add_pod(state, pod, handle.pod_info(pod), nodes.info(0)) is None


def test_a_fault_in_add_pod_names_the_plugin() -> None:
    _, handle, nodes = dry_run(Counts)
    pod = make_pod()
    failed = handle.run_remove_pod(CycleState(), pod, handle.pod_info(pod), nodes.info(0))
    assert failed is not None
    assert failed.message == 'running RemovePod on PreFilter plugin "Counts": not found'


def test_the_handle_offers_the_parts_of_the_scheduler() -> None:
    scheduler, handle, _ = dry_run(NodeForm, *FULL)
    assert handle.snapshot is scheduler.cache.nodes
    assert handle.lister(Pod).get("a", "default") == FULL[0]
    assert list(handle.waiting_pods()) == []
    assert handle.waiting_pod("a") is None
    assert handle.pre_binding_pod("a") is None
    handle.activate([FULL[0]])
    assert scheduler.activated == [FULL[0]]


def two_profiles() -> LoadResult:
    profiles = [{"schedulerName": name} for name in ("red", "blue")]
    return load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": profiles,
        },
        registry=default_registry(),
        feature_gates=FeatureGates(),
    )


@pytest.mark.parametrize("wanted", CONTESTED, ids=lambda wanted: wanted.what)
def test_what_a_pod_of_one_profile_has_reserved_is_taken_for_the_other_profiles(
    wanted: Contested,
) -> None:
    scheduler = MemoryScheduler(wanted.objects, config=two_profiles())
    red, blue = (scheduler.cluster.pods.get(name, "default") for name in ("red", "blue"))
    assert red is not None and blue is not None
    first = drive(scheduler.decide(red))
    assert first.decision.outcome is Outcome.SCHEDULED
    assert drive(scheduler.reserve(first))
    second = drive(scheduler.decide(blue)).decision
    assert second.outcome is Outcome.UNSCHEDULABLE
    assert wanted.refusal in second.message


def test_profiles_share_one_state_and_have_events_of_their_own() -> None:
    scheduler = MemoryScheduler(config=two_profiles())
    red, blue = (scheduler.profiles[name].handle for name in ("red", "blue"))
    made = red.shared("mine", list)
    assert blue.shared("mine", list) is made
    assert blue.shared("another", list) is not made
    assert (red.profile_name, blue.profile_name) == ("red", "blue")
    for part in ("nominator", "client", "extenders", "metrics", "random", "clock", "features"):
        assert getattr(red, part) is getattr(blue, part), part
    assert red.snapshot is blue.snapshot
    assert red.lister(Pod) is blue.lister(Pod)


@pytest.mark.parametrize("count", [1, 2], ids=["one node", "two nodes"])
def test_dry_runs_ask_plugins_that_read_no_pods_too(count: int) -> None:
    class Closed(Plugin):
        reads_pods = False

        def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
            return CROWDED

    _, handle, _ = dry_run(Closed)
    nodes = WhatIf(handle.snapshot, np.arange(count))
    assert handle.run_filters(CycleState(), make_pod(), nodes) == [CROWDED.by("Closed")] * count


class Follows(Plugin):
    """A plugin that notes what it is told about pods."""

    def start(self) -> None:
        self.told: list[Any] = []
        self.handle.watch(
            Pod,
            added=lambda pod: self.told.append(("added", pod.name, self.handle.synced)),
            updated=lambda old, new: self.told.append((old.node_name, new.node_name)),
            deleted=lambda pod: self.told.append(("deleted", pod.name)),
        )

    def permit(self, state: Any, pod: Any, node_name: str) -> None: ...


def test_a_plugin_follows_the_objects_of_a_kind() -> None:
    scheduler = make_scheduler([Follows], [*make_nodes("n1"), make_pod("old")])
    plugin = scheduler.profiles["default-scheduler"].plugins["Follows"]
    assert isinstance(plugin, Follows)
    scheduler.cluster.add(make_pod("new"))
    scheduler.cluster.add(make_pod("new", node="n1"))
    scheduler.cluster.delete(make_pod("new"))
    assert plugin.told == [
        ("added", "old", False),
        ("added", "new", True),
        ("", "n1"),
        ("deleted", "new"),
    ]


def test_a_plugin_that_fails_to_take_in_a_change_is_logged_and_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Fails(Follows):
        def start(self) -> None:
            super().start()
            self.handle.watch(Pod, added=lambda pod: 1 // 0, deleted=sys.exit)

    scheduler = make_scheduler([Fails], [*make_nodes("n1"), make_pod("old")])
    scheduler.cluster.delete(make_pod("old"))
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["A plugin failed to take in a change"] * 2
    plugin = scheduler.profiles["default-scheduler"].plugins["Fails"]
    assert isinstance(plugin, Follows)
    assert plugin.told == [("added", "old", False), ("deleted", "old")]


def test_a_pod_that_replaces_another_is_a_deletion_and_an_addition() -> None:
    scheduler = make_scheduler([Follows], [*make_nodes("n1"), make_pod("old")])
    plugin = scheduler.profiles["default-scheduler"].plugins["Follows"]
    assert isinstance(plugin, Follows)
    old = make_pod("old")
    scheduler.cluster.add(replace(old, metadata=replace(old.metadata, uid="another")))
    assert plugin.told == [("added", "old", False), ("deleted", "old"), ("added", "old", True)]
