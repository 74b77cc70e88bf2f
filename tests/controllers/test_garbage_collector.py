"""Garbage collection, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.client.resources import raw_resource
from mooring.controllers.controlled_kinds import DEPLOYMENTS, REPLICA_SETS
from tests.support.controllers import Workbench, template, workload

CONFIG_MAPS = raw_resource("configmaps.v1")


async def deploy(bench: Workbench) -> None:
    await bench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2))
    await bench.until(lambda: len(bench.pods()) == 2, "two pods")


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_what_a_deployment_owns_goes_with_it(workbench: Workbench, policy: str) -> None:
    await deploy(workbench)
    order = []

    def gone() -> bool:
        left = tuple(bool(workbench.all(kind)) for kind in (DEPLOYMENTS, REPLICA_SETS, Pod))
        order.append(left)
        return not any(left)

    await workbench.delete(DEPLOYMENTS, "web", propagationPolicy=policy)
    await workbench.until(gone, "the end of all")
    if policy == "Foreground":
        assert (False, True, True) not in order and (True, False, True) not in order
    else:
        assert (False, True, True) in order


async def test_orphans_outlive_their_owner(workbench: Workbench) -> None:
    await deploy(workbench)
    await workbench.delete(DEPLOYMENTS, "web", propagationPolicy="Orphan")
    await workbench.until(lambda: not workbench.all(DEPLOYMENTS), "the end of the deployment")
    (left,) = workbench.all(REPLICA_SETS)
    assert left.metadata.owner_references == ()
    assert len(workbench.pods()) == 2


async def test_an_object_lives_as_long_as_one_of_its_owners(workbench: Workbench) -> None:
    references = []
    for name in ("a", "b"):
        made = await workbench.create(
            CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        )
        uid = made["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
        references.append(reference)
    owned = {"name": "owned", "ownerReferences": references}
    await workbench.create(
        CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": owned}
    )

    def owners() -> list[str]:
        found = workbench.get(CONFIG_MAPS, "owned")
        return [one.name for one in found.metadata.owner_references] if found else ["gone"]

    await workbench.until(lambda: owners() == ["a", "b"], "both owners")
    await workbench.delete(CONFIG_MAPS, "a")
    await workbench.until(lambda: owners() == ["b"], "one owner")
    await workbench.delete(CONFIG_MAPS, "b")
    await workbench.until(lambda: owners() == ["gone"], "the end")


async def test_an_owner_that_never_was_is_no_owner(workbench: Workbench) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "never", "uid": "no-such"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "lost", "ownerReferences": [reference]},
        "spec": template()["spec"],
    }
    await workbench.create(Pod, pod)
    await workbench.until(lambda: workbench.get(Pod, "lost") is not None, "the pod")
    await workbench.until(lambda: workbench.get(Pod, "lost") is None, "its end")


async def test_custom_resources_own_and_are_owned(workbench: Workbench) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definitions = raw_resource("customresourcedefinitions.v1.apiextensions.k8s.io")
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crews.controllers.test", "namespace": ""},
        "spec": {
            "group": "controllers.test",
            "scope": "Namespaced",
            "names": {"plural": "crews", "kind": "Crew", "singular": "crew"},
            "versions": [version],
        },
    }
    await workbench.create(definitions, definition)

    def served() -> bool:
        found = workbench.store(definitions).get("crews.controllers.test")
        return found is not None and any(
            one["type"] == "Established" and one["status"] == "True"
            for one in found.get("status.conditions") or ()
        )

    await workbench.until(served, "the definition")
    crews = raw_resource("crews.v1.controllers.test")
    crew = {"apiVersion": "controllers.test/v1", "kind": "Crew", "metadata": {"name": "boss"}}
    boss = await workbench.create(crews, crew)
    reference = {"apiVersion": "controllers.test/v1", "kind": "Crew", "name": "boss"}
    reference["uid"] = boss["metadata"]["uid"]
    owned = {**crew, "metadata": {"name": "hand", "ownerReferences": [reference]}}
    await workbench.create(crews, owned)
    await workbench.until(lambda: len(workbench.all(crews)) == 2, "both")
    await workbench.delete(crews, "boss")
    await workbench.until(lambda: not workbench.all(crews), "the end of both")
