"""The plugins of one point, converted."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.convert.converted import Conversion
from mooring.config.convert.default_plugins import V1BETA2
from mooring.config.convert.plugin_set import (
    ConvertedPluginSet,
    PluginEntry,
    read_plugin_set,
    to_plugin,
    weights_to_say,
)


def read(point: str, enabled: list[Any] = [], disabled: list[str] = []) -> ConvertedPluginSet:  # noqa: B006
    doc = {
        "enabled": [one if isinstance(one, dict) else {"name": one} for one in enabled],
        "disabled": [{"name": name} for name in disabled],
    }
    return read_plugin_set(doc, point, point, V1BETA2)


def names(entries: list[PluginEntry]) -> list[str]:
    return [entry.name for entry in entries]


def write(given: ConvertedPluginSet, *gone: str) -> dict[str, Any]:
    return given.write(Conversion(), "new", {*gone})


def test_defaults_run_first_then_what_is_enabled() -> None:
    found = read("bind", ["Mine"])
    assert names(found.running()) == ["DefaultBinder", "Mine"]
    assert found.names() == {"DefaultBinder", "Mine"}
    assert write(found) == {"enabled": [{"name": "Mine"}]}


def test_a_default_that_is_enabled_as_well_keeps_its_place() -> None:
    found = read("reserve", ["Mine", "VolumeBinding"])
    assert names(found.running()) == ["VolumeBinding", "Mine"]


def test_a_default_that_is_disabled_and_enabled_runs_last() -> None:
    found = read("bind", ["Mine", "DefaultBinder"], ["DefaultBinder"])
    assert names(found.running()) == ["Mine", "DefaultBinder"]
    assert write(found) == {
        "enabled": [{"name": "Mine"}, {"name": "DefaultBinder"}],
        "disabled": [{"name": "*"}],
    }


def test_a_star_drops_every_default() -> None:
    found = read("filter", ["Mine"], ["*"])
    assert names(found.kept) == []
    assert len(found.dropped) == len(V1BETA2["filter"])
    assert write(found) == {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}


def test_a_star_where_nothing_ran_drops_nothing() -> None:
    assert write(read("permit", [], ["*"])) == {}


def test_a_default_that_is_disabled_stays_so() -> None:
    found = read("filter", [], ["NodeName"])
    assert write(found) == {"disabled": [{"name": "NodeName"}]}
    assert write(found, "NodeName") == {}, "it is disabled everywhere"


def test_a_name_that_was_no_default_is_disabled_too() -> None:
    found = read("filter", [], ["Somebody"])
    assert names(found.idle) == ["Somebody"]
    assert write(found) == {"disabled": [{"name": "Somebody"}]}


def test_the_origin_of_each_entry_is_kept() -> None:
    conversion = Conversion()
    read("filter", ["Mine"], ["NodeName"]).write(conversion, "new", set())
    assert conversion.origins == {
        "new.enabled[0]": "filter.enabled[0]",
        "new.disabled[0]": "filter.disabled[0]",
    }


@pytest.mark.parametrize(("given", "weight"), [({}, 1), ({"weight": 0}, 1), ({"weight": 5}, 5)])
def test_a_weight_that_is_absent_or_zero_is_one(given: dict[str, int], weight: int) -> None:
    (added,) = read("score", [{"name": "Mine", **given}]).added
    assert added.weight == weight


def test_weights_that_differ_from_todays_are_told() -> None:
    told = {entry.name: entry.weight for entry in weights_to_say(read("score"))}
    assert told == {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
    set_here = read("score", [{"name": "TaintToleration", "weight": 7}])
    assert "TaintToleration" not in names(weights_to_say(set_here))
    assert weights_to_say(read("score", [], ["*"])) == []


def test_entries_are_replaced_or_removed_wherever_they_are() -> None:
    found = read("filter", ["Old"], ["NodeName"])

    def change(entry: PluginEntry) -> PluginEntry | None:
        if entry.name == "Old":
            return PluginEntry("New")
        return None if entry.name in ("NodeName", "NodePorts") else entry

    found.replace(change)
    assert names(found.added) == ["New"]
    assert found.dropped == []
    assert "NodePorts" not in found.names()


def test_an_entry_as_a_file_writes_it() -> None:
    assert to_plugin(PluginEntry("A")) == {"name": "A"}
    assert to_plugin(PluginEntry("A", 0)) == {"name": "A", "weight": 0}
