"""Convert what plugins of the scheduler-plugins family had in an older version, and lost since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.family_table import TABLE, FamilyPlugin
from mooring.config.convert.plugin_config import ConvertedPluginConfig, PluginArgs
from mooring.config.convert.plugin_set import PluginEntry
from mooring.config.defaults import API_VERSION

#: v1alpha1 and v1alpha2 were read by the same release of the family.
_SAME_AS = {"v1alpha1": "v1alpha2"}
_CURRENT = API_VERSION.rpartition("/")[2]

LOST_POINT = "{name} no longer extends {point}, and is left out there: {reason}"
LOST_ARGUMENT = "{name} no longer has this argument, and it is left out: {reason}"
MOVED_ARGUMENT = "{name} no longer has this argument: {to} takes its place, {meaning}"
BOTH_ARGUMENTS = "{name} no longer has this argument, and it is left out: {to} is set too"
_NO_REASON = "nothing takes its place"

# scheduler-plugins v0.24: pkg/coscheduling/core/core.go, PostBind
_REASON_OF_POINT = {
    ("Coscheduling", "postBind"): (
        "it kept the status of PodGroups there, which `mooring controllers` does today, and "
        "`mooring up` by itself"
    ),
}
_OWN_CONNECTION = (
    "the plugin uses the connection of the scheduler, which clientConnection.kubeconfig names"
)
_NO_RECORDS = (
    "a group is what its PodGroup says, and needs no record in the scheduler that must expire"
)
_REASON_OF_ARGUMENT = {
    ("Coscheduling", "kubeMaster"): (
        "the plugin uses the connection of the scheduler, whose address --master overrides"
    ),
    ("Coscheduling", "kubeConfigPath"): _OWN_CONNECTION,
    ("Coscheduling", "podGroupGCIntervalSeconds"): _NO_RECORDS,
    ("Coscheduling", "podGroupExpirationTimeSeconds"): _NO_RECORDS,
    ("CapacityScheduling", "kubeConfigPath"): _OWN_CONNECTION,
    ("NodeResourceTopologyMatch", "kubeconfigpath"): _OWN_CONNECTION,
    ("NodeResourceTopologyMatch", "masteroverride"): (
        "the plugin uses the connection of the scheduler, whose address --master overrides"
    ),
    ("NodeResourceTopologyMatch", "namespaces"): (
        "NodeResourceTopology objects are in no namespace today"
    ),
}
#: Plugin and argument -> the argument that took its place, and what that one means.
# scheduler-plugins v0.24: pkg/coscheduling/core/core.go, AddDeniedPodGroup; v0.25: BackoffPodGroup
_MOVED = {
    ("Coscheduling", "deniedPGExpirationTimeSeconds"): (
        "podGroupBackoffSeconds",
        "the seconds for which a group is held back after a member found no node",
    ),
}


def lost_point(api_version: str, name: str, point: str) -> str | None:
    """Return the warning about a point that a plugin extended in a version, and no longer does.

    None if it extends it today, or never did.
    """
    found = _plugin(api_version, name)
    if found is None or point in found.new.points.split() or point not in found.old.points.split():
        return None
    reason = _REASON_OF_POINT.get((name, point), _NO_REASON)
    return LOST_POINT.format(name=name, point=point, reason=reason)


def convert_family_args(
    conversion: Conversion,
    config: ConvertedPluginConfig,
    api_version: str,
    running: Iterable[PluginEntry],
) -> None:
    """Replace or drop the arguments that plugins lost, and keep the version's defaults.

    `running` are the plugins that the file enables.
    """
    for entry in config.entries:
        found = _plugin(api_version, entry.name)
        if found is not None:
            lost = found.old.args.keys() - found.new.args.keys()
            for argument in [one for one in entry.fields() if one in lost]:
                _replace(conversion, config, entry, argument)
    for plugin in running:
        found = _plugin(api_version, plugin.name)
        if found is not None:
            for argument, value in found.changed_defaults().items():
                if argument not in config.fields(plugin.name):
                    config.put(plugin.name, argument, value, plugin.origin)


def _replace(
    conversion: Conversion, config: ConvertedPluginConfig, entry: PluginArgs, argument: str
) -> None:
    name, where = entry.name, f"{entry.origin}.args.{argument}"
    value = entry.args.pop(argument)
    if (name, argument) not in _MOVED:
        reason = _REASON_OF_ARGUMENT.get((name, argument), _NO_REASON)
        conversion.warn(where, LOST_ARGUMENT.format(name=name, reason=reason))
        return
    to, meaning = _MOVED[name, argument]
    if to in entry.args:
        conversion.warn(where, BOTH_ARGUMENTS.format(name=name, to=to))
        return
    conversion.warn(where, MOVED_ARGUMENT.format(name=name, to=to, meaning=meaning))
    config.put(name, to, value, where)


class _Plugin(NamedTuple):
    """A plugin as a version had it, and as it is today."""

    old: FamilyPlugin
    new: FamilyPlugin

    def changed_defaults(self) -> Doc:
        """Return the defaults of the version, of arguments that have another default today."""
        return {
            argument: value
            for argument, value in self.old.args.items()
            if value is not None and self.new.args.get(argument, value) != value
        }


def _plugin(api_version: str, name: str) -> _Plugin | None:
    """Return a plugin of the family; None for others, and for those that the version lacks."""
    version = api_version.rpartition("/")[2]
    old = find_plugin(name, _SAME_AS.get(version, version))
    new = find_plugin(name, _CURRENT)
    return None if old is None or new is None else _Plugin(old, new)


def find_plugin(name: str, version: str) -> FamilyPlugin | None:
    """Return the points and arguments that a plugin had in a version, or None."""
    rows = (row for row in TABLE.get(name, ()) if version in row.versions.split())
    return next(rows, None)
