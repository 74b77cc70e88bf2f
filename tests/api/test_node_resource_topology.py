"""NodeResourceTopology as agents write it."""

from __future__ import annotations

from mooring.api import NodeResourceTopology, decode, encode, find_kind

RAW = {
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "metadata": {"name": "w1"},
    "topologyPolicies": ["SingleNUMANodePodLevel"],
    "zones": [
        {
            "name": "node-0",
            "type": "Node",
            "parent": "socket-0",
            "costs": [{"name": "node-0", "value": 10}],
            "attributes": [{"name": "a", "value": "b"}],
            "resources": [
                {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "1500m"}
            ],
        }
    ],
    "attributes": [
        {"name": "topologyManagerScope", "value": "pod"},
        {"name": "topologyManagerScope", "value": "container"},
    ],
}


def test_it_is_decoded_and_encoded_unchanged() -> None:
    obj = decode(RAW)
    assert isinstance(obj, NodeResourceTopology)
    assert obj.zones[0].resources[0].available == "1500m"
    assert encode(obj) == RAW


def test_the_first_attribute_of_a_name_counts() -> None:
    obj = decode(RAW)
    assert isinstance(obj, NodeResourceTopology)
    assert obj.attribute("topologyManagerScope") == "pod"
    assert obj.attribute("other") is None


def test_it_belongs_to_no_namespace() -> None:
    kind = find_kind("topology.node.k8s.io/v1alpha2", "NodeResourceTopology")
    assert kind is not None
    assert (kind.plural, kind.namespaced) == ("noderesourcetopologies", False)
