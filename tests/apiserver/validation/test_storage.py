from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals

V1 = "storage.k8s.io/v1"


def _place(*values: str, key: str = "z") -> Object:
    return {"matchLabelExpressions": [{"key": key, "values": list(values)}]}


KINDS: dict[str, tuple[str, Object, list[str]]] = {
    "a storage class": ("StorageClass", {"provisioner": "Acme.io/p"}, []),
    "a class without a provisioner": (
        "StorageClass",
        {"provisioner": ""},
        ["provisioner: Required value"],
    ),
    "a bad provisioner": (
        "StorageClass",
        {"provisioner": "a b"},
        ['provisioner: Invalid value: "a b": <qualified name>'],
    ),
    "an empty parameter": (
        "StorageClass",
        {"provisioner": "p", "parameters": {"": "v"}},
        ['parameters: Invalid value: "": field can not be empty.'],
    ),
    "unknown policies of a class": (
        "StorageClass",
        {"provisioner": "p", "reclaimPolicy": "Recycle", "volumeBindingMode": "Late"},
        [
            'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
            'volumeBindingMode: Unsupported value: "Late": supported values: '
            '"Immediate", "WaitForFirstConsumer"',
        ],
    ),
    "bad places of a class": (
        "StorageClass",
        {"provisioner": "p", "allowedTopologies": [_place(), _place("a", "a", key="b c")]},
        [
            "allowedTopologies[0].matchLabelExpressions[0].values: Required value",
            'allowedTopologies[1].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
            'allowedTopologies[1].matchLabelExpressions[0].key: Invalid value: "b c": '
            "<qualified name>",
        ],
    ),
    "a place twice": (
        "StorageClass",
        {"provisioner": "p", "allowedTopologies": [_place("a", "b"), _place("b", "a")]},
        ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
    ),
    "a key of a place twice, and no place": (
        "StorageClass",
        {
            "provisioner": "p",
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "z", "values": ["a"]}] * 2},
                {},
            ],
        },
        [
            'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "z"',
            'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
        ],
    ),
    "attributes": ("VolumeAttributesClass", {"driverName": "d", "parameters": {"a": "b"}}, []),
    "no attributes": (
        "VolumeAttributesClass",
        {"driverName": ""},
        [
            "driverName: Required value",
            "parameters: Required value: must contain at least one key/value pair",
        ],
    ),
    "an empty attribute of a bad driver": (
        "VolumeAttributesClass",
        {"driverName": "a b", "parameters": {"": "b"}},
        [
            'driverName: Invalid value: "a b": <qualified name>',
            'parameters: Invalid value: "": field can not be empty.',
        ],
    ),
    "a driver": ("CSIDriver", {"spec": {}}, []),
    "unknown policies of a driver": (
        "CSIDriver",
        {
            "spec": {
                "fsGroupPolicy": "All",
                "volumeLifecycleModes": ["Persistent", "Short"],
                "nodeAllocatableUpdatePeriodSeconds": 9,
            }
        },
        [
            'spec.fsGroupPolicy: Unsupported value: "All": supported values: "File", '
            '"None", "ReadWriteOnceWithFSType"',
            'spec.volumeLifecycleModes: Unsupported value: "Short": supported values: '
            '"Persistent", "Ephemeral"',
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater "
            "than or equal to 10 seconds",
        ],
    ),
    "bad tokens of a driver": (
        "CSIDriver",
        {
            "spec": {
                "tokenRequests": [
                    {"audience": "a", "expirationSeconds": 599},
                    {"audience": "a"},
                    {"audience": "b", "expirationSeconds": 2**32 + 1},
                    {"audience": "c"},
                ]
            }
        },
        [
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not "
            "specify a duration less than 10 minutes",
            'spec.tokenRequests[1].audience: Duplicate value: "a"',
            "spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not "
            "specify a duration larger than 2^32 seconds",
        ],
    ),
    "drivers of a node": (
        "CSINode",
        {"spec": {"drivers": [{"name": "d", "nodeID": "i", "topologyKeys": ["z"]}]}},
        [],
    ),
    "bad drivers of a node": (
        "CSINode",
        {
            "spec": {
                "drivers": [
                    {"name": "", "nodeID": "", "allocatable": {"count": -1}},
                    {"name": "d", "nodeID": "i" * 257, "topologyKeys": ["", "z", "z", "a b"]},
                    {"name": "d", "nodeID": "i"},
                ]
            }
        },
        [
            "spec.drivers[0].name: Required value",
            "spec.drivers[0].nodeID: Required value",
            "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than "
            "or equal to 0",
            'spec.drivers[1].nodeID: Invalid value: "i…": must be 256 characters or less',
            "spec.drivers[1]: Required value",
            'spec.drivers[1]: Invalid value: "": name part must be non-empty',
            'spec.drivers[1]: Invalid value: "": <qualified name>',
            'spec.drivers[1]: Duplicate value: "z"',
            'spec.drivers[1]: Invalid value: "a b": <qualified name>',
            'spec.drivers[2].name: Duplicate value: "d"',
        ],
    ),
    "an attachment": (
        "VolumeAttachment",
        {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
        [],
    ),
    "an attachment of nothing": (
        "VolumeAttachment",
        {"spec": {"attacher": "", "nodeName": "N", "source": {}}},
        [
            "spec.attacher: Required value",
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec "
            "and persistentVolumeName",
            'spec.nodeName: Invalid value: "N": <subdomain>',
        ],
    ),
    "an attachment of an unnamed volume": (
        "VolumeAttachment",
        {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": ""}}},
        [
            "spec.source.persistentVolumeName: Required value: must specify non empty "
            "persistentVolumeName",
            'spec.source.persistentVolumeName: Invalid value: "": <subdomain>',
        ],
    ),
    "an attachment of two volumes": (
        "VolumeAttachment",
        {
            "spec": {
                "attacher": "a",
                "nodeName": "n",
                "source": {
                    "persistentVolumeName": "v",
                    "inlineVolumeSpec": {"hostPath": {"path": "/"}},
                },
            }
        },
        [
            "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and "
            "persistentVolumeName"
        ],
    ),
    "capacity": ("CSIStorageCapacity", {"storageClassName": "s", "capacity": "1Gi"}, []),
    "bad capacity": (
        "CSIStorageCapacity",
        {
            "storageClassName": "S",
            "capacity": "-1",
            "maximumVolumeSize": "-1",
            "nodeTopology": {"matchLabels": {"a b": ""}},
        },
        [
            'nodeTopology.matchLabels: Invalid value: "a b": <qualified name>',
            'storageClassName: Invalid value: "S": <subdomain>',
            'capacity: Invalid value: "-1": must be greater than or equal to 0',
        ],
    ),
}


@pytest.mark.parametrize(("kind", "fields", "expected"), KINDS.values(), ids=KINDS)
def test_new_objects(kind: str, fields: Object, expected: list[str]) -> None:
    assert refused(V1, kind, **fields) == expected


_NODE = {"spec": {"drivers": [{"name": "d", "nodeID": "i", "topologyKeys": ["z"]}]}}
_ATTACHMENT: Object = {
    "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
}
CHANGES: dict[str, tuple[str, Object, Object, list[str]]] = {
    "a class may allow expansion": (
        "StorageClass",
        {"provisioner": "p"},
        {"allowVolumeExpansion": True},
        [],
    ),
    "how a class provisions stays": (
        "StorageClass",
        {"provisioner": "p"},
        {"provisioner": "q", "parameters": {"a": "b"}, "reclaimPolicy": "Retain"},
        [
            "parameters: Invalid value: null: field is immutable",
            "provisioner: Invalid value: null: field is immutable",
            "reclaimPolicy: Invalid value: null: field is immutable",
        ],
    ),
    "attributes stay": (
        "VolumeAttributesClass",
        {"driverName": "d", "parameters": {"a": "b"}},
        {"driverName": "e", "parameters": {"a": "c"}},
        [
            "driverName: Forbidden: updates to driverName are forbidden.",
            "parameters: Forbidden: updates to parameters are forbidden.",
        ],
    ),
    "how a driver attaches stays": (
        "CSIDriver",
        {"spec": {}},
        {"spec": {"attachRequired": False, "volumeLifecycleModes": ["Ephemeral"]}},
        [
            "spec.attachedRequired: Invalid value: false: field is immutable",
            'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
        ],
    ),
    "a driver's node stays": (
        "CSINode",
        _NODE,
        {"spec": {"drivers": [{"name": "d", "nodeID": "j", "topologyKeys": ["z"]}]}},
        [
            "spec.drivers: Invalid value: "
            '{"name":"d","nodeID":"j","topologyKeys":["z"]}: field is immutable'
        ],
    ),
    "a node gets another driver": (
        "CSINode",
        _NODE,
        {"spec": {"drivers": [*_NODE["spec"]["drivers"], {"name": "e", "nodeID": "i"}]}},
        [],
    ),
    "an attachment stays": (
        "VolumeAttachment",
        _ATTACHMENT,
        {"spec": {"nodeName": "m"}},
        ["spec: Invalid value: null: field is immutable"],
    ),
    "capacity changes": (
        "CSIStorageCapacity",
        {"storageClassName": "s", "capacity": "1Gi"},
        {"capacity": "2Gi"},
        [],
    ),
    "the class of a capacity stays": (
        "CSIStorageCapacity",
        {"storageClassName": "s"},
        {"storageClassName": "t", "nodeTopology": {"matchLabels": {"a": "b"}}},
        [
            'nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable',
            'storageClassName: Invalid value: "t": field is immutable',
        ],
    ),
}


@pytest.mark.parametrize(("kind", "fields", "change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes(kind: str, fields: dict[str, Any], change: Object, expected: list[str]) -> None:
    assert update_refusals(made(V1, kind, **fields), change) == expected


MIGRATIONS: dict[str, tuple[Object, list[str]]] = {
    "a kind of a group": ({"group": "apps", "resource": "deployments"}, []),
    "a kind of the core group": ({"group": "", "resource": "secrets"}, []),
    "no kind": (
        {"group": "apps", "resource": ""},
        ["spec.resource.resource: Required value: resource is required to be set"],
    ),
    "bad names": (
        {"group": "A", "resource": "B"},
        [
            'spec.resource.resource: Invalid value: "B": <DNS-1035 label>',
            'spec.resource.group: Invalid value: "A": <subdomain>',
        ],
    ),
}


@pytest.mark.parametrize(("resource", "expected"), MIGRATIONS.values(), ids=MIGRATIONS)
def test_migrations(resource: Object, expected: list[str]) -> None:
    version, kind = "storagemigration.k8s.io/v1", "StorageVersionMigration"
    assert refused(version, kind, spec={"resource": resource}) == expected


def test_what_is_migrated_stays() -> None:
    version, kind = "storagemigration.k8s.io/v1", "StorageVersionMigration"
    old = made(version, kind, spec={"resource": {"group": "", "resource": "secrets"}})
    assert update_refusals(old, {"spec": {"resource": {"resource": "pods"}}}) == [
        'spec: Invalid value: {"resource":{"group":"","resource":"pods"}}: field is immutable'
    ]
