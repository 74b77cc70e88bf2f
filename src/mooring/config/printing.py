"""Print a configuration as kube-scheduler's --write-config-to does."""

# kube-scheduler: cmd/kube-scheduler/app/options/configfile.go (encodeConfig), k8s.io/kube-scheduler
# config/v1/types.go (which fields are left out when empty), sigs.k8s.io/yaml (keys sorted)

from __future__ import annotations

import base64
import re
from typing import Any

import msgspec
import yaml

from mooring.api.durations import Duration
from mooring.api.go_format import go_float
from mooring.config.defaults import API_VERSION, KIND
from mooring.config.plugin_sets import enabled_names
from mooring.config.positions import resolve_plain
from mooring.config.struct_fields import struct_fields
from mooring.config.types import (
    Extender,
    KubeSchedulerConfiguration,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    ProfileConfig,
)
from mooring.plugins.args import DynamicResourcesArgs, InTreeArgs

_TEXT = "tag:yaml.org,2002:str"
# What other YAML parsers read as a date or a base-60 number.
_LOOKS_ODD = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
)


def to_v1(config: KubeSchedulerConfiguration, *, as_given: bool = False) -> dict[str, Any]:
    """Return a completed configuration as plain data.

    By default the args of plugins are those in use, sorted by name. With `as_given`, those that
    the file gives come first, then the defaults of the others (kube-scheduler's /configz).
    """
    data = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": config.parallelism,
        "leaderElection": _struct(config.leader_election, keep_empty=True),
        "clientConnection": _struct(config.client_connection, keep_empty=True),
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": bool(config.enable_contention_profiling),
        "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
        "profiles": [_profile(profile, as_given) for profile in config.profiles],
    }
    if config.extenders:
        data["extenders"] = [_extender(extender) for extender in config.extenders]
    if config.delay_cache_until_active:
        data["delayCacheUntilActive"] = True
    return data


def to_yaml(data: object, *, sort_keys: bool = True) -> str:
    """Print plain data as Go's YAML printer does: keys sorted, lists not indented."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        default_flow_style=False,
        allow_unicode=True,
        width=2**31,
        sort_keys=sort_keys,
    )
    return text


def _profile(profile: ProfileConfig, as_given: bool) -> dict[str, Any]:
    plugins = profile.plugins or Plugins()
    needed = enabled_names(plugins)
    data: dict[str, Any] = {
        "plugins": {key: _plugin_set(plugin_set) for key, plugin_set in plugins.sets()}
    }
    configs = [one for one in profile.plugin_config if one.args is not None]
    if not as_given:
        configs = sorted((one for one in configs if one.name in needed), key=lambda one: one.name)
    if configs:
        data["pluginConfig"] = [{"name": one.name, "args": _args(one)} for one in configs]
    if profile.scheduler_name is not None:
        data["schedulerName"] = profile.scheduler_name
    if profile.percentage_of_nodes_to_score is not None:
        data["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    return data


def _plugin_set(plugin_set: PluginSet) -> dict[str, Any]:
    data = {}
    if plugin_set.enabled:
        data["enabled"] = [_plugin(plugin) for plugin in plugin_set.enabled]
    if plugin_set.disabled:
        data["disabled"] = [_plugin(plugin) for plugin in plugin_set.disabled]
    return data


def _plugin(plugin: PluginRef) -> dict[str, Any]:
    return {"name": plugin.name, "weight": plugin.weight or 0}


def _args(config: PluginConfig) -> Any:
    if isinstance(config.args, InTreeArgs):
        data = {"apiVersion": API_VERSION, "kind": f"{config.name}Args", **_struct(config.args)}
        if isinstance(config.args, DynamicResourcesArgs):
            # The only optional field that is printed when it is absent.
            data.setdefault("filterTimeout", None)
        return data
    return _value(config.args)


def _extender(extender: Extender) -> dict[str, Any]:
    # Everything but the URL and the timeout is left out when empty.
    data = {
        name: value
        for name, value in _struct(extender).items()
        if value or name in ("urlPrefix", "httpTimeout")
    }
    data["urlPrefix"] = extender.url_prefix
    if extender.tls_config is not None:
        tls = _struct(extender.tls_config)
        data["tlsConfig"] = {name: value for name, value in tls.items() if value}
    for resource in data.get("managedResources", ()):
        if not resource["ignoredByScheduler"]:
            del resource["ignoredByScheduler"]
    return data


def _struct(value: msgspec.Struct, *, keep_empty: bool = False) -> dict[str, Any]:
    data = {}
    for field in struct_fields(type(value)):
        item = getattr(value, field.name)
        if keep_empty or not (item is None or item == () or item in ("", b"")):
            data[field.encode_name] = _value(item)
    return data


def _value(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _struct(value)
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return msgspec.to_builtins(value)


class _Dumper(yaml.SafeDumper):
    """A dumper without anchors that quotes as Go does.

    With no implicit resolvers, PyYAML takes every plain scalar for a string and adds no quotes of
    its own.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (declared so by PyYAML)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not isinstance(resolve_plain(text), str) or _LOOKS_ODD.fullmatch(text):
        style = '"'
    return dumper.represent_scalar(_TEXT, text, style=style)


def _represent_number(dumper: yaml.SafeDumper, number: float) -> yaml.ScalarNode:
    if isinstance(number, int) and -(2**63) <= number < 2**64:
        return dumper.represent_scalar(_TEXT, str(int(number)))
    number = float(number)
    # sigs.k8s.io/yaml: whole numbers become integers.
    whole = number.is_integer() and abs(number) < 2**53
    return dumper.represent_scalar(_TEXT, str(int(number)) if whole else go_float(number))


def _represent_other(dumper: yaml.SafeDumper, value: bool | None) -> yaml.ScalarNode:
    return dumper.represent_scalar(_TEXT, "null" if value is None else str(value).lower())


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(int, _represent_number)
_Dumper.add_representer(float, _represent_number)
_Dumper.add_representer(bool, _represent_other)
_Dumper.add_representer(type(None), _represent_other)
