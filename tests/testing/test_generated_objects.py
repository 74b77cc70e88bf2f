"""The objects of generated clusters that are neither nodes nor pods."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mooring.api import (
    CSINode,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    StorageClass,
)
from mooring.testing.generated_objects import CLAIMS, NAMESPACES, make_surroundings

NODES = ["n0", "n1", "n2"]


def made(seed: int) -> list[Any]:
    return list(make_surroundings(random.Random(seed), NODES))


def of(kind: type[Any], seed: int) -> list[Any]:
    return [one for one in made(seed) if isinstance(one, kind)]


@pytest.mark.parametrize("seed", range(10))
def test_every_namespace_has_a_claim_of_each_kind(seed: int) -> None:
    assert {one.name for one in of(Namespace, seed)} == {*NAMESPACES}
    claims = {one.key for one in of(PersistentVolumeClaim, seed)}
    assert claims == {f"{space}/{space}-{kind}" for space in NAMESPACES for kind in CLAIMS}


@pytest.mark.parametrize("seed", range(10))
def test_a_bound_claim_and_its_volume_name_each_other(seed: int) -> None:
    volumes = {one.name: one for one in of(PersistentVolume, seed)}
    bound = [one for one in of(PersistentVolumeClaim, seed) if one.spec.volume_name]
    assert len(bound) == 3 * len(NAMESPACES)
    for claim in bound:
        ref = volumes[claim.spec.volume_name].spec.claim_ref
        assert (ref.namespace, ref.name, ref.uid) == (claim.namespace, claim.name, claim.uid)
        assert claim.status.phase == "Bound"


@pytest.mark.parametrize("seed", range(10))
def test_what_waits_for_its_first_consumer_has_volumes_to_choose_from(seed: int) -> None:
    (waiting,) = of(StorageClass, seed)
    assert waiting.volume_binding_mode == "WaitForFirstConsumer"
    free = [one for one in of(PersistentVolume, seed) if one.spec.claim_ref is None]
    assert len(free) == 2
    assert all(one.spec.storage_class_name == waiting.name for one in free)
    late = [one for one in of(PersistentVolumeClaim, seed) if one.name.endswith("-late")]
    assert all(one.spec.storage_class_name == waiting.name for one in late)


def test_seeds_differ_in_limits_and_budgets() -> None:
    assert made(3) == made(3)
    limits = {tuple(one.name for one in of(CSINode, seed)) for seed in range(20)}
    assert len(limits) > 1
    allowed = {
        one.status.disruptions_allowed
        for seed in range(20)
        for one in of(PodDisruptionBudget, seed)
    }
    assert allowed == {0, 1}
