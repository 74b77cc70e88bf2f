from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.defaults.objects import defaulted

SCALED = {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}
ADMISSION = "admissionregistration.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"
HOOK: dict[str, Any] = {
    "name": "h",
    "clientConfig": {"service": {"name": "s", "namespace": "n"}},
    "rules": [{"operations": ["*"]}],
}
ROLE = {"kind": "Role", "name": "r"}

OBJECTS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "an autoscaler of the older version": (
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        {"spec": SCALED},
        {
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": {
                    "kind": "Deployment",
                    "name": "d",
                },
                "minReplicas": 1,
                "targetCPUUtilizationPercentage": 80,
            },
        },
    ),
    "an autoscaler": (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"spec": SCALED},
        {
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": {
                    "kind": "Deployment",
                    "name": "d",
                },
                "minReplicas": 1,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {
                                "type": "Utilization",
                                "averageUtilization": 80,
                            },
                        },
                    }
                ],
            },
        },
    ),
    "the behaviour of an autoscaler": (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {
            "spec": SCALED
            | {
                "metrics": [{"type": "Pods"}],
                "behavior": {"scaleUp": {"stabilizationWindowSeconds": 60}},
            }
        },
        {
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": {
                    "kind": "Deployment",
                    "name": "d",
                },
                "metrics": [
                    {
                        "type": "Pods",
                    }
                ],
                "behavior": {
                    "scaleUp": {
                        "stabilizationWindowSeconds": 60,
                        "selectPolicy": "Max",
                        "policies": [
                            {
                                "type": "Pods",
                                "value": 4,
                                "periodSeconds": 15,
                            },
                            {
                                "type": "Percent",
                                "value": 100,
                                "periodSeconds": 15,
                            },
                        ],
                    },
                    "scaleDown": {
                        "selectPolicy": "Max",
                        "policies": [
                            {
                                "type": "Percent",
                                "value": 100,
                                "periodSeconds": 15,
                            }
                        ],
                    },
                },
                "minReplicas": 1,
            },
        },
    ),
    "a network policy": (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}},
        {
            "spec": {
                "podSelector": {},
                "ingress": [
                    {
                        "ports": [
                            {
                                "port": 80,
                                "protocol": "TCP",
                            }
                        ],
                    }
                ],
                "policyTypes": ["Ingress"],
            },
        },
    ),
    "a network policy of both directions": (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"podSelector": {}, "egress": [{}]}},
        {
            "spec": {
                "podSelector": {},
                "egress": [{}],
                "policyTypes": [
                    "Ingress",
                    "Egress",
                ],
            },
        },
    ),
    "an ingress class": (
        "networking.k8s.io/v1",
        "IngressClass",
        {"spec": {"controller": "a/b", "parameters": {"kind": "K", "name": "n"}}},
        {
            "spec": {
                "controller": "a/b",
                "parameters": {
                    "kind": "K",
                    "name": "n",
                    "scope": "Cluster",
                },
            },
        },
    ),
    "a storage class": (
        "storage.k8s.io/v1",
        "StorageClass",
        {"provisioner": "p"},
        {
            "provisioner": "p",
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
        },
    ),
    "a driver": (
        "storage.k8s.io/v1",
        "CSIDriver",
        {"spec": {}},
        {
            "spec": {
                "attachRequired": True,
                "podInfoOnMount": False,
                "storageCapacity": False,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "volumeLifecycleModes": ["Persistent"],
                "requiresRepublish": False,
                "seLinuxMount": False,
                "preventPodSchedulingIfMissing": False,
            },
        },
    ),
    "a priority class": (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        {"value": 1},
        {
            "value": 1,
            "preemptionPolicy": "PreemptLowerPriority",
        },
    ),
    "a slice of endpoints": (
        "discovery.k8s.io/v1",
        "EndpointSlice",
        {"addressType": "IPv4", "ports": [{"port": 80}]},
        {
            "ports": [
                {
                    "port": 80,
                    "name": "",
                    "protocol": "TCP",
                }
            ],
            "endpoints": None,
        },
    ),
    "a binding of a role": (
        RBAC,
        "RoleBinding",
        {
            "roleRef": ROLE,
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "a"}],
        },
        {
            "roleRef": {
                "kind": "Role",
                "name": "r",
                "apiGroup": "rbac.authorization.k8s.io",
            },
            "subjects": [
                {
                    "kind": "User",
                    "name": "u",
                    "apiGroup": "rbac.authorization.k8s.io",
                },
                {
                    "kind": "ServiceAccount",
                    "name": "a",
                },
            ],
        },
    ),
    "a claim of devices": (
        "resource.k8s.io/v1",
        "ResourceClaim",
        {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}},
        {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "exactly": {
                                "deviceClassName": "c",
                                "allocationMode": "ExactCount",
                                "count": 1,
                            },
                        }
                    ],
                },
            },
        },
    ),
    "a claim of all devices": (
        "resource.k8s.io/v1",
        "ResourceClaim",
        {
            "spec": {
                "devices": {
                    "requests": [
                        {"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "All"}}
                    ]
                }
            }
        },
        {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "exactly": {
                                "deviceClassName": "c",
                                "allocationMode": "All",
                            },
                        }
                    ],
                },
            },
        },
    ),
    "a webhook that changes": (
        ADMISSION,
        "MutatingWebhookConfiguration",
        {"webhooks": [HOOK]},
        {
            "webhooks": [
                {
                    "name": "h",
                    "clientConfig": {
                        "service": {
                            "name": "s",
                            "namespace": "n",
                            "port": 443,
                        },
                    },
                    "rules": [
                        {
                            "operations": ["*"],
                            "scope": "*",
                        }
                    ],
                    "sideEffects": None,
                    "admissionReviewVersions": None,
                    "failurePolicy": "Fail",
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": {},
                    "objectSelector": {},
                    "timeoutSeconds": 10,
                    "reinvocationPolicy": "Never",
                }
            ],
        },
    ),
    "a webhook that checks": (
        ADMISSION,
        "ValidatingWebhookConfiguration",
        {"webhooks": [HOOK]},
        {
            "webhooks": [
                {
                    "name": "h",
                    "clientConfig": {
                        "service": {
                            "name": "s",
                            "namespace": "n",
                            "port": 443,
                        },
                    },
                    "rules": [
                        {
                            "operations": ["*"],
                            "scope": "*",
                        }
                    ],
                    "sideEffects": None,
                    "admissionReviewVersions": None,
                    "failurePolicy": "Fail",
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": {},
                    "objectSelector": {},
                    "timeoutSeconds": 10,
                }
            ],
        },
    ),
    "a policy of admission": (
        ADMISSION,
        "ValidatingAdmissionPolicy",
        {"spec": {"matchConstraints": {"resourceRules": [{}]}}},
        {
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "scope": "*",
                        }
                    ],
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": {},
                    "objectSelector": {},
                },
                "failurePolicy": "Fail",
            },
        },
    ),
    "a request for a token": (
        "authentication.k8s.io/v1",
        "TokenRequest",
        {"spec": {}},
        {
            "spec": {
                "audiences": None,
                "expirationSeconds": 3600,
                "boundObjectRef": None,
            },
        },
    ),
}


@pytest.mark.parametrize(("version", "kind", "given", "expected"), OBJECTS.values(), ids=OBJECTS)
def test_objects(version: str, kind: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = defaulted(version, kind, **given)
    for name in ("metadata", "kind", "apiVersion", "status", "addressType"):
        found.pop(name, None)
    assert found == expected


def test_names_of_a_definition() -> None:
    version = {"name": "v1", "served": True, "storage": True}
    spec = {
        "group": "a.io",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version | {"name": "v0", "storage": False}, version],
    }
    found = defaulted("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec=spec)
    names = found["spec"]["names"]
    assert (names["singular"], names["listKind"]) == ("thing", "ThingList")
    assert found["spec"]["conversion"] == {"strategy": "None"}
    assert found["status"]["storedVersions"] == ["v1"]


def test_names_that_are_given_stay() -> None:
    names = {"plural": "things", "kind": "Thing", "singular": "one", "listKind": "Many"}
    spec = {"group": "a.io", "scope": "Cluster", "names": names, "versions": []}
    found = defaulted("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec=spec)
    assert found["spec"]["names"] == names
    assert found["status"]["storedVersions"] is None
