"""v1beta2 (1.22 to 1.27): default plugins point by point, and lower default weights."""

from __future__ import annotations

from mooring.config.convert import removed
from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.converted_profile import ConvertedProfile
from mooring.config.convert.default_plugins import V1BETA2
from mooring.config.convert.document_settings import start_document
from mooring.config.convert.v1beta3 import IGNORED_POINT, refusal


def convert_v1beta2(conversion: Conversion, doc: Doc) -> Doc:
    """Return the v1 form of a v1beta2 document."""
    written = start_document(conversion, doc)
    written["profiles"] = []
    for index, old in enumerate(doc.get("profiles") or [{}]):
        path = f"profiles[{index}]"
        profile = ConvertedProfile(conversion, old, path, V1BETA2, doc["apiVersion"])
        _refuse_removed(conversion, profile, doc["apiVersion"])
        # kube-scheduler 1.27: apis/config/v1beta2/default_plugins.go, mergePlugins has neither
        for point in ("preEnqueue", "multiPoint"):
            if point in old.get("plugins", {}):
                text = IGNORED_POINT.format(point=point, version="v1beta2")
                conversion.warn(f"{path}.plugins.{point}", text)
        profile.replace_removed()
        written["profiles"].append(profile.write(path))
    if "extenders" in doc:
        written["extenders"] = doc["extenders"]
    return written


def _refuse_removed(conversion: Conversion, profile: ConvertedProfile, api_version: str) -> None:
    for plugin_set in profile.sets.values():
        for entry in plugin_set.added:
            if entry.name in removed.REMOVED_IN_V1BETA2:
                conversion.refuse(entry.origin, refusal(entry.name, api_version))
        plugin_set.added = [
            entry for entry in plugin_set.added if entry.name not in removed.REMOVED_IN_V1BETA2
        ]
    for one in profile.config.entries:
        if one.name in removed.REMOVED_IN_V1BETA2:
            conversion.refuse(one.origin, refusal(one.name, api_version))
