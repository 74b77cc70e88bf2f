"""The default plugins of older versions, and of today."""

from __future__ import annotations

import pytest

from mooring.config.convert.default_plugins import (
    CLUSTER_AUTOSCALER,
    IN_TREE_POINTS,
    POINTS,
    V1ALPHA,
    V1BETA1,
    V1BETA2,
    DefaultPlugins,
    today,
    today_at,
)
from mooring.framework.points import GROUP_POINTS


@pytest.mark.parametrize(
    "version", [V1BETA2, V1BETA1, V1ALPHA, CLUSTER_AUTOSCALER], ids=["beta2", "beta1", "a", "ca"]
)
def test_a_version_has_plugins_for_its_points_and_weights_only_for_scores(
    version: DefaultPlugins,
) -> None:
    assert {*version} == {*POINTS} - {"preEnqueue"}
    for point, plugins in version.items():
        assert all((weight is not None) == (point == "score") for _, weight in plugins)
        names = [name for name, _ in plugins]
        assert len(names) == len(set(names))


def test_the_autoscalers_provider_prefers_full_nodes() -> None:
    assert {name for name, _ in V1ALPHA["score"]} ^ {
        name for name, _ in CLUSTER_AUTOSCALER["score"]
    } == {"NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"}
    assert dict(CLUSTER_AUTOSCALER["score"])["NodeResourcesMostAllocated"] == 1


def test_the_plugins_of_a_point_come_in_todays_order() -> None:
    assert today_at("queueSort") == ["PrioritySort"]
    assert today_at("postFilter") == ["DynamicResources", "DefaultPreemption"]
    assert today_at("permit") == []
    order = [*today()]
    filters = today_at("filter")
    assert filters == sorted(filters, key=order.index)


def test_built_ins_have_the_points_of_every_release() -> None:
    assert {*today()} < {*IN_TREE_POINTS}
    # 1.37 gave NodeName a PreFilter; a converted file does not name it, so that 1.36 reads it.
    assert IN_TREE_POINTS["NodeName"] == {"filter"}
    assert IN_TREE_POINTS["NodeAffinity"] == {"preFilter", "filter", "preScore", "score"}
    of_groups = {point.key for point in GROUP_POINTS}
    assert all(points <= {*POINTS} | of_groups for points in IN_TREE_POINTS.values())
