"""Convert a profile of v1beta2 or older: default plugins, removed plugins, args."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mooring.api.field_errors import invalid
from mooring.config.convert import removed
from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.default_plugins import (
    CAPACITY_RATIO,
    FIT,
    IN_TREE_POINTS,
    SELECTOR_SPREADS,
    SPREAD,
    DefaultPlugins,
    today,
)
from mooring.config.convert.family import convert_family_args, lost_point
from mooring.config.convert.plugin_config import (
    STRATEGIES,
    ConvertedPluginConfig,
    require_labels,
    set_strategy,
    stop_default_spreading,
)
from mooring.config.convert.plugin_set import (
    ALL,
    ConvertedPluginSet,
    PluginEntry,
    read_plugin_set,
    to_plugin,
    weights_to_say,
)
from mooring.config.positions import field_path


class ConvertedProfile:
    """One profile while it is converted. Owned by its conversion.

    `api_version` is the original file's; `path` is the profile's original path, empty in v1alpha1.
    `keys` maps the points that had another key in `plugins` to that key.
    """

    def __init__(
        self,
        conversion: Conversion,
        doc: Doc,
        path: str,
        defaults: DefaultPlugins,
        api_version: str,
        keys: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.conversion = conversion
        self.path = path
        self.api_version = api_version
        self.scheduler_name: str | None = doc.get("schedulerName")
        plugins = doc.get("plugins", {})
        where = field_path(path, "plugins")
        self.sets: dict[str, ConvertedPluginSet] = {}
        for point in defaults:
            key = keys.get(point, point)
            old = plugins.get(key, {})
            self.sets[point] = read_plugin_set(old, f"{where}.{key}", point, defaults)
        self.config = ConvertedPluginConfig(
            doc.get("pluginConfig", []), field_path(path, "pluginConfig")
        )
        #: Plugins that multiPoint disables at every point -> where the file disabled them.
        self.gone: dict[str, str] = {}
        #: What multiPoint enables instead of the default plugins; None to keep the defaults.
        self.instead: list[PluginEntry] | None = None

    def stands_at(self, conversion: Conversion, path: str) -> None:
        """Move the profile to another conversion, in whose document it all comes from one path."""
        self.conversion = conversion
        self.path = path
        for plugin_set in self.sets.values():
            plugin_set.added = [PluginEntry(one.name, one.weight, path) for one in plugin_set.added]
        for entry in self.config.entries:
            entry.origin = path
            entry.moved = dict.fromkeys(entry.moved, path)

    def replace_removed(self) -> None:
        """Replace every plugin that no longer exists, or refuse it."""
        self._refuse()
        self._replace_strategies()
        self._replace_avoid_pods()
        self._replace_volume_limits()
        self._replace_selector_spread()
        self._replace_node_label()
        self._refuse_misplaced()
        self._drop_idle()
        self._drop_unused_args()
        self._replace_lost()

    def write(self, path: str) -> Doc:
        """Return the v1 profile, to be placed at `path`, and record origins."""
        conversion = self.conversion
        conversion.origins[path] = self.path
        written: Doc = {}
        if self.scheduler_name is not None:
            written["schedulerName"] = self.scheduler_name
        self._find_gone()
        gone = set(self.gone)
        if self.instead is not None:
            gone |= today(conversion.release).keys() - {entry.name for entry in self.instead}
        plugins: Doc = {}
        multi_point = self._multi_point(f"{path}.plugins.multiPoint")
        if multi_point:
            plugins["multiPoint"] = multi_point
        for point, plugin_set in self.sets.items():
            doc = plugin_set.write(conversion, f"{path}.plugins.{point}", gone)
            if doc:
                plugins[point] = doc
        if plugins:
            written["plugins"] = plugins
        config = self.config.write(conversion, f"{path}.pluginConfig")
        if config:
            written["pluginConfig"] = config
        return written

    def _multi_point(self, path: str) -> Doc:
        written: Doc = {}
        if self.instead is not None:
            kept = [entry for entry in self.instead if entry.name not in self.gone]
            return {
                "enabled": [to_plugin(entry) for entry in kept],
                "disabled": [{"name": ALL}],
            }
        weights = weights_to_say(self.sets["score"])
        if weights:
            written["enabled"] = [to_plugin(entry) for entry in weights]
        if self.gone:
            written["disabled"] = [{"name": name} for name in self.gone]
        for index, origin in enumerate(self.gone.values()):
            self.conversion.origins[f"{path}.disabled[{index}]"] = origin
        return written

    def _find_gone(self) -> None:
        """Find the default plugins that the file disabled at every point at which they ran.

        Today they take part at more points, where they would still run.
        """
        for name, points in IN_TREE_POINTS.items():
            dropped: dict[str, str] = {}
            runs = False
            for point, plugin_set in self.sets.items():
                runs = runs or name in plugin_set.names()
                for entry in plugin_set.dropped:
                    if entry.name == name:
                        dropped[point] = entry.origin
            # PreScore without Score has no effect.
            left = points - dropped.keys() - {"preScore"}
            left -= {point for point in left if point in self.sets and self.sets[point].cleared}
            if dropped and left and not runs and name not in self.gone:
                self.gone[name] = next(iter(dropped.values()))

    def _replace_strategies(self) -> None:
        score = self.sets["score"]
        running = [entry for entry in score.running() if entry.name in STRATEGIES]
        for second in running[1:]:
            text = removed.TWO_STRATEGIES.format(first=running[0].name, second=second.name)
            self.conversion.refuse(second.origin or running[0].origin or self.path, text)
        fit = next((entry for entry in score.running() if entry.name == FIT), None)
        if fit is not None and running:
            text = removed.CONFLICT.format(name=running[0].name, version=self.api_version)
            self.conversion.refuse(fit.origin or running[0].origin, invalid("", FIT, text).message)
        score.replace(
            lambda entry: (
                PluginEntry(FIT, entry.weight, entry.origin) if entry.name in STRATEGIES else entry
            )
        )
        if running:
            strategy = running[0]
            args = self.config.take(strategy.name)
            if strategy.name == CAPACITY_RATIO and args is None:
                self.conversion.refuse(
                    strategy.origin, "RequestedToCapacityRatio needs args with a shape"
                )
            where = strategy.origin or self.path
            set_strategy(self.config, strategy.name, args, where)

    def _replace_avoid_pods(self) -> None:
        score = self.sets["score"]
        for entry in score.running():
            if entry.name == removed.AVOID_PODS and entry.origin:
                self.conversion.warn(entry.origin, removed.AVOID_PODS_GONE)
        score.replace(lambda entry: None if entry.name == removed.AVOID_PODS else entry)

    def _replace_volume_limits(self) -> None:
        limits = "NodeVolumeLimits"
        filters = self.sets["filter"]
        for entry in filters.added:
            if entry.name in removed.VOLUME_LIMITS and entry.origin:
                text = removed.VOLUME_LIMITS_GONE.format(name=entry.name)
                self.conversion.warn(entry.origin, text)
        seen = filters.names()

        def change(entry: PluginEntry) -> PluginEntry | None:
            if entry.name not in removed.VOLUME_LIMITS:
                return entry
            if entry not in filters.added or limits in seen:
                return None
            seen.add(limits)
            return PluginEntry(limits, None, entry.origin)

        for entry in filters.dropped:
            if entry.name in removed.VOLUME_LIMITS and not filters.cleared and limits in seen:
                text = removed.VOLUME_LIMITS_GONE.format(name=entry.name)
                self.conversion.warn(entry.origin, text)
        filters.replace(change)

    def _replace_selector_spread(self) -> None:
        score = self.sets["score"]
        was_default = any(entry.name in SELECTOR_SPREADS for entry in (*score.kept, *score.dropped))
        ran = next((entry for entry in score.running() if entry.name in SELECTOR_SPREADS), None)
        stopped = next(
            (one for one in (*score.dropped, *score.idle) if one.name in SELECTOR_SPREADS), None
        )
        for point in ("preScore", "score"):
            self._replace_at(point)
        if ran is not None and ran.origin:
            text = removed.SELECTOR_SPREAD_GONE.format(name=ran.name)
            self.conversion.warn(ran.origin, text)
        # Before the gate DefaultPodTopologySpread (1.20), v1beta1 used SelectorSpread to spread.
        meant = was_default or self.api_version.endswith("v1beta1")
        if ran is None and stopped is not None and meant:
            if SPREAD in score.names():
                stop_default_spreading(self.config, stopped.origin)
            for plugin_set in (self.sets["preScore"], score):
                plugin_set.idle = [
                    entry for entry in plugin_set.idle if entry.name not in SELECTOR_SPREADS
                ]

    def _replace_at(self, point: str) -> None:
        """Run PodTopologySpread in place of SelectorSpread; the larger weight wins."""
        plugin_set = self.sets[point]
        old = [entry for entry in plugin_set.running() if entry.name in SELECTOR_SPREADS]
        spread = next((one for one in plugin_set.running() if one.name == SPREAD), None)
        best = max((one.weight or 0 for one in old), default=0)

        def change(entry: PluginEntry) -> PluginEntry | None:
            if entry.name in SELECTOR_SPREADS:
                first = spread is None and old and entry is old[0]
                return PluginEntry(SPREAD, entry.weight, entry.origin) if first else None
            if entry is spread and point == "score" and best > (entry.weight or 0):
                return PluginEntry(SPREAD, best, entry.origin or old[0].origin)
            return entry

        plugin_set.replace(change)

    def _replace_node_label(self) -> None:
        filters, score = self.sets["filter"], self.sets["score"]
        filtering = next((e for e in filters.running() if e.name == removed.NODE_LABEL), None)
        scoring = next((e for e in score.running() if e.name == removed.NODE_LABEL), None)
        if filtering is None and scoring is None:
            return
        entry = self.config.take(removed.NODE_LABEL)
        args: Doc = {} if entry is None else entry.fields()
        if filtering is not None:
            if "NodeAffinity" in filters.names():
                self.conversion.warn(filtering.origin, removed.NODE_LABEL_GONE)
                where = filtering.origin if entry is None else f"{entry.origin}.args"
                require_labels(self.conversion, self.config, args, where)
            else:
                self.conversion.refuse(filtering.origin, removed.NODE_LABEL_NEEDS_AFFINITY)
        wishes = args.get("presentLabelsPreference") or args.get("absentLabelsPreference")
        if scoring is not None and wishes:
            self.conversion.refuse(scoring.origin, removed.NODE_LABEL_SCORE)
        for plugin_set in (filters, score):
            plugin_set.replace(lambda one: None if one.name == removed.NODE_LABEL else one)

    def _refuse(self) -> None:
        """Refuse the plugins that have no replacement."""
        for point, texts in removed.REFUSED.items():
            plugin_set = self.sets[point]
            for entry in plugin_set.running():
                if entry.name in texts:
                    self.conversion.refuse(entry.origin, texts[entry.name])
                    self.config.take(entry.name)
            plugin_set.added = [one for one in plugin_set.added if one.name not in texts]

    def _refuse_misplaced(self) -> None:
        """Refuse the removed plugins that are left: none of them ever took part at these points."""
        for point, plugin_set in self.sets.items():
            for entry in plugin_set.running():
                if entry.name in removed.ALL_REMOVED:
                    text = removed.MISPLACED.format(name=entry.name, point=point)
                    self.conversion.refuse(entry.origin, text)

    def _drop_idle(self) -> None:
        """Drop, with a warning, entries that disable removed plugins that were not defaults."""
        for point, plugin_set in self.sets.items():
            for entry in plugin_set.idle:
                if entry.name in removed.ALL_REMOVED:
                    known = entry.name in STRATEGIES and point == "score"
                    text = removed.IDLE_STRATEGY if known else removed.IDLE_REMOVED
                    self.conversion.warn(entry.origin, text.format(name=entry.name))
            plugin_set.idle = [
                entry for entry in plugin_set.idle if entry.name not in removed.ALL_REMOVED
            ]

    def _drop_unused_args(self) -> None:
        for entry in list(self.config.entries):
            if entry.name in removed.ALL_REMOVED:
                self.conversion.warn(entry.origin, removed.UNUSED_ARGS.format(name=entry.name))
                self.config.take(entry.name)

    def _replace_lost(self) -> None:
        """Drop, with a warning, what plugins of the scheduler-plugins family had and lost."""
        running = [entry for plugin_set in self.sets.values() for entry in plugin_set.running()]
        convert_family_args(self.conversion, self.config, self.api_version, running)
        for point, plugin_set in self.sets.items():
            added = plugin_set.added
            plugin_set.added = []
            for entry in added:
                text = lost_point(self.api_version, entry.name, point)
                if text is None:
                    plugin_set.added.append(entry)
                else:
                    self.conversion.warn(entry.origin, text)
