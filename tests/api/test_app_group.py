"""AppGroup as users write it."""

from __future__ import annotations

from mooring.api import AppGroup, decode, encode, find_kind

RAW = {
    "apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1",
    "kind": "AppGroup",
    "metadata": {"name": "shop", "namespace": "default"},
    "spec": {
        "numMembers": 2,
        "topologySortingAlgorithm": "KahnSort",
        "workloads": [
            {
                "workload": {"kind": "Deployment", "name": "web", "selector": "web"},
                "dependencies": [
                    {
                        "workload": {"kind": "Deployment", "name": "db", "selector": "db"},
                        "minBandwidth": "100Mi",
                        "maxNetworkCost": 20,
                    }
                ],
            }
        ],
    },
    "status": {"topologyOrder": [{"workload": {"selector": "db"}, "index": 1}]},
}


def test_it_is_decoded_and_encoded_unchanged() -> None:
    obj = decode(RAW)
    assert isinstance(obj, AppGroup)
    assert obj.spec.workloads[0].dependencies[0].max_network_cost == 20
    assert encode(obj) == RAW


def test_it_belongs_to_a_namespace() -> None:
    kind = find_kind("appgroup.diktyo.x-k8s.io/v1alpha1", "AppGroup")
    assert kind is not None
    assert (kind.plural, kind.namespaced) == ("appgroups", True)
