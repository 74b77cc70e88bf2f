from __future__ import annotations

import pytest

from tests.apiserver.validation.objects import Object, pod, refusals

DISKS: dict[str, tuple[Object, list[str]]] = {
    "an iSCSI disk": (
        {"iscsi": {"targetPortal": "p", "iqn": "iqn.2001-04.com.example:disk", "lun": 0}},
        [],
    ),
    "an iSCSI disk by its EUI": (
        {"iscsi": {"targetPortal": "p", "iqn": "eui.0123456789ABCDEF", "lun": 0}},
        [],
    ),
    "an iSCSI disk without a target": (
        {"iscsi": {"targetPortal": "", "iqn": "", "lun": 256}},
        [
            "spec.volumes[0].iscsi.targetPortal: Required value",
            "spec.volumes[0].iscsi.iqn: Required value",
            "spec.volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
        ],
    ),
    "an iSCSI disk of an unknown form": (
        {"iscsi": {"targetPortal": "p", "iqn": "disk", "lun": 0, "initiatorName": "iqn.x"}},
        [
            'spec.volumes[0].iscsi.iqn: Invalid value: "disk": must be valid format '
            "starting with iqn, eui, or naa",
            'spec.volumes[0].iscsi.initiatorname: Invalid value: "iqn.x": must be valid format',
        ],
    ),
    "an iSCSI disk that authenticates without a secret": (
        {
            "iscsi": {
                "targetPortal": "p",
                "iqn": "iqn.2001-04.com.example:disk",
                "lun": 0,
                "chapAuthSession": True,
            }
        },
        ["spec.volumes[0].iscsi.secretRef: Required value"],
    ),
    "a Fibre Channel disk": ({"fc": {"targetWWNs": ["w"], "lun": 1}}, []),
    "a Fibre Channel disk without a name": (
        {"fc": {}},
        [
            "spec.volumes[0].fc.targetWWNs: Required value: must specify either "
            "targetWWNs or wwids, but not both"
        ],
    ),
    "a Fibre Channel disk by both names": (
        {"fc": {"targetWWNs": ["w"], "wwids": ["i"]}},
        [
            'spec.volumes[0].fc.targetWWNs: Invalid value: ["w"]: targetWWNs and wwids '
            "can not be specified simultaneously",
            "spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified",
        ],
    ),
    "a Fibre Channel disk with a bad number": (
        {"fc": {"targetWWNs": ["w"], "lun": 256}},
        ["spec.volumes[0].fc.lun: Invalid value: 256: must be between 0 and 255, inclusive"],
    ),
    "a Google disk without a name": (
        {"gcePersistentDisk": {"pdName": "", "partition": 256}},
        [
            "spec.volumes[0].persistentDisk.pdName: Required value",
            "spec.volumes[0].persistentDisk.partition: Invalid value: 256: must be "
            "between 1 and 255, inclusive",
        ],
    ),
    "an Amazon disk without a name": (
        {"awsElasticBlockStore": {"volumeID": "", "partition": -1}},
        [
            "spec.volumes[0].awsElasticBlockStore.volumeID: Required value",
            "spec.volumes[0].awsElasticBlockStore.partition: Invalid value: -1: must be "
            "between 1 and 255, inclusive",
        ],
    ),
    "a Quobyte volume": ({"quobyte": {"registry": "a:1,[::1]:2", "volume": "v"}}, []),
    "a Quobyte volume without a registry": (
        {"quobyte": {"registry": "", "volume": ""}},
        [
            "spec.volumes[0].quobyte.registry: Required value: must be a host:port pair "
            "or multiple pairs separated by commas",
            "spec.volumes[0].quobyte.volume: Required value",
        ],
    ),
    "a Quobyte volume of a bad registry": (
        {"quobyte": {"registry": "a", "volume": "v"}},
        [
            'spec.volumes[0].quobyte.registry: Invalid value: "a": must be a host:port '
            "pair or multiple pairs separated by commas"
        ],
    ),
    "a Quobyte volume of a long tenant": (
        {"quobyte": {"registry": "a:1", "volume": "v", "tenant": "t" * 65}},
        [
            "spec.volumes[0].quobyte.tenant: Required value: must be a UUID and may not "
            "exceed a length of 64 characters"
        ],
    ),
    "a Flocker dataset": ({"flocker": {"datasetName": "d"}}, []),
    "a Flocker dataset without a name": (
        {"flocker": {}},
        ["spec.volumes[0].flocker: Required value: one of datasetName and datasetUUID is required"],
    ),
    "a Flocker dataset by both names": (
        {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
        [
            'spec.volumes[0].flocker: Invalid value: "resource": datasetName and '
            "datasetUUID can not be specified simultaneously",
            "spec.volumes[0].flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
        ],
    ),
    "an OpenStack disk without a name": (
        {"cinder": {"volumeID": "", "secretRef": {}}},
        [
            "spec.volumes[0].cinder.volumeID: Required value",
            "spec.volumes[0].cinder.secretRef.name: Required value",
        ],
    ),
    "an Azure disk": (
        {"azureDisk": {"diskName": "d", "diskURI": "https://a", "kind": "Shared"}},
        [],
    ),
    "an Azure disk without a name": (
        {"azureDisk": {"diskName": "", "diskURI": "", "cachingMode": "All", "kind": "Own"}},
        [
            "spec.volumes[0].azureDisk.diskName: Required value",
            "spec.volumes[0].azureDisk.diskURI: Required value",
            'spec.volumes[0].azureDisk.cachingMode: Unsupported value: "All": supported '
            'values: "None", "ReadOnly", "ReadWrite"',
            'spec.volumes[0].azureDisk.kind: Unsupported value: "Own": supported values: '
            '"Dedicated", "Managed", "Shared"',
            'spec.volumes[0].azureDisk.diskURI: Unsupported value: "": supported values: '
            '"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
        ],
    ),
    "a managed Azure disk at another address": (
        {"azureDisk": {"diskName": "d", "diskURI": "https://a", "kind": "Managed"}},
        [
            'spec.volumes[0].azureDisk.diskURI: Unsupported value: "https://a": '
            "supported values: "
            '"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/dis'
            'ks/{disk-id}"'
        ],
    ),
    "a StorageOS volume": ({"storageos": {"volumeName": "v", "volumeNamespace": "n"}}, []),
    "a StorageOS volume without a name": (
        {"storageos": {"secretRef": {}}},
        [
            "spec.volumes[0].storageos.volumeName: Required value",
            "spec.volumes[0].storageos.secretRef.name: Required value",
        ],
    ),
    "a StorageOS volume with bad names": (
        {"storageos": {"volumeName": "V", "volumeNamespace": "N"}},
        [
            'spec.volumes[0].storageos.volumeName: Invalid value: "V": <label>',
            'spec.volumes[0].storageos.volumeNamespace: Invalid value: "N": <label>',
        ],
    ),
}


@pytest.mark.parametrize(("source", "expected"), DISKS.values(), ids=DISKS)
def test_disks(source: Object, expected: list[str]) -> None:
    assert refusals(pod(volumes=[{"name": "v", **source}])) == expected
