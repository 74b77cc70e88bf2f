"""A registry of stand-ins: plugins with the names and points of the in-tree ones that do nothing.

The configuration rules are tested against these, so that they do not depend on what the real
plugins do.
"""

from __future__ import annotations

import inspect
from typing import Any

from mooring.framework.plugin import Plugin
from mooring.framework.points import POINT_BY_KEY, Method, Point, points_of
from mooring.plugins import ARGS_OF_PLUGIN, BUILT_INS
from mooring.registry import Registry

#: The points of each built-in plugin that a file can name.
POINTS = {
    plugin.name: " ".join(point.key for point in Point if point.key and point in points_of(plugin))
    for plugin in BUILT_INS
}

#: By key in a file. PlacementFeasible has none and gets one here.
_POINTS = {**POINT_BY_KEY, "placementFeasible": Point.PLACEMENT_FEASIBLE}


def make_plugin(name: str, points: str, args: Any = None) -> type[Plugin]:
    """Return a plugin class that has the methods of `points` and nothing else."""
    body: dict[str, Any] = {"name": name, "Args": args}
    for key in points.split():
        method = _POINTS[key].value.methods[0]
        body[method.name] = _method(method)
    return type(name, (Plugin,), body)


def in_tree_registry(*plugins: type[Plugin]) -> Registry:
    """Return a registry of the stand-ins and `plugins`."""
    return Registry(
        [
            *(
                make_plugin(name, points, ARGS_OF_PLUGIN.get(name))
                for name, points in POINTS.items()
            ),
            *plugins,
        ]
    )


def _method(method: Method) -> Any:
    def run(*args: Any) -> None:
        return None

    names = ("self", *method.parameters)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return run
