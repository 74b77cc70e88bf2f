from __future__ import annotations

from typing import Any

import pytest

from mooring.plugins.volumes.matching import Affinities, find_candidates
from mooring.plugins.volumes.reachability import EVERYWHERE, NOWHERE
from tests.plugins.volumes.storage import capacity, claim, in_label, volume

MINE = {"claimRef": {"namespace": "default", "name": "c"}}
THEIRS = {"claimRef": {"namespace": "default", "name": "d"}}
BLOCK = {"volumeMode": "Block"}
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
SELECTOR = {"matchLabels": {"disk": "ssd"}}


def _names(found: Any) -> list[str]:
    return [one.metadata.name for one in found]


def test_smaller_volumes_come_first_then_names() -> None:
    volumes = [volume("y"), volume("big", "4Gi"), volume("x"), volume("small", "1Mi")]
    assert _names(find_candidates(claim("c"), volumes).free) == ["x", "y", "big"]


@pytest.mark.parametrize(
    ("found", "spec"),
    [
        pytest.param(volume("v", "1Mi"), {}, id="too small"),
        pytest.param(volume("v", **THEIRS), {}, id="bound to another claim"),
        pytest.param(volume("v", **BLOCK), {}, id="of another mode"),
        pytest.param(volume("v"), BLOCK, id="not of the mode asked for"),
        pytest.param(volume("v", volumeAttributesClassName="x"), {}, id="of other attributes"),
        pytest.param(volume("v", metadata=GOING), {}, id="being deleted"),
        pytest.param(volume("v", phase="Released"), {}, id="not available"),
        pytest.param(volume("v", storage_class="x"), {}, id="of another class"),
        pytest.param(volume("v"), {"selector": SELECTOR}, id="not selected"),
        pytest.param(volume("v", modes=["ReadOnlyMany"]), {}, id="with other access modes"),
    ],
)
def test_what_does_not_suit_a_claim(found: Any, spec: dict[str, Any]) -> None:
    candidates = find_candidates(claim("c", **spec), [found])
    assert not candidates.free
    assert not candidates.bound


def test_what_suits_a_claim() -> None:
    demanding = claim(
        "c", selector=SELECTOR, volumeAttributesClassName="x", volumeMode="Filesystem"
    )
    found = volume(
        "v",
        labels={"disk": "ssd"},
        volumeAttributesClassName="x",
        modes=["ReadOnlyMany", "ReadWriteOnce"],
    )
    assert _names(find_candidates(demanding, [found]).free) == ["v"]


def test_a_volume_bound_to_the_claim_need_not_be_available() -> None:
    bound = volume("v", phase="Bound", modes=["ReadOnlyMany"], **MINE)
    candidates = find_candidates(claim("c"), [volume("w"), bound])
    assert _names(candidates.bound) == ["v"]
    small = volume("v", "1Mi", phase="Bound", **MINE)
    assert not find_candidates(claim("c"), [small]).bound


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
