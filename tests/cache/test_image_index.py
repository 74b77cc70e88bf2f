"""Images on nodes."""

from __future__ import annotations

import pytest

from mooring.api import Node, decode
from mooring.cache import Cache
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos


def node(name: str, *images: tuple[str, int]) -> Node:
    listed = [{"names": [image], "sizeBytes": size} for image, size in images]
    meta = {"name": name}
    return decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"images": listed}}
    )


@pytest.fixture
def cache() -> Cache:
    cache = Cache(PodInfos(FeatureGates()))
    cache.add_node(node("n0", ("app:v1", 7)))
    cache.add_node(node("n1", ("app:v1", 9), ("db:v1", 5)))
    return cache


def test_an_image_is_on_the_nodes_that_report_it(cache: Cache) -> None:
    assert cache.nodes.has_image("app:v1").tolist() == [True, True]
    assert cache.nodes.has_image("db:v1").tolist() == [False, True]
    assert cache.nodes.has_image("web:v1").tolist() == [False, False]


def test_a_node_that_comes_changes_the_answer(cache: Cache) -> None:
    assert cache.nodes.has_image("db:v1").tolist() == [False, True]
    cache.add_node(node("n2", ("db:v1", 5)))
    assert cache.nodes.has_image("db:v1").tolist() == [False, True, True]
    state = cache.nodes.image("db:v1")
    assert state is not None and (state.size, state.num_nodes) == (5, 2)


def test_a_node_that_goes_changes_the_answer(cache: Cache) -> None:
    assert cache.nodes.has_image("app:v1").tolist() == [True, True]
    cache.remove_node("n0")
    assert cache.nodes.has_image("app:v1").tolist() == [True]
    state = cache.nodes.image("app:v1")
    assert state is not None and (state.size, state.num_nodes) == (7, 1)


def test_a_node_that_reports_other_images_changes_the_answer(cache: Cache) -> None:
    assert cache.nodes.has_image("db:v1").tolist() == [False, True]
    cache.update_node(node("n0", ("db:v1", 5)))
    assert cache.nodes.has_image("db:v1").tolist() == [True, True]
    assert cache.nodes.has_image("app:v1").tolist() == [False, True]


def test_an_image_that_no_node_has_any_more_is_forgotten(cache: Cache) -> None:
    cache.remove_node("n1")
    assert cache.nodes.image("db:v1") is None
    # When the image is reported again, it may have another size.
    cache.add_node(node("n1", ("db:v1", 6)))
    state = cache.nodes.image("db:v1")
    assert state is not None and state.size == 6


def test_a_node_may_report_an_image_twice(cache: Cache) -> None:
    cache.add_node(node("n2", ("twice:v1", 3), ("twice:v1", 3), ("once:v1", 2)))
    state = cache.nodes.image("twice:v1")
    assert state is not None and state.num_nodes == 1
    cache.remove_node("n2")
    assert cache.nodes.image("twice:v1") is None
    assert cache.nodes.image("once:v1") is None


@pytest.mark.parametrize("image", ["app:v1", "web:v1"])
def test_the_answer_is_read_only(cache: Cache, image: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        cache.nodes.has_image(image)[0] = True
