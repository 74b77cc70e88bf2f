"""v1beta3: like v1, but for plugins that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.convert.older import enable, older, only_profile


def convert_filter(*names: str, disable: tuple[str, ...] = ()) -> Any:
    return older("v1beta3", profiles=[{"plugins": {"filter": enable(*names, disable=disable)}}])


def test_a_profile_is_copied() -> None:
    profile = {
        "schedulerName": "mine",
        "plugins": {"multiPoint": {"enabled": [{"name": "Mine", "weight": 2}]}},
        "pluginConfig": [{"name": "Mine", "args": {"a": 1}}],
    }
    assert only_profile(older("v1beta3", profiles=[profile])) == profile


def test_without_profiles_none_are_written() -> None:
    assert "profiles" not in older("v1beta3", parallelism=2).doc_v1


def test_pre_enqueue_is_left_out_with_a_warning() -> None:
    found = older("v1beta3", profiles=[{"plugins": {"preEnqueue": enable("Mine")}}])
    assert only_profile(found) == {}
    assert any("kube-scheduler ignored preEnqueue in v1beta3" in one for one in found.warnings)


@pytest.mark.parametrize(
    ("names", "disable", "enabled"),
    [
        pytest.param(["EBSLimits"], (), None, id="its successor runs by default"),
        pytest.param(["EBSLimits"], ("*",), ["NodeVolumeLimits"], id="all defaults are off"),
        pytest.param(
            ["GCEPDLimits", "NodeVolumeLimits"], ("*",), ["NodeVolumeLimits"], id="named already"
        ),
        pytest.param(["Mine", "CinderLimits"], (), ["Mine"], id="others stay"),
    ],
)
def test_a_plugin_that_is_gone_is_replaced(
    names: list[str], disable: tuple[str, ...], enabled: list[str] | None
) -> None:
    found = convert_filter(*names, disable=disable)
    written = only_profile(found).get("plugins", {}).get("filter", {}).get("enabled")
    assert (written and [one["name"] for one in written]) == enabled
    assert any("its volumes are CSI volumes now" in one for one in found.warnings)


def test_disabling_what_is_gone_has_no_effect() -> None:
    found = convert_filter(disable=("EBSLimits",))
    assert "EBSLimits" not in str(found.doc_v1)
    assert any(one.startswith("profiles[0].plugins.filter.disabled[0]") for one in found.warnings)


def test_a_plugin_that_v1beta2_removed_is_refused() -> None:
    found = older(
        "v1beta3",
        profiles=[
            {
                "plugins": {"filter": enable("NodeLabel")},
                "pluginConfig": [{"name": "NodeLabel", "args": {}}],
            }
        ],
    )
    assert [error.path for error in found.errors] == [
        "profiles[0].plugins.filter.enabled[0]",
        "profiles[0].pluginConfig[0]",
    ]
