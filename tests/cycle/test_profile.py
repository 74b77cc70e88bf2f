"""A profile: its own plugin instances, and the compiled call plan."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mooring.config.load import load_config_data
from mooring.config.resolved_profile import ResolvedProfile
from mooring.cycle.profile import Profile
from mooring.errors import PluginError
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.points import PLANNED_POINTS, Point
from mooring.observe.clock import Progress, VirtualClock
from mooring.observe.metrics import Metrics
from mooring.plugins.default_binder import DefaultBinder
from mooring.plugins.priority_sort import PrioritySort
from mooring.registry import Registry
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_nodes, make_scheduler, plugin


def resolved(**points: list[tuple[str, int]]) -> ResolvedProfile:
    plan = {point: tuple(points.get(point.key, ())) for point in PLANNED_POINTS}
    return ResolvedProfile("default-scheduler", None, plan, {})


def profile(*plugins: type[Plugin], **points: list[tuple[str, int]]) -> Profile:
    handle: Any = SimpleNamespace(metrics=Metrics(), clock=VirtualClock(), progress=Progress().step)
    return Profile(resolved(**points), Registry(plugins), handle)


class Both(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any: ...

    def score(self, state: Any, pod: Any, node: Any) -> Any: ...

    def reserve(self, state: Any, pod: Any, node_name: str) -> None: ...

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None: ...


class NodeForm(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None: ...


def test_steps_hold_both_forms_in_the_order_of_the_point() -> None:
    made = profile(Both, NodeForm, filter=[("NodeForm", 1), ("Both", 1)], score=[("Both", 4)])
    assert [(step.name, step.node is None, step.vector is None) for step in made.filter] == [
        ("NodeForm", False, True),
        ("Both", False, False),
    ]
    assert [(step.name, step.weight) for step in made.score] == [("Both", 4)]
    assert made.node_form_filters == {"NodeForm"}
    assert made.scores_node_by_node


def test_unreserve_goes_backwards_and_reserve_may_be_missing() -> None:
    made = profile(Both, NodeForm, reserve=[("Both", 1), ("NodeForm", 1)])
    assert [step.name for step in made.reserve] == ["Both"]
    assert [step.name for step in made.unreserve] == ["NodeForm", "Both"]


def test_one_instance_serves_all_points_of_a_profile() -> None:
    made = profile(Both, filter=[("Both", 1)], reserve=[("Both", 1)])
    assert list(made.plugins) == ["Both"]
    assert made.filter[0].node == made.plugins["Both"].filter  # type: ignore[attr-defined]
    assert made.reserve[0].call.__self__ is made.plugins["Both"]  # type: ignore[attr-defined]


def test_a_plugin_named_at_a_point_it_does_not_implement_is_an_error() -> None:
    with pytest.raises(PluginError, match='plugin "Both" does not extend Permit plugin'):
        profile(Both, permit=[("Both", 1)])


def test_a_plugin_that_is_not_registered_is_an_error() -> None:
    with pytest.raises(PluginError, match='plugin "Both" is not registered'):
        profile(filter=[("Both", 1)])


class WithArgs(Plugin):
    class Args(msgspec.Struct):
        size: int = 1

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def test_two_profiles_have_instances_and_args_of_their_own() -> None:
    registry = Registry([PrioritySort, WithArgs, DefaultBinder])
    names = [{"name": name} for name in ("PrioritySort", "WithArgs", "DefaultBinder")]
    plugins = {"multiPoint": {"enabled": names, "disabled": [{"name": "*"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": f"size-{size}",
                "plugins": plugins,
                "pluginConfig": [{"name": "WithArgs", "args": {"size": size}}],
            }
            for size in (2, 3)
        ],
    }
    loaded = load_config_data(config, registry=registry, feature_gates=FeatureGates())
    profiles = MemoryScheduler(config=loaded, registry=registry).profiles
    first, second = (profiles[f"size-{size}"].plugins["WithArgs"] for size in (2, 3))
    assert first is not second
    assert (first.args.size, second.args.size) == (2, 3)
    assert (first.handle.profile_name, second.handle.profile_name) == ("size-2", "size-3")


def test_plugins_run_in_the_order_of_the_configuration() -> None:
    order = ["C", "A", "B"]
    plugins = [plugin(name, filter=lambda *_: None) for name in order]
    scheduler = make_scheduler(plugins, make_nodes("n1"))
    made = scheduler.profiles["default-scheduler"]
    assert [step.name for step in made.filter] == order
    assert made.resolved.names(Point.FILTER) == tuple(order)
    assert made.queue_sort() is made.plugins["PrioritySort"]


@pytest.mark.parametrize(
    ("key", "methods"),
    [
        pytest.param("preFilter", ["pre_filter"], id="PreFilter that counts no pods"),
        pytest.param("preFilter", ["pre_filter", "add_pod"], id="PreFilter that only adds pods"),
        pytest.param("preFilter", ["pre_filter", "remove_pod"], id="or only removes them"),
        pytest.param("reserve", ["reserve"], id="Reserve that takes nothing back"),
        pytest.param("reserve", ["unreserve"], id="Reserve that only takes back"),
        pytest.param("preBind", ["pre_bind"], id="PreBind that always has work"),
    ],
)
def test_methods_that_a_point_can_do_without(key: str, methods: list[str]) -> None:
    made = profile(
        plugin("A", **{method: lambda *_: None for method in methods}), **{key: [("A", 1)]}
    )
    optional = ("pre_filter", "add_pod", "remove_pod", "reserve", "unreserve", "pre_bind")
    assert [method for method in optional if getattr(made, method)] == methods
    assert made.pre_bind_pre_flight == ()


def test_what_reserve_did_is_taken_back_in_reverse_order() -> None:
    made = profile(Both, NodeForm, reserve=[("Both", 1), ("NodeForm", 1)])
    assert [step.name for step in made.unreserve] == ["NodeForm", "Both"]


def test_a_profile_whose_calls_are_counted_elsewhere() -> None:
    made = profile(Both, filter=[("Both", 1)], score=[("Both", 4)])
    other = made.uncounted(Metrics())
    other.filter[0].evaluations.inc()
    other.recorder.point("Filter", None, 0.0)
    assert made.filter[0].evaluations.value == 0
    durations = made.handle.metrics.extension_point_duration
    assert sum(durations["Filter", "Success", made.name].counts) == 0
    assert other.filter[0].node == made.filter[0].node
    assert other.score[0].weight == 4
