"""Objects that are accepted with a warning."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.warnings import custom_warnings, kind_warning, warnings
from tests.apiserver.validation.objects import made, pod

CONTAINER = {"name": "c", "image": "i"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(), []),
        (
            made("v1", "Pod", metadata={"name": "a.b"}, spec={"containers": [CONTAINER]}),
            [
                "metadata.name: this is used in the Pod's hostname, which can result in surprising "
                "behavior; a DNS label is recommended: [must not contain dots]"
            ],
        ),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
                '"kubernetes.io/os" instead'
            ],
        ),
        (
            pod(
                containers=[{**CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 80}]}]
            ),
            [
                "spec.containers[0].ports[1]: duplicate port definition with "
                "spec.containers[0].ports[0]"
            ],
        ),
        (
            pod(
                containers=[
                    {
                        **CONTAINER,
                        "env": [
                            {"name": "A", "value": "1"},
                            {"name": "A", "value": "$(A)2"},
                            {"name": "A", "value": "3"},
                        ],
                    }
                ]
            ),
            [
                'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped '
                "when using apply"
            ],
        ),
        (
            made("v1", "Service", spec={"externalName": "a.b", "ports": [{"port": 80}]}),
            ['spec.externalName is ignored when spec.type is not "ExternalName"'],
        ),
    ],
)
def test_new_objects(obj: dict[str, Any], expected: list[str]) -> None:
    assert warnings(obj["apiVersion"], obj["kind"], obj) == expected


def test_a_template_is_warned_about_when_it_changes() -> None:
    template = {"spec": {"nodeSelector": {"beta.kubernetes.io/os": "x"}, "containers": [CONTAINER]}}
    old = made("apps/v1", "Deployment", spec={"template": {"spec": {"containers": [CONTAINER]}}})
    new = made("apps/v1", "Deployment", spec={"template": template})
    assert len(warnings("apps/v1", "Deployment", new, old)) == 1
    assert warnings("apps/v1", "Deployment", new, new) == []


def test_some_kinds_are_deprecated() -> None:
    assert kind_warning("v1", "Pod") is None
    assert "EndpointSlice" in str(kind_warning("v1", "Endpoints"))


def test_sets_of_objects_in_definitions() -> None:
    def definition(item: str) -> dict[str, Any]:
        listed = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": item}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": listed}}}
        return {"metadata": {"name": "x"}, "spec": {"versions": [{"name": "v1", "schema": schema}]}}

    kind = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    warning = (
        'x-kubernetes-list-type: set for items of type "object" is not supported by server-side '
        "apply or CEL validation rules"
    )
    assert warnings(*kind, definition("object")) == [warning]
    assert warnings(*kind, definition("string")) == []
    assert warnings(*kind, definition("object"), definition("object")) == []
    assert warnings(*kind, definition("object"), definition("string")) == [warning]


def test_finalizers_of_custom_resources_should_have_a_domain() -> None:
    obj = {"metadata": {"finalizers": ["x", "a.b", "a.b/c", "orphan"]}}
    assert custom_warnings(obj) == [
        'metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) '
        "to avoid accidental conflicts with other finalizer writers",
        'metadata.finalizers: "x": prefer a domain-qualified finalizer name to avoid accidental '
        "conflicts with other finalizer writers",
    ]
    assert custom_warnings(obj, obj) == []


def _container(**more: Any) -> dict[str, Any]:
    return {**CONTAINER, **more}


_OLD = "failure-domain.beta.kubernetes.io/zone"
_NODES = [{"matchExpressions": [{"key": _OLD, "operator": "In", "values": ["a b"]}]}]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_TERM = {"topologyKey": "z"}
_FRACTION = {"requests": {"storage": "1500m"}}

PODS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "old labels of nodes": (
        {
            "affinity": {
                "nodeAffinity": {
                    _REQUIRED: {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": _OLD, "operator": "Exists"}]}
                        ]
                    },
                    _PREFERRED: [{"weight": 1, "preference": _NODES[0]}],
                }
            }
        },
        [
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelect"
            "orTerms[0].matchExpressions[0].key: "
            "failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "
            '"topology.kubernetes.io/zone" instead',
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].prefer"
            "ence.matchExpressions[0].key: "
            "failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "
            '"topology.kubernetes.io/zone" instead',
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].prefer"
            "ence.matchExpressions[0].values[0]: "
            "a b is invalid, a valid label must be an empty string or consist of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
            "used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    ),
    "spreading of nothing over an old label": (
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": _OLD, "whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
        [
            "spec.topologySpreadConstraints[0].topologyKey: "
            "failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "
            '"topology.kubernetes.io/zone" instead',
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector "
            "results in matching no pod",
        ],
    ),
    "affinity to nothing": (
        {
            "affinity": {
                "podAffinity": {_REQUIRED: [_TERM]},
                "podAntiAffinity": {_PREFERRED: [{"weight": 1, "podAffinityTerm": _TERM}]},
            }
        },
        [
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSel"
            "ector: "
            "a null labelSelector results in matching no pod",
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].pod"
            "AffinityTerm.labelSelector: "
            "a null labelSelector results in matching no pod",
        ],
    ),
    "old volumes": (
        {
            "volumes": [
                {"name": "g", "gitRepo": {"repository": "r"}},
                {"name": "s", "storageos": {}},
            ]
        },
        [
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
            "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    ),
    "part of a byte": (
        {
            "containers": [_container(resources={"limits": {"memory": "1500m"}})],
            "volumes": [
                {
                    "name": "e",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "spec": {"accessModes": ["ReadWriteOnce"], "resources": _FRACTION}
                        }
                    },
                }
            ],
        },
        [
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: "
            'fractional byte value "1500m" is invalid, must be an integer',
            'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" '
            "is invalid, must be an integer",
            "spec.containers[0].resources.requests[memory]: fractional byte value "
            '"1500m" is invalid, must be an integer',
        ],
    ),
    "files at one path": (
        {
            "volumes": [
                {
                    "name": "v",
                    "configMap": {
                        "name": "m",
                        "items": [{"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}],
                    },
                }
            ]
        },
        ['volume "v" (ConfigMap "m"): overlapping paths: "p/q" with "p"'],
    ),
    "projections at one path": (
        {
            "volumes": [
                {
                    "name": "v",
                    "projected": {
                        "sources": [
                            {"secret": {"name": "s", "items": [{"key": "a", "path": "t"}]}},
                            {"serviceAccountToken": {"path": "t"}},
                            {
                                "downwardAPI": {
                                    "items": [
                                        {"path": "t/x", "fieldRef": {"fieldPath": "metadata.name"}}
                                    ]
                                }
                            },
                            {},
                        ]
                    },
                }
            ]
        },
        [
            'volume "v" (Projected) has no sources provided',
            'volume "v" (Projected): overlapping paths: "t" (ServiceAccountToken) with '
            '"t" (Secret "s")',
            'volume "v" (Projected): overlapping paths: "t/x" (DownwardAPI) with "t" (Secret "s")',
            'volume "v" (Projected): overlapping paths: "t/x" (DownwardAPI) with "t" '
            "(ServiceAccountToken)",
        ],
    ),
    "hosts and secrets twice": (
        {
            "hostAliases": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}],
            "imagePullSecrets": [{"name": "s"}, {"name": "s"}, {}],
        },
        [
            'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"',
            'spec.imagePullSecrets[1].name: duplicate name "s"',
            'spec.imagePullSecrets[2].name: invalid empty name ""',
        ],
    ),
    "a negative grace period": (
        {"terminationGracePeriodSeconds": -5},
        [
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are "
            "invalid and will be treated as 1"
        ],
    ),
    "ports that overlap": (
        {
            "containers": [
                _container(
                    ports=[
                        {"containerPort": 80, "name": "web"},
                        {"containerPort": 80, "hostPort": 1},
                        {"containerPort": 80, "hostPort": 1, "hostIP": "1.1.1.1"},
                        {"containerPort": 81, "hostIP": "1.1.1.1"},
                    ]
                ),
                _container(name="d", ports=[{"containerPort": 82, "name": "web"}]),
            ]
        },
        [
            "spec.containers[0].ports[1]: overlapping port definition with "
            "spec.containers[0].ports[0]",
            "spec.containers[0].ports[2]: overlapping port definition with "
            "spec.containers[0].ports[0]",
            "spec.containers[0].ports[2]: dangerously ambiguous port definition with "
            "spec.containers[0].ports[1]",
            "spec.containers[0].ports[3]: hostIP set without hostPort: {Name: HostPort:0 "
            "ContainerPort:81 Protocol:TCP HostIP:1.1.1.1}",
            'spec.containers[1].ports[0]: duplicate port name "web" with '
            "spec.containers[0].ports[0], services and probes that select ports by name "
            "will use spec.containers[0].ports[0]",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), PODS.values(), ids=PODS)
def test_pods(spec: dict[str, Any], expected: list[str]) -> None:
    obj = pod(**spec)
    # The server sets a negative grace period to 1 before it stores a pod, and warns first.
    obj["spec"] |= {key: one for key, one in spec.items() if key == "terminationGracePeriodSeconds"}
    assert warnings("v1", "Pod", obj) == expected
    assert warnings("v1", "Pod", obj, obj) == []


def test_old_annotations_of_a_pod() -> None:
    obj = pod()
    obj["metadata"]["annotations"] = {"scheduler.alpha.kubernetes.io/critical-pod": ""}
    (warning,) = warnings("v1", "Pod", obj)
    assert 'use the "priorityClassName" field instead' in warning


OTHERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a headless service": (
        made(
            "v1",
            "Service",
            spec={
                "clusterIP": "None",
                "loadBalancerIP": "1.1.1.1",
                "externalIPs": ["1.1.1.1"],
                "sessionAffinity": "ClientIP",
            },
        ),
        [
            "spec.loadBalancerIP is ignored for headless services",
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    ),
    "external addresses": (
        made("v1", "Service", spec={"externalIPs": ["1.1.1.1"]}),
        ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
    ),
    "external addresses of a name": (
        made(
            "v1",
            "Service",
            spec={"type": "ExternalName", "externalName": "a", "externalIPs": ["1.1.1.1"]},
        ),
        ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ),
    "an old distribution": (
        made("v1", "Service", spec={"trafficDistribution": "PreferClose"}),
        ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ),
    "a node's old identifier": (
        made("v1", "Node", spec={"externalID": "x"}),
        ["spec.externalID: this field is deprecated, and is unused by Kubernetes"],
    ),
    "a volume that is recycled": (
        made(
            "v1",
            "PersistentVolume",
            spec={
                "persistentVolumeReclaimPolicy": "Recycle",
                "storageos": {},
                "nodeAffinity": {"required": {"nodeSelectorTerms": _NODES}},
            },
        ),
        [
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is "
            "deprecated. Instead, the recommended approach is to use dynamic "
            "provisioning.",
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: "
            "failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "
            '"topology.kubernetes.io/zone" instead',
            "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    ),
    "part of a byte": (
        made("v1", "PersistentVolumeClaim", spec={"resources": _FRACTION}),
        [
            'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, '
            "must be an integer"
        ],
    ),
    "names as addresses": (
        made("discovery.k8s.io/v1", "EndpointSlice", addressType="FQDN"),
        ["spec.addressType: FQDN endpoints are deprecated"],
    ),
    "tokens in volumes": (
        made("storage.k8s.io/v1", "CSIDriver", spec={"tokenRequests": [{"audience": "a"}]}),
        [
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI "
            "driver, set to true to prevent possible logging of tokens in volume "
            "attributes"
        ],
    ),
    "a negative history": (
        made(
            "apps/v1",
            "StatefulSet",
            spec={"revisionHistoryLimit": -1, "template": {"spec": {"containers": [CONTAINER]}}},
        ),
        [
            "spec.revisionHistoryLimit: a negative value retains all historical "
            "revisions; a value >= 0 is recommended"
        ],
    ),
    "the template of a cron job": (
        made(
            "batch/v1",
            "CronJob",
            spec={
                "schedule": "@daily",
                "jobTemplate": {
                    "spec": {
                        "template": {
                            "spec": {"nodeSelector": {_OLD: "x"}, "containers": [CONTAINER]}
                        }
                    }
                },
            },
        ),
        [
            "spec.jobTemplate.spec.template.spec.nodeSelector[failure-domain.beta.kubernetes.io/z"
            "one]: "
            'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
        ],
    ),
    "a config map": (made("v1", "ConfigMap"), []),
}


@pytest.mark.parametrize(("obj", "expected"), OTHERS.values(), ids=OTHERS)
def test_other_objects(obj: dict[str, Any], expected: list[str]) -> None:
    assert warnings(obj["apiVersion"], obj["kind"], obj) == expected
