"""Which plugins and points an extender serves, and why it refuses others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring import Plugin
from mooring.config import LoadResult
from mooring.errors import ConfigError
from mooring.extender.extender_profiles import (
    REASONS,
    SERVED,
    load_served,
    served_verbs,
    total_weight,
)
from mooring.framework.features import FeatureGates
from mooring.framework.points import PLANNED_POINTS, Point
from mooring.registry import default_registry


class Everywhere(Plugin):
    """A plugin of every point that an extender can serve."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None: ...
    def filter(self, state: Any, pod: Any, node: Any) -> None: ...
    def pre_score(self, state: Any, pod: Any, nodes: Any) -> None: ...
    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 0

    def bind(self, state: Any, pod: Any, node_name: str) -> None: ...


class Gang(Plugin):
    """A plugin of points that an extender cannot serve, and of one that it can."""

    def less(self, a: Any, b: Any) -> bool:
        return False

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...
    def permit(self, state: Any, pod: Any, node_name: str) -> None: ...


def load(*plugins: type[Plugin], file: Path | None = None) -> LoadResult:
    return load_served(file, plugins, default_registry(plugins), FeatureGates())


def write(folder: Path, *profiles: dict[str, Any]) -> Path:
    file = folder / "config.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
    }
    file.write_text(yaml.safe_dump(document))
    return file


def enable(point: str, *plugins: str | tuple[str, int]) -> dict[str, Any]:
    named = [one if isinstance(one, tuple) else (one, 0) for one in plugins]
    enabled = [{"name": name, **({"weight": n} if n else {})} for name, n in named]
    return {"plugins": {point: {"enabled": enabled}}}


def test_every_point_is_served_or_has_a_reason() -> None:
    assert {*SERVED, *REASONS} == set(PLANNED_POINTS)


def test_built_in_plugins_are_kube_schedulers_own() -> None:
    (profile,) = load(Everywhere).profiles
    found = {point: profile.names(point) for point in PLANNED_POINTS if profile.names(point)}
    own = ("Everywhere",)
    assert found == {
        Point.PRE_FILTER: own,
        Point.FILTER: own,
        Point.PRE_SCORE: own,
        Point.SCORE: own,
        Point.BIND: ("Everywhere", "DefaultBinder"),
    }


def test_without_a_file_every_point_of_a_plugin_must_be_served() -> None:
    with pytest.raises(ConfigError) as found:
        load(Gang)
    first, second, advice = str(found.value).splitlines()
    assert first == (
        "plugin Gang runs at QueueSort, which an extender cannot serve: "
        "kube-scheduler orders its queue without extenders"
    )
    assert second.startswith("plugin Gang runs at Permit, which an extender cannot serve: ")
    assert advice.startswith("advice: run it in a scheduler (mooring run), or give a --config")


def test_a_file_chooses_the_points(tmp_path: Path) -> None:
    (profile,) = load(Gang, file=write(tmp_path, enable("filter", "Gang"))).profiles
    assert profile.names(Point.FILTER) == ("Gang",)
    with pytest.raises(ConfigError, match=r"config\.yaml: plugin Gang runs at Permit"):
        load(Gang, file=write(tmp_path, enable("permit", "Gang")))


class Grouping(Plugin):
    """A plugin of a point that an extender can serve, and of one that no file can name."""

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...
    def placement_feasible(self, state: Any, group: Any, progress: Any) -> None: ...


def test_a_file_may_enable_a_plugin_that_also_has_a_point_which_no_file_can_name(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="plugin Grouping runs at PlacementFeasible, which an"):
        load(Grouping)
    (profile,) = load(Grouping, file=write(tmp_path, enable("filter", "Grouping"))).profiles
    assert profile.names(Point.FILTER) == ("Grouping",)
    assert profile.names(Point.PLACEMENT_FEASIBLE) == ()


def test_plugins_of_contrib_are_named_in_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, enable("score", ("NodeResourcesAllocatable", 4)))
    loaded = load(file=file)
    assert loaded.profiles[0].points[Point.SCORE] == (("NodeResourcesAllocatable", 4),)
    assert served_verbs(loaded.profiles) == ["prioritize"]


@pytest.mark.parametrize("with_file", [False, True])
def test_nothing_to_serve_is_an_error(tmp_path: Path, with_file: bool) -> None:
    file = write(tmp_path, {}) if with_file else None
    with pytest.raises(ConfigError, match="no plugin to serve: kube-scheduler runs the built-in"):
        load(file=file)


def test_the_verbs_follow_the_points(tmp_path: Path) -> None:
    assert served_verbs(load(Everywhere).profiles) == ["filter", "prioritize", "preempt", "bind"]
    both = write(
        tmp_path,
        {"schedulerName": "a", **enable("score", ("Everywhere", 3))},
        {"schedulerName": "b", **enable("bind", "Everywhere")},
    )
    profiles = load(Everywhere, file=both).profiles
    assert served_verbs(profiles) == ["prioritize", "bind"]
    assert total_weight(profiles) == 3


def test_a_plugin_that_no_profile_uses_is_warned_about(tmp_path: Path) -> None:
    file = write(tmp_path, enable("filter", "Everywhere"))
    (warning,) = load(Gang, Everywhere, file=file).warnings
    assert "no profile uses plugin Gang" in warning
