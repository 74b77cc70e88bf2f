from __future__ import annotations

import pytest

from mooring.errors import ConfigError
from mooring.local.local_gates import ON, scheduler_gates, served_versions, server_gates

GROUPS, TOPOLOGY = "GenericWorkload", "TopologyAwareWorkloadScheduling"
POLICY, COMPOSITE = "PodGroupPreemptionPolicy", "CompositePodGroup"


@pytest.mark.parametrize(
    ("text", "on"),
    [
        pytest.param("", set(ON), id="all by default"),
        pytest.param("GenericWorkload=false", set(), id="none without pod groups"),
        pytest.param("kube:GenericWorkload=0", set(), id="a component's prefix"),
        pytest.param(f"{TOPOLOGY}=false", {GROUPS, POLICY}, id="composites need topology"),
        pytest.param(f"{COMPOSITE}=false, {POLICY} = F", {GROUPS, TOPOLOGY}, id="some off"),
        pytest.param(
            "DRAWorkloadResourceClaims=true", {*ON, "DRAWorkloadResourceClaims"}, id="another on"
        ),
        pytest.param("GenericWorkload=True", set(ON), id="what is on already"),
    ],
)
def test_pod_groups_are_on_unless_they_are_turned_off(text: str, on: set[str]) -> None:
    assert server_gates(text) == on


def test_a_cluster_without_nodes_has_none_unless_they_are_asked_for() -> None:
    assert server_gates("", has_nodes=False) == set()
    assert server_gates(f"{POLICY}=false", has_nodes=False) == set()
    assert server_gates("GenericWorkload=true", has_nodes=False) == set(ON)
    assert server_gates(f"GenericWorkload=true,{TOPOLOGY}=false", has_nodes=False) == {
        GROUPS,
        POLICY,
    }


def test_all_gates_of_a_stage_are_turned_on_together() -> None:
    alpha = server_gates("AllAlpha=true,DRADerivedAttributes=false")
    assert {*ON, "DRANodeAllocatableResources"} <= alpha
    assert "DRADerivedAttributes" not in alpha
    assert GROUPS in server_gates("AllBeta=true", has_nodes=False)
    assert server_gates("AllAlpha=false") == set(ON)


@pytest.mark.parametrize(
    ("text", "has_nodes", "message"),
    [
        pytest.param(
            f"{TOPOLOGY}=false,{COMPOSITE}=true",
            True,
            f"{COMPOSITE} is enabled, but depends on features that are disabled: [{TOPOLOGY}]",
            id="what is turned off",
        ),
        pytest.param(
            f"{POLICY}=true,{COMPOSITE}=true",
            False,
            f"[{COMPOSITE} is enabled, but depends on features that are disabled: "
            f"[{GROUPS} {TOPOLOGY}], {POLICY} is enabled, but depends on features that are "
            f"disabled: [{GROUPS}]]",
            id="what is off in a cluster without nodes",
        ),
    ],
)
def test_a_gate_without_those_it_needs(text: str, has_nodes: bool, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        server_gates(text, has_nodes=has_nodes)
    assert str(error.value) == message


def test_the_versions_follow_the_gate() -> None:
    assert served_versions(server_gates("")) == (
        "scheduling.k8s.io/v1beta1",
        "scheduling.k8s.io/v1alpha3",
    )
    assert served_versions(server_gates("GenericWorkload=false")) == ()


def test_the_scheduler_gets_the_gates_of_the_user() -> None:
    assert scheduler_gates("SchedulerAsyncAPICalls=true").enabled("SchedulerAsyncAPICalls")
    with pytest.raises(ConfigError, match="unrecognized feature gate: Nope"):
        scheduler_gates("Nope=true")
