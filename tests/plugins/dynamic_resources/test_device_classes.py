from __future__ import annotations

from mooring.api import DeviceClass, decode_as
from mooring.framework.features import FeatureGates
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.device_classes import BackedResources
from tests.plugins.cluster import StubHandle


def test_resources_follow_the_device_classes() -> None:
    store: Store[DeviceClass] = Store()
    backed = BackedResources(StubHandle(FeatureGates(), {DeviceClass: store}))
    assert "vendor.io/nic" not in backed
    spec = {"extendedResourceName": "vendor.io/nic"}
    store.add(decode_as({"metadata": {"name": "nics"}, "spec": spec}, DeviceClass))
    assert "vendor.io/nic" in backed
    assert "deviceclass.resource.kubernetes.io/nics" in backed
    assert "deviceclass.resource.kubernetes.io/gpus" not in backed
    assert "" not in backed
