"""The default plugins."""

from __future__ import annotations

from mooring.config.defaults import default_plugins
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions


def gates(**changed: bool) -> FeatureGates:
    return FeatureGates(changed)


def names_in_1_36(**changed: bool) -> list[str]:
    gates = FeatureGates(changed, parse_versions(["1.36"]))
    return [name for name, _ in default_plugins(gates)]


def names(**changed: bool) -> list[str]:
    return [name for name, _ in default_plugins(gates(**changed))]


def test_weights_are_kube_schedulers() -> None:
    # kube-scheduler: apis/config/v1/default_plugins.go, getDefaultPlugins
    assert {name: weight for name, weight in default_plugins(gates()) if weight} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_claims_are_freed_before_pods_are_evicted() -> None:
    found = names()
    assert found.index("DynamicResources") < found.index("DefaultPreemption")
    assert found[0] == "SchedulingGates"


def test_gates_add_plugins_at_the_end() -> None:
    found = names()
    assert found[-2:] == ["DefaultBinder", "NodeDeclaredFeatures"]
    assert names(GenericWorkload=True) == [*found, "GangScheduling"]


def test_resizes_are_judged_before_resources() -> None:
    found = names(InPlacePodVerticalScalingSchedulerPreemption=True)
    place = found.index("NodeResourcesFit")
    assert found[place - 1] == "DeferredPodScheduling"
    assert sorted(found) == sorted([*names(), "DeferredPodScheduling"])


def test_1_36_has_its_own_order_and_gate() -> None:
    assert names()[2:4] == ["NodeName", "NodeUnschedulable"]
    found = names_in_1_36()
    assert found[2:4] == ["NodeUnschedulable", "NodeName"]
    assert sorted(found) == sorted(names())
    assert names_in_1_36(GenericWorkload=True) == found
    both = names_in_1_36(GenericWorkload=True, GangScheduling=True)
    assert both == [*found, "GangScheduling"]


def test_a_plugin_is_named_once() -> None:
    found = names()
    assert len(found) == len(set(found))
