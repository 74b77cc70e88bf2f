"""v1alpha2 (1.18): the first version with profiles; preemption and volume binding are settings."""

from __future__ import annotations

from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.converted_profile import ConvertedProfile
from mooring.config.convert.default_plugins import V1ALPHA
from mooring.config.convert.document_settings import start_document
from mooring.config.convert.extender_settings import convert_legacy_extenders
from mooring.config.convert.plugin_config import say_list_defaulting
from mooring.config.convert.plugin_set import PluginEntry
from mooring.config.positions import field_path

UNRESERVE = (
    "unreserve is no longer a point of its own: it is a method of the plugins at reserve, and "
    "{names} is enabled there"
)


def convert_v1alpha2(conversion: Conversion, doc: Doc) -> Doc:
    """Return the v1 form of a v1alpha2 document."""
    written = start_document(conversion, doc)
    written["profiles"] = []
    for index, old in enumerate(doc.get("profiles") or [{}]):
        path = f"profiles[{index}]"
        profile = ConvertedProfile(conversion, old, path, V1ALPHA, doc["apiVersion"])
        say_list_defaulting(profile.config)
        apply_alpha_settings(profile, doc)
        move_unreserve(conversion, profile, old.get("plugins", {}))
        profile.replace_removed()
        written["profiles"].append(profile.write(path))
    if "extenders" in doc:
        written["extenders"] = convert_legacy_extenders(conversion, doc["extenders"])
    return written


def apply_alpha_settings(profile: ConvertedProfile, doc: Doc) -> None:
    """Apply to a profile the settings that v1alpha1 and v1alpha2 kept outside of it."""
    if doc.get("disablePreemption"):
        profile.gone["DefaultPreemption"] = "disablePreemption"
    timeout = "bindTimeoutSeconds"
    if timeout in doc and timeout not in profile.config.fields("VolumeBinding"):
        profile.config.put("VolumeBinding", timeout, doc[timeout], timeout)


def move_unreserve(conversion: Conversion, profile: ConvertedProfile, plugins: Doc) -> None:
    """Move the plugins of the unreserve point to the reserve point."""
    where = f"{field_path(profile.path, 'plugins')}.unreserve"
    reserve = profile.sets["reserve"]
    alone = [
        PluginEntry(entry.get("name", ""), None, f"{where}.enabled[{index}]")
        for index, entry in enumerate(plugins.get("unreserve", {}).get("enabled", []))
        if entry.get("name", "") not in reserve.names()
    ]
    if alone:
        names = ", ".join(entry.name for entry in alone)
        conversion.warn(where, UNRESERVE.format(names=names))
        reserve.added += alone
