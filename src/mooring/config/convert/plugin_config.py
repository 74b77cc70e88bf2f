"""Convert the `pluginConfig` list of a profile."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.default_plugins import (
    CAPACITY_RATIO,
    FIT,
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    SPREAD,
)
from mooring.config.defaults import API_VERSION

#: A plugin that scored by resources -> the scoringStrategy of NodeResourcesFit that it became.
STRATEGIES = {
    LEAST_ALLOCATED: "LeastAllocated",
    MOST_ALLOCATED: "MostAllocated",
    CAPACITY_RATIO: "RequestedToCapacityRatio",
}
DEFAULT_STRATEGY = "LeastAllocated"
_GROUP = API_VERSION.rpartition("/")[0]


class PluginArgs(msgspec.Struct):
    """One entry: a plugin's name, its args and its original path."""

    name: str
    args: Any
    origin: str
    #: Whether the original has an `args` key: an entry without one must stay without.
    has_args: bool = True
    #: Field of the args -> the original path of its value, if it came from elsewhere.
    moved: dict[str, str] = {}

    def fields(self) -> Doc:
        """Return the args for reading; empty if they are not a mapping."""
        return self.args if isinstance(self.args, dict) else {}


class ConvertedPluginConfig:
    """The `pluginConfig` entries of one profile. Owned by its conversion."""

    def __init__(self, entries: list[Doc], path: str) -> None:
        self.entries = [
            PluginArgs(
                entry.get("name", ""),
                _copy(entry.get("args")),
                f"{path}[{index}]",
                "args" in entry,
            )
            for index, entry in enumerate(entries)
        ]

    def find(self, plugin: str) -> PluginArgs | None:
        """Return a plugin's first entry."""
        return next((entry for entry in self.entries if entry.name == plugin), None)

    def fields(self, plugin: str) -> Doc:
        """Return the args of a plugin for reading; empty if it has none."""
        entry = self.find(plugin)
        return {} if entry is None else entry.fields()

    def take(self, plugin: str) -> PluginArgs | None:
        """Remove a plugin's entries and return the first."""
        found = self.find(plugin)
        self.entries = [entry for entry in self.entries if entry.name != plugin]
        return found

    def put(self, plugin: str, field: str, value: Any, origin: str) -> None:
        """Set one field of a plugin's args, adding an entry if it has none."""
        entry = self.find(plugin)
        if entry is None:
            entry = PluginArgs(plugin, {}, origin)
            self.entries.append(entry)
        entry.args = {**entry.fields(), field: value}
        entry.has_args = True
        entry.moved[field] = origin

    def write(self, conversion: Conversion, path: str) -> list[Doc]:
        """Return the v1 list, and record where each entry came from."""
        written: list[Doc] = []
        for index, entry in enumerate(self.entries):
            where = f"{path}[{index}]"
            conversion.origins[where] = entry.origin
            for field, origin in entry.moved.items():
                conversion.origins[f"{where}.args.{field}"] = origin
            doc: Doc = {"name": entry.name}
            if entry.has_args:
                doc["args"] = entry.args
            written.append(doc)
        return written


def set_strategy(
    config: ConvertedPluginConfig, plugin: str, args: PluginArgs | None, origin: str
) -> None:
    """Set the scoringStrategy of NodeResourcesFit that replaces `plugin`, if not the default."""
    old = {} if args is None else args.fields()
    strategy: Doc = {"type": STRATEGIES[plugin]}
    if old.get("resources"):
        strategy["resources"] = old["resources"]
    if plugin == CAPACITY_RATIO:
        strategy["requestedToCapacityRatio"] = {"shape": old.get("shape", [])}
    if strategy == {"type": DEFAULT_STRATEGY} and "scoringStrategy" not in config.fields(FIT):
        return
    where = origin if args is None else f"{args.origin}.args"
    config.put(FIT, "scoringStrategy", strategy, where)


def say_list_defaulting(config: ConvertedPluginConfig) -> None:
    """Set `defaultingType: List` if constraints imply it, as they did in v1beta1 and older."""
    # kube-scheduler 1.22: apis/config/v1beta1/defaults.go, SetDefaults_PodTopologySpreadArgs
    entry = config.find(SPREAD)
    if entry is None:
        return
    args = entry.fields()
    if args.get("defaultConstraints") and not args.get("defaultingType"):
        config.put(SPREAD, "defaultingType", "List", f"{entry.origin}.args.defaultConstraints")


def stop_default_spreading(config: ConvertedPluginConfig, origin: str) -> None:
    """Remove the system's default constraints, unless the file sets the defaulting itself."""
    args = config.fields(SPREAD)
    if not args.get("defaultingType") and not args.get("defaultConstraints"):
        config.put(SPREAD, "defaultingType", "List", origin)


def require_labels(
    conversion: Conversion, config: ConvertedPluginConfig, node_label: Doc, origin: str
) -> None:
    """Require NodeLabel's labels through NodeAffinity's addedAffinity, for every pod."""
    wanted = [
        {"key": key, "operator": operator}
        for field, operator in (("presentLabels", "Exists"), ("absentLabels", "DoesNotExist"))
        for key in node_label.get(field, [])
    ]
    if not wanted:
        return
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    added = config.fields("NodeAffinity").get("addedAffinity", {})
    selector = added.get(required, {}) if isinstance(added, dict) else None
    terms = selector.get("nodeSelectorTerms", []) if isinstance(selector, dict) else None
    if (
        not isinstance(added, dict)
        or not isinstance(terms, list)
        or not all(
            isinstance(term, dict) and isinstance(term.get("matchExpressions", []), list)
            for term in terms
        )
    ):
        entry = config.find("NodeAffinity")
        where = origin if entry is None else f"{entry.origin}.args.addedAffinity"
        conversion.refuse(where, "must hold node selector terms, to which NodeLabel's labels go")
        return
    # The terms are alternatives, so each of them must require the labels.
    asking = [
        {**term, "matchExpressions": [*term.get("matchExpressions", []), *wanted]}
        for term in terms or [{}]
    ]
    affinity = {**added, required: {"nodeSelectorTerms": asking}}
    config.put("NodeAffinity", "addedAffinity", affinity, origin)


def _copy(args: Any) -> Any:
    """Copy args, changing any older apiVersion of the group to v1."""
    if isinstance(args, list):
        return [_copy(item) for item in args]
    if not isinstance(args, dict):
        return args
    copied = {key: _copy(item) for key, item in args.items()}
    version = copied.get("apiVersion")
    if isinstance(version, str) and version.startswith(f"{_GROUP}/"):
        copied["apiVersion"] = API_VERSION
    return copied
