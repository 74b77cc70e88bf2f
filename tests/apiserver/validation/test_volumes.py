from __future__ import annotations

import pytest

from mooring.apiserver.validation.volumes import check_source, check_volumes, csi_driver_name
from tests.apiserver.validation.objects import Object, pod, refusals, texts

_CLAIM = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
}

SOURCES: dict[str, tuple[Object, list[str]]] = {
    "an empty directory": ({"emptyDir": {"sizeLimit": "1Gi"}}, []),
    "a negative size": (
        {"emptyDir": {"sizeLimit": "-1"}},
        [
            "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a "
            "valid resource quantity"
        ],
    ),
    "no source becomes an empty directory": ({}, []),
    "two sources": (
        {"emptyDir": {}, "hostPath": {"path": "/"}},
        ["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
    ),
    "two sources that the server names differently": (
        {"emptyDir": {}, "cephfs": {"monitors": ["m"]}, "downwardAPI": {}},
        [
            "spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
            "spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
        ],
    ),
    "no path on the node": (
        {"hostPath": {"path": ""}},
        ["spec.volumes[0].hostPath.path: Required value"],
    ),
    "a bad path on the node, of an unknown type": (
        {"hostPath": {"path": "/..", "type": "Pipe"}},
        [
            "spec.volumes[0].hostPath.path: Invalid value: \"/..\": must not contain '..'",
            'spec.volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: '
            '"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", '
            '"FileOrCreate", "Socket"',
        ],
    ),
    "no repository": (
        {"gitRepo": {"repository": ""}},
        ["spec.volumes[0].gitRepo.repository: Required value"],
    ),
    "no secret": ({"secret": {}}, ["spec.volumes[0].secret.secretName: Required value"]),
    "bad files of a secret": (
        {"secret": {"secretName": "s", "items": [{"key": "", "path": "/a", "mode": 4096}]}},
        [
            "spec.volumes[0].secret.items[0].key: Required value",
            'spec.volumes[0].secret.items[0].path: Invalid value: "/a": must be a relative path',
            "spec.volumes[0].secret.items[0].mode: Invalid value: 4096: must be a number "
            "between 0 and 0777 (octal), both inclusive",
        ],
    ),
    "no config map": (
        {"configMap": {"defaultMode": -1}},
        [
            "spec.volumes[0].configMap.name: Required value",
            "spec.volumes[0].configMap.defaultMode: Invalid value: -1: must be a number "
            "between 0 and 0777 (octal), both inclusive",
        ],
    ),
    "a share without a server": (
        {"nfs": {"server": "", "path": "a"}},
        [
            "spec.volumes[0].nfs.server: Required value",
            'spec.volumes[0].nfs.path: Invalid value: "a": must be an absolute path',
        ],
    ),
    "no claim": (
        {"persistentVolumeClaim": {"claimName": ""}},
        ["spec.volumes[0].persistentVolumeClaim.claimName: Required value"],
    ),
    "no image": (
        {"image": {"pullPolicy": "Maybe"}},
        [
            "spec.volumes[0].image.reference: Required value",
            'spec.volumes[0].image.pullPolicy: Unsupported value: "Maybe": supported '
            'values: "Always", "IfNotPresent", "Never"',
        ],
    ),
    "no cluster": (
        {"glusterfs": {"endpoints": "", "path": ""}},
        [
            "spec.volumes[0].glusterfs.endpoints: Required value",
            "spec.volumes[0].glusterfs.path: Required value",
        ],
    ),
    "a pod's fields": (
        {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        [],
    ),
    "nothing of the pod": (
        {"downwardAPI": {"items": [{"path": ""}]}},
        [
            "spec.volumes[0].downwardAPI.path: Required value",
            "spec.volumes[0].downwardAPI: Required value: one of fieldRef and "
            "resourceFieldRef is required",
        ],
    ),
    "two things of the pod in one file": (
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "a",
                        "fieldRef": {"fieldPath": "metadata.name"},
                        "resourceFieldRef": {"resource": "limits.cpu", "containerName": "c"},
                    }
                ]
            }
        },
        [
            'spec.volumes[0].downwardAPI: Invalid value: "resource": fieldRef and '
            "resourceFieldRef can not be specified simultaneously"
        ],
    ),
    "a resource of no container": (
        {"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
        ["spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value"],
    ),
    "two sources of one projection": (
        {"projected": {"sources": [{"secret": {"name": "s"}, "configMap": {"name": "m"}}]}},
        [
            "spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than "
            "1 volume type per source"
        ],
    ),
    "two projections of one path": (
        {
            "projected": {
                "sources": [
                    {"secret": {"name": "s", "items": [{"key": "a", "path": "p"}]}},
                    {"configMap": {"name": "m", "items": [{"key": "a", "path": "p"}]}},
                ]
            }
        },
        ['spec.volumes[0].projected: Invalid value: "m": conflicting duplicate paths'],
    ),
    "a projection of the pod's fields to a path that is taken": (
        {
            "projected": {
                "sources": [
                    {"secret": {"name": "s", "items": [{"key": "a", "path": "p"}]}},
                    {
                        "downwardAPI": {
                            "items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]
                        }
                    },
                ]
            }
        },
        ['spec.volumes[0].projected: Invalid value: "p": conflicting duplicate paths'],
    ),
    "a driver without a name": (
        {"csi": {"driver": "", "nodePublishSecretRef": {}}},
        [
            "spec.volumes[0].csi.driver: Required value",
            "spec.volumes[0].csi.nodePublishSecretRef.name: Required value",
        ],
    ),
    "a bad secret of a driver": (
        {"csi": {"driver": "d", "nodePublishSecretRef": {"name": "A"}}},
        ['spec.volumes[0].csi.name: Invalid value: "A": <subdomain>'],
    ),
    "an ephemeral volume": ({"ephemeral": {"volumeClaimTemplate": _CLAIM}}, []),
    "an ephemeral volume without a claim": (
        {"ephemeral": {}},
        ["spec.volumes[0].ephemeral.volumeClaimTemplate: Required value"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_sources_of_volumes(source: Object, expected: list[str]) -> None:
    assert refusals(pod(volumes=[{"name": "v", **source}])) == expected


TOKENS: dict[str, tuple[Object, list[str]]] = {
    "a token": ({"path": "t", "expirationSeconds": 600}, []),
    "a short token": (
        {"path": "t", "expirationSeconds": 599},
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: "
            "Invalid value: 599: may not specify a duration less than 10 minutes"
        ],
    ),
    "a long token": (
        {"path": "t", "expirationSeconds": 2**32 + 1},
        [
            "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: "
            "Invalid value: 4294967297: may not specify a duration larger than 2^32 "
            "seconds"
        ],
    ),
    "no path": ({"path": ""}, ["spec.volumes[0].projected.path: Required value"]),
    "a path outside of the volume": (
        {"path": "../t"},
        ["spec.volumes[0].projected.path: Invalid value: \"../t\": must not contain '..'"],
    ),
}


@pytest.mark.parametrize(("token", "expected"), TOKENS.values(), ids=TOKENS)
def test_tokens(token: Object, expected: list[str]) -> None:
    volume = {"name": "v", "projected": {"sources": [{"serviceAccountToken": token}]}}
    assert refusals(pod(serviceAccountName="a", volumes=[volume])) == expected


def test_names_of_volumes() -> None:
    volumes = [{"name": name, "emptyDir": {}} for name in ("", "A", "a", "a")]
    good, problems = check_volumes(volumes, "f", "p")
    assert good == {"a": volumes[2]}
    assert texts(problems) == [
        "f[0].name: Required value",
        'f[1].name: Invalid value: "A": <label>',
        'f[3].name: Duplicate value: "a"',
    ]


def test_the_claim_of_an_ephemeral_volume_is_not_used_by_name() -> None:
    ephemeral = {"name": "v", "ephemeral": {"volumeClaimTemplate": _CLAIM}}
    by_name = {"name": "w", "persistentVolumeClaim": {"claimName": "x-v"}}
    assert refusals(pod(volumes=[ephemeral, by_name])) == [
        'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "x-v": must not reference '
        "a PVC that gets created for an ephemeral volume"
    ]


def test_the_claim_of_an_ephemeral_volume_has_a_good_name() -> None:
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": _CLAIM}}
    _, problems = check_volumes([volume], "f", "A")
    assert texts(problems) == ['f[0].name: Invalid value: "v": PVC name "A-v": <subdomain>']


def test_an_unknown_source_is_no_source() -> None:
    assert texts(check_source({"name": "v", "cloud": {}}, "f")) == [
        "f: Required value: must specify a volume type"
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("csi.Acme.io", []),
        ("", ["f: Required value"]),
        ("a" * 64, ["f: Too long: may not be more than 63 bytes"]),
        ("a_b", ['f: Invalid value: "a_b": <subdomain>']),
    ],
    ids=["upper case is fine", "none", "a long one", "a bad one"],
)
def test_names_of_drivers(name: str, expected: list[str]) -> None:
    assert texts(csi_driver_name(name, "f")) == expected
