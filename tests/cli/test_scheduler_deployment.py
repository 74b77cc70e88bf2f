"""The objects that run a scheduler in a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cli.scheduler_deployment import (
    CONFIG_MAP_LIMIT,
    DeploymentSettings,
    controllers_beside,
    objects,
)
from mooring.errors import ConfigError


def made(**fields: Any) -> dict[str, dict[str, Any]]:
    settings = DeploymentSettings(
        **{
            "name": "mine",
            "namespace": "team",
            "image": "example.com/mooring:1",
            "replicas": 1,
            "config": "kind: X\n",
            "lease": ("kube-system", "mine"),
            **fields,
        }
    )
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in objects(settings)}


def pod(**fields: Any) -> dict[str, Any]:
    return made(**fields)["Deployment/mine"]["spec"]["template"]["spec"]


def test_the_objects_of_a_scheduler_in_the_order_of_creation() -> None:
    assert list(made()) == [
        "ServiceAccount/mine",
        "ClusterRole/mine",
        "ClusterRoleBinding/mine",
        "Role/mine-leader-election",
        "RoleBinding/mine-leader-election",
        "RoleBinding/mine-authentication-reader",
        "ConfigMap/mine",
        "Deployment/mine",
    ]


def test_everything_is_in_its_namespace() -> None:
    found = {name: one["metadata"].get("namespace") for name, one in made().items()}
    assert found.pop("ClusterRole/mine") is None
    assert found.pop("ClusterRoleBinding/mine") is None
    elsewhere = {name for name, place in found.items() if place == "kube-system"}
    assert elsewhere == {
        "Role/mine-leader-election",
        "RoleBinding/mine-leader-election",
        "RoleBinding/mine-authentication-reader",
    }
    assert {place for name, place in found.items() if name not in elsewhere} == {"team"}


def test_every_binding_is_for_the_account_of_the_scheduler() -> None:
    account = {"kind": "ServiceAccount", "name": "mine", "namespace": "team"}
    bindings = [one for name, one in made().items() if "Binding/" in name]
    assert [one["subjects"] for one in bindings] == [[account]] * 3


def test_several_replicas_have_a_budget() -> None:
    budget = made(replicas=2)["PodDisruptionBudget/mine"]
    assert budget["spec"]["maxUnavailable"] == 1
    assert "PodDisruptionBudget/mine" not in made(replicas=1)


def test_without_a_lease_the_old_pod_ends_before_the_new_one_starts() -> None:
    found = made(lease=None)
    assert "Role/mine-leader-election" not in found
    assert found["Deployment/mine"]["spec"]["strategy"] == {"type": "Recreate"}
    assert "strategy" not in made()["Deployment/mine"]["spec"]


def test_plugins_are_mounted_and_named() -> None:
    found = made(plugin_files={"a.py": "A"}, plugins=("/etc/mooring-plugins/a.py:A",))
    assert found["ConfigMap/mine-plugins"]["data"] == {"a.py": "A"}
    spec = found["Deployment/mine"]["spec"]["template"]["spec"]
    assert {"name": "plugins", "configMap": {"name": "mine-plugins"}} in spec["volumes"]
    (container,) = spec["containers"]
    assert "--plugin=/etc/mooring-plugins/a.py:A" in container["args"]
    assert [mount["name"] for mount in container["volumeMounts"]] == ["config", "tmp", "plugins"]
    assert len(pod()["volumes"]) == 2


@pytest.mark.parametrize("changes", [{"config": "kind: Y\n"}, {"plugin_files": {"a.py": "B"}}])
def test_a_change_of_a_file_rolls_the_pods(changes: dict[str, Any]) -> None:
    def checksum(**fields: Any) -> str:
        template = made(**fields)["Deployment/mine"]["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/config"]

    assert checksum() == checksum(replicas=3)
    assert checksum() != checksum(**changes)


def test_a_replica_with_empty_caches_is_ready() -> None:
    def ready(**fields: Any) -> str:
        return pod(**fields)["containers"][0]["readinessProbe"]["httpGet"]["path"]

    assert ready() == "/readyz"
    assert ready(delays_cache=True) == "/readyz?exclude=sched-handler-sync"


def test_the_system_namespace_has_its_priority() -> None:
    assert pod(namespace="kube-system")["priorityClassName"] == "system-cluster-critical"
    assert "priorityClassName" not in pod()


def test_plugins_that_no_config_map_holds_are_refused() -> None:
    made(plugin_files={"a.py": "x" * CONFIG_MAP_LIMIT})
    with pytest.raises(ConfigError, match="build an image that has them"):
        made(plugin_files={"a.py": "x" * CONFIG_MAP_LIMIT, "b.py": "x"})


def test_controllers_have_no_configuration_file() -> None:
    scheduler = DeploymentSettings(
        name="mine",
        namespace="team",
        image="example.com/mooring:1",
        replicas=1,
        config="kind: X\n",
        lease=None,
    )
    controllers = controllers_beside(scheduler)
    found = {one["kind"]: one for one in objects(controllers)}
    assert "ConfigMap" not in found
    spec = found["Deployment"]["spec"]["template"]["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["tmp"]
    (container,) = spec["containers"]
    assert container["ports"] == [{"name": "https", "containerPort": 10260}]
    assert (controllers.lease, controllers.replicas) == (("team", "mine-controllers"), 2)
