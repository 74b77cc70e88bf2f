"""A resolved profile: the plugins of a scheduler name."""

from __future__ import annotations

import mooring.config
from mooring.config.resolved_profile import ResolvedProfile
from mooring.framework.points import CONFIGURABLE_POINTS, Point


def test_plugins_are_named_by_point_and_as_a_whole() -> None:
    points = {point: () for point in CONFIGURABLE_POINTS}
    points[Point.FILTER] = (("b", 0), ("a", 0))
    points[Point.SCORE] = (("c", 2), ("a", 1))
    profile = ResolvedProfile("mine", None, points, {})
    assert profile.names(Point.FILTER) == ("b", "a")
    assert profile.plugins == ("a", "b", "c")


def test_every_public_name_of_the_configuration_is_found() -> None:
    assert mooring.config.ResolvedProfile is ResolvedProfile
    assert all(hasattr(mooring.config, name) for name in mooring.config.__all__)
    assert not hasattr(mooring.config, "absent")
