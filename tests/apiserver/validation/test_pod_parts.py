from __future__ import annotations

import copy

import pytest

from tests.apiserver.validation.objects import Object, container, pod, update_refusals

ENDED = {"name": "c", "state": {"terminated": {"exitCode": 1}}}
RUNNING = {"name": "c", "state": {"running": {}}}
CLAIM = {"name": "a", "resourceClaimName": "r"}

STATUS: dict[str, tuple[Object, Object, Object, list[str]]] = {
    "a running pod": ({}, {}, {"phase": "Running"}, []),
    "a bad type and generation of a condition": (
        {},
        {},
        {"conditions": [{"type": "a b", "status": "True", "observedGeneration": -1}]},
        [
            'status.conditions[0].Type: Invalid value: "a b": <qualified name>',
            "status.conditions[0].observedGeneration: Invalid value: -1: must be a "
            "non-negative integer",
        ],
    ),
    "a condition of the system": (
        {},
        {},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        [],
    ),
    "a bad nomination": (
        {},
        {},
        {"nominatedNodeName": "N"},
        ['status.nominatedNodeName: Invalid value: "N": <subdomain>'],
    ),
    "a nomination of a bound pod": (
        {"nodeName": "n"},
        {},
        {"nominatedNodeName": "m"},
        [
            "status.nominatedNodeName: Forbidden: may not be set on pods that are "
            "already bound to a node"
        ],
    ),
    "a nomination that stays": (
        {"nodeName": "n"},
        {"nominatedNodeName": "m"},
        {"nominatedNodeName": "m"},
        [],
    ),
    "a negative generation": (
        {},
        {},
        {"observedGeneration": -1},
        ["status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
    ),
    "another quality of service": (
        {},
        {"qosClass": "BestEffort"},
        {"qosClass": "Guaranteed"},
        ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    ),
    "a restart": ({}, {"containerStatuses": [ENDED]}, {"containerStatuses": [RUNNING]}, []),
    "a restart of a pod that never restarts": (
        {"restartPolicy": "Never"},
        {"containerStatuses": [ENDED]},
        {"containerStatuses": [RUNNING]},
        [
            "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
            "non-terminated state"
        ],
    ),
    "a restart of a container that restarts by itself": (
        {"restartPolicy": "Never", "containers": [container(restartPolicy="Always")]},
        {"containerStatuses": [ENDED]},
        {"containerStatuses": [RUNNING]},
        [],
    ),
    "a restart after a failure": (
        {"restartPolicy": "OnFailure"},
        {"containerStatuses": [ENDED]},
        {"containerStatuses": [RUNNING]},
        [],
    ),
    "a restart after success, on failure": (
        {"restartPolicy": "OnFailure"},
        {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 0}}}]},
        {"containerStatuses": [RUNNING]},
        [
            "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
            "non-terminated state"
        ],
    ),
    "claims that the pod does not have, twice": (
        {"resourceClaims": [CLAIM]},
        {},
        {"resourceClaimStatuses": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
        [
            'status.resourceClaimStatuses[1].name: Invalid value: "b": must match the '
            "name of an entry in `spec.resourceClaims`",
            'status.resourceClaimStatuses[2].name: Duplicate value: "a"',
        ],
    ),
    "bad addresses": (
        {},
        {},
        {"podIP": "x", "podIPs": [{"ip": "x"}]},
        [
            'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. '
            "10.9.8.7 or 2001:db8::ffff)"
        ],
    ),
    "two addresses of one family": (
        {},
        {},
        {"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.2"}]},
        [
            'status.podIPs: Invalid value: [{"ip":"1.1.1.1"},{"ip":"1.1.1.2"}]: may '
            "specify no more than one IP for each IP family"
        ],
    ),
    "an address of each family": (
        {},
        {},
        {"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}, {"ip": "::2"}]},
        [],
    ),
    "a host's addresses that differ": (
        {},
        {},
        {"hostIP": "1.1.1.1", "hostIPs": [{"ip": "1.1.1.2"}]},
        ['status.hostIPs[0].ip: Invalid value: "1.1.1.2": must be equal to `hostIP`'],
    ),
}


@pytest.mark.parametrize(("spec", "before", "status", "expected"), STATUS.values(), ids=STATUS)
def test_the_status_of_a_pod(
    spec: Object, before: Object, status: Object, expected: list[str]
) -> None:
    old = pod(**spec)
    old["status"] |= before
    assert update_refusals(old, {"status": status}, "status") == expected


def _resources(**amounts: str) -> Object:
    return container(resources={"requests": amounts, "limits": amounts})


RESIZED: dict[str, tuple[list[Object], list[str]]] = {
    "more of the same": ([_resources(cpu="2", memory="1Gi")], []),
    "a resource goes": (
        [_resources(cpu="1")],
        [
            'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result '
            "of resizing",
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
            "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
        ],
    ),
    "another resource changes": (
        [_resources(**{"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2Gi"})],
        ["spec: Forbidden: only cpu and memory resources are mutable"],
    ),
    "the image changes": (
        [_resources(cpu="1", memory="1Gi") | {"image": "j"}],
        ["spec: Forbidden: only cpu and memory resources are mutable"],
    ),
    "a container is added": (
        [_resources(cpu="1", memory="1Gi"), _resources(cpu="1", memory="1Gi") | {"name": "d"}],
        ["spec.containers: Forbidden: containers may not be added or removed on resize"],
    ),
    "a container is renamed": (
        [_resources(cpu="1", memory="1Gi") | {"name": "d"}],
        [
            "spec.containers[0].name: Forbidden: containers may not be renamed or "
            "reordered on resize"
        ],
    ),
}


@pytest.mark.parametrize(("containers", "expected"), RESIZED.values(), ids=RESIZED)
def test_a_resize(containers: list[Object], expected: list[str]) -> None:
    old = pod(containers=[_resources(cpu="1", memory="1Gi")])
    change = {"spec": {"containers": pod(containers=containers)["spec"]["containers"]}}
    assert update_refusals(old, change, "resize") == expected


def test_static_pods_stay_as_they_are() -> None:
    old = pod(nodeName="n")
    old["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "m"}
    assert update_refusals(old, {}, "resize") == [": Forbidden: static pods cannot be resized"]
    assert update_refusals(old, {}, "ephemeralcontainers") == [
        ": Forbidden: static pods do not support ephemeral containers"
    ]


EPHEMERAL: dict[str, tuple[list[Object], list[str]]] = {
    "another one": ([container(name="e"), container(name="f")], []),
    "the old one goes": (
        [],
        [
            'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may '
            "not be removed\n"
        ],
    ),
    "the old one changes": (
        [container(name="e", image="j")],
        [
            'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may '
            "not be changed\n"
        ],
    ),
    "the name of a regular container": (
        [container(name="e"), container()],
        ['spec.ephemeralContainers[1].name: Duplicate value: "c"'],
    ),
    "a target that does not exist": (
        [container(name="e"), container(name="f", targetContainerName="x")],
        ['spec.ephemeralContainers[1].targetContainerName: Not found: "x"'],
    ),
    "fields that ephemeral containers do not have": (
        [
            container(name="e"),
            container(
                name="f",
                ports=[{"containerPort": 80}],
                resources={"requests": {"cpu": "1"}},
                livenessProbe={"grpc": {"port": 1}},
            ),
        ],
        [
            "spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an "
            "Ephemeral Container",
            "spec.ephemeralContainers[1].resources: Forbidden: cannot be set for an "
            "Ephemeral Container",
            "spec.ephemeralContainers[1].livenessProbe: Forbidden: cannot be set for an "
            "Ephemeral Container",
        ],
    ),
}


@pytest.mark.parametrize(("containers", "expected"), EPHEMERAL.values(), ids=EPHEMERAL)
def test_ephemeral_containers(containers: list[Object], expected: list[str]) -> None:
    old = pod(ephemeralContainers=[container(name="e")])
    new = pod(ephemeralContainers=copy.deepcopy(containers))["spec"].get("ephemeralContainers")
    change = {"spec": {"ephemeralContainers": new}}
    assert update_refusals(old, change, "ephemeralcontainers") == expected
