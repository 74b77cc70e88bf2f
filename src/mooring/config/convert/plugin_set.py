"""Convert a profile's plugins at one extension point.

Up to v1beta2 a file changed the default plugins point by point: the defaults that it did not
disable ran first, then the plugins that it enabled. v1 has one default set, multiPoint, which
expands to all points, and a default plugin that is also named at a point runs *before* the others.
A plain copy would therefore run a re-enabled DefaultBinder before the plugin that should bind
first. If the order would change, the v1 form turns the expansion off (`disabled: "*"`) and lists
the point's plugins.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.default_plugins import DefaultPlugins, today, today_at

ALL = "*"


class PluginEntry(msgspec.Struct, frozen=True):
    """A plugin at a point. `origin` is the path at which the file names it; empty for a default."""

    name: str
    weight: int | None = None
    origin: str = ""


class ConvertedPluginSet(msgspec.Struct):
    """The plugins of one point."""

    point: str
    #: The path at which the file disabled every default plugin of the point; empty if it did not.
    cleared: str = ""
    #: Default plugins of the version that still run, in its order.
    kept: list[PluginEntry] = []
    #: Plugins that the file adds after `kept`.
    added: list[PluginEntry] = []
    #: Default plugins that the file disabled; `origin` is the path of that entry.
    dropped: list[PluginEntry] = []
    #: Other names that the file disabled, which were not defaults at this point.
    idle: list[PluginEntry] = []

    def running(self) -> list[PluginEntry]:
        """Return the plugins that run, in order."""
        return [*self.kept, *self.added]

    def names(self) -> set[str]:
        """Return the names of the plugins that run."""
        return {entry.name for entry in self.running()}

    def replace(self, change: Callable[[PluginEntry], PluginEntry | None]) -> None:
        """Replace each running and dropped entry by `change(entry)`; None removes it."""
        self.kept = [new for entry in self.kept if (new := change(entry)) is not None]
        self.added = [new for entry in self.added if (new := change(entry)) is not None]
        self.dropped = [new for entry in self.dropped if (new := change(entry)) is not None]

    def write(self, conversion: Conversion, path: str, gone: set[str]) -> Doc:
        """Return the v1 set; `gone` are the plugins that multiPoint disables at every point."""
        defaults = [name for name in today_at(self.point, conversion.release) if name not in gone]
        disabled, enabled = self._sets(defaults)
        written: Doc = {}
        if enabled:
            written["enabled"] = [to_plugin(entry) for entry in enabled]
        if disabled:
            written["disabled"] = [{"name": entry.name} for entry in disabled]
        for key, entries in (("enabled", enabled), ("disabled", disabled)):
            for index, entry in enumerate(entries):
                if entry.origin:
                    conversion.origins[f"{path}.{key}[{index}]"] = entry.origin
        return written

    def _sets(self, defaults: list[str]) -> tuple[list[PluginEntry], list[PluginEntry]]:
        """Return (disabled, enabled)."""
        if self.cleared:
            return [PluginEntry(ALL, origin=self.cleared)], self.running()
        running = self.names()
        disabled = [
            PluginEntry(entry.name, origin=entry.origin)
            for entry in (*self.dropped, *self.idle)
            if entry.name not in running and (entry in self.idle or entry.name in defaults)
        ]
        if self.point == "score":
            # Scores are summed, so the order of score plugins does not matter; their weights do.
            kept = [entry for entry in self.kept if entry.origin or entry.name not in defaults]
            return disabled, [*kept, *self.added]
        moved = [entry for entry in self.added if entry.name in defaults]
        if not moved:
            return disabled, self.added
        stopped = {entry.name for entry in (*disabled, *self.added)}
        first = [PluginEntry(name) for name in defaults if name not in stopped]
        return [PluginEntry(ALL, origin=moved[0].origin)], [*first, *self.added]


def read_plugin_set(
    doc: Doc, path: str, point: str, defaults: DefaultPlugins
) -> ConvertedPluginSet:
    """Merge what a file sets at a point with the defaults of its version there."""
    # kube-scheduler: apis/config/v1beta2/default_plugins.go, mergePluginSet
    disabled = {
        entry.get("name", ""): f"{path}.disabled[{index}]"
        for index, entry in enumerate(doc.get("disabled", []))
    }
    added = [
        PluginEntry(entry.get("name", ""), _weight(entry, point), f"{path}.enabled[{index}]")
        for index, entry in enumerate(doc.get("enabled", []))
    ]
    old = defaults[point]
    result = ConvertedPluginSet(point, cleared=disabled.get(ALL, "") if old else "")
    for name, weight in old:
        where = result.cleared or disabled.get(name)
        if where:
            result.dropped.append(PluginEntry(name, weight, where))
            continue
        again = next((entry for entry in added if entry.name == name), None)
        if again is not None:
            added.remove(again)
        result.kept.append(again or PluginEntry(name, weight))
    result.added = added
    known = {name for name, _ in old} | {ALL}
    result.idle = [
        PluginEntry(name, origin=where) for name, where in disabled.items() if name not in known
    ]
    return result


def weights_to_say(score: ConvertedPluginSet) -> list[PluginEntry]:
    """Return the default plugins whose weight in the version differs from today's."""
    if score.cleared:
        return []
    kept = {entry.name: entry for entry in score.kept if not entry.origin}
    return [
        kept[name]
        for name, weight in today().items()
        if name in kept and kept[name].weight != weight
    ]


def to_plugin(entry: PluginEntry) -> Doc:
    """Return an entry as a file writes it."""
    if entry.weight is None:
        return {"name": entry.name}
    return {"name": entry.name, "weight": entry.weight}


def _weight(entry: Doc, point: str) -> int | None:
    weight: int | None = entry.get("weight")
    # A weight that is absent or 0 counts as 1; without it, today's default weight would apply.
    return (weight or 1) if point == "score" else weight
