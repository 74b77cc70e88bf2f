"""Affinities: parsed node affinities of volumes and storage capacities."""

from __future__ import annotations

from mooring.plugins.volumes.affinities import Affinities
from mooring.plugins.volumes.reachability import EVERYWHERE, NOWHERE
from tests.plugins.volumes.storage import capacity, in_label, volume


def test_an_affinity_is_parsed_once_and_again_where_it_changed() -> None:
    affinities = Affinities()
    found = volume("v", affinity=in_label("zone", "a"))
    first = affinities.of(found)
    assert affinities.of(found) is first
    assert affinities.of(volume("v", affinity=in_label("zone", "b"))) != first
    assert affinities.of(volume("v")) == EVERYWHERE
    storage = capacity("v", "c", "1", {"zone": "a"})
    assert affinities.of_capacity(storage) == first
    assert affinities.of_capacity(storage) is affinities.of_capacity(storage)
    assert affinities.of_capacity(capacity("v", "c", "1", {})) == EVERYWHERE
    assert affinities.of_capacity(capacity("v", "c", "1", None)) == NOWHERE
