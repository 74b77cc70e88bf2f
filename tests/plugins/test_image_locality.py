from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.plugins.image_locality import ImageLocality
from tests.plugins.cluster import Cluster, make_node, make_pod

MIB = 1024 * 1024


def running(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()):
    return make_pod(
        spec={
            "containers": [{"name": f"c{i}", "image": image} for i, image in enumerate(images)],
            "initContainers": [{"name": f"i{i}", "image": image} for i, image in enumerate(init)],
            "volumes": [
                {"name": f"v{i}", "image": {"reference": image}} for i, image in enumerate(volumes)
            ],
        }
    )


# kube-scheduler: plugins/imagelocality/image_locality_test.go
CLUSTER = Cluster(
    [
        make_node("n1", images={"gcr.io/40:latest": 40 * MIB, "gcr.io/300:latest": 300 * MIB}),
        make_node("n2", images={"gcr.io/250:latest": 250 * MIB}),
        make_node("n3", images={"gcr.io/2000:v1": 2000 * MIB, "gcr.io/300:latest": 300 * MIB}),
        make_node("n4", images={"gcr.io/untagged": 900 * MIB}),
    ]
)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        # 250 MiB on 1 of 4 nodes: 62.5; (62.5 - 23) / (2000 - 23)
        pytest.param(running("gcr.io/40", "gcr.io/250"), [0, 1, 0, 0], id="a small image counts 0"),
        # 300 MiB on 2 of 4 nodes: 150; (150 - 23) / (1000 - 23)
        pytest.param(running("gcr.io/300"), [12, 0, 12, 0], id="a spread image counts more"),
        pytest.param(running("gcr.io/300:latest"), [12, 0, 12, 0], id="latest is the default tag"),
        pytest.param(running("gcr.io/2000:v1"), [0, 0, 48, 0], id="a big image"),
        pytest.param(running("gcr.io/2000"), [0, 0, 0, 0], id="another tag"),
        pytest.param(
            running("gcr.io/300", init=("gcr.io/2000:v1",)),
            [6, 0, 31, 0],
            id="init containers count",
        ),
        pytest.param(
            running("gcr.io/300", volumes=("gcr.io/2000:v1",)),
            [6, 0, 31, 0],
            id="image volumes count",
        ),
        pytest.param(
            running("gcr.io/2000:v1", "gcr.io/2000:v1"),
            [0, 0, 49, 0],
            id="an image used twice counts twice",
        ),
        pytest.param(running("gcr.io/unknown"), [0, 0, 0, 0], id="an image that no node has"),
        pytest.param(
            running("gcr.io/untagged"), [0, 0, 0, 0], id="nodes' image names are not normalised"
        ),
        pytest.param(running(), [0, 0, 0, 0], id="a pod without containers"),
    ],
)
def test_score(pod, expected: list[int]) -> None:
    found = CLUSTER.score(CLUSTER.make(ImageLocality), pod)
    assert list(found.values()) == expected


def test_image_volumes_added_size_but_no_container_in_1_36() -> None:
    pod = running("gcr.io/300", volumes=("gcr.io/2000:v1",))
    node = make_node("n", images={"gcr.io/300:latest": 300 * MIB})
    found: list[int] = []
    for release in ("1.36", "1.37"):
        cluster = Cluster([node], release=release)
        found += cluster.score(cluster.make(ImageLocality), pod).values()
    # (300 - 23) / (1000 - 23) and (300 - 23) / (2000 - 23)
    assert found == [28, 14]


IMAGES = st.sampled_from(["a:1", "b:1", "c:1", "d:1"])


@given(
    st.lists(st.dictionaries(IMAGES, st.integers(0, 2**42), max_size=4), min_size=1, max_size=6),
    st.lists(IMAGES, max_size=4),
    st.lists(IMAGES, max_size=2),
)
def test_all_nodes_at_once_score_as_one_by_one(nodes: list, images: list, volumes: list) -> None:
    cluster = Cluster([make_node(f"n{i}", images=held) for i, held in enumerate(nodes)])
    scores = cluster.score(cluster.make(ImageLocality), running(*images, volumes=tuple(volumes)))
    assert all(0 <= score <= 100 for score in scores.values())


def test_signature() -> None:
    sign = ImageLocality().sign_pod
    assert sign(running("a", "b")) == sign(running("b:latest", "a"))
    assert sign(running("a")) != sign(running("a", "a"))
    assert sign(running("a")) != sign(running("b"))
