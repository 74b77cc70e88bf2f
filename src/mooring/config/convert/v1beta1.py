"""v1beta1 (1.19 to 1.22): like v1beta2, with separate plugins for scoring by resources."""

from __future__ import annotations

from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.converted_profile import ConvertedProfile
from mooring.config.convert.default_plugins import V1BETA1
from mooring.config.convert.document_settings import start_document
from mooring.config.convert.plugin_config import say_list_defaulting


def convert_v1beta1(conversion: Conversion, doc: Doc) -> Doc:
    """Return the v1 form of a v1beta1 document."""
    written = start_document(conversion, doc)
    written["profiles"] = []
    for index, old in enumerate(doc.get("profiles") or [{}]):
        path = f"profiles[{index}]"
        profile = ConvertedProfile(conversion, old, path, V1BETA1, doc["apiVersion"])
        say_list_defaulting(profile.config)
        profile.replace_removed()
        written["profiles"].append(profile.write(path))
    if "extenders" in doc:
        written["extenders"] = doc["extenders"]
    return written
