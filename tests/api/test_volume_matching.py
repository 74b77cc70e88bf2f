"""Which persistent volumes match a claim."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.volume_matching import find_candidates
from tests.plugins.volumes.storage import claim, volume

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
