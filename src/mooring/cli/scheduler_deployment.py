"""Deployment: the Kubernetes objects that run a scheduler, or another program of the image."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.api.quota_requests import PodRequestsMode
from mooring.cli.rights import Rule, cluster_rules, controller_rules, lease_rules
from mooring.errors import ConfigError

Object = dict[str, Any]

#: The directories where the ConfigMaps are mounted.
CONFIG_FOLDER = "/etc/mooring"
PLUGIN_FOLDER = "/etc/mooring-plugins"
TLS_FOLDER = "/etc/mooring-tls"
CONFIG_FILE = "config.yaml"
#: The namespace of the Role that lets a server read which client certificates to trust.
AUTHENTICATION_NAMESPACE = "kube-system"
AUTHENTICATION_READER = "extension-apiserver-authentication-reader"
#: kubernetes: pkg/apis/core/types.go (MaxSecretSize, which applies to ConfigMaps too)
CONFIG_MAP_LIMIT = 1024 * 1024

_TOO_LARGE = (
    "the plugins' files have {} bytes, and a ConfigMap holds {}: build an image that has them"
)
_RBAC = "rbac.authorization.k8s.io"
_PORT = 10259
_CONTROLLERS_PORT = 10260
# The usual uid of an unprivileged user in container images.
_USER = 65532


class ContainerProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What the container runs; by default a scheduler."""

    container: str = "scheduler"
    command: tuple[str, ...] = ("mooring-kube-scheduler",)
    #: The arguments after those of the configuration and the plugins.
    arguments: tuple[str, ...] = ("--v=2",)
    port: int = _PORT
    #: Whether it answers a kube-scheduler: it authenticates nobody, and replicas need no lease.
    is_extender: bool = False
    #: The Secret with the serving certificate; empty if the program makes its own.
    tls_secret: str = ""


class DeploymentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and where."""

    name: str
    namespace: str
    image: str
    replicas: int
    #: The text of the configuration file; empty for a program that has none.
    config: str
    #: The Lease that the configuration names; None without leader election.
    lease: tuple[str, str] | None
    #: What pods count for in ElasticQuotas (podRequests of CapacityScheduling).
    quota_requests: PodRequestsMode = None
    #: The texts of plugin files, by file name.
    plugin_files: Mapping[str, str] = {}
    #: The values of --plugin in the container.
    plugins: tuple[str, ...] = ()
    #: The rules of the ClusterRole.
    rules: list[Rule] = msgspec.field(default_factory=cluster_rules)
    #: Whether a replica that is not the leader has empty caches, and so is not ready.
    delays_cache: bool = False
    program: ContainerProgram = ContainerProgram()


def controllers_beside(scheduler: DeploymentSettings, replicas: int = 2) -> DeploymentSettings:
    """Return the settings of the controllers that write the status of PodGroups and ElasticQuotas.

    They run beside a scheduler, with a Lease and an account of their own.
    """
    mode = scheduler.quota_requests
    counting = () if mode is None else (f"--elastic-quota-pod-requests={mode}",)
    name = f"{scheduler.name}-controllers"
    return DeploymentSettings(
        name=name,
        namespace=scheduler.namespace,
        image=scheduler.image,
        replicas=replicas,
        config="",
        lease=(scheduler.namespace, name),
        rules=controller_rules(),
        program=ContainerProgram(
            container="controllers",
            command=("mooring", "controllers"),
            arguments=(
                f"--leader-elect-resource-name={name}",
                f"--leader-elect-resource-namespace={scheduler.namespace}",
                *counting,
                "--v=2",
            ),
            port=_CONTROLLERS_PORT,
        ),
    )


def objects(settings: DeploymentSettings) -> list[Object]:
    """Return the objects, in the order in which to create them."""
    size = sum(len(text.encode()) for text in settings.plugin_files.values())
    if size > CONFIG_MAP_LIMIT:
        raise ConfigError(_TOO_LARGE.format(size, CONFIG_MAP_LIMIT))
    found = [
        labelled_object("v1", "ServiceAccount", settings),
        *_cluster_role(settings),
        *_lease_role(settings),
    ]
    if not settings.program.is_extender:
        found.append(_authentication_binding(settings))
    if settings.config:
        config = labelled_object("v1", "ConfigMap", settings)
        found.append({**config, "data": {CONFIG_FILE: settings.config}})
    if settings.plugin_files:
        plugins = labelled_object("v1", "ConfigMap", settings, suffix="-plugins")
        found.append({**plugins, "data": dict(settings.plugin_files)})
    found.append(_deployment(settings))
    if settings.replicas > 1:
        budget = labelled_object("policy/v1", "PodDisruptionBudget", settings)
        selector = {"matchLabels": labels_of(settings)}
        found.append({**budget, "spec": {"maxUnavailable": 1, "selector": selector}})
    return found


def labels_of(settings: DeploymentSettings) -> dict[str, str]:
    """Return the labels of every object, which also select the pods."""
    return {"app.kubernetes.io/name": "mooring", "app.kubernetes.io/instance": settings.name}


def labelled_object(
    version: str,
    kind: str,
    settings: DeploymentSettings,
    *,
    suffix: str = "",
    namespace: str | None = None,
) -> Object:
    """Return an object with its metadata only; `namespace` overrides the scheduler's."""
    metadata: Object = {"name": f"{settings.name}{suffix}"}
    place = settings.namespace if namespace is None else namespace
    if place:
        metadata["namespace"] = place
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {**metadata, "labels": labels_of(settings)},
    }


def _bound(binding: Object, kind: str, role: str, settings: DeploymentSettings) -> Object:
    account = {"kind": "ServiceAccount", "name": settings.name, "namespace": settings.namespace}
    reference = {"apiGroup": _RBAC, "kind": kind, "name": role}
    return {**binding, "roleRef": reference, "subjects": [account]}


def _cluster_role(settings: DeploymentSettings) -> list[Object]:
    role = labelled_object(f"{_RBAC}/v1", "ClusterRole", settings, namespace="")
    binding = labelled_object(f"{_RBAC}/v1", "ClusterRoleBinding", settings, namespace="")
    return [
        {**role, "rules": settings.rules},
        _bound(binding, "ClusterRole", settings.name, settings),
    ]


def _lease_role(settings: DeploymentSettings) -> list[Object]:
    if settings.lease is None:
        return []
    namespace, name = settings.lease
    suffix = "-leader-election"
    head = {"suffix": suffix, "namespace": namespace}
    role = labelled_object(f"{_RBAC}/v1", "Role", settings, **head)
    binding = labelled_object(f"{_RBAC}/v1", "RoleBinding", settings, **head)
    return [
        {**role, "rules": lease_rules(name)},
        _bound(binding, "Role", f"{settings.name}{suffix}", settings),
    ]


def _authentication_binding(settings: DeploymentSettings) -> Object:
    binding = labelled_object(
        f"{_RBAC}/v1",
        "RoleBinding",
        settings,
        suffix="-authentication-reader",
        namespace=AUTHENTICATION_NAMESPACE,
    )
    return _bound(binding, "Role", AUTHENTICATION_READER, settings)


def _deployment(settings: DeploymentSettings) -> Object:
    labels = labels_of(settings)
    metadata: Object = {"labels": labels}
    if settings.config:
        # A changed ConfigMap does not restart pods, so its checksum goes into the pod template.
        digest = hashlib.sha256(msgspec.json.encode([settings.config, settings.plugin_files]))
        metadata["annotations"] = {"checksum/config": digest.hexdigest()}
    spec: Object = {
        "replicas": settings.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": metadata, "spec": _pod(settings)},
    }
    if settings.lease is None and not settings.program.is_extender:
        # Without leader election, nothing else keeps the new pod from running beside the old one.
        spec["strategy"] = {"type": "Recreate"}
    return {**labelled_object("apps/v1", "Deployment", settings), "spec": spec}


def _pod(settings: DeploymentSettings) -> Object:
    spec: Object = {
        "serviceAccountName": settings.name,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels_of(settings)},
            }
        ],
        "containers": [_container(settings)],
        "volumes": [
            # Python's ssl module reads keys only from files.
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        ],
    }
    if settings.config:
        spec["volumes"].insert(0, {"name": "config", "configMap": {"name": settings.name}})
    if secret := settings.program.tls_secret:
        spec["volumes"].append({"name": "tls", "secret": {"secretName": secret}})
    if settings.plugin_files:
        volume = {"name": "plugins", "configMap": {"name": f"{settings.name}-plugins"}}
        spec["volumes"].append(volume)
    if settings.namespace == "kube-system":
        # Other namespaces may not be allowed to use this priority class.
        spec["priorityClassName"] = "system-cluster-critical"
    return spec


def _container(settings: DeploymentSettings) -> Object:
    program = settings.program
    mounts: list[Object] = [{"name": "tmp", "mountPath": "/tmp"}]
    if settings.config:
        mounts.insert(0, {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True})
    if program.tls_secret:
        mounts.append({"name": "tls", "mountPath": TLS_FOLDER, "readOnly": True})
    if settings.plugin_files:
        mounts.append({"name": "plugins", "mountPath": PLUGIN_FOLDER, "readOnly": True})
    ready = "/readyz?exclude=sched-handler-sync" if settings.delays_cache else "/readyz"
    return {
        "name": program.container,
        "image": settings.image,
        "command": list(program.command),
        "args": [
            *([f"--config={CONFIG_FOLDER}/{CONFIG_FILE}"] if settings.config else ()),
            *(f"--plugin={plugin}" for plugin in settings.plugins),
            *program.arguments,
        ],
        "ports": [{"name": "https", "containerPort": program.port}],
        "startupProbe": _probe("/livez", period=5, failures=24),
        "livenessProbe": _probe("/livez", period=10, failures=6),
        "readinessProbe": _probe(ready, period=5, failures=3),
        # No CPU limit, because a throttled scheduler may lose its lease.
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"memory": "2Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": mounts,
    }


def _probe(path: str, *, period: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": "https", "scheme": "HTTPS"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
