"""The arguments of NodeResourceTopologyMatch."""

from __future__ import annotations

import msgspec
import pytest

from mooring.contrib.node_resource_topology.args import NumaScoringStrategy, TopologyMatchArgs
from mooring.contrib.resource_weights import ResourceWeight


def test_the_defaults() -> None:
    args = TopologyMatchArgs()
    assert msgspec.json.decode(msgspec.json.encode(args)) == {
        "scoringStrategy": {
            "type": "LeastAllocated",
            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
        },
        "cacheResyncPeriodSeconds": 0,
        "discardReservedNodes": False,
        "cache": {
            "foreignPodsDetect": "All",
            "resyncMethod": "Autodetect",
            "informerMode": "Dedicated",
            "resyncScope": "All",
        },
    }


def test_a_weight_of_0_is_1_and_an_empty_list_is_the_default_one() -> None:
    weighed = NumaScoringStrategy("MostAllocated", (ResourceWeight("cpu", 0),))
    assert weighed.resources == (ResourceWeight("cpu", 1),)
    assert len(NumaScoringStrategy("MostAllocated", ()).resources) == 2


def test_a_strategy_must_be_known() -> None:
    with pytest.raises(ValueError, match=r"scoringStrategy\.type must be one of"):
        NumaScoringStrategy("Random")
