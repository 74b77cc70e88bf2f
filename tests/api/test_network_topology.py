"""NetworkTopology as users write it."""

from __future__ import annotations

from mooring.api import NetworkTopology, decode, encode, find_kind

RAW = {
    "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
    "kind": "NetworkTopology",
    "metadata": {"name": "nt-default", "namespace": "default"},
    "spec": {
        "configmapName": "netperf",
        "weights": [
            {
                "name": "UserDefined",
                "topologyList": [
                    {
                        "topologyKey": "topology.kubernetes.io/zone",
                        "originList": [
                            {
                                "origin": "z1",
                                "costList": [
                                    {
                                        "destination": "z2",
                                        "bandwidthCapacity": "1Gi",
                                        "bandwidthAllocated": "10Mi",
                                        "networkCost": 5,
                                    }
                                ],
                            }
                        ],
                    }
                ],
            }
        ],
    },
    "status": {"nodeCount": 3},
}


def test_it_is_decoded_and_encoded_unchanged() -> None:
    obj = decode(RAW)
    assert isinstance(obj, NetworkTopology)
    cost = obj.spec.weights[0].topology_list[0].origin_list[0].cost_list[0]
    assert (cost.destination, cost.network_cost) == ("z2", 5)
    assert encode(obj) == RAW


def test_it_belongs_to_a_namespace() -> None:
    kind = find_kind("networktopology.diktyo.x-k8s.io/v1alpha1", "NetworkTopology")
    assert kind is not None
    assert (kind.plural, kind.namespaced) == ("networktopologies", True)
