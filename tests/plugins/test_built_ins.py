from __future__ import annotations

import pytest

from mooring.config.defaults import default_plugins
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.plugins import BUILT_INS
from mooring.registry import check_contract


@pytest.mark.parametrize("plugin", BUILT_INS, ids=lambda plugin: plugin.name)
def test_every_built_in_keeps_the_contract(plugin: type[Plugin]) -> None:
    check_contract(plugin)


@pytest.mark.parametrize("plugin", BUILT_INS, ids=lambda plugin: plugin.name)
def test_filter_and_score_come_in_both_forms(plugin: type[Plugin]) -> None:
    for point in ("filter", "score"):
        assert hasattr(plugin, point) == hasattr(plugin, f"{point}_nodes")


def test_names_are_unique() -> None:
    names = [plugin.name for plugin in BUILT_INS]
    assert len(names) == len(set(names))


def test_built_ins_are_in_default_order() -> None:
    gates = FeatureGates({"AllAlpha": True, "AllBeta": True})
    assert [plugin.name for plugin in BUILT_INS] == [name for name, _ in default_plugins(gates)]
