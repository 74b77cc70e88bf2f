"""Decode `pluginConfig.args` into the type that each plugin declares."""

# kube-scheduler: k8s.io/kube-scheduler config/v1/types.go (decodeNestedObjects)

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api.field_errors import FieldError
from mooring.config.decode import Decoder, describe
from mooring.config.defaults import API_VERSION
from mooring.config.struct_fields import struct_fields
from mooring.config.types import KubeSchedulerConfiguration, PluginConfig
from mooring.contrib import PLUGINS as CONTRIB
from mooring.framework.plugin_errors import error_message, raise_if_external
from mooring.plugins import ARGS_OF_PLUGIN
from mooring.plugins.args import InTreeArgs
from mooring.registry import Registry

_GROUP = API_VERSION.partition("/")[0]
_TYPE_META = frozenset({"apiVersion", "kind"})


def type_plugin_args(
    config: KubeSchedulerConfiguration, decoder: Decoder, registry: Registry | None
) -> KubeSchedulerConfiguration:
    """Return the configuration with the args of known plugins typed; problems go to `decoder`."""
    profiles = []
    for i, profile in enumerate(config.profiles):
        typed = tuple(
            msgspec.structs.replace(
                one, args=_type(one, f"profiles[{i}].pluginConfig[{j}]", decoder, registry)
            )
            for j, one in enumerate(profile.plugin_config)
        )
        profiles.append(msgspec.structs.replace(profile, plugin_config=typed))
    return msgspec.structs.replace(config, profiles=tuple(profiles))


def args_type(name: str, registry: Registry | None) -> type[msgspec.Struct] | None:
    """Return the Struct of a plugin's args, or None if it declares none or is unknown."""
    plugin = None if registry is None else registry.get(name)
    return ARGS_OF_PLUGIN.get(name) if plugin is None else plugin.Args


def _type(config: PluginConfig, path: str, decoder: Decoder, registry: Registry | None) -> Any:
    kind = args_type(config.name, registry)
    where = f"{path}.args"
    if kind is None:
        return config.args
    data = {} if config.args is None else config.args
    if not isinstance(data, dict):
        decoder.errors.append(FieldError(where, f"must be a mapping, got {describe(data)}"))
        return kind() if issubclass(kind, InTreeArgs) else None
    if issubclass(kind, InTreeArgs) or config.name in CONTRIB:
        _check_type_meta(config.name, data, where, decoder)
    return build_args(kind, data, where, decoder)


def build_args(
    kind: type[msgspec.Struct], data: dict[str, Any], where: str, decoder: Decoder
) -> msgspec.Struct | None:
    """Build a plugin's arguments and run their own `check`; problems go to `decoder`."""
    own = {field.encode_name for field in struct_fields(kind)}
    args = None
    try:
        args = decoder.struct(data, kind, where, ignore=_TYPE_META - own)
        check = getattr(args, "check", None)
        if callable(check):
            check()
    except BaseException as error:
        raise_if_external(error)
        text = error_message(error) if isinstance(error, ValueError) else repr(error)
        decoder.errors.append(FieldError(where, text))
    return args


def _check_type_meta(name: str, data: dict[str, Any], path: str, decoder: Decoder) -> None:
    version, kind = data.get("apiVersion"), data.get("kind")
    if version is not None and version != API_VERSION:
        text = f'must be "{API_VERSION}", got {describe(version)}'
        decoder.errors.append(FieldError(f"{path}.apiVersion", text))
    if kind is not None and kind != f"{name}Args":
        text = (
            f"args for plugin {name} were not of type {name}Args.{_GROUP}, got "
            f"{kind if isinstance(kind, str) else describe(kind)}.{_GROUP}"
        )
        decoder.errors.append(FieldError(f"{path}.kind", text))
