"""A tenant who creates pods to find out, through explanations, what nodes and other pods are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import kubeconfigs
from tests.support.api import Api, ApiFailure
from tests.support.explain_rights import pod_path
from tests.support.local_up import MOORING, Up
from tests.support.waiting import eventually

Object = dict[str, Any]

TENANT, OTHER = "tenant", "other"
#: Part of every name and value that the tenant must not read.
PLANTED = "qx7"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
#: The nodes' cpus and memory, and what is left of them, as no text may show them.
AMOUNTS = ("3917", "3.917", "2916", "2.916", "7919")
DRIVER = "gpu.example.com"


def planted(name: str) -> str:
    """Return a name or value that the tenant must not read."""
    return f"{PLANTED}-{name}"


def meta(name: str, **more: Any) -> Object:
    return {"metadata": {"name": name, **more}}


def node(number: int, *taints: str) -> Object:
    room = {"cpu": "3917m", "memory": "7919Mi", "pods": "10"}
    name = planted(f"node-{number}")
    labels = {HOST: name, ZONE: planted("zone"), "rack": planted(f"rack-{number}")}
    image = {"names": [f"{planted('image')}:1"], "sizeBytes": 900_000_000}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        **meta(name, labels=labels),
        "spec": {
            "taints": [
                {"key": key, "value": planted("taint"), "effect": "NoSchedule"} for key in taints
            ]
        },
        "status": {"capacity": room, "allocatable": room, "images": [image]},
    }


def pod(name: str, **spec: Any) -> Object:
    """Return a pod; `requests` and `ports` are those of its container."""
    container = {"name": "c", "image": spec.pop("image", "i")}
    container["resources"] = {"requests": spec.pop("requests", {})}
    container["ports"] = [{"containerPort": one, "hostPort": one} for one in spec.pop("ports", ())]
    metadata = meta(name, labels=spec.pop("labels", {}))
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return {"apiVersion": "v1", "kind": "Pod", **metadata, "spec": spec}


def required(kind: str, key: str) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def preferred(key: str, value: str) -> Object:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    terms = [{"weight": 100, "preference": term}]
    return {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    }


def spread(key: str) -> Object:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "minDomains": 5,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
    }


def world() -> list[Object]:
    """Return the nodes, a pod of another tenant, a volume and devices."""
    holder = pod(
        planted("holder"),
        nodeName=planted("node-1"),
        requests={"cpu": "1001m"},
        ports=[8080],
        labels={"app": "web"},
        **required("podAntiAffinity", "rack"),
    )
    holder["metadata"]["namespace"] = OTHER
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        **meta(planted("volume"), labels={ZONE: planted("volume-zone")}),
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "nfs": {"server": "10.0.0.1", "path": "/"},
            "claimRef": {"namespace": TENANT, "name": "data"},
        },
    }
    attributes = {"model": {"string": planted("model")}}
    devices = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        **meta(planted("slice")),
        "spec": {
            "driver": DRIVER,
            "nodeName": planted("node-2"),
            "pool": {"name": planted("pool"), "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": planted("device"), "attributes": attributes}],
        },
    }
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        **meta("gpu"),
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
    }
    # node-3 is found only by tolerating both taints.
    nodes = [node(1), node(2), node(3, "gpu", "team")]
    return [*nodes, holder, volume, devices, device_class]


def claims() -> list[Object]:
    """Return the claims of the tenant's pods."""
    data = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        **meta("data"),
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
            "volumeName": planted("volume"),
        },
    }
    wanted = f'device.attributes["{DRIVER}"].model == "other"'
    request = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": wanted}}]}
    gpu = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        **meta("gpu"),
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}},
    }
    return [data, gpu]


#: The tenant's pods. No spec holds a planted value, and no answer may.
PODS = [
    pod("selector", nodeSelector={"rack": "a", ZONE: "b"}),
    pod("taint", tolerations=[{"key": "gpu", "value": "a"}], requests={"cpu": "64"}),
    pod("amount", requests={"cpu": "3", "memory": "9Gi"}),
    pod("port", ports=[8080], requests={"cpu": "3"}),
    pod("near", **required("podAffinity", "rack"), nodeSelector={HOST: "a"}),
    pod("apart", labels={"app": "web"}, requests={"cpu": "3500m"}),
    pod("spread", labels={"app": "web"}, **spread(ZONE), requests={"cpu": "3"}),
    pod("domains", labels={"app": "web"}, **spread("rack")),
    pod("volume", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
    pod("device", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]),
    pod("scored", **preferred("rack", "a"), image="web:1"),
    pod("large", requests={"cpu": "3900m"}),
]
#: Guesses, of which the first is right, with the same message.
GUESSES = (planted("rack-1"), "wrong")

#: Guesses of the name of a node, of which the first is right.
NODE_GUESSES = (planted("node-1"), "wrong-node-1")


def node_guesses(name: str) -> dict[str, Object]:
    """Return pods' specs that hold the guessed name of a node, where texts repeat it."""
    terms = [{"matchExpressions": [{"key": name, "operator": "Exists"}]}]
    node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {
        "gate": {"schedulingGates": [{"name": name}]},
        "claim": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]},
        "key": {"nodeSelector": {name: "a"}},
        "affinity": {"affinity": {"nodeAffinity": node_affinity}},
        "on": {"nodeSelector": {HOST: name, "rack": "a"}},
    }


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("up")
    up = Up(folder / "state", folder, Path("kubectl"), "--nodes=0")
    try:
        up.wait_ready()
        with Api(up.access) as api:
            for name in (TENANT, OTHER):
                api.create({"apiVersion": "v1", "kind": "Namespace", **meta(name)})
            for one in world():
                api.create(one, one["metadata"].get("namespace"))
            for one in (*rights(), *claims(), *PODS):
                api.create(one, TENANT)
            for number, guess in enumerate(NODE_GUESSES):
                for kind, spec in node_guesses(guess).items():
                    api.create(pod(f"{kind}-{number}", **spec), TENANT)
            for guess in GUESSES:
                spec = {"nodeSelector": {"rack": guess, ZONE: "b"}, **preferred("rack", guess)}
                api.create(pod(f"guess-{GUESSES.index(guess)}", **spec), TENANT)
        yield up
    finally:
        up.stop()


def rights() -> list[Object]:
    """Return a service account that may do everything with the pods of its namespace."""
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]
    subject = {"kind": "ServiceAccount", "name": TENANT, "namespace": TENANT}
    head: Object = {"apiVersion": f"{group}/v1", **meta(TENANT)}
    reference = {"apiGroup": group, "kind": "Role", "name": TENANT}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", **meta(TENANT)},
        {**head, "kind": "Role", "rules": rules},
        {**head, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
    ]


@pytest.fixture(scope="module")
def kubeconfig(up: Up) -> Path:
    """Return a kubeconfig of the tenant."""
    path = f"api/v1/namespaces/{TENANT}/serviceaccounts/{TENANT}/token"
    with Api(up.access) as api:
        token = api.request("POST", path, {"spec": {}})["status"]["token"]
    cluster, _ = kubeconfigs.read(up.kubeconfig)
    return kubeconfigs.write(up.folder / "tenant", cluster, {"token": token})


@pytest.fixture(scope="module")
def tenant(up: Up, kubeconfig: Path) -> Iterator[Api]:
    with Api(kubeconfigs.access(*kubeconfigs.read(kubeconfig), up.folder)) as api:
        yield api


def decided(tenant: Api, name: str) -> Object:
    """Return a pod after an attempt to schedule it."""

    def look() -> Object:
        found = tenant.get("Pod", name, TENANT)
        return found if found.get("status", {}).get("conditions") else {}

    return eventually(look, f"pod {name} was tried")


def explained(tenant: Api, name: str, query: str = "") -> Object:
    """Return the tenant's explanation of a pod; wait while too many questions are asked."""

    def ask() -> Object:
        try:
            return tenant.request("GET", pod_path(TENANT, name)[1:] + query)
        except ApiFailure as failure:
            assert failure.status == 429
            return {}

    return eventually(ask, f"the explanation of {name}")


def _without_times(found: Object) -> str:
    """Return an explanation as text without times, whose digits can be those of an amount."""

    def read(number: str) -> str:
        return number if float(number) < 1e9 else "time"

    return json.dumps(json.loads(json.dumps(found), parse_float=read))


@pytest.mark.parametrize("name", [one["metadata"]["name"] for one in PODS])
@pytest.mark.parametrize("query", ["", "?attempt=0", "?attempt=1"])
def test_explanations_hold_no_planted_value(tenant: Api, name: str, query: str) -> None:
    decided(tenant, name)
    found = explained(tenant, name, query)
    assert found["limited"]
    text = _without_times(found)
    assert PLANTED not in text
    assert not [amount for amount in AMOUNTS if amount in text]
    for cause in found["whyNot"]:
        assert f"{cause['nodes']} {cause['reasons'][0]}" in found["message"]
    assert not (found["nodes"] or found["scorePlugins"] or found["statuses"] or found["nearest"])


def test_a_right_guess_is_explained_like_a_wrong_one(tenant: Api) -> None:
    answers = []
    for number in range(len(GUESSES)):
        decided(tenant, f"guess-{number}")
        found = explained(tenant, f"guess-{number}", "?attempt=0")
        answers.append({field: found[field] for field in ("message", "whyNot", "outcome", "why")})
    assert answers[0] == answers[1]
    assert answers[0]["whyNot"][0]["example"]["keys"] == ["rack", ZONE]


@pytest.mark.parametrize("kind", node_guesses(""))
@pytest.mark.parametrize("query", ["", "?attempt=0"])
def test_the_name_of_a_node_is_explained_like_any_other_word(
    tenant: Api, kind: str, query: str
) -> None:
    answers = []
    for number, guess in enumerate(NODE_GUESSES):
        decided(tenant, f"{kind}-{number}")
        found = explained(tenant, f"{kind}-{number}", query)
        fields = ("message", "whyNot", "outcome", "why", "preEnqueue", "preFilter")
        text = json.dumps({field: found[field] for field in fields})
        answers.append(text.replace(guess, "GUESS").replace(f"{kind}-{number}", "POD"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("output", ["text", "json", "yaml"])
def test_the_command_prints_no_planted_value(tenant: Api, kubeconfig: Path, output: str) -> None:
    decided(tenant, "selector")
    done = subprocess.run(
        [MOORING, "explain", "selector", "-n", TENANT, "--nodes=all", f"--output={output}"],
        env={"KUBECONFIG": str(kubeconfig), "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "rack" in done.stdout
    assert PLANTED not in done.stdout + done.stderr
    if output == "text":
        assert "users who may list nodes" in done.stdout
