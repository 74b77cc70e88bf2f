from __future__ import annotations

import random
from collections import Counter

import pytest

from mooring.api import PersistentVolumeClaim
from mooring.testing import make_node, make_pod
from mooring.testing.bench import checked_objects
from mooring.testing.plugin_constants import Words
from mooring.testing.scenes import Scene, SceneMaker

WORDS = Words(keys=("disk",), values=("ssd",))


def scene(seed: int) -> Scene:
    return SceneMaker(random.Random(seed), WORDS).make()


def test_a_seed_makes_the_same_scene_again() -> None:
    assert scene(3) == scene(3)
    assert scene(3) != scene(4)


@pytest.mark.parametrize("seed", range(30))
def test_a_scene_is_as_a_cluster_may_be(seed: int) -> None:
    made = scene(seed)
    checked_objects(made.objects_with())
    assert len({pod.uid for pod in (*made.placed, *made.asked)}) == len(made.placed) + len(
        made.asked
    )
    ports = Counter(
        (pod.node_name, port.host_port)
        for pod in made.placed
        for container in pod.spec.containers
        for port in container.ports
    )
    assert all(count == 1 for count in ports.values())
    once = Counter(
        volume.name for pod in made.placed for volume in pod.spec.volumes if "once" in volume.name
    )
    assert all(count == 1 for count in once.values())
    claims = {obj.key for obj in made.objects if isinstance(obj, PersistentVolumeClaim)}
    for pod in (*made.placed, *made.pending):
        for volume in pod.spec.volumes:
            claim = volume.persistent_volume_claim
            assert claim is None or f"{pod.namespace}/{claim.claim_name}" in claims


def test_the_plugins_words_become_labels() -> None:
    found = Counter(node.labels.get("disk") for seed in range(20) for node in scene(seed).nodes)
    assert found["ssd"] > 5
    assert found[None] > 5


def test_given_objects_are_part_of_every_scene() -> None:
    maker = SceneMaker(random.Random(0), WORDS)
    node, there, pending = make_node("own"), make_pod("there", node="own"), make_pod("pending")
    made = maker.make([node], [there, pending])
    assert node in made.nodes
    assert there in made.placed
    assert pending in made.asked


def test_objects_can_be_had_with_a_change() -> None:
    made = scene(0)
    gone = made.placed[0]
    assert gone not in made.objects_with(without=gone)
    pod = made.pending[0]
    moved = make_pod(pod.name, namespace=pod.namespace, node=made.nodes[0].name)
    changed = made.objects_with(add=[moved])
    assert moved in changed
    assert pod not in changed
