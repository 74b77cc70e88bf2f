"""What admission adds to pods, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver.admission import admit_create
from mooring.apiserver.bodies import WriteOptions
from mooring.apiserver.http import ApiRequest, RequestUser
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.write import Write
from tests.apiserver.api_server import GROUP_GATES, PODS, ApiServer, pod, refusal


async def test_a_pod_needs_its_service_account() -> None:
    text = await refusal(ApiServer(), pod("p", serviceAccountName="ghost"))
    assert text.endswith('default/ghost: serviceaccount "ghost" not found')


async def test_tolerations_are_added_once() -> None:
    server = ApiServer()
    everything = [{"operator": "Exists"}]
    made = await server.ask("POST", PODS, pod("p", tolerations=everything))
    assert made["spec"]["tolerations"] == everything
    made = await server.ask("POST", PODS, pod("q"))
    assert [one["tolerationSeconds"] for one in made["spec"]["tolerations"]] == [300, 300]


def _stored(server: ApiServer, resource: str, name: str, **more: Any) -> None:
    server.store.put(resource, name, {"metadata": {"name": name}, **more})


RUNTIMES = "node.k8s.io/runtimeclasses"
RUNTIME = {
    "overhead": {"podFixed": {"cpu": "1"}},
    "scheduling": {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "t", "operator": "Exists"}],
    },
}


async def test_a_runtime_class_gives_overhead_and_nodes() -> None:
    server = ApiServer()
    _stored(server, RUNTIMES, "r", **RUNTIME)
    spec = (await server.ask("POST", PODS, pod("p", runtimeClassName="r")))["spec"]
    assert spec["overhead"] == {"cpu": "1"}
    assert spec["nodeSelector"] == {"a": "b"}
    assert {"key": "t", "operator": "Exists"} in spec["tolerations"]


RUNTIME_REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "no class": ({"runtimeClassName": "x"}, 'pod rejected: RuntimeClass "x" not found'),
    "another overhead": (
        {"runtimeClassName": "r", "overhead": {"cpu": "2"}},
        "Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ),
    "an overhead without a class": (
        {"overhead": {"cpu": "2"}},
        "Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ),
    "other nodes": (
        {"runtimeClassName": "r", "nodeSelector": {"a": "c"}},
        "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
    ),
}


@pytest.mark.parametrize(("spec", "message"), RUNTIME_REFUSALS.values(), ids=RUNTIME_REFUSALS)
async def test_runtimes_that_are_refused(spec: dict[str, Any], message: str) -> None:
    server = ApiServer()
    _stored(server, RUNTIMES, "r", **RUNTIME)
    assert message in await refusal(server, pod("p", **spec))


def _mirror(**spec: Any) -> dict[str, Any]:
    made = pod("p", nodeName="n", **spec)
    made["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "m"}
    return made


SECRET = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (_mirror(serviceAccountName="a"), "a mirror pod may not reference service accounts"),
        (
            _mirror(volumes=[{"name": "v", "secret": {"secretName": "s"}}]),
            "a mirror pod may not reference secrets",
        ),
        (
            _mirror(containers=[{"name": "c", "image": "i", "env": [SECRET]}]),
            "a mirror pod may not reference secrets",
        ),
    ],
    ids=["an account", "a volume", "a variable"],
)
async def test_mirror_pods_that_are_refused(made: dict[str, Any], message: str) -> None:
    assert message in await refusal(ApiServer(), made)


async def test_a_mirror_pod_gets_no_account() -> None:
    made = await ApiServer().ask("POST", PODS, _mirror())
    assert "serviceAccountName" not in made["spec"] and "volumes" not in made["spec"]


async def test_an_account_gives_its_secrets_and_may_keep_its_token() -> None:
    server = ApiServer()
    account = {"metadata": {"name": "a", "namespace": "default"}}
    account |= {"imagePullSecrets": [{"name": "s"}], "automountServiceAccountToken": False}
    server.store.put("/serviceaccounts", "default/a", account)
    spec = (await server.ask("POST", PODS, pod("p", serviceAccountName="a")))["spec"]
    assert spec["imagePullSecrets"] == [{"name": "s"}]
    assert "volumes" not in spec


async def test_a_token_is_mounted_once() -> None:
    mount = {
        "name": "kube-api-access-x",
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    container = {"name": "c", "image": "i", "volumeMounts": [mount]}
    volumes = [{"name": "kube-api-access-x", "emptyDir": {}}]
    made = await ApiServer().ask("POST", PODS, pod("p", containers=[container], volumes=volumes))
    assert made["spec"]["volumes"] == volumes
    assert len(made["spec"]["containers"][0]["volumeMounts"]) == 1


CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


async def test_classes_of_the_system_stay() -> None:
    response = await ApiServer().send("DELETE", f"{CLASSES}/system-node-critical")
    assert response.code == 403


DEFAULT = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"
OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param([("old", DEFAULT, OLD), ("new", DEFAULT, NEW)], "new", id="the newest"),
        pytest.param(
            [("b", DEFAULT, OLD), ("a", DEFAULT, OLD)], "a", id="of equally old ones the first"
        ),
        pytest.param([("beta", BETA_DEFAULT, OLD)], "beta", id="the beta annotation"),
    ],
)
async def test_claim_gets_default_class(classes: list[tuple[str, str, str]], expected: str) -> None:
    server = ApiServer()
    for name, mark, when in classes:
        metadata = {"name": name, "annotations": {mark: "true"}, "creationTimestamp": when}
        server.store.put("storage.k8s.io/storageclasses", name, {"metadata": metadata})
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    made = await server.ask("POST", path, {**claim, "metadata": {"name": "c"}, "spec": spec})
    assert made["spec"]["storageClassName"] == expected
    chosen = {**claim, "metadata": {"name": "d"}, "spec": {**spec, "storageClassName": ""}}
    assert (await server.ask("POST", path, chosen))["spec"]["storageClassName"] == ""
    metadata = {"name": "e", "annotations": {"volume.beta.kubernetes.io/storage-class": "own"}}
    annotated = await server.ask("POST", path, {**claim, "metadata": metadata, "spec": spec})
    assert "storageClassName" not in annotated["spec"]


async def test_plugins_may_be_disabled() -> None:
    server = ApiServer()
    server.cluster.disabled = frozenset({"ServiceAccount", "DefaultTolerationSeconds", "Priority"})
    spec = (await server.ask("POST", PODS, pod("p")))["spec"]
    assert not {"serviceAccountName", "tolerations", "priority"} & spec.keys()


async def test_a_namespace_that_does_not_exist() -> None:
    response = await ApiServer().send("POST", PODS.replace("default", "none"), pod("p"))
    assert (response.code, json.loads(response.body)["message"]) == (
        404,
        'namespaces "none" not found',
    )


async def test_a_pod_keeps_its_priority_when_it_changes() -> None:
    server = ApiServer()
    made = await server.ask("POST", PODS, pod("p"))
    for name in ("priority", "preemptionPolicy", "tolerations"):
        del made["spec"][name]
    made["metadata"]["labels"] = {"a": "b"}
    changed = await server.ask("PUT", f"{PODS}/p", made)
    assert changed["spec"]["priority"] == 0
    assert len(changed["spec"]["tolerations"]) == 2


async def test_a_resize_needs_the_node() -> None:
    server = ApiServer()
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    container = {"name": "c", "image": "i", "resources": resources}
    made = await server.ask("POST", PODS, pod("p", nodeName="gone", containers=[container]))
    made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1500m"
    response = await server.send("PUT", f"{PODS}/p/resize", made)
    assert response.code == 403
    assert 'node "gone" not found' in json.loads(response.body)["message"]


async def test_a_signing_request_tells_who_asks() -> None:
    server = ApiServer()
    user = RequestUser("jane", ("system:masters",), "u", {"k": ("v",)})
    served = server.cluster.catalogue.get("certificates.k8s.io", "v1", "certificatesigningrequests")
    assert served is not None
    request = ApiRequest("POST", "", {}, {}, user=user)
    info = RequestInfo("create", "")
    obj: dict[str, Any] = {"metadata": {"name": "r"}, "spec": {"username": "root"}}
    admit_create(Write(server.cluster, request, info, served, WriteOptions()), obj)
    assert obj["spec"] == {
        "username": "jane",
        "uid": "u",
        "groups": ["system:masters"],
        "extra": {"k": ["v"]},
    }


async def test_a_pod_group_is_protected() -> None:
    server = ApiServer(features=GROUP_GATES)
    path = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "finalizers": ["a/b"]},
        "spec": {"schedulingPolicy": {"basic": {}}},
    }
    made = await server.ask("POST", path, group)
    assert made["metadata"]["finalizers"] == ["a/b", "scheduling.k8s.io/podgroup-protection"]
    group["metadata"] = {"name": "h", "finalizers": ["scheduling.k8s.io/podgroup-protection"]}
    made = await server.ask("POST", path, group)
    assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
    server.cluster.disabled = frozenset({"PodGroupProtection", "Priority"})
    made = await server.ask("POST", path, {**group, "metadata": {"name": "i"}})
    assert "finalizers" not in made["metadata"]
    assert "priority" not in made["spec"]


GATE = "DRANodeAllocatableResources"
LABELLED = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "l", "operator": "Exists"}]}]}
NO_FEATURE = f'node "no" does not support {GATE} feature'
#: The place of a device in a slice, and why the slice is refused.
PLACES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a node that declares the feature": ({"nodeName": "yes"}, {}, ""),
    "a node that does not": ({"nodeName": "no"}, {}, NO_FEATURE),
    "no such node": ({"nodeName": "gone"}, {}, 'node "gone" not found for device "d"'),
    "all nodes": ({"allNodes": True}, {}, NO_FEATURE),
    "nodes that are selected": ({"nodeSelector": LABELLED}, {}, ""),
    "the node of a device": ({"perDeviceNodeSelection": True}, {"nodeName": "no"}, NO_FEATURE),
}


@pytest.mark.parametrize(("place", "device", "why"), PLACES.values(), ids=PLACES)
async def test_devices_may_consume_resources_only_of_nodes_that_declare_the_feature(
    place: dict[str, Any], device: dict[str, Any], why: str
) -> None:
    server = ApiServer(features=frozenset({GATE}))
    declared = {"status": {"declaredFeatures": [GATE]}}
    server.store.put(
        "/nodes", "yes", {"metadata": {"name": "yes", "labels": {"l": ""}}, **declared}
    )
    _stored(server, "/nodes", "no", status={})
    amounts = {"cpu": {"mapping": {"deviceMultiplier": "1"}}}
    given = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d.io",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d", "nodeAllocatableResources": amounts, **device}],
            **place,
        },
    }
    answer = await server.ask("POST", "/apis/resource.k8s.io/v1/resourceslices", given)
    expected = f'resourceslices.resource.k8s.io "s" is forbidden: {why}' if why else None
    assert answer.get("message") == expected
    # Devices that consume nothing may be on any node.
    del given["spec"]["devices"][0]["nodeAllocatableResources"]
    given["metadata"]["name"] = "t"
    answer = await server.ask("POST", "/apis/resource.k8s.io/v1/resourceslices", given)
    assert answer["metadata"].get("name") == "t"
