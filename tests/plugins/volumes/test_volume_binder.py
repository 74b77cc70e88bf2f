from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PersistentVolume, PersistentVolumeClaim
from mooring.api.volume_claims import SELECTED_NODE
from mooring.errors import ApiError
from mooring.plugins.volumes.assumed import AssumedObjects
from mooring.plugins.volumes.pod_volume_claims import Binding, PodVolumes, Provision
from mooring.plugins.volumes.volume_binder import VolumeBinder
from tests.plugins.clusters import Cluster, make_node
from tests.plugins.volumes.storage import claim, pod_with, volume

POD = pod_with("c", "d")


class FailingClient:
    """A client that fails after a number of writes."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    async def patch(self, kind: type[Any], name: str, namespace: str, patch: Any) -> Any:
        if not self.left:
            raise ApiError(500, "no")
        self.left -= 1
        return (volume if kind is PersistentVolume else claim)(
            name, metadata={"resourceVersion": "9"}
        )


class Bench:
    """A binder over a volume and two claims, one to be bound, the other provisioned."""

    def __init__(self, writes: int = 0) -> None:
        self.cluster = Cluster(
            [make_node("n")], objects=[volume("v"), claim("c"), claim("d", storage_class="dyn")]
        )
        self.cluster.client = FailingClient(writes)
        self.volumes: Any = AssumedObjects(
            self.cluster.lister(PersistentVolume), "persistentvolumes"
        )
        self.claims: Any = AssumedObjects(
            self.cluster.lister(PersistentVolumeClaim), "persistentvolumeclaims"
        )
        self.binder = VolumeBinder(self.cluster, self.volumes, self.claims)

    def plan(self) -> PodVolumes:
        """Return the plan for the claims."""
        binding = Binding(self.claims.get("c", "default"), self.volumes.get("v"))
        return PodVolumes([binding], [Provision(self.claims.get("d", "default"))])

    def assumed(self) -> tuple[bool, bool]:
        """Return whether the volume is assumed as bound, and the claim as provisioned."""
        bound = self.volumes.get("v").spec.claim_ref is not None
        return bound, SELECTED_NODE in self.claims.get("d", "default").metadata.annotations


def test_assuming_and_reverting() -> None:
    bench = Bench()
    planned = bench.plan()
    assert bench.binder.assume(POD, "n", planned) is False
    assert bench.assumed() == (True, True)
    assert planned.bindings[0].volume is bench.volumes.get("v")
    bench.binder.revert(planned)
    assert bench.assumed() == (False, False)


def test_what_was_assumed_is_reverted_where_the_rest_cannot_be() -> None:
    bench = Bench()
    planned = bench.plan()
    bench.cluster.lister(PersistentVolumeClaim).delete("d", "default")
    answer = bench.binder.assume(POD, "n", planned)
    assert answer == 'persistentvolumeclaims "default/d" not found'
    assert bench.volumes.get("v").spec.claim_ref is None


@pytest.mark.parametrize(
    ("writes", "kept"),
    [
        pytest.param(0, (False, False), id="nothing was written"),
        pytest.param(1, (True, False), id="the volume was written"),
    ],
)
async def test_only_what_was_not_written_is_given_up(writes: int, kept: tuple[bool, bool]) -> None:
    bench = Bench(writes)
    planned = bench.plan()
    bench.binder.assume(POD, "n", planned)
    with pytest.raises(ApiError):
        await bench.binder.write(planned)
    assert bench.assumed() == kept


async def test_what_the_server_answered_is_kept_for_comparison() -> None:
    bench = Bench(2)
    planned = bench.plan()
    bench.binder.assume(POD, "n", planned)
    await bench.binder.write(planned)
    assert planned.bindings[0].volume.metadata.resource_version == "9"
    assert planned.provisions[0].claim.metadata.resource_version == "9"
