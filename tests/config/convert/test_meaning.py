"""An older profile runs the same plugins after conversion, at every point, defaults included."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.config import load_config_data
from mooring.config.convert import convert
from mooring.config.convert.default_plugins import (
    IN_TREE_POINTS,
    V1ALPHA,
    V1BETA1,
    V1BETA2,
    today,
)
from mooring.config.resolved_profile import ResolvedProfile
from mooring.framework.points import POINT_BY_KEY
from tests.config import in_tree

STRANGERS = ("Mine", "Yours")
VERSIONS = {"v1beta2": V1BETA2, "v1beta1": V1BETA1, "v1alpha2": V1ALPHA}
#: Left out of the comparison: removed plugins, of which nothing runs today.
VANISHED = {"EBSLimits", "GCEPDLimits", "AzureDiskLimits", "NodePreferAvoidPods"}
RENAMED = {
    "NodeResourcesLeastAllocated": "NodeResourcesFit",
    "DefaultPodTopologySpread": "PodTopologySpread",
}
REGISTRY = in_tree.in_tree_registry(
    *(in_tree.make_plugin(name, " ".join(POINT_BY_KEY)) for name in STRANGERS)
)


def resolve(doc: dict[str, Any]) -> ResolvedProfile:
    converted = convert(doc)
    assert converted.errors == []
    (profile,) = load_config_data(converted.doc_v1, registry=REGISTRY).profiles
    return profile


def old_plan(
    defaults: tuple[tuple[str, int | None], ...], plugin_set: dict[str, Any]
) -> tuple[dict[str, int | None], dict[str, int | None], set[str]]:
    """Return what an older release ran: the defaults, the added plugins, and the dropped ones."""
    # kube-scheduler 1.25: apis/config/v1beta2/default_plugins.go, mergePluginSet
    disabled = {one["name"] for one in plugin_set.get("disabled", [])}
    custom = {one["name"]: one.get("weight", 1) for one in plugin_set.get("enabled", [])}
    kept = {
        name: custom.get(name, weight)
        for name, weight in defaults
        if name not in disabled and "*" not in disabled
    }
    added = {name: weight for name, weight in custom.items() if name not in kept}
    return kept, added, {name for name, _ in defaults} - kept.keys() - added.keys()


@st.composite
def plugin_sets(draw: st.DrawFn, point: str, names: list[str]) -> dict[str, Any]:
    disabled = draw(st.lists(st.sampled_from([*names, "*"]), unique=True, max_size=4))
    choices = [name for name in names if point in IN_TREE_POINTS.get(name, ())]
    enabled = draw(st.lists(st.sampled_from([*choices, *STRANGERS]), unique=True, max_size=3))
    weight = st.integers(1, 9)
    return {
        "disabled": [{"name": name} for name in disabled],
        "enabled": [
            {"name": name, "weight": draw(weight)} if point == "score" else {"name": name}
            for name in enabled
        ],
    }


@st.composite
def profiles(draw: st.DrawFn, version: str) -> dict[str, Any]:
    plugins: dict[str, Any] = {}
    for point, old in VERSIONS[version].items():
        if point == "queueSort" or (point == "postFilter" and version == "v1alpha2"):
            continue
        # v1alpha2 has two names for default spreading, which has separate tests.
        names = [name for name, _ in old if version != "v1alpha2" or "Spread" not in name]
        if draw(st.booleans()) and (names or point in ("permit", "postBind")):
            plugins[point] = draw(plugin_sets(point, names))
    # Two ways of scoring by resources are refused, which a separate test covers.
    score = plugins.get("score")
    if score is not None and version != "v1beta2":
        score["enabled"] = [one for one in score["enabled"] if one["name"] != "NodeResourcesFit"]
    bind = plugins.get("bind")
    if bind is not None and not bind["enabled"]:
        bind["enabled"] = [{"name": "DefaultBinder"}]
    return plugins


def rename(name: str) -> str:
    return RENAMED.get(name, name)


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
def test_a_profile_runs_what_it_ran(version: str, data: st.DataObject) -> None:
    plugins = data.draw(profiles(version))
    doc = {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }
    profile = resolve(doc)
    ran: set[str] = set()
    dropped_somewhere: set[str] = set()
    for point, defaults in VERSIONS[version].items():
        kept, added, dropped = old_plan(defaults, plugins.get(point, {}))
        old = [rename(name) for name in (*kept, *added) if name not in VANISHED]
        lost = {rename(name) for name in dropped - VANISHED} - set(old)
        now = profile.names(POINT_BY_KEY[point])
        assert set(old) <= set(now), point
        assert not lost & set(now), point
        cleared = {"name": "*"} in plugins.get(point, {}).get("disabled", []) and defaults
        new = set(now) - set(old)
        if cleared:
            assert not new, point
        # Anything new at the point came with a release, not with the conversion.
        assert all(point in in_tree.POINTS[name] and name in today() for name in new), point
        ran |= set(old)
        dropped_somewhere |= lost
        if point == "score":
            weights = dict(profile.points[POINT_BY_KEY["score"]])
            for name, weight in {**kept, **added}.items():
                if name not in VANISHED and "Spread" not in name:
                    assert weights[rename(name)] == weight
        else:
            first = {rename(name) for name in kept if name not in VANISHED}
            known = [name for name in now if name not in new]
            assert set(known[: len(first)]) == first, point
            assert known[len(first) :] == [rename(name) for name in added], point
    for name in dropped_somewhere - ran:
        left = {point for point in POINT_BY_KEY if name in profile.names(POINT_BY_KEY[point])}
        # Neither has an effect if the plugin does not take part in Score or Filter.
        assert left <= {"preScore", "preFilter"}, name


WEIGHTS = {
    "v1beta3": {"TaintToleration": 3, "NodeAffinity": 2, "InterPodAffinity": 2},
    "v1beta2": {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1},
    "v1beta1": {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1},
    "v1alpha2": {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1},
    "v1alpha1": {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1},
}
SPREADING = {"v1beta3": 2, "v1beta2": 2, "v1beta1": 2, "v1alpha2": 1, "v1alpha1": 1}


@pytest.mark.parametrize("version", WEIGHTS)
def test_a_file_that_says_nothing_has_the_default_weights_of_its_version(version: str) -> None:
    profile = resolve(
        {
            "apiVersion": f"kubescheduler.config.k8s.io/{version}",
            "kind": "KubeSchedulerConfiguration",
        }
    )
    weights = dict(profile.points[POINT_BY_KEY["score"]])
    assert weights == {
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        "PodTopologySpread": SPREADING[version],
        # Added by later releases.
        "VolumeBinding": 1,
        "DynamicResources": 2,
        **WEIGHTS[version],
    }
