"""Flags that kube-scheduler has removed, and their effect on the configuration.

They existed in kube-scheduler 1.17 to 1.22: `--port`, `--address`, `--scheduler-name`, the names of
the lock, and three ways to choose an algorithm: a provider, a Policy file, a Policy in a ConfigMap.
"""

# kube-scheduler 1.22 and 1.17: cmd/kube-scheduler/app/options/deprecated.go

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.api.field_errors import required
from mooring.app.flags import FlagValues
from mooring.config import defaults
from mooring.errors import ConfigError

#: The version of the configuration that has fields for these flags.
API_VERSION = "kubescheduler.config.k8s.io/v1alpha1"

_INSTEAD = {
    "address": "use --bind-address",
    "algorithm-provider": "use --config with a profile that names its plugins",
    "hard-pod-affinity-symmetric-weight": (
        "use --config with pluginConfig InterPodAffinity hardPodAffinityWeight"
    ),
    "lock-object-name": "use --leader-elect-resource-name",
    "lock-object-namespace": "use --leader-elect-resource-namespace",
    "policy-config-file": "use --config; `mooring config convert` prints the Policy's v1 form",
    "policy-configmap": "use --config; `mooring config convert` prints the Policy's v1 form",
    "policy-configmap-namespace": "use --config",
    "port": "use --secure-port",
    "scheduler-name": "use --config with profiles[].schedulerName",
    "use-legacy-policy-config": "use --config",
}
#: Since 1.21 these were also used with --config: a Policy replaces the profiles of the file.
_BESIDE_CONFIG = frozenset(
    {
        "policy-config-file",
        "policy-configmap",
        "policy-configmap-namespace",
        "use-legacy-policy-config",
    }
)


def removed_warnings(flags: FlagValues) -> Iterator[str]:
    """Yield a warning for each given flag that kube-scheduler no longer has."""
    for name, instead in _INSTEAD.items():
        if not flags.given(name):
            continue
        warning = f"Flag --{name} has been deprecated, {instead}"
        if flags["config"] and name not in _BESIDE_CONFIG:
            warning += "; it is ignored, because --config is given"
        yield warning


def names_policy(flags: FlagValues) -> bool:
    """Return whether the flags name a Policy."""
    return bool(flags["policy-config-file"] or flags["policy-configmap"])


def old_document(flags: FlagValues) -> dict[str, Any] | None:
    """Return a v1alpha1 document equivalent to these flags; None if v1 can express them."""
    source = _algorithm_source(flags)
    beside_config = bool(flags["config"])
    if beside_config and not names_policy(flags):
        return None
    weight = "hard-pod-affinity-symmetric-weight"
    if source is None and not flags.given(weight):
        return None
    document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": defaults.KIND}
    if source is not None:
        document["algorithmSource"] = source
    if beside_config:
        return document
    if flags.given(weight):
        document["hardPodAffinitySymmetricWeight"] = flags[weight]
    if flags["scheduler-name"]:
        document["schedulerName"] = flags["scheduler-name"]
    return document


def _algorithm_source(flags: FlagValues) -> dict[str, Any] | None:
    file, name = flags["policy-config-file"], flags["policy-configmap"]
    if flags["use-legacy-policy-config"] and not file:
        why = "required when --use-legacy-policy-config is true"
        raise ConfigError(str(required("policyConfigFile", why)))
    if file and (flags["use-legacy-policy-config"] or not name):
        return {"policy": {"file": {"path": file}}}
    if name:
        place = {"name": name, "namespace": flags["policy-configmap-namespace"]}
        return {"policy": {"configMap": place}}
    if flags["algorithm-provider"]:
        return {"provider": flags["algorithm-provider"]}
    return None
