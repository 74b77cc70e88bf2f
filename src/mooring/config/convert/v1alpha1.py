"""v1alpha1 (until 1.18): one profile, at the top of the file, and an algorithmSource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mooring.config.convert.converted import Conversion, Doc
from mooring.config.convert.converted_profile import ConvertedProfile
from mooring.config.convert.default_plugins import CLUSTER_AUTOSCALER, V1ALPHA
from mooring.config.convert.document_settings import start_document
from mooring.config.convert.plugin_config import say_list_defaulting
from mooring.config.convert.policy import read_policy, read_policy_text
from mooring.config.convert.v1alpha2 import apply_alpha_settings, move_unreserve
from mooring.errors import MooringError

#: Returns the text of a file; raises OSError.
ReadFile = Callable[[str], str]
#: Returns the data of a ConfigMap (namespace, name); raises OSError or MooringError.
ReadConfigMap = Callable[[str, str], Mapping[str, Any]]

#: kube-scheduler 1.22: apis/config/types.go, SchedulerPolicyConfigMapKey
POLICY_KEY = "policy.cfg"
PROVIDERS = {"DefaultProvider": V1ALPHA, "ClusterAutoscalerProvider": CLUSTER_AUTOSCALER}

# kube-scheduler 1.18: pkg/scheduler/factory.go, scheduler.go
NO_PROVIDER = 'algorithm provider "{name}" is not registered, expected one of {known}'
PLUGINS_AND_POLICY = "using Plugins and Policy simultaneously is not supported"
CONFIG_AND_POLICY = "using PluginConfig and Policy simultaneously is not supported"
NO_POLICY_KEY = 'missing policy config map value at key "{key}"'
NO_READER = (
    "the Policy is kept in {where}, which cannot be read here: convert the Policy itself, "
    "or run where it can be read"
)
PROVIDER_WINS = "is ignored: algorithmSource.provider was looked at first"
FILE_WINS = "is ignored: algorithmSource.policy.file was looked at first"
WEIGHTS_DIFFER = (
    "repeated config for plugin InterPodAffinity: its args say hardPodAffinityWeight {found}"
)

#: v1alpha1 used the key postFilter for PreScore; today's PostFilter did not exist.
_KEYS = {"preScore": "postFilter", "postFilter": ""}
_WEIGHT = "hardPodAffinitySymmetricWeight"


def convert_v1alpha1(
    conversion: Conversion,
    doc: Doc,
    read_file: ReadFile | None,
    read_config_map: ReadConfigMap | None,
) -> Doc:
    """Return the v1 form of a v1alpha1 document."""
    written = start_document(conversion, doc)
    source = doc.get("algorithmSource", {})
    provider = source.get("provider")
    if "policy" in source and not provider:
        profile = _from_policy(conversion, doc, read_file, read_config_map, written)
    else:
        profile = _from_provider(conversion, doc, provider or "DefaultProvider")
    apply_alpha_settings(profile, doc)
    _apply_weight(conversion, profile, doc)
    if doc.get("schedulerName"):
        profile.scheduler_name = doc["schedulerName"]
    written["profiles"] = [profile.write("profiles[0]")]
    if "extenders" in written:
        written["extenders"] = written.pop("extenders")
    return written


def _from_provider(conversion: Conversion, doc: Doc, provider: str) -> ConvertedProfile:
    if provider not in PROVIDERS:
        known = ", ".join(PROVIDERS)
        text = NO_PROVIDER.format(name=provider, known=known)
        conversion.refuse("algorithmSource.provider", text)
    if "policy" in doc.get("algorithmSource", {}):
        conversion.warn("algorithmSource.policy", PROVIDER_WINS)
    defaults = PROVIDERS.get(provider, V1ALPHA)
    profile = ConvertedProfile(conversion, doc, "", defaults, doc["apiVersion"], _KEYS)
    say_list_defaulting(profile.config)
    move_unreserve(conversion, profile, doc.get("plugins", {}))
    profile.replace_removed()
    return profile


def _from_policy(
    conversion: Conversion,
    doc: Doc,
    read_file: ReadFile | None,
    read_config_map: ReadConfigMap | None,
    written: Doc,
) -> ConvertedProfile:
    """Read the Policy into a profile, and its extenders into the v1 document."""
    for field, text in (("plugins", PLUGINS_AND_POLICY), ("pluginConfig", CONFIG_AND_POLICY)):
        if doc.get(field):
            conversion.refuse(field, text)
    path, name, found = _policy_text(conversion, doc, read_file, read_config_map)
    inner = Conversion(conversion.release)
    policy = {} if found is None else read_policy_text(inner, found)
    profile, extenders = read_policy(inner, policy)
    # The Policy is a separate text, so its paths go into the message.
    for error in inner.errors:
        conversion.refuse(path, f"{name}: {error}")
    for warning in inner.warnings:
        conversion.warn(path, f"{name}: {warning}")
    profile.stands_at(conversion, path)
    if extenders:
        written["extenders"] = extenders
        conversion.origins["extenders"] = path
    return profile


def _policy_text(
    conversion: Conversion,
    doc: Doc,
    read_file: ReadFile | None,
    read_config_map: ReadConfigMap | None,
) -> tuple[str, str, str | None]:
    """Return the path that names the Policy, its name, and its text if it could be read."""
    # kube-scheduler 1.22: pkg/scheduler/scheduler.go, initPolicyFromFile, initPolicyFromConfigMap
    source = doc["algorithmSource"]["policy"]
    if "file" in source:
        path = "algorithmSource.policy.file.path"
        name = source["file"].get("path", "")
        if "configMap" in source:
            conversion.warn("algorithmSource.policy.configMap", FILE_WINS)
        if read_file is None:
            conversion.refuse(path, NO_READER.format(where=f"the file {name}"))
            return path, name, None
        try:
            return path, name, read_file(name)
        except (OSError, UnicodeError, ValueError) as error:
            conversion.refuse(path, f"couldn't read policy config: {error}")
            return path, name, None
    path = "algorithmSource.policy.configMap"
    if "configMap" not in source:
        return "algorithmSource.policy", "", None
    namespace = source["configMap"].get("namespace") or "kube-system"
    name = f"{namespace}/{source['configMap'].get('name', '')}"
    if read_config_map is None:
        conversion.refuse(path, NO_READER.format(where=f"the ConfigMap {name}"))
        return path, name, None
    try:
        data = read_config_map(namespace, source["configMap"].get("name", ""))
    except (OSError, MooringError) as error:
        conversion.refuse(path, f"couldn't get policy config map {name}: {error}")
        return path, name, None
    text = data.get(POLICY_KEY)
    if not isinstance(text, str):
        conversion.refuse(path, NO_POLICY_KEY.format(key=POLICY_KEY))
        return path, name, None
    return path, name, text


def _apply_weight(conversion: Conversion, profile: ConvertedProfile, doc: Doc) -> None:
    """Set InterPodAffinity's weight; a weight in the Policy takes precedence over the file's."""
    if _WEIGHT not in doc:
        return
    found = profile.config.fields("InterPodAffinity").get("hardPodAffinityWeight")
    if found is None:
        profile.config.put("InterPodAffinity", "hardPodAffinityWeight", doc[_WEIGHT], _WEIGHT)
    elif profile.instead is None and found != doc[_WEIGHT]:
        conversion.refuse(_WEIGHT, WEIGHTS_DIFFER.format(found=found))
