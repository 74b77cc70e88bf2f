from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api import PersistentVolume, Volume
from mooring.plugins.volumes.csi_translation import (
    PLUGIN_BY_NAME,
    TranslationError,
    inline_handle,
    plugin_of,
    translated_affinity,
    volume_handle,
)
from tests.plugins.volumes.storage import in_label, volume

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
GKE_ZONE = "topology.gke.io/zone"
GCE = {"gcePersistentDisk": {"pdName": "d"}}


def _inline(**source: Any) -> Volume:
    return msgspec.convert({"name": "v", **source}, Volume)


@pytest.mark.parametrize(
    ("source", "name", "migrated"),
    [
        pytest.param({"gcePersistentDisk": {}}, "kubernetes.io/gce-pd", True, id="GCE"),
        pytest.param({"awsElasticBlockStore": {}}, "kubernetes.io/aws-ebs", True, id="AWS"),
        pytest.param({"cinder": {}}, "kubernetes.io/cinder", True, id="Cinder"),
        pytest.param({"azureDisk": {}}, "kubernetes.io/azure-disk", True, id="Azure disk"),
        pytest.param({"portworxVolume": {}}, "kubernetes.io/portworx-volume", True, id="Portworx"),
        pytest.param({"azureFile": {}}, "kubernetes.io/azure-file", False, id="Azure file"),
        pytest.param({"vsphereVolume": {}}, "kubernetes.io/vsphere-volume", False, id="vSphere"),
    ],
)
def test_plugins(source: dict[str, Any], name: str, migrated: bool) -> None:
    plugin = plugin_of(_inline(**source))
    assert plugin is PLUGIN_BY_NAME[name]
    assert plugin is plugin_of(volume("v", **source).spec)
    assert plugin.migrated is migrated


def test_other_volumes_have_no_plugin() -> None:
    assert plugin_of(_inline(emptyDir={})) is None
    assert plugin_of(volume("v", csi={"driver": "d", "volumeHandle": "h"}).spec) is None


@pytest.mark.parametrize(
    ("source", "handle"),
    [
        pytest.param(
            GCE, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="a GCE disk of any zone"
        ),
        pytest.param({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "vol-1", id="an EBS id"),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-2"}},
            "vol-2",
            id="an EBS id with a zone",
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws:///vol-3"}}, "vol-3", id="an EBS URL"
        ),
        pytest.param(
            {"azureDisk": {"diskURI": "/a/b", "kind": "Managed"}}, "/a/b", id="a managed Azure disk"
        ),
        pytest.param({"cinder": {"volumeID": "c"}}, "c", id="Cinder"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, "p", id="Portworx"),
    ],
)
def test_handles_of_inline_volumes(source: dict[str, Any], handle: str) -> None:
    assert inline_handle(_inline(**source)) == handle


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}},
            "Invalid format for AWS volume",
            id="no EBS id",
        ),
        pytest.param(
            {"azureDisk": {"diskURI": "x", "kind": "Dedicated"}},
            r"kind\(Dedicated\) is not supported in csi migration",
            id="an Azure disk that is not managed",
        ),
    ],
)
def test_volumes_without_a_counterpart(source: dict[str, Any], text: str) -> None:
    with pytest.raises(TranslationError, match=text):
        inline_handle(_inline(**source))


def _handle(found: PersistentVolume) -> str:
    plugin = plugin_of(found.spec)
    assert plugin is not None
    return volume_handle(plugin, found)


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="no zone"),
        pytest.param({ZONE: "us-a1-b"}, "projects/UNSPECIFIED/zones/us-a1-b/disks/d", id="a zone"),
        pytest.param(
            {ZONE: "no", BETA_ZONE: "us-a1-b"},
            "projects/UNSPECIFIED/zones/us-a1-b/disks/d",
            id="the old label goes first",
        ),
        pytest.param(
            {ZONE: "us-a1-b__us-a1-c"},
            "projects/UNSPECIFIED/regions/us-a1/disks/d",
            id="two zones of a region",
        ),
    ],
)
def test_a_gce_handle_names_the_zone(labels: dict[str, str], handle: str) -> None:
    assert _handle(volume("v", labels=labels, **GCE)) == handle


@pytest.mark.parametrize("zones", ["us-a1-b__us-a2-c", "a__b"])
def test_a_gce_disk_is_in_one_region(zones: str) -> None:
    with pytest.raises(TranslationError, match="failed to get region from zones"):
        _handle(volume("v", labels={ZONE: zones}, **GCE))


def _affinity(found: PersistentVolume) -> Any:
    plugin = plugin_of(found.spec)
    assert plugin is not None
    selector = translated_affinity(plugin, found)
    if selector is None:
        return None
    return [
        [(one.key, one.values) for one in term.match_expressions]
        for term in selector.node_selector_terms
    ]


BOTH_OLD = {
    "required": {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": BETA_ZONE, "operator": "In", "values": ["a"]},
                    {"key": BETA_REGION, "operator": "In", "values": ["r"]},
                ]
            }
        ]
    }
}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(volume("v", **GCE), None, id="nothing known"),
        pytest.param(
            volume("v", labels={ZONE: "us-a-2__us-a-1"}, **GCE),
            [[(GKE_ZONE, ("us-a-1", "us-a-2"))]],
            id="zones of the labels are added",
        ),
        pytest.param(
            volume("v", affinity=in_label(ZONE, "a"), labels={ZONE: "b-c-d"}, **GCE),
            [[(GKE_ZONE, ("a",))]],
            id="the affinity goes before the labels",
        ),
        pytest.param(
            volume("v", affinity=BOTH_OLD, **GCE),
            [[(GKE_ZONE, ("a",)), (REGION, ("r",))]],
            id="an old region becomes the new one",
        ),
        pytest.param(
            volume("v", affinity=in_label("disk", "x"), labels={ZONE: "us-a-1"}, **GCE),
            [[("disk", ("x",)), (GKE_ZONE, ("us-a-1",))]],
            id="a zone joins every term",
        ),
        pytest.param(
            volume("v", affinity=in_label(ZONE, "a"), portworxVolume={"volumeID": "p"}),
            [[(ZONE, ("a",))]],
            id="a driver without zones keeps the affinity",
        ),
        pytest.param(
            volume("v", affinity=in_label(ZONE, "a"), cinder={"volumeID": "p"}),
            [[("topology.cinder.csi.openstack.org/zone", ("a",))]],
            id="Cinder",
        ),
    ],
)
def test_affinity_under_the_drivers_key(found: PersistentVolume, expected: Any) -> None:
    assert _affinity(found) == expected
