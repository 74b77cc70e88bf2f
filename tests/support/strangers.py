"""The built-in plugins as a third party would ship copies of them: under other names."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.config.load import LoadResult
from mooring.config.resolved_profile import ResolvedProfile
from mooring.framework.plugin import Plugin
from mooring.plugins import BUILT_INS
from mooring.registry import Registry

PREFIX = "Stranger"
STRANGERS: tuple[type[Plugin], ...] = tuple(
    type(f"{PREFIX}{plugin.__name__}", (plugin,), {"name": f"{PREFIX}{plugin.name}"})
    for plugin in BUILT_INS
)


def registry() -> Registry:
    """Return a registry without the built-in plugins."""
    return Registry(STRANGERS)


def by_strangers(loaded: LoadResult) -> LoadResult:
    """Return a configuration in which each built-in plugin is its copy."""
    return replace(loaded, profiles=tuple(map(_profile_by_strangers, loaded.profiles)))


def _profile_by_strangers(profile: ResolvedProfile) -> ResolvedProfile:
    points = {
        point: tuple((f"{PREFIX}{name}", weight) for name, weight in plugins)
        for point, plugins in profile.points.items()
    }
    args = {f"{PREFIX}{name}": value for name, value in profile.args.items()}
    return replace(profile, points=points, args=args)


def as_built_ins(data: Any) -> Any:
    """Return JSON data with the names of the built-in plugins in place of their copies."""
    return msgspec.json.decode(msgspec.json.encode(data).replace(PREFIX.encode(), b""))
