"""v1beta3 (1.23 to 1.28): the same as v1, except for plugins that were removed since."""

from __future__ import annotations

from mooring.api.field_errors import invalid
from mooring.config.convert import removed
from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.default_plugins import POINTS, SPREAD
from mooring.config.convert.document_settings import start_document
from mooring.config.convert.family import convert_family_args, lost_point
from mooring.config.convert.plugin_config import ConvertedPluginConfig
from mooring.config.convert.plugin_set import ALL, PluginEntry

#: kube-scheduler 1.28: apis/config/v1beta3/default_plugins.go, mergePlugins has no PreEnqueue
IGNORED_POINT = (
    "kube-scheduler ignored {point} in {version}, and it is left out here too: "
    "write it in a v1 file if it is to take effect"
)

#: Removed plugin -> the default plugin that replaces it.
_SUCCESSORS = {
    **dict.fromkeys(removed.VOLUME_LIMITS, "NodeVolumeLimits"),
    "SelectorSpread": SPREAD,
}


def convert_v1beta3(conversion: Conversion, doc: Doc) -> Doc:
    """Return the v1 form of a v1beta3 document."""
    written = start_document(conversion, doc)
    if doc.get("profiles"):
        written["profiles"] = [
            _profile(conversion, profile, f"profiles[{index}]", doc["apiVersion"])
            for index, profile in enumerate(doc["profiles"])
        ]
    if "extenders" in doc:
        written["extenders"] = doc["extenders"]
    return written


def _profile(conversion: Conversion, doc: Doc, path: str, api_version: str) -> Doc:
    written: Doc = {}
    if "schedulerName" in doc:
        written["schedulerName"] = doc["schedulerName"]
    plugins: Doc = {}
    for point in ("multiPoint", *POINTS):
        where = f"{path}.plugins.{point}"
        if point not in doc.get("plugins", {}):
            continue
        if point == "preEnqueue":
            conversion.warn(where, IGNORED_POINT.format(point=point, version="v1beta3"))
            continue
        plugin_set = _plugin_set(conversion, doc["plugins"][point], where, point, api_version)
        if plugin_set:
            plugins[point] = plugin_set
    if plugins:
        written["plugins"] = plugins
    config = ConvertedPluginConfig(doc.get("pluginConfig", []), f"{path}.pluginConfig")
    for entry in list(config.entries):
        if entry.name in removed.REMOVED_IN_V1BETA2:
            conversion.refuse(entry.origin, refusal(entry.name, api_version))
    running = [
        PluginEntry(entry.get("name", ""), origin=f"{path}.plugins.{point}.enabled[{index}]")
        for point, plugin_set in doc.get("plugins", {}).items()
        for index, entry in enumerate(plugin_set.get("enabled", []))
    ]
    convert_family_args(conversion, config, api_version, running)
    if config.entries:
        written["pluginConfig"] = config.write(conversion, f"{path}.pluginConfig")
    return written


def refusal(name: str, api_version: str) -> str:
    """Return why a plugin that v1beta2 removed is refused, and what to use."""
    instead = removed.REMOVED_IN_V1BETA2[name]
    why = removed.REMOVED.format(version=api_version, instead=instead)
    return invalid("", name, why).message


def _plugin_set(conversion: Conversion, doc: Doc, path: str, point: str, api_version: str) -> Doc:
    stopped = {entry.get("name", "") for entry in doc.get("disabled", [])}
    written: Doc = {}
    for key in ("enabled", "disabled"):
        kept: list[Doc] = []
        for index, entry in enumerate(doc.get(key, [])):
            where = f"{path}.{key}[{index}]"
            name = entry.get("name", "")
            if name in removed.REMOVED_IN_V1BETA2 and key == "enabled":
                conversion.refuse(where, refusal(name, api_version))
                continue
            lost = lost_point(api_version, name, point) if key == "enabled" else None
            if lost is not None:
                conversion.warn(where, lost)
                continue
            if name in removed.ALL_REMOVED:
                new = _replace(conversion, entry, where, stopped if key == "enabled" else None)
                if new is None or any(one["name"] == new["name"] for one in doc.get(key, [])):
                    continue
                entry = new
            conversion.origins[f"{path}.{key}[{len(kept)}]"] = where
            kept.append(entry)
        if kept:
            written[key] = kept
    return written


def _replace(
    conversion: Conversion, entry: Doc, where: str, stopped: set[str] | None
) -> Doc | None:
    """Return what replaces an entry, or None if its successor runs by default anyway."""
    name = entry["name"]
    successor = _SUCCESSORS.get(name)
    if stopped is None or successor is None:
        conversion.warn(where, removed.IDLE_REMOVED.format(name=name))
        return None
    text = removed.SELECTOR_SPREAD_GONE if successor == SPREAD else removed.VOLUME_LIMITS_GONE
    conversion.warn(where, text.format(name=name))
    return {**entry, "name": successor} if stopped & {ALL, successor} else None
