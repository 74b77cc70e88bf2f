"""CrossNodePreemption: victims on several nodes."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring import Plugin, Status
from mooring.api import Pod
from mooring.contrib.cross_node_preemption import MAX_TRIALS, CrossNodePreemption
from mooring.framework.decision import Decision
from mooring.testing import check_plugin
from mooring.virtual.driving import drive
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin

NODES = make_nodes("n1", "n2", "n3")
REFUSED = Status.unschedulable("full")


class AtMostOne(Plugin):
    """A rule over the whole cluster: at most one other pod, wherever it is."""

    def pre_filter(self, state: Any, pod: Pod, nodes: Any) -> None:
        state.write(self.name, sum(nodes.pod_count.tolist()))

    def filter(self, state: Any, pod: Pod, node: Any) -> Status | None:
        return Status.unschedulable("crowded") if state.read(self.name) > 1 else None

    def add_pod(self, state: Any, pod: Pod, other: Any, node: Any) -> None:
        state.write(self.name, state.read(self.name) + 1)

    def remove_pod(self, state: Any, pod: Pod, other: Any, node: Any) -> None:
        state.write(self.name, state.read(self.name) - 1)


def decide(pods: list[Pod], *plugins: type[Plugin], priority: int = 10) -> Decision:
    scheduler = make_scheduler([*plugins, CrossNodePreemption], [*NODES, *pods])
    pod = make_pod("new", priority=priority)
    scheduler.cluster.add(pod)
    return drive(scheduler.decide(pod)).decision


def victims(decision: Decision) -> list[str]:
    assert decision.post_filter is not None
    return sorted(pod.name for pod in decision.post_filter.victims)


def test_victims_are_on_several_nodes() -> None:
    pods = [make_pod(f"low-{name}", node=name) for name in ("n1", "n2", "n3")]
    decision = decide(pods, AtMostOne)
    assert len(victims(decision)) == 2
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node in ("n1", "n2", "n3")


def test_the_least_important_pods_go() -> None:
    pods = [
        make_pod("a", node="n1", priority=1),
        make_pod("b", node="n2", priority=5),
        make_pod("c", node="n3", priority=2),
    ]
    assert victims(decide(pods, AtMostOne)) == ["a", "c"]


def test_pods_of_no_lower_priority_stay() -> None:
    pods = [make_pod(f"equal-{name}", node=name, priority=10) for name in ("n1", "n2", "n3")]
    decision = decide(pods, AtMostOne)
    assert victims(decision) == []
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == ""
    assert decision.message.endswith("3 Preemption is not helpful for scheduling.")


def test_nodes_that_cannot_be_helped_are_left_alone() -> None:
    never = plugin("Never", filter=lambda state, pod, node: Status.unresolvable("no"))
    pods = [make_pod("low", node="n1")]
    assert victims(decide(pods, never)) == []


def test_a_pod_that_never_preempts_is_refused() -> None:
    low = [make_pod(f"low-{name}", node=name) for name in ("n1", "n2")]
    scheduler = make_scheduler([AtMostOne, CrossNodePreemption], [*NODES, *low])
    modest = make_pod("new", priority=10)
    modest = replace(modest, spec=replace(modest.spec, preemption_policy="Never"))
    scheduler.cluster.add(modest)
    decision = drive(scheduler.decide(modest)).decision
    assert decision.message.endswith("not eligible due to preemptionPolicy=Never.")


def test_the_search_is_bounded() -> None:
    asked: list[int] = []
    never = plugin("Full", filter=lambda state, pod, node: asked.append(1) or REFUSED)
    pods = [make_pod(f"low-{index}", node=f"n{index % 3 + 1}") for index in range(20)]
    assert victims(decide(pods, never)) == []
    # Each trial asks about the nodes of the victims, at most all three; the first pass asks each.
    assert MAX_TRIALS <= len(asked) <= 3 * MAX_TRIALS + 3


def test_it_is_in_no_default_profile() -> None:
    scheduler = make_scheduler([AtMostOne], NODES)
    (profile,) = scheduler.profiles.values()
    assert "CrossNodePreemption" not in profile.plugins


def test_the_contract() -> None:
    check_plugin(CrossNodePreemption)
