"""`mooring manifests`: print the objects that run a scheduler, for `kubectl apply -f -`."""

from __future__ import annotations

import argparse
import copy
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mooring.api.quota_requests import SCHEDULER
from mooring.cli.manifests_flags import DEFAULT_NAME, EXTENDER_NAME
from mooring.cli.messages import warn
from mooring.cli.rights import cluster_rules, rules_of_plugins
from mooring.cli.scheduler_deployment import (
    PLUGIN_FOLDER,
    DeploymentSettings,
    Object,
    controllers_beside,
    objects,
)
from mooring.config import LoadResult, load_config_data, load_config_text, to_yaml
from mooring.config.config_problems import Problems
from mooring.config.defaults import API_VERSION, KIND
from mooring.config.positions import parse
from mooring.config.quota_arguments import CAPACITY_SCHEDULING, quota_requests, quota_requests_of
from mooring.config.rules import warn_unused
from mooring.config.versions import to_current
from mooring.errors import ConfigError, MooringError
from mooring.framework.plugin import Plugin
from mooring.registry import default_registry, load_plugins, loaded_files

# A DNS label, as pod names and label values require, with room for suffixes.
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?")
# A label value has at most 63 characters, of which the controllers' suffix takes 12.
_LONGEST_WITH_CONTROLLERS = 51
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
# apimachinery: pkg/api/validation/objectmeta.go (TotalAnnotationSizeLimitB)
_ANNOTATIONS_LIMIT = 256 * 1024

_TWICE = "--replicas={}: without leader election each replica would schedule every pod; set 1"
_TOO_LONG = "--name={}: with --controllers, it may have at most {} characters"
_ONLY_EXTENDER = (
    "--tls-secret, --managed-resource, --ignorable and --no-node-cache-capable need --extender"
)
_NO_CONTROLLERS = "--controllers: they run beside a scheduler; leave out --extender"
_NO_KUBECONFIG = "clientConnection.kubeconfig is left out: the pod has its service account"
_LOCALLY = (
    "# On a local cluster, these containers run if it is started with\n# mooring up --image {}\n"
)
_AS_SCHEDULER = (
    "CapacityScheduling gets podRequests: Scheduler; set podRequests: Containers to count pods as "
    "scheduler-plugins does"
)
_SERVER_SIDE = (
    "the plugins' files are too large for the annotation that kubectl apply keeps; use "
    "kubectl apply --server-side -f -"
)


def run(args: argparse.Namespace) -> int:
    """Print the objects that a command line asks for; return the exit status."""
    args.name = args.name or (EXTENDER_NAME if args.extender else DEFAULT_NAME)
    for flag in ("name", "namespace"):
        value = getattr(args, flag)
        if not _LABEL.fullmatch(value):
            raise ConfigError(
                f"--{flag}={value}: must be a DNS label of at most 52 lower-case letters, digits "
                "and '-', and begin with a letter"
            )
    if args.controllers and len(args.name) > _LONGEST_WITH_CONTROLLERS:
        raise ConfigError(_TOO_LONG.format(args.name, _LONGEST_WITH_CONTROLLERS))
    if args.extender:
        if args.controllers:
            raise ConfigError(_NO_CONTROLLERS)
        found, comment, warnings = _extender(args)
    elif args.tls_secret or args.managed_resource or args.ignorable or not args.node_cache_capable:
        raise ConfigError(_ONLY_EXTENDER)
    else:
        settings, warnings = make_settings(args, args.plugins)
        found, comment = objects(settings), ""
        if args.controllers:
            found += objects(controllers_beside(settings))
    if any(len(msgspec.json.encode(one)) > _ANNOTATIONS_LIMIT for one in found):
        warnings.append(_SERVER_SIDE)
    warn(warnings)
    documents = "---\n".join(to_yaml(one, sort_keys=False) for one in found)
    sys.stdout.write(_LOCALLY.format(shlex.quote(args.image)) + documents + comment)
    return 0


def make_settings(
    args: argparse.Namespace, plugins: Sequence[type[Plugin]] = ()
) -> tuple[DeploymentSettings, list[str]]:
    """Return the settings that a command line asks for, and warnings."""
    files: dict[str, str] = {}
    classes, references = _place_all(args.plugin, files)
    more = (*plugins, *classes)
    result, config, warnings = _configure(args, more)
    election = result.config.leader_election
    replicas = args.replicas
    if replicas is None:
        replicas = 2 if election.leader_elect else 1
    elif replicas < 0:
        raise ConfigError(f"--replicas={replicas}: must be 0 or more")
    elif replicas > 1 and not election.leader_elect:
        raise ConfigError(_TWICE.format(replicas))
    lease = (election.resource_namespace, election.resource_name)
    used = {name for profile in result.profiles for name in profile.plugins}
    settings = DeploymentSettings(
        name=args.name,
        namespace=args.namespace,
        image=args.image,
        replicas=replicas,
        config=config,
        lease=lease if election.leader_elect else None,
        plugin_files=files,
        plugins=tuple(references),
        rules=[*cluster_rules(), *rules_of_plugins(used)],
        quota_requests=quota_requests(result.profiles),
        delays_cache=bool(result.config.delay_cache_until_active) and election.leader_elect,
    )
    return settings, warnings


def _place_all(
    plugins: Sequence[str], files: dict[str, str]
) -> tuple[list[type[Plugin]], list[str]]:
    """Add the files of plugins to `files`; return the classes, and their references."""
    classes = load_plugins(plugins)
    return classes, [
        _place(reference, plugin, files) for reference, plugin in zip(plugins, classes, strict=True)
    ]


def _extender(args: argparse.Namespace) -> tuple[list[Object], str, list[str]]:
    """Return the objects of an extender, the comment below them, and warnings."""
    # Imported here, because a scheduler's objects need neither certificates nor informers.
    from mooring.cli.extender_deployment import extender_objects

    files: dict[str, str] = {}
    _, references = _place_all(args.plugin, files)
    config, warnings = "", []
    if args.config is not None:
        data = _v1(_read(args.config), args.config)
        if (data.get("clientConnection") or {}).pop("kubeconfig", None):
            warnings.append(f"{args.config}: {_NO_KUBECONFIG}")
        config = to_yaml(data)
    found, comment = extender_objects(args, tuple(references), files, config)
    return found, comment, warnings


def _place(reference: str, plugin: type[Plugin], files: dict[str, str]) -> str:
    """Add a plugin's file to the ConfigMap's files; return its reference in the container."""
    file, _, attribute = reference.rpartition(":")
    if reference.endswith(".py"):
        file, attribute = reference, plugin.__name__
    loaded = loaded_files([reference])
    if not file.endswith(".py"):
        if loaded:
            raise ConfigError(
                f"--plugin {reference}: {file} is a module of this folder and not installed; "
                f"use --plugin {file.replace('.', '/')}.py:{attribute}, or install it in the image"
            )
        # A module must be installed in the image, as it is here.
        return reference
    path = Path(file)
    for one in loaded:
        _add_file(reference, path.parent, one, files)
    return f"{PLUGIN_FOLDER}/{path.name}:{attribute}"


def _add_file(reference: str, folder: Path, path: Path, files: dict[str, str]) -> None:
    """Add the file of a plugin, or one that it imports from its folder."""
    if path.parent != folder:
        raise ConfigError(
            f"--plugin {reference}: it imports {path}, and a ConfigMap holds no folders; put the "
            "modules beside the plugin, or install the package in the image"
        )
    if not _KEY.fullmatch(path.name):
        raise ConfigError(
            f"--plugin {reference}: the name of the file must consist of letters, digits, '-', "
            "'_' and '.'"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"--plugin {reference}: not UTF-8 text: {error}") from None
    if files.setdefault(path.name, text) != text:
        raise ConfigError(f"--plugin {reference}: another file has the name {path.name} too")


def _configure(
    args: argparse.Namespace, plugins: Sequence[type[Plugin]]
) -> tuple[LoadResult, str, list[str]]:
    """Return the validated configuration, its text as a v1 file, and warnings."""
    registry = default_registry(plugins)
    warnings: list[str] = []
    if args.config is None:
        enabled = [{"name": name} for name in dict.fromkeys(one.name for one in plugins)]
        profile = {"plugins": {"multiPoint": {"enabled": enabled}}} if enabled else {}
        data: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    else:
        text = _read(args.config)
        # Load the original text first, so that errors have positions in the user's file.
        read = load_config_text(text, file=args.config, registry=registry)
        read = warn_unused(read, plugins, args.config)
        warnings += (one.partition("; its v1 form is:")[0] for one in read.warnings)
        data = _v1(text, args.config)
        if _count_as_scheduler(data, read):
            warnings.append(f"{args.config}: {_AS_SCHEDULER}")
    election = {**(data.get("leaderElection") or {})}
    election.setdefault("leaderElect", True)
    election.setdefault("resourceName", args.name)
    election.setdefault("resourceNamespace", args.namespace)
    data["leaderElection"] = election
    profiles = data.get("profiles") or [{}]
    if len(profiles) == 1:
        data["profiles"] = [{"schedulerName": args.name, **profiles[0]}]
    if (data.get("clientConnection") or {}).pop("kubeconfig", None):
        warnings.append(f"{args.config}: {_NO_KUBECONFIG}")
    try:
        result = load_config_data(data, file=args.config or "<default>", registry=registry)
    except MooringError as error:
        raise ConfigError(f"the configuration for the cluster is not valid: {error}") from error
    return result, to_yaml(data), warnings


def _count_as_scheduler(data: dict[str, Any], read: LoadResult) -> bool:
    """Set podRequests of CapacityScheduling in profiles that do not; return whether any was set."""
    changed = False
    for resolved, profile in zip(read.profiles, data.get("profiles") or (), strict=False):
        if CAPACITY_SCHEDULING in resolved.plugins and quota_requests_of(resolved) is None:
            configs = profile["pluginConfig"] = [*(profile.get("pluginConfig") or ())]
            own = [one for one in configs if one.get("name") == CAPACITY_SCHEDULING]
            if not own:
                configs.append({"name": CAPACITY_SCHEDULING})
            entry = (own or configs)[-1]
            entry["args"] = {**(entry.get("args") or {}), "podRequests": SCHEDULER}
            changed = True
    return changed


def _v1(text: str, file: str) -> dict[str, Any]:
    """Return a document in its v1 form, without added defaults."""
    document = parse(text)
    problems = Problems(file, document.positions)
    data = to_current(copy.deepcopy(document.data), problems, None)
    problems.raise_if_any()
    return data


def _read(file: str) -> str:
    try:
        return Path(file).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(error.strerror or str(error), file=file) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error}", file=file) from error
